/*
 * Writing a replay's document. Does not decide anything about the run except
 * whether its figures add up. One line per top-level key and one per frame:
 * small enough to diff, and nothing is built up in memory but the current line.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/files/json_value.h"
#include "harness/files/output.h"
#include "harness/machine/machine_json.h"
#include "harness/result/result.h"
#include "harness/result/result_session.h"
#include "harness/tool.h"

uint64_t wp_full_scale_ns(uint64_t ns, double scale)
{
	double full_ns;

	WP_CHECK(scale > 0);
	full_ns = (double)ns / scale + 0.5;
	return full_ns < 0x1p64 ? (uint64_t)full_ns : UINT64_MAX;
}

static json_t *frame_json(const struct wp_frame_figures *frame)
{
	json_t *object = json_object();
	const struct {
		const char *key;
		uint64_t value;
	} figures[] = {
	    {"frame", frame->frame},
	    {"needed_ns", frame->needed_ns},
	    {"ready_ns", frame->ready_ns},
	    {"stall_ns", frame->stall_ns},
	    {"compute_ns", frame->compute_ns},
	    {"decode_ns", frame->decode_ns},
	    {"read_ns", frame->read_ns},
	    {"verify_ns", frame->verify_ns},
	    {"copy_ns", frame->copy_ns},
	    {"write_stall_ns", frame->write_stall_ns},
	    {"blocks_gpu", frame->blocks_gpu},
	    {"blocks_dram", frame->blocks_dram},
	    {"blocks_nvme", frame->blocks_nvme},
	    {"bytes_nvme", frame->bytes_nvme},
	    {"hinted", frame->hinted},
	    {"hit", frame->hit},
	    {"missed", frame->missed},
	    {"wasted", frame->wasted},
	    {"retries", frame->retries},
	};

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		wp_json_put(object, figures[i].key, wp_json_count(figures[i].value));
	return object;
}

static json_t *stats_json(const struct wp_stats *stats)
{
	json_t *object = json_object();
	const struct {
		const char *key;
		uint64_t value;
	} figures[] = {
	    {"mean", stats->mean},   {"min", stats->min}, {"p50", stats->p50},
	    {"p90", stats->p90},     {"p95", stats->p95}, {"p99", stats->p99},
	    {"p99_9", stats->p99_9}, {"max", stats->max}, {"sum", stats->sum},
	};

	wp_json_put(object, "n", wp_json_count(stats->n));
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		wp_json_put(object, figures[i].key,
			    stats->n ? wp_json_count(figures[i].value) : json_null());
	return object;
}

/* Statistics of the frames after warm-up, `scale` = 1 for the stalls as they were. */
static json_t *stall_json(const struct wp_run *run, double scale)
{
	uint32_t first =
	    run->warmup_frames < run->frame_count ? run->warmup_frames : run->frame_count;
	uint32_t n = run->frame_count - first;
	uint64_t *samples = calloc(n ? n : 1, sizeof(*samples));
	struct wp_stats stats;

	WP_CHECK(samples);
	for (uint32_t i = 0; i < n; i++)
		samples[i] = wp_full_scale_ns(run->frames[first + i].stall_ns, scale);
	wp_stats_compute(samples, n, &stats);
	free(samples);
	return stats_json(&stats);
}

/* One bound, and how far above it the arm is. */
static json_t *bound_figures_json(const struct wp_lower_bound_figures *bound, const json_t *stall)
{
	uint64_t sum_ns = (uint64_t)json_integer_value(json_object_get(stall, "sum"));
	uint64_t max_ns = (uint64_t)json_integer_value(json_object_get(stall, "max"));
	json_t *object = json_object();
	double ratio;

	wp_json_put(object, "sum_ns", wp_json_count(bound->sum_ns));
	wp_json_put(object, "max_ns", wp_json_count(bound->max_ns));
	wp_json_put(object, "sum_ratio",
		    wp_lower_bound_ratio(sum_ns, bound->sum_ns, &ratio) ? wp_json_real(ratio)
									: json_null());
	wp_json_put(object, "max_ratio",
		    wp_lower_bound_ratio(max_ns, bound->max_ns, &ratio) ? wp_json_real(ratio)
									: json_null());
	return object;
}

static json_t *bound_json(const struct wp_run *run, const json_t *stall)
{
	json_t *object;

	if (!run->has_lower_bound)
		return json_null();
	object = json_object();
	wp_json_put(object, "told", bound_figures_json(&run->lower_bound.told, stall));
	wp_json_put(object, "hinted", bound_figures_json(&run->lower_bound.hinted, stall));
	return object;
}

/* Says a thing once, whoever of run and throttle said it too. */
static void add_note(json_t *notes, const char *text)
{
	json_t *note = wp_json_text(text);
	json_t *said;
	size_t i;

	json_array_foreach(notes, i, said)
	{
		if (json_equal(said, note)) {
			json_decref(note);
			return;
		}
	}
	WP_CHECK(json_array_append_new(notes, note) == 0);
}

static json_t *summary_json(const struct wp_run *run)
{
	json_t *summary = json_object();
	json_t *notes = json_array();
	char contradiction[256];
	bool adds_up = wp_result_check(run, contradiction, sizeof(contradiction));

	for (uint32_t i = 0; i < run->note_count; i++)
		add_note(notes, run->notes[i]);
	for (uint32_t i = 0; i < run->throttle.note_count; i++)
		add_note(notes, run->throttle.notes[i]);
	if (!adds_up)
		add_note(notes, contradiction);
	wp_json_put(summary, "stall_ns", stall_json(run, 1));
	wp_json_put(summary, "stall_full_scale_ns", stall_json(run, run->scale.effective));
	wp_json_put(summary, "lower_bound", bound_json(run, json_object_get(summary, "stall_ns")));
	wp_json_put(summary, "valid", json_boolean(run->valid && adds_up));
	wp_json_put(summary, "notes", notes);
	return summary;
}

static json_t *totals_json(const struct wp_run *run)
{
	struct wp_frame_figures total = {0};
	json_t *object = json_object();

	for (uint32_t i = 0; i < run->frame_count; i++) {
		const struct wp_frame_figures *frame = &run->frames[i];

		total.stall_ns += frame->stall_ns;
		total.compute_ns += frame->compute_ns;
		total.write_stall_ns += frame->write_stall_ns;
		total.blocks_gpu += frame->blocks_gpu;
		total.blocks_dram += frame->blocks_dram;
		total.blocks_nvme += frame->blocks_nvme;
		total.bytes_nvme += frame->bytes_nvme;
		total.hinted += frame->hinted;
		total.hit += frame->hit;
		total.missed += frame->missed;
		total.wasted += frame->wasted;
		total.retries += frame->retries;
	}
	wp_json_put(object, "wall_ns", wp_json_count(run->wall_ns));
	wp_json_put(object, "compute_ns", wp_json_count(total.compute_ns));
	wp_json_put(object, "stall_ns", wp_json_count(total.stall_ns));
	wp_json_put(object, "write_stall_ns", wp_json_count(total.write_stall_ns));
	wp_json_put(object, "blocks_gpu", wp_json_count(total.blocks_gpu));
	wp_json_put(object, "blocks_dram", wp_json_count(total.blocks_dram));
	wp_json_put(object, "blocks_nvme", wp_json_count(total.blocks_nvme));
	wp_json_put(object, "bytes_nvme", wp_json_count(total.bytes_nvme));
	wp_json_put(object, "hinted", wp_json_count(total.hinted));
	wp_json_put(object, "hit", wp_json_count(total.hit));
	wp_json_put(object, "missed", wp_json_count(total.missed));
	wp_json_put(object, "wasted", wp_json_count(total.wasted));
	wp_json_put(object, "retries", wp_json_count(total.retries));
	return object;
}

static json_t *throttle_json(const struct wp_throttle_figures *throttle)
{
	json_t *object = json_object();
	bool counted = throttle->device_bytes || throttle->expected_bytes;

	wp_json_put(object, "method", wp_json_text(throttle->method));
	wp_json_put(object, "option", wp_json_text(throttle->asked));
	wp_json_put(object, "cgroup", wp_json_text(throttle->cgroup));
	wp_json_put(object, "device", wp_json_text(throttle->device));
	wp_json_put(object, "asked_bytes_per_s",
		    wp_json_count_or_null(throttle->asked_bytes_per_s));
	wp_json_put(object, "read_back_bytes_per_s",
		    wp_json_count_or_null(throttle->read_back_bytes_per_s));
	wp_json_put(object, "probe_bytes_per_s",
		    wp_json_count_or_null(throttle->probe_bytes_per_s));
	wp_json_put(object, "unthrottled_bytes_per_s",
		    wp_json_count_or_null(throttle->unthrottled_bytes_per_s));
	wp_json_put(object, "achieved_bytes_per_s",
		    wp_json_count_or_null(throttle->achieved_bytes_per_s));
	wp_json_put(object, "device_bytes",
		    counted ? wp_json_count(throttle->device_bytes) : json_null());
	wp_json_put(object, "expected_bytes",
		    counted ? wp_json_count(throttle->expected_bytes) : json_null());
	wp_json_put(object, "credit_bytes", wp_json_count(throttle->credit_bytes));
	wp_json_put(object, "credit_share", wp_json_real(throttle->credit_share));
	wp_json_put(object, "lost_credit_bytes", wp_json_count(throttle->lost_credit_bytes));
	wp_json_put(object, "device_limited", json_boolean(throttle->device_limited));
	wp_json_put(object, "valid", json_boolean(throttle->valid));
	wp_json_put(object, "reason", wp_json_text(throttle->reason));
	return object;
}

static json_t *store_json(const struct wp_store_figures *store)
{
	json_t *object = json_object();

	wp_json_put(object, "backend", wp_json_text(store->backend));
	wp_json_put(object, "filesystem", wp_json_text(store->filesystem));
	wp_json_put(object, "direct_io", json_boolean(store->direct_io));
	wp_json_put(object, "registered_buffers", json_boolean(store->registered_buffers));
	wp_json_put(object, "registered_file", json_boolean(store->registered_file));
	wp_json_put(object, "alignment_bytes", wp_json_count_or_null(store->alignment_bytes));
	wp_json_put(object, "record_bytes", wp_json_count_or_null(store->record_bytes));
	wp_json_put(object, "fallback", wp_json_text(store->fallback));
	return object;
}

static json_t *arguments_json(const struct wp_run *run)
{
	json_t *array = json_array();

	for (int i = 0; i < run->argc; i++)
		WP_CHECK(json_array_append_new(array, wp_json_argument(run->argv[i])) == 0);
	return array;
}

static json_t *trace_json(const struct wp_run *run)
{
	json_t *object = json_object();

	wp_json_put(object, "name", wp_json_text(run->trace_name));
	wp_json_put(object, "origin", wp_json_text(run->trace_origin));
	wp_json_put(object, "digest", wp_json_text(run->trace_digest));
	wp_json_put(object, "model", wp_json_text(run->trace_model));
	return object;
}

static json_t *scale_json(const struct wp_scale_figures *scale)
{
	json_t *object = json_object();

	wp_json_put(object, "asked", wp_json_real(scale->asked));
	wp_json_put(object, "effective", wp_json_real(scale->effective));
	wp_json_put(object, "text", wp_json_text(scale->text));
	return object;
}

static json_t *tool_json(void)
{
	json_t *object = json_object();

	wp_json_put(object, "name", wp_json_text("worldpager"));
	wp_json_put(object, "version", wp_json_text(wp_tool_version()));
	wp_json_put(object, "commit", wp_json_text(wp_tool_commit()));
	return object;
}

static void put_setup(json_t *head, const struct wp_run *run)
{
	wp_json_put(head, "k", wp_json_count(run->k));
	wp_json_put(head, "exclude_recent", wp_json_count(run->exclude_recent));
	wp_json_put(head, "video_frames_per_frame", wp_json_count(run->video_frames_per_frame));
	wp_json_put(head, "staging_blocks", wp_json_count(run->staging_blocks));
	wp_json_put(head, "warmup_frames", wp_json_count(run->warmup_frames));
	wp_json_put(head, "frames_asked", wp_json_count(run->frame_target));
	wp_json_put(head, "frames_done", wp_json_count(run->frame_count));
	wp_json_put(head, "seed", wp_json_count(run->seed));
	wp_json_put(head, "block_bytes", wp_json_count(run->block_bytes));
	wp_json_put(head, "block_full_scale_bytes", wp_json_count(run->block_full_bytes));
	wp_json_put(head, "compute_target_ns", wp_json_count(run->compute_target_ns));
	wp_json_put(head, "copy_bytes_per_s", wp_json_count_or_null(run->copy_bytes_per_s));
	wp_json_put(head, "decode_bytes_per_s", wp_json_count_or_null(run->decode_bytes_per_s));
	wp_json_put(head, "read_bytes", wp_json_count(run->read_bytes));
	wp_json_put(head, "read_depth", wp_json_count(run->read_depth));
	wp_json_put(head, "copy_governed_by_memcpy", json_boolean(run->copy_governed_by_memcpy));
}

/* Everything but `frames`, in the order it is written. */
static json_t *head_json(const struct wp_run *run, json_t *summary)
{
	json_t *head = json_object();

	wp_json_put(head, "schema_version", wp_json_count(WP_RESULT_SCHEMA_VERSION));
	wp_json_put(head, "tool", tool_json());
	wp_json_put(head, "argv", arguments_json(run));
	wp_json_put(head, "world", wp_json_text(run->world));
	wp_json_put(head, "machine", wp_json_text(run->machine_name));
	wp_json_put(head, "model", wp_json_text(run->model_name));
	wp_json_put(head, "drive", wp_json_text(run->drive_name));
	wp_json_put(head, "trace", trace_json(run));
	wp_json_put(head, "arm", wp_json_text(run->arm));
	wp_json_put(head, "hints", wp_json_text(run->hints));
	wp_json_put(head, "residency", wp_json_text(run->residency));
	wp_json_put(head, "codec", wp_json_text(run->codec));
	wp_json_put(head, "positions", wp_json_text(run->positions));
	wp_json_put(head, "scale", scale_json(&run->scale));
	put_setup(head, run);
	wp_json_put(head, "machine_facts",
		    run->has_machine_facts ? wp_machine_json(&run->machine_facts) : json_null());
	wp_json_put(head, "throttle", throttle_json(&run->throttle));
	wp_json_put(head, "store", store_json(&run->store));
	wp_json_put(head, "session", wp_result_session_json(run));
	wp_json_put(head, "interrupted", json_boolean(run->interrupted));
	wp_json_put(head, "error", wp_json_text(run->error));
	wp_json_put(head, "totals", totals_json(run));
	wp_json_put(head, "summary", summary);
	return head;
}

/* A short write shows in the stream's error flag, which the commit looks at. */
static void write_frames(const struct wp_run *run, FILE *stream)
{
	fputs("\"frames\": [", stream);
	for (uint32_t i = 0; i < run->frame_count; i++) {
		json_t *frame = frame_json(&run->frames[i]);

		fputs(i ? ",\n" : "\n", stream);
		(void)!json_dumpf(frame, stream, 0);
		json_decref(frame);
	}
	fputs("\n]\n", stream);
}

static void put_digest(const struct wp_run *run, json_t *summary)
{
	struct wp_digest *digest = wp_digest_open();
	char text[17];

	for (uint32_t i = 0; i < run->frame_count; i++) {
		json_t *frame = frame_json(&run->frames[i]);

		wp_digest_add(digest, frame);
		json_decref(frame);
	}
	wp_digest_add(digest, summary);
	wp_digest_close(digest, text);
	wp_json_put(summary, "digest", wp_json_text(text));
}

int wp_result_write(const struct wp_run *run, const char *path, struct wp_error *error)
{
	struct wp_output output;
	json_t *summary, *head, *value;
	const char *key;

	if (wp_output_open(&output, path, error) != 0)
		return -1;
	summary = summary_json(run);
	put_digest(run, summary);
	head = head_json(run, summary);
	fputs("{\n", output.stream);
	json_object_foreach(head, key, value)
	{
		fprintf(output.stream, "\"%s\": ", key);
		(void)!json_dumpf(value, output.stream, JSON_ENCODE_ANY);
		fputs(",\n", output.stream);
	}
	json_decref(head);
	write_frames(run, output.stream);
	fputs("}\n", output.stream);
	return wp_output_commit(&output, error);
}
