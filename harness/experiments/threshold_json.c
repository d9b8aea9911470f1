/* Writes the document of the threshold finder. Measures and prints nothing. */
#include "harness/experiments/threshold_json.h"

#include <jansson.h>

#include "harness/files/json_value.h"
#include "harness/files/output.h"
#include "harness/tool.h"

const char *wp_threshold_state_name(enum wp_threshold_state state)
{
	static const char *const names[] = {"found", "below", "above"};

	WP_CHECK((unsigned)state < sizeof(names) / sizeof(names[0]));
	return names[state];
}

static json_t *confirmation_json(const struct wp_threshold_confirmation *confirmation)
{
	json_t *object;

	if (!confirmation->made)
		return json_null();
	object = json_object();
	wp_json_put(object, "above_bytes_per_s", wp_json_count(confirmation->above_bytes_per_s));
	wp_json_put(object, "above_stall_full_scale_ns",
		    wp_json_count(confirmation->above_stall_ns));
	wp_json_put(object, "below_bytes_per_s", wp_json_count(confirmation->below_bytes_per_s));
	wp_json_put(object, "below_stall_full_scale_ns",
		    wp_json_count(confirmation->below_stall_ns));
	wp_json_put(object, "valid", json_boolean(confirmation->valid));
	return object;
}

static json_t *threshold_json(const struct wp_threshold *threshold,
			      const struct wp_threshold_confirmation *confirmation)
{
	json_t *object = json_object();

	wp_json_put(object, "state", wp_json_text(wp_threshold_state_name(threshold->state)));
	wp_json_put(object, "zero_bytes_per_s", wp_json_count_or_null(threshold->zero_bytes_per_s));
	wp_json_put(object, "stall_bytes_per_s",
		    wp_json_count_or_null(threshold->stall_bytes_per_s));
	wp_json_put(object, "stall_ns", wp_json_count_or_null(threshold->stall_ns));
	wp_json_put(object, "confirmed", confirmation_json(confirmation));
	return object;
}

static json_t *row_json(const struct wp_threshold_row *row)
{
	json_t *object = json_object();

	wp_json_put(object, "trace", wp_json_text(row->trace));
	wp_json_put(object, "arm", wp_json_text(row->arm));
	wp_json_put(object, "frames", wp_json_count(row->frames));
	wp_json_put(object, "runs", wp_json_count(row->runs));
	for (unsigned i = 0; i < WP_THRESHOLD_FIGURES; i++)
		wp_json_put(object, wp_threshold_figure_name(i),
			    threshold_json(&row->thresholds[i], &row->confirmations[i]));
	return object;
}

static json_t *report_json(const struct wp_threshold_report *report)
{
	json_t *object = json_object();
	json_t *tool = json_object();
	json_t *rows = json_array();

	wp_json_put(tool, "name", wp_json_text("worldpager"));
	wp_json_put(tool, "version", wp_json_text(wp_tool_version()));
	wp_json_put(tool, "commit", wp_json_text(wp_tool_commit()));
	for (uint32_t i = 0; i < report->row_count; i++)
		WP_CHECK(json_array_append_new(rows, row_json(&report->rows[i])) == 0);
	wp_json_put(object, "schema_version", wp_json_count(WP_THRESHOLD_SCHEMA_VERSION));
	wp_json_put(object, "tool", tool);
	wp_json_put(object, "world", wp_json_text("virtual"));
	wp_json_put(object, "codec", wp_json_text(report->codec));
	wp_json_put(object, "confirm_scale", wp_json_text(report->confirm_scale));
	wp_json_put(object, "warmup_frames", wp_json_count(report->warmup_frames));
	wp_json_put(object, "min_bytes_per_s", wp_json_count(report->config.min_bytes_per_s));
	wp_json_put(object, "max_bytes_per_s", wp_json_count(report->config.max_bytes_per_s));
	wp_json_put(object, "step_bytes_per_s", wp_json_count(report->config.step_bytes_per_s));
	wp_json_put(object, "thresholds", rows);
	return object;
}

int wp_threshold_write(const struct wp_threshold_report *report, const char *path,
		       struct wp_error *error)
{
	struct wp_output output;
	json_t *document;

	if (wp_output_open(&output, path, error) != 0)
		return -1;
	document = report_json(report);
	/* A short write shows in the stream's error flag, which the commit looks at. */
	(void)!json_dumpf(document, output.stream, JSON_INDENT(1));
	fputc('\n', output.stream);
	json_decref(document);
	return wp_output_commit(&output, error);
}
