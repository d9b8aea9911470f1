/*
 * Reading a replay's document back, for sweeps, tables and figures. Takes
 * nothing on trust: a section that is missing is named instead of being read as
 * a zero, and figures that were edited no longer match their digest.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/files/json_file.h"
#include "harness/result/result.h"

/* 100,000 frames are about 40 MB. */
#define DOCUMENT_BYTES_MAX (512u << 20)

/* A null stands for a figure that this kind of run does not have: 0. */
static uint64_t figure(struct wp_json *object, const char *key)
{
	if (object->value && wp_json_has(object, key) &&
	    json_is_null(json_object_get(object->value, key)))
		return 0;
	return wp_json_u64(object, key, 0, INT64_MAX);
}

/* The document's own string; "" for null where that is allowed. */
static const char *text_of(struct wp_json *object, const char *key, bool nullable)
{
	json_t *value = object->value ? json_object_get(object->value, key) : NULL;

	if (object->reader->failed)
		return "";
	if (!value || (json_is_null(value) && !nullable))
		wp_json_fail(object, key, "missing");
	else if (!json_is_string(value) && !json_is_null(value))
		wp_json_fail(object, key, "must be a string");
	return json_is_string(value) ? json_string_value(value) : "";
}

static bool flag_of(struct wp_json *object, const char *key)
{
	json_t *value = object->value ? json_object_get(object->value, key) : NULL;

	if (!object->reader->failed && !json_is_boolean(value))
		wp_json_fail(object, key, value ? "must be true or false" : "missing");
	return json_is_true(value);
}

static void read_stats(struct wp_json *summary, const char *key, struct wp_stats *stats)
{
	struct wp_json object;

	wp_json_object(summary, key, &object);
	stats->n = wp_json_u64(&object, "n", 0, UINT32_MAX);
	stats->mean = figure(&object, "mean");
	stats->min = figure(&object, "min");
	stats->p50 = figure(&object, "p50");
	stats->p90 = figure(&object, "p90");
	stats->p95 = figure(&object, "p95");
	stats->p99 = figure(&object, "p99");
	stats->p99_9 = figure(&object, "p99_9");
	stats->max = figure(&object, "max");
	stats->sum = figure(&object, "sum");
	if (!summary->reader->failed && stats->n &&
	    (stats->p50 > stats->max || stats->min > stats->p50))
		wp_json_fail(&object, "p50", "lies outside min and max");
}

/* Absent where there is none: no rate, or a limit with free credit. */
static void read_bound(struct wp_json *summary, struct wp_result *result)
{
	struct wp_json bound, told;

	if (summary->reader->failed || !summary->value ||
	    json_is_null(json_object_get(summary->value, "lower_bound")))
		return;
	wp_json_object(summary, "lower_bound", &bound);
	wp_json_object(&bound, "told", &told);
	result->bound_sum_full_scale_ns =
	    wp_full_scale_ns(wp_json_u64(&told, "sum_ns", 0, INT64_MAX), result->scale);
	result->bound_max_full_scale_ns =
	    wp_full_scale_ns(wp_json_u64(&told, "max_ns", 0, INT64_MAX), result->scale);
	result->has_bound = !summary->reader->failed;
}

static void read_throttle(struct wp_json *root, struct wp_result *result)
{
	struct wp_json throttle;

	wp_json_object(root, "throttle", &throttle);
	result->throttle_method = text_of(&throttle, "method", false);
	result->asked_bytes_per_s = figure(&throttle, "asked_bytes_per_s");
	result->probe_bytes_per_s = figure(&throttle, "probe_bytes_per_s");
	result->unthrottled_bytes_per_s = figure(&throttle, "unthrottled_bytes_per_s");
	result->achieved_bytes_per_s = figure(&throttle, "achieved_bytes_per_s");
	result->device_limited = flag_of(&throttle, "device_limited");
	result->reason = text_of(&throttle, "reason", true);
}

/* null where no drive of a machine was used. */
static void read_machine(struct wp_json *root, struct wp_result *result)
{
	struct wp_json facts;

	result->fingerprint = result->kernel_release = "";
	if (root->value && json_is_null(json_object_get(root->value, "machine_facts")))
		return;
	wp_json_object(root, "machine_facts", &facts);
	result->fingerprint = text_of(&facts, "fingerprint", false);
	result->kernel_release = text_of(&facts, "kernel_release", true);
}

static void read_setup(struct wp_json *root, struct wp_result *result)
{
	struct wp_json section;

	result->world = text_of(root, "world", false);
	result->machine = text_of(root, "machine", false);
	result->model = text_of(root, "model", false);
	result->drive = text_of(root, "drive", true);
	result->arm = text_of(root, "arm", false);
	result->hints = text_of(root, "hints", false);
	result->residency = text_of(root, "residency", false);
	result->codec = text_of(root, "codec", false);
	result->k = wp_json_u64(root, "k", 0, UINT32_MAX);
	result->staging_blocks = wp_json_u64(root, "staging_blocks", 0, UINT32_MAX);
	result->warmup_frames = wp_json_u64(root, "warmup_frames", 0, UINT32_MAX);
	result->frame_count = wp_json_u64(root, "frames_done", 0, UINT32_MAX);
	result->seed = wp_json_u64(root, "seed", 0, INT64_MAX);
	result->block_bytes = wp_json_u64(root, "block_bytes", 1, INT64_MAX);
	result->block_full_scale_bytes = wp_json_u64(root, "block_full_scale_bytes", 1, INT64_MAX);
	result->compute_ns = wp_json_u64(root, "compute_target_ns", 0, INT64_MAX);
	wp_json_object(root, "trace", &section);
	result->trace = text_of(&section, "name", false);
	wp_json_object(root, "scale", &section);
	result->scale = wp_json_number(&section, "effective", 1e-9, 1);
	result->scale_text = text_of(&section, "text", true);
	wp_json_object(root, "store", &section);
	(void)text_of(&section, "backend", true);
	wp_json_object(root, "tool", &section);
	(void)text_of(&section, "version", false);
}

/* Frames, and the digest that ties them to the summary. */
static void check_figures(struct wp_json *root, struct wp_json *summary,
			  const struct wp_result *result)
{
	const char *claimed = text_of(summary, "digest", false);
	struct wp_digest *digest;
	struct wp_json frames;
	json_t *bare;
	char text[17];
	size_t count;

	count = wp_json_array(root, "frames", 0, UINT32_MAX, &frames);
	if (!root->reader->failed && count != result->frame_count)
		wp_json_fail(root, "frames", "not as many as frames_done says");
	for (uint32_t i = 0; i < count && !root->reader->failed; i++) {
		struct wp_json frame;

		wp_json_at_object(&frames, i, &frame);
		(void)wp_json_u64(&frame, "stall_ns", 0, INT64_MAX);
	}
	if (root->reader->failed)
		return;
	digest = wp_digest_open();
	for (size_t i = 0; i < count; i++)
		wp_digest_add(digest, json_array_get(frames.value, i));
	bare = json_copy(summary->value);
	WP_CHECK(bare && json_object_del(bare, "digest") == 0);
	wp_digest_add(digest, bare);
	wp_digest_close(digest, text);
	json_decref(bare);
	if (strcmp(text, claimed) != 0)
		wp_json_fail(summary, "digest", "does not match the figures: the file was changed");
}

static void read_document(struct wp_json *root, struct wp_result *result)
{
	struct wp_json summary;

	if (wp_json_u64(root, "schema_version", 0, UINT32_MAX) != WP_RESULT_SCHEMA_VERSION)
		wp_json_fail(root, "schema_version", "is not the %d that this program reads",
			     WP_RESULT_SCHEMA_VERSION);
	read_setup(root, result);
	read_machine(root, result);
	read_throttle(root, result);
	result->interrupted = flag_of(root, "interrupted");
	result->error = text_of(root, "error", true);
	wp_json_object(root, "summary", &summary);
	result->valid = flag_of(&summary, "valid");
	result->digest = text_of(&summary, "digest", false);
	read_stats(&summary, "stall_ns", &result->stall_ns);
	read_stats(&summary, "stall_full_scale_ns", &result->stall_full_scale_ns);
	read_bound(&summary, result);
	check_figures(root, &summary, result);
}

/* A profile, a verdict, walls: whole and good, but no replay left it. A damaged result is none of
 * these: it has lost a section, not all that it is about. */
static bool is_of_another_kind(const json_t *document)
{
	return !json_is_object(document) ||
	       (!json_object_get(document, "frames") && !json_object_get(document, "summary"));
}

int wp_result_load_if(const char *path, struct wp_result *result, struct wp_error *error)
{
	struct wp_json_reader reader = {.file = path, .exit_code = WP_EXIT_CONTENT, .error = error};
	struct wp_json root;

	memset(result, 0, sizeof(*result));
	result->document = wp_json_load(&reader, "a replay's result", DOCUMENT_BYTES_MAX);
	if (!result->document)
		return -1;
	if (is_of_another_kind(result->document)) {
		wp_result_close(result);
		return 0;
	}
	wp_json_root(&root, &reader, result->document);
	read_document(&root, result);
	if (!reader.failed)
		return 1;
	wp_result_close(result);
	return -1;
}

int wp_result_load(const char *path, struct wp_result *result, struct wp_error *error)
{
	int found = wp_result_load_if(path, result, error);

	if (found == 0)
		return wp_error_at(error, WP_EXIT_CONTENT, path, 0, 0,
				   "not a replay's result: it has neither frames nor summary");
	return found < 0 ? -1 : 0;
}

void wp_result_close(struct wp_result *result)
{
	wp_json_free(result->document);
	memset(result, 0, sizeof(*result));
}

uint64_t wp_result_frame_stall_ns(const struct wp_result *result, size_t index)
{
	json_t *frame = json_array_get(json_object_get(result->document, "frames"), index);

	WP_CHECK(frame);
	return wp_full_scale_ns((uint64_t)json_integer_value(json_object_get(frame, "stall_ns")),
				result->scale);
}
