/*
 * The document of the overlap experiment, written and read back. Reading takes
 * nothing on trust, as for all results.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/experiments/overlap.h"
#include "harness/files/json_file.h"
#include "harness/files/json_value.h"
#include "harness/files/output.h"
#include "harness/tool.h"

#define DOCUMENT_BYTES_MAX (1u << 20)

static json_t *stats_json(const struct wp_stats *stats)
{
	json_t *object = json_object();

	wp_json_put(object, "n", wp_json_count(stats->n));
	wp_json_put(object, "mean", wp_json_count(stats->mean));
	wp_json_put(object, "min", wp_json_count(stats->min));
	wp_json_put(object, "p50", wp_json_count(stats->p50));
	wp_json_put(object, "p90", wp_json_count(stats->p90));
	wp_json_put(object, "max", wp_json_count(stats->max));
	return object;
}

static json_t *point_json(const struct wp_overlap *overlap, const struct wp_overlap_point *point)
{
	json_t *object = json_object();

	wp_json_put(object, "buffers", wp_json_count(point->buffers));
	wp_json_put(object, "transfer_bytes", wp_json_count(point->bytes));
	wp_json_put(object, "transfer_full_scale_bytes", wp_json_count(point->bytes_full));
	wp_json_put(object, "stall_ns", stats_json(&point->stall));
	wp_json_put(object, "copy_ns", stats_json(&point->copy));
	wp_json_put(object, "stall_full_scale_p50_ns",
		    wp_json_count(wp_overlap_full_ns(overlap, point->stall.p50)));
	return object;
}

static json_t *document_of(const struct wp_overlap *overlap)
{
	json_t *object = json_object(), *tool = json_object(), *points = json_array();

	wp_json_put(tool, "name", wp_json_text("worldpager"));
	wp_json_put(tool, "version", wp_json_text(wp_tool_version()));
	wp_json_put(tool, "commit", wp_json_text(wp_tool_commit()));
	for (uint32_t i = 0; i < overlap->count; i++)
		WP_CHECK(json_array_append_new(points, point_json(overlap, &overlap->points[i])) ==
			 0);
	wp_json_put(object, "schema_version", wp_json_count(1));
	wp_json_put(object, "tool", tool);
	wp_json_put(object, "world", wp_json_text(overlap->world));
	wp_json_put(object, "machine", wp_json_text(overlap->machine));
	wp_json_put(object, "model", wp_json_text(overlap->model));
	wp_json_put(object, "gpu", wp_json_text(overlap->gpu));
	wp_json_put(object, "scale", wp_json_text(overlap->scale_text));
	wp_json_put(object, "scale_effective", wp_json_real(overlap->scale));
	wp_json_put(object, "compute_ns", wp_json_count(overlap->compute_ns));
	wp_json_put(object, "compute_full_scale_ns", wp_json_count(overlap->compute_full_ns));
	wp_json_put(object, "copy_bytes_per_s", wp_json_count(overlap->copy_bytes_per_s));
	wp_json_put(object, "copy_governed_by_memcpy", json_boolean(overlap->memcpy_governed));
	wp_json_put(object, "slots_bytes", wp_json_count(overlap->memory_bytes));
	wp_json_put(object, "frames", wp_json_count(overlap->frames));
	wp_json_put(object, "warmup_frames", wp_json_count(overlap->warmup_frames));
	wp_json_put(object, "points", points);
	return object;
}

int wp_overlap_write(const struct wp_overlap *overlap, const char *path, struct wp_error *error)
{
	struct wp_output output;
	json_t *document;

	if (wp_output_open(&output, path, error) != 0)
		return -1;
	document = document_of(overlap);
	/* A short write shows in the stream's error flag, which the commit looks at. */
	(void)!json_dumpf(document, output.stream, JSON_INDENT(1));
	fputc('\n', output.stream);
	json_decref(document);
	return wp_output_commit(&output, error);
}

static void read_stats(struct wp_json *point, const char *key, struct wp_stats *stats)
{
	struct wp_json object;

	wp_json_object(point, key, &object);
	stats->n = wp_json_u64(&object, "n", 1, UINT32_MAX);
	stats->mean = wp_json_u64(&object, "mean", 0, INT64_MAX);
	stats->min = wp_json_u64(&object, "min", 0, INT64_MAX);
	stats->p50 = wp_json_u64(&object, "p50", stats->min, INT64_MAX);
	stats->p90 = wp_json_u64(&object, "p90", stats->p50, INT64_MAX);
	stats->max = wp_json_u64(&object, "max", stats->p90, INT64_MAX);
	wp_json_only(&object);
}

static void read_point(struct wp_json *points, uint32_t index, struct wp_overlap_point *point)
{
	struct wp_json object;

	wp_json_at_object(points, index, &object);
	point->buffers = wp_json_u32(&object, "buffers", 1, 2);
	point->bytes = wp_json_u64(&object, "transfer_bytes", 1, INT64_MAX);
	point->bytes_full = wp_json_u64(&object, "transfer_full_scale_bytes", 1, INT64_MAX);
	read_stats(&object, "stall_ns", &point->stall);
	read_stats(&object, "copy_ns", &point->copy);
	(void)wp_json_u64(&object, "stall_full_scale_p50_ns", 0, INT64_MAX);
	wp_json_only(&object);
}

static void read_tool(struct wp_json *root)
{
	struct wp_json tool;
	char text[64];

	wp_json_object(root, "tool", &tool);
	wp_json_string(&tool, "name", text, sizeof(text));
	wp_json_string(&tool, "version", text, sizeof(text));
	wp_json_string(&tool, "commit", text, sizeof(text));
	wp_json_only(&tool);
}

static void read_document(struct wp_json *root, struct wp_overlap *overlap)
{
	struct wp_json points;

	(void)wp_json_u64(root, "schema_version", 1, 1);
	read_tool(root);
	wp_json_string(root, "world", overlap->world, sizeof(overlap->world));
	wp_json_string(root, "machine", overlap->machine, sizeof(overlap->machine));
	wp_json_string(root, "model", overlap->model, sizeof(overlap->model));
	if (wp_json_is_string(root, "gpu"))
		wp_json_string(root, "gpu", overlap->gpu, sizeof(overlap->gpu));
	else
		(void)wp_json_has(root, "gpu");
	wp_json_string(root, "scale", overlap->scale_text, sizeof(overlap->scale_text));
	overlap->scale = wp_json_number(root, "scale_effective", 1e-9, 1);
	overlap->compute_ns = wp_json_u64(root, "compute_ns", 1, INT64_MAX);
	overlap->compute_full_ns = wp_json_u64(root, "compute_full_scale_ns", 1, INT64_MAX);
	overlap->copy_bytes_per_s = wp_json_u64(root, "copy_bytes_per_s", 0, INT64_MAX);
	overlap->memcpy_governed = wp_json_bool_or(root, "copy_governed_by_memcpy", false);
	overlap->memory_bytes = wp_json_u64(root, "slots_bytes", 1, INT64_MAX);
	overlap->frames = wp_json_u32(root, "frames", 1, UINT32_MAX);
	overlap->warmup_frames = wp_json_u32(root, "warmup_frames", 0, UINT32_MAX);
	overlap->count = wp_json_array(root, "points", 1, WP_OVERLAP_POINTS_MAX, &points);
	for (uint32_t i = 0; i < overlap->count && !root->reader->failed; i++)
		read_point(&points, i, &overlap->points[i]);
	wp_json_only(root);
}

static int load(struct wp_overlap *overlap, const char *path, struct wp_error *error)
{
	struct wp_json_reader reader = {.file = path, .exit_code = WP_EXIT_CONTENT, .error = error};
	struct json_t *document = wp_json_load(&reader, "an overlap document", DOCUMENT_BYTES_MAX);
	struct wp_json root;

	if (!document)
		return -1;
	memset(overlap, 0, sizeof(*overlap));
	wp_json_root(&root, &reader, document);
	read_document(&root, overlap);
	wp_json_free(document);
	return reader.failed ? -1 : 0;
}

int wp_overlaps_load(struct wp_overlaps *overlaps, const char *folder, struct wp_error *error)
{
	static const char *const worlds[] = {"virtual", "model", "real"};

	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++) {
		char path[WP_PATH_MAX];
		FILE *stream;

		if (snprintf(path, sizeof(path), "%s/overlap_%s.json", folder, worlds[i]) >=
		    (int)sizeof(path))
			return wp_error_set(error, WP_EXIT_USAGE, "the folder's name is too long");
		stream = fopen(path, "re");
		if (!stream && errno == ENOENT)
			continue;
		if (stream)
			fclose(stream);
		if (overlaps->count == WP_OVERLAPS_MAX)
			return wp_error_at(error, WP_EXIT_CONTENT, path, 0, 0,
					   "more than %u overlap documents", WP_OVERLAPS_MAX);
		if (load(&overlaps->runs[overlaps->count], path, error) != 0)
			return -1;
		overlaps->count++;
	}
	return 0;
}
