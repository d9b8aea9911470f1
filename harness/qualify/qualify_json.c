/* The verdict for programs. The figures are qualify.c's; every key ends in its unit. */
#include <jansson.h>

#include "harness/files/json_value.h"
#include "harness/files/output.h"
#include "harness/machine/machine_json.h"
#include "harness/qualify/qualify.h"
#include "harness/tool.h"

static json_t *threshold_json(const struct wp_qualify *qualify,
			      const struct wp_threshold *threshold)
{
	double times = wp_qualify_headroom(qualify, threshold);
	json_t *object = json_object();

	wp_json_put(object, "zero_from_bytes_per_s",
		    times > 0 ? wp_json_count(threshold->zero_bytes_per_s) : json_null());
	wp_json_put(object, "headroom", times > 0 ? wp_json_real(times) : json_null());
	return object;
}

static json_t *run_json(const struct wp_qualify *qualify, const struct wp_qualify_run *run)
{
	json_t *object = json_object(), *thresholds = json_object();

	wp_json_put(object, "name", wp_json_text(run->name));
	wp_json_put(object, "verdict", wp_json_text(wp_qualify_verdict_text(run->verdict)));
	wp_json_put(object, "valid", json_boolean(run->valid));
	wp_json_put(object, "note", wp_json_text(run->note));
	wp_json_put(object, "stall_full_scale_p50_ns", wp_json_count(run->stall_ns.p50));
	wp_json_put(object, "stall_full_scale_p99_ns", wp_json_count(run->stall_ns.p99));
	wp_json_put(object, "stall_full_scale_max_ns", wp_json_count(run->stall_ns.max));
	wp_json_put(object, "write_stall_ns", wp_json_count(run->write_stall_ns));
	wp_json_put(object, "wall_ns", wp_json_count(run->wall_ns));
	wp_json_put(object, "blocks_nvme", wp_json_count(run->blocks_nvme));
	for (unsigned i = 0; run->has_thresholds && i < WP_THRESHOLD_FIGURES; i++)
		wp_json_put(thresholds, wp_threshold_figure_name(i),
			    threshold_json(qualify, &run->thresholds[i]));
	wp_json_put(object, "thresholds", thresholds);
	return object;
}

static json_t *verdict_json(const struct wp_qualify *qualify,
			    const struct wp_qualify_config *config)
{
	const struct wp_plan_codec *codec = qualify->plan.codec;
	json_t *root = json_object(), *runs = json_array();
	uint64_t rated = qualify->plan.rated_bytes_written;

	wp_json_put(root, "schema_version", wp_json_count(1));
	wp_json_put(root, "what", wp_json_text("worldpager qualify"));
	wp_json_put(root, "verdict", wp_json_text(wp_qualify_verdict_text(qualify->verdict)));
	wp_json_put(root, "model", wp_json_text(qualify->model.name));
	wp_json_put(root, "arm", wp_json_text(config->arm));
	wp_json_put(root, "codec", wp_json_text(config->codec));
	wp_json_put(root, "scale", wp_json_text(config->scale));
	wp_json_put(root, "tolerance_ns", wp_json_count(qualify->tolerance_ns));
	wp_json_put(root, "needed_read_bytes_per_s", wp_json_count(codec->read_bytes_per_s));
	wp_json_put(root, "read_bytes_per_s", wp_json_count(qualify->read_bytes_per_s));
	wp_json_put(root, "steady", json_boolean(qualify->steady));
	wp_json_put(root, "celsius_before",
		    qualify->celsius_before == INT32_MIN ? json_null()
							 : json_integer(qualify->celsius_before));
	wp_json_put(root, "celsius_after",
		    qualify->celsius_after == INT32_MIN ? json_null()
							: json_integer(qualify->celsius_after));
	wp_json_put(root, "written_bytes_per_hour", wp_json_count(codec->written_bytes_per_hour));
	wp_json_put(root, "endurance_hours",
		    rated ? wp_json_count(rated / codec->written_bytes_per_hour) : json_null());
	for (uint32_t i = 0; i < qualify->run_count; i++)
		WP_CHECK(json_array_append_new(runs, run_json(qualify, &qualify->runs[i])) == 0);
	wp_json_put(root, "runs", runs);
	wp_json_put(root, "machine_facts", wp_machine_json(&qualify->calibration.machine));
	return root;
}

int wp_qualify_write_json(const struct wp_qualify *qualify, const struct wp_qualify_config *config,
			  struct wp_error *error)
{
	struct wp_output output = {0};
	char path[WP_PATH_MAX];
	json_t *root;
	int result;

	snprintf(path, sizeof(path), "%.*s/verdict.json", WP_PATH_MAX - 16, config->out);
	if (wp_output_open(&output, path, error) != 0)
		return -1;
	root = verdict_json(qualify, config);
	(void)!json_dumpf(root, output.stream, JSON_INDENT(2));
	fputc('\n', output.stream);
	json_decref(root);
	result = wp_output_commit(&output, error);
	wp_output_abandon(&output);
	return result;
}
