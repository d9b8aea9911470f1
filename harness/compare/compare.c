/*
 * Comparing two sides: match points, refuse what differs for other reasons than
 * the one looked for, test. The statistics are compare_stats.c's; nothing is
 * printed here.
 */
#include "harness/compare/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/units.h"

/* What has to be the same on both sides, and what the point is known by. */
static const struct {
	const char *section, *key;
	bool names_point;
} settings[] = {
    {"trace", "name", true},
    {"trace", "digest", false},
    {NULL, "arm", true},
    {NULL, "hints", false},
    {NULL, "world", true},
    {NULL, "residency", true},
    {NULL, "codec", true},
    {NULL, "model", true},
    {NULL, "machine", false},
    {NULL, "drive", false},
    {NULL, "positions", false},
    {NULL, "k", true},
    {NULL, "exclude_recent", false},
    {"scale", "effective", true},
    {NULL, "staging_blocks", false},
    {NULL, "warmup_frames", false},
    {NULL, "frames_asked", false},
    {NULL, "seed", false},
    {NULL, "block_bytes", false},
    {NULL, "compute_target_ns", false},
    {NULL, "copy_bytes_per_s", false},
    {NULL, "decode_bytes_per_s", false},
    {NULL, "read_bytes", false},
    {NULL, "read_depth", false},
    {"throttle", "asked_bytes_per_s", true},
    {"throttle", "method", false},
    {"store", "backend", false},
    {"store", "filesystem", false},
    {"store", "direct_io", false},
    {"machine_facts", "fingerprint", false},
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static json_t *setting_of(const struct wp_result *result, size_t i)
{
	json_t *object = result->document;

	if (settings[i].section)
		object = json_object_get(object, settings[i].section);
	return json_object_get(object, settings[i].key);
}

static bool setting_equal(const struct wp_result *a, const struct wp_result *b, size_t i)
{
	json_t *left = setting_of(a, i), *right = setting_of(b, i);

	return left == right || (left && right && json_equal(left, right));
}

static bool same_point(const struct wp_result *a, const struct wp_result *b)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		if (settings[i].names_point && !setting_equal(a, b, i))
			return false;
	}
	return true;
}

/* Appends what both sides have, or "BASE against NEW". */
static void append(struct wp_compare_point *point, const char *before, const char *base,
		   const char *new)
{
	size_t used = strlen(point->name);
	bool same = strcmp(base, new) == 0;

	snprintf(point->name + used, sizeof(point->name) - used, "%s%.64s%s%.64s", before, base,
		 same ? "" : " against ", same ? "" : new);
}

static const char *rate_text(char text[WP_UNITS_TEXT], const struct wp_result *result)
{
	return result->asked_bytes_per_s ? wp_units_rate(text, result->asked_bytes_per_s)
					 : "no limit";
}

static const char *count_text(char text[WP_UNITS_TEXT], uint64_t count)
{
	snprintf(text, WP_UNITS_TEXT, "%" PRIu64, count);
	return text;
}

static const char *scale_of(const struct wp_result *result)
{
	return result->scale_text[0] ? result->scale_text : "1";
}

static void name_point(struct wp_compare_point *point, const struct wp_result *base,
		       const struct wp_result *new)
{
	char text[WP_UNITS_TEXT], other[WP_UNITS_TEXT];

	point->name[0] = '\0';
	append(point, "", base->trace, new->trace);
	append(point, " ", base->arm, new->arm);
	append(point, ", k ", count_text(text, base->k), count_text(other, new->k));
	append(point, ", ", base->codec, new->codec);
	append(point, ", ", base->world, new->world);
	append(point, ", scale ", scale_of(base), scale_of(new));
	append(point, ", ", rate_text(text, base), rate_text(other, new));
	/* It is shown only where it tells the two apart. */
	if (strcmp(base->model, new->model) != 0)
		append(point, ", model ", base->model, new->model);
}

static struct wp_compare_point *add_point(struct wp_compare *compare,
					  const struct wp_result *result)
{
	struct wp_compare_point *point;

	compare->points =
	    realloc(compare->points, (compare->point_count + 1) * sizeof(*compare->points));
	WP_CHECK(compare->points);
	point = &compare->points[compare->point_count++];
	memset(point, 0, sizeof(*point));
	point->is_virtual = strcmp(result->world, "virtual") == 0;
	return point;
}

static const struct wp_result *run_of(const struct wp_compare *compare,
				      const struct wp_compare_point *point,
				      enum wp_compare_side side, uint32_t i)
{
	return &compare->runs[side][point->runs[side][i]].result;
}

static const struct wp_result *any_run_of(const struct wp_compare *compare,
					  const struct wp_compare_point *point)
{
	return run_of(compare, point,
		      point->count[WP_COMPARE_BASE] ? WP_COMPARE_BASE : WP_COMPARE_NEW, 0);
}

/* Whether all runs of a side are of one point: then the two are meant for each other. */
static bool is_single(const struct wp_compare *compare, enum wp_compare_side side)
{
	for (uint32_t i = 1; i < compare->run_count[side]; i++) {
		if (!same_point(&compare->runs[side][0].result, &compare->runs[side][i].result))
			return false;
	}
	return true;
}

static int sort_into_points(struct wp_compare *compare, struct wp_error *error)
{
	bool single = is_single(compare, WP_COMPARE_BASE) && is_single(compare, WP_COMPARE_NEW);

	for (int side = 0; side < WP_COMPARE_SIDES; side++) {
		for (uint32_t i = 0; i < compare->run_count[side]; i++) {
			const struct wp_result *result = &compare->runs[side][i].result;
			struct wp_compare_point *point = NULL;

			for (uint32_t at = 0; at < compare->point_count && !point; at++) {
				if (single ||
				    same_point(any_run_of(compare, &compare->points[at]), result))
					point = &compare->points[at];
			}
			if (!point)
				point = add_point(compare, result);
			if (point->count[0] + point->count[1] == WP_COMPARE_RUNS_MAX)
				return wp_error_set(error, WP_EXIT_CONTENT,
						    "more than %u runs of %s", WP_COMPARE_RUNS_MAX,
						    point->name);
			point->runs[side][point->count[side]++] = i;
			name_point(point, any_run_of(compare, point), result);
		}
	}
	return 0;
}

static void add_note(struct wp_compare *compare, const char *text)
{
	for (uint32_t i = 0; i < compare->note_count; i++) {
		if (strcmp(compare->notes[i], text) == 0)
			return;
	}
	if (compare->note_count < WP_COMPARE_NOTES_MAX)
		snprintf(compare->notes[compare->note_count++], sizeof(compare->notes[0]), "%s",
			 text);
}

/* Notes a difference when forced; otherwise it is the end. */
static int differs(struct wp_compare *compare, struct wp_error *error, const char *text)
{
	if (!compare->force)
		return wp_error_set(error, WP_EXIT_CONTENT, "%s (--force compares all the same)",
				    text);
	add_note(compare, text);
	return 0;
}

static int check_settings(struct wp_compare *compare, const struct wp_result *first,
			  const struct wp_result *other, struct wp_error *error)
{
	char text[256];

	for (size_t i = 0; i < SETTINGS; i++) {
		char *left, *right;
		int result;

		if (setting_equal(first, other, i))
			continue;
		left = json_dumps(setting_of(first, i), JSON_ENCODE_ANY);
		right = json_dumps(setting_of(other, i), JSON_ENCODE_ANY);
		snprintf(text, sizeof(text), "%s%s%s differs: %.80s and %.80s",
			 settings[i].section ? settings[i].section : "",
			 settings[i].section ? "." : "", settings[i].key, left ? left : "nothing",
			 right ? right : "nothing");
		free(left);
		free(right);
		result = differs(compare, error, text);
		if (result != 0)
			return result;
	}
	/* An update may be just what the comparison is about. */
	if (strcmp(first->kernel_release, other->kernel_release) != 0) {
		snprintf(text, sizeof(text), "the kernel differs: %.80s and %.80s",
			 first->kernel_release, other->kernel_release);
		add_note(compare, text);
	}
	return 0;
}

static int check_run(struct wp_compare *compare, const struct wp_compare_run *run,
		     struct wp_error *error)
{
	const struct wp_result *result = &run->result;
	char text[256];

	if (result->valid && !result->interrupted && result->stall_ns.n)
		return 0;
	snprintf(text, sizeof(text), "%.100s cannot be compared: %.100s", run->name,
		 result->interrupted ? "interrupted"
		 : result->reason[0] ? result->reason
		 : result->error[0]  ? result->error
		 : result->valid     ? "no frame after warm-up"
				     : "not valid");
	return differs(compare, error, text);
}

static int check_point(struct wp_compare *compare, const struct wp_compare_point *point,
		       struct wp_error *error)
{
	const struct wp_result *first = any_run_of(compare, point);
	char text[256];

	for (int side = 0; side < WP_COMPARE_SIDES; side++) {
		if (!point->count[side]) {
			snprintf(text, sizeof(text), "only in %s: %.200s",
				 side == WP_COMPARE_BASE ? "NEW" : "BASE", point->name);
			if (differs(compare, error, text) != 0)
				return -1;
		}
		for (uint32_t i = 0; i < point->count[side]; i++) {
			uint32_t run = point->runs[side][i];

			if (check_run(compare, &compare->runs[side][run], error) != 0 ||
			    check_settings(compare, first, &compare->runs[side][run].result,
					   error) != 0)
				return -1;
		}
	}
	return 0;
}

static json_t *frames_of(const struct wp_result *result)
{
	return json_object_get(result->document, "frames");
}

/* The first frame and key in which two results differ. */
static void find_difference(struct wp_compare_point *point, const struct wp_result *a,
			    const struct wp_result *b)
{
	size_t count = json_array_size(frames_of(a));
	const char *key;
	json_t *value;

	if (count > json_array_size(frames_of(b)))
		count = json_array_size(frames_of(b));
	for (size_t i = 0; i < count; i++) {
		json_t *other = json_array_get(frames_of(b), i);

		json_object_foreach(json_array_get(frames_of(a), i), key, value)
		{
			json_t *there = json_object_get(other, key);

			if (there && json_equal(value, there))
				continue;
			snprintf(point->difference, sizeof(point->difference),
				 "frame %zu, %.60s: %lld and %lld", i, key,
				 (long long)json_integer_value(value),
				 (long long)json_integer_value(there));
			return;
		}
	}
	snprintf(point->difference, sizeof(point->difference), "%s",
		 a->frame_count == b->frame_count ? "the summary" : "the number of frames");
}

static void compare_bits(const struct wp_compare *compare, struct wp_compare_point *point)
{
	const struct wp_result *first = any_run_of(compare, point);

	point->equal = true;
	for (int side = 0; side < WP_COMPARE_SIDES; side++) {
		for (uint32_t i = 0; i < point->count[side] && point->equal; i++) {
			const struct wp_result *other =
			    run_of(compare, point, (enum wp_compare_side)side, i);

			point->equal = strcmp(first->digest, other->digest) == 0;
			if (!point->equal)
				find_difference(point, first, other);
		}
	}
}

int wp_compare_run(struct wp_compare *compare, struct wp_error *error)
{
	if (sort_into_points(compare, error) != 0)
		return -1;
	for (uint32_t i = 0; i < compare->point_count; i++) {
		if (check_point(compare, &compare->points[i], error) != 0)
			return -1;
	}
	for (uint32_t i = 0; i < compare->point_count; i++) {
		struct wp_compare_point *point = &compare->points[i];

		if (!point->count[WP_COMPARE_BASE] || !point->count[WP_COMPARE_NEW])
			continue;
		if (point->is_virtual)
			compare_bits(compare, point);
		else
			wp_compare_measure(compare, point);
		compare->worse += point->is_virtual && !point->equal;
	}
	wp_compare_judge(compare);
	return 0;
}
