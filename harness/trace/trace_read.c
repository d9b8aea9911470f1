/*
 * Reading a trace. Does not interpret: it checks. Everything that replay relies
 * on (blocks that exist, sets without repeats, frames in order, counts that
 * agree) is made sure of here, with the line it is wrong in, so that nothing
 * behind it has to ask again.
 */
#include "harness/trace/trace.h"

#include <stdlib.h>
#include <string.h>

#include "harness/files/input_file.h"
#include "harness/files/json_file.h"
#include "harness/tool.h"
#include "harness/trace/trace_keys.h"
#include "harness/units.h"

#define WHAT	       "a worldpager trace"
#define POSE_MAX       1e8 /* metres or degrees; beyond any session, far below lost precision */
#define HINTS_MAX      WP_STAGING_MAX
#define COMPUTE_NS_MAX 1000000000000000ull /* eleven days a frame */

struct reading {
	struct wp_trace *trace;
	struct wp_input_lines lines;
	struct wp_json_reader json;
	uint32_t frames_expected;
	uint32_t *seen; /* by block: 1 + the last list that named it */
	uint32_t seen_room;
	uint32_t lists; /* block lists read so far */
	uint32_t retrieved[WP_SET_BLOCKS_MAX];
	uint32_t hints[HINTS_MAX];
};

static bool mentions(const char *text, size_t size, const char *word)
{
	return memmem(text, size, word, strlen(word)) != NULL;
}

static bool is_blank(const char *text, size_t size)
{
	while (size && (*text == ' ' || *text == '\t')) {
		text++;
		size--;
	}
	return size == 0;
}

/* What a first line is that is not a header, for "not a worldpager trace (found ...)". */
static const char *kind_of_line(const char *text, size_t size)
{
	const char *first = text;

	if (is_blank(text, size))
		return "an empty first line";
	while (*first == ' ' || *first == '\t')
		first++;
	if (*first == '{' || *first == '[')
		return "JSON that is not one object a line";
	return "text that is not JSON";
}

static void refuse_kind(struct reading *reading, const char *found)
{
	reading->json.failed = true;
	wp_error_at(reading->json.error, WP_EXIT_CONTENT, reading->lines.path, 1, 0,
		    "not " WHAT " (found %s)", found);
}

static void check_unit(struct wp_json *units, const char *key, const char *known)
{
	char unit[32];

	wp_json_string(units, key, unit, sizeof(unit));
	if (strcmp(unit, known))
		wp_json_fail(units, key, "\"%s\" is not known (\"%s\" is)", unit, known);
}

static void read_header_keys(struct reading *reading, struct wp_json *root)
{
	struct wp_trace *trace = reading->trace;
	struct wp_json units;

	trace->rule = wp_rule_default();
	if (wp_json_u32(root, "version", 0, UINT32_MAX) != WP_TRACE_VERSION)
		wp_json_fail(root, "version", "is not known (%d is)", WP_TRACE_VERSION);
	wp_json_name(root, "name", trace->name, sizeof(trace->name));
	wp_json_string(root, "model", trace->model, sizeof(trace->model));
	wp_trace_keys_origin(root, trace->origin, sizeof(trace->origin));
	wp_json_string(root, "made_by", trace->made_by, sizeof(trace->made_by));
	reading->frames_expected = wp_json_u32(root, "frames", 1, WP_BLOCKS_MAX);
	trace->rule.k = wp_json_u32(root, "k", 1, WP_SET_BLOCKS_MAX);
	trace->rule.exclude_recent = wp_json_u32(root, "exclude_recent", 0, WP_BLOCKS_MAX);
	trace->has_rule = wp_json_has(root, "rule");
	wp_trace_keys_rule(root, &trace->rule);
	trace->has_motion = wp_json_has(root, "camera_degrees_per_video_frame") ||
			    wp_json_has(root, "walk_metres_per_video_frame");
	wp_trace_keys_motion(root, trace->has_motion, &trace->motion);
	if (wp_json_has(root, "units")) {
		wp_json_object(root, "units", &units);
		check_unit(&units, "position", "m");
		check_unit(&units, "angle", "degrees");
		check_unit(&units, "time", "ns");
		wp_json_only(&units);
	}
	wp_json_only(root);
}

static void read_header(struct reading *reading, const char *text, size_t size)
{
	struct json_t *document;
	struct wp_json root;
	char format[64], found[128];

	reading->json.line = 1;
	document = wp_json_parse(&reading->json, text, size);
	if (!document) {
		/* A damaged header keeps its line and column; anything else is named. */
		if (!mentions(text, size, WP_TRACE_FORMAT))
			refuse_kind(reading, kind_of_line(text, size));
		return;
	}
	wp_json_root(&root, &reading->json, document);
	if (reading->json.failed) {
		refuse_kind(reading, "JSON that is not an object");
	} else if (!wp_json_is_string(&root, "format")) {
		refuse_kind(reading, wp_json_has(&root, "frame") ? "a frame before any header"
								 : "JSON without a format name");
	} else {
		wp_json_string(&root, "format", format, sizeof(format));
		snprintf(found, sizeof(found), "format \"%s\"", format);
		if (strcmp(format, WP_TRACE_FORMAT))
			refuse_kind(reading, found);
		read_header_keys(reading, &root);
	}
	wp_json_free(document);
}

static void read_pose(struct wp_json *root, const char *key, struct wp_pose *pose)
{
	struct wp_json array;
	double values[5] = {0};

	if (wp_json_array(root, key, 5, 5, &array) == 5) {
		for (uint32_t i = 0; i < 5; i++) {
			values[i] = wp_json_at_number(&array, i, -POSE_MAX, POSE_MAX);
		}
	}
	*pose = (struct wp_pose){values[0], values[1], values[2], values[3], values[4]};
	*pose = wp_pose_rounded(pose);
}

/* Blocks that exist when `frame` is made, each once. */
static uint32_t read_blocks(struct reading *reading, struct wp_json *root, const char *key,
			    uint32_t frame, uint32_t *blocks, uint32_t max)
{
	struct wp_json array;
	uint32_t count = wp_json_array(root, key, 0, WP_BLOCKS_MAX, &array);

	if (count > max) {
		wp_json_fail(root, key, "has %u blocks, more than %s%u", count,
			     blocks == reading->retrieved ? "k = " : "", max);
		return 0;
	}
	reading->lists++;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t block = wp_json_at_u64(&array, i, 0, UINT32_MAX);

		if (reading->json.failed)
			return 0;
		if (block >= frame) {
			wp_json_fail(root, key, "block %llu is used in frame %u, before it exists",
				     (unsigned long long)block, frame);
			return 0;
		}
		if (reading->seen[block] == reading->lists) {
			wp_json_fail(root, key, "block %llu appears twice",
				     (unsigned long long)block);
			return 0;
		}
		reading->seen[block] = reading->lists;
		blocks[i] = (uint32_t)block;
	}
	return count;
}

static void check_frame_number(struct reading *reading, struct wp_json *root)
{
	uint32_t expected = reading->trace->frames;
	uint32_t number = wp_json_u32(root, "frame", 0, UINT32_MAX);

	if (number < expected)
		wp_json_fail(root, NULL, "frame %u appears again (first in line %u)", number,
			     number + 2);
	else if (number > expected)
		wp_json_fail(root, NULL, "frame %u stands where frame %u should", number, expected);
	else if (expected == reading->frames_expected)
		wp_json_fail(root, NULL, "more frames than the header's %u", expected);
}

static void read_frame_keys(struct reading *reading, struct wp_json *root)
{
	struct wp_trace *trace = reading->trace;
	struct wp_trace_frame frame = {.retrieved = reading->retrieved, .hints = reading->hints};
	struct wp_pose pose, end;
	bool has_pose = wp_json_has(root, "pose") || wp_json_has(root, "end");

	if (wp_json_has(root, "format"))
		wp_json_fail(root, NULL, "a second header");
	check_frame_number(reading, root);
	if (has_pose) {
		read_pose(root, "pose", &pose);
		read_pose(root, "end", &end);
		frame.pose = &pose;
		frame.end = &end;
	}
	if (trace->frames && has_pose != trace->has_poses)
		wp_json_fail(root, NULL, "has %s pose, unlike the frames before it",
			     has_pose ? "a" : "no");
	frame.retrieved_count = read_blocks(reading, root, "retrieved", trace->frames,
					    reading->retrieved, trace->rule.k);
	frame.has_hints = wp_json_has(root, "hints");
	if (frame.has_hints)
		frame.hints_count =
		    read_blocks(reading, root, "hints", trace->frames, reading->hints, HINTS_MAX);
	frame.compute_ns = wp_json_u64_or(root, "compute_ns", 1, COMPUTE_NS_MAX, 0);
	wp_json_only(root);
	if (!reading->json.failed && wp_trace_append(trace, &frame) < 0)
		wp_json_fail(root, NULL, "out of memory");
}

static int make_seen_room(struct reading *reading, uint32_t frame)
{
	uint32_t room = 2 * frame + 256;
	uint32_t *larger;

	if (frame < reading->seen_room)
		return 0;
	larger = reallocarray(reading->seen, room, sizeof(*larger));
	if (!larger)
		return -1;
	memset(larger + reading->seen_room, 0, (room - reading->seen_room) * sizeof(*larger));
	reading->seen = larger;
	reading->seen_room = room;
	return 0;
}

static void read_frame(struct reading *reading, const char *text, size_t size)
{
	struct json_t *document;
	struct wp_json root;

	reading->json.line = reading->lines.line;
	if (is_blank(text, size)) {
		reading->json.failed = true;
		wp_error_at(reading->json.error, WP_EXIT_CONTENT, reading->lines.path,
			    reading->lines.line, 0, "empty line");
		return;
	}
	document = wp_json_parse(&reading->json, text, size);
	if (!document)
		return;
	wp_json_root(&root, &reading->json, document);
	if (make_seen_room(reading, reading->trace->frames) < 0)
		wp_json_fail(&root, NULL, "out of memory");
	read_frame_keys(reading, &root);
	wp_json_free(document);
}

static int read_lines(struct reading *reading, struct wp_error *error)
{
	const char *text;
	size_t size;
	int got;

	while ((got = wp_input_lines_next(&reading->lines, &text, &size, error)) > 0) {
		if (reading->lines.line == 1)
			read_header(reading, text, size);
		else
			read_frame(reading, text, size);
		if (reading->json.failed)
			return -1;
	}
	if (got < 0)
		return -1;
	if (reading->lines.line == 0) {
		refuse_kind(reading, "an empty file");
		return -1;
	}
	if (reading->trace->frames < reading->frames_expected)
		return wp_error_at(error, WP_EXIT_CONTENT, reading->lines.path,
				   reading->lines.line + 1, 0,
				   "the file ends after %u of the header's %u frames",
				   reading->trace->frames, reading->frames_expected);
	return 0;
}

static int read_file(struct wp_trace *trace, const char *path, struct wp_error *error)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	int result = -1;

	if (!reading)
		return wp_error_at(error, WP_EXIT_CONTENT, path, 0, 0, "out of memory");
	reading->trace = trace;
	reading->json =
	    (struct wp_json_reader){.file = path, .exit_code = WP_EXIT_CONTENT, .error = error};
	if (wp_input_lines_open(&reading->lines, path, WHAT, WP_EXIT_CONTENT, error) == 0) {
		result = read_lines(reading, error);
		wp_input_lines_digest(&reading->lines, trace->digest);
	}
	wp_input_lines_close(&reading->lines);
	free(reading->seen);
	free(reading);
	return result;
}

int wp_trace_load(struct wp_trace *trace, const char *name_or_path, uint32_t frames_max,
		  struct wp_error *error)
{
	char path[WP_PATH_MAX], frames[WP_UNITS_TEXT];

	memset(trace, 0, sizeof(*trace));
	if (wp_tool_resolve(path, WP_RESOURCE_TRACE, name_or_path, error) < 0)
		return -1;
	if (read_file(trace, path, error) < 0) {
		wp_trace_done(trace);
		return -1;
	}
	snprintf(trace->file, sizeof(trace->file), "%.255s", path);
	if (frames_max > trace->frames) {
		wp_error_at(error, WP_EXIT_USAGE, path, 0, 0, "has %s; %u were asked for",
			    wp_units_counted(frames, trace->frames, "frame"), frames_max);
		wp_trace_done(trace);
		return -1;
	}
	if (frames_max)
		trace->frames = frames_max;
	return 0;
}
