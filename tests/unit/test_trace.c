/*
 * Traces: every file of tests/cases/traces/bad is refused where and as its line
 * of expected.txt says, every file of good loads, and what is written reads back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "harness/tool.h"
#include "harness/trace/trace.h"
#include "pager/random.h"

#define CASES "tests/cases/traces/"

static void find_case(char path[WP_PATH_MAX], const char *folder, const char *name)
{
	char relative[256];
	struct wp_error error;

	snprintf(relative, sizeof(relative), CASES "%s/%s", folder, name);
	if (wp_tool_file(path, relative, &error) < 0)
		fail_msg("%s", error.text);
}

/* "3" is line 3 without a column, "3:" line 3 with one, "3:7" exactly that. */
static bool place_agrees(const struct wp_error *error, const char *place)
{
	char shown[48];
	size_t length = strlen(place);

	if (!*place)
		return error->line == 0 && error->column == 0;
	if (error->column)
		snprintf(shown, sizeof(shown), "%d:%d", error->line, error->column);
	else
		snprintf(shown, sizeof(shown), "%d", error->line);
	if (place[length - 1] == ':')
		return !strncmp(shown, place, length) && error->column > 0;
	return !strcmp(shown, place);
}

static void check_bad(char *line)
{
	char name[128], path[WP_PATH_MAX];
	char *place = strchr(line, '\t'), *text = place ? strchr(place + 1, '\t') : NULL;
	struct wp_trace trace;
	struct wp_error error = {0};

	assert_non_null(text);
	*place++ = '\0';
	*text++ = '\0';
	text[strcspn(text, "\n")] = '\0';
	snprintf(name, sizeof(name), "%.100s.jsonl", line);
	find_case(path, "bad", name);
	assert_int_equal(wp_trace_load(&trace, path, 0, &error), -1);
	if (!place_agrees(&error, place) || strncmp(error.text, text, strlen(text)))
		fail_msg("%s: %d:%d: %s\nexpected %s: %s", name, error.line, error.column,
			 error.text, place, text);
	assert_int_equal(error.exit_code, WP_EXIT_CONTENT);
	assert_null(strchr(error.text, '\n'));
	assert_null(trace.poses);
	assert_null(trace.retrieved.first);
}

static void test_bad_files(void **state)
{
	char path[WP_PATH_MAX], line[512];
	unsigned count = 0;
	FILE *expected;

	(void)state;
	find_case(path, "bad", "expected.txt");
	expected = fopen(path, "r");
	assert_non_null(expected);
	while (fgets(line, sizeof(line), expected)) {
		check_bad(line);
		count++;
	}
	fclose(expected);
	assert_true(count > 60);
}

static void test_good_files(void **state)
{
	static const char *const names[] = {
	    "plain.jsonl", "crlf.jsonl",      "byte_order_mark.jsonl", "no_final_newline.jsonl",
	    "tabs.jsonl",  "own_hints.jsonl", "own_compute.jsonl",     "unicode.jsonl",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[WP_PATH_MAX];
		struct wp_trace trace;
		struct wp_error error;
		const uint32_t *blocks;

		find_case(path, "good", names[i]);
		if (wp_trace_load(&trace, path, 0, &error) < 0)
			fail_msg("%s:%d: %s", names[i], error.line, error.text);
		assert_int_equal(trace.frames, 3);
		assert_int_equal(wp_trace_retrieved(&trace, 0, &blocks), 0);
		assert_int_equal(wp_trace_retrieved(&trace, 2, &blocks), 2);
		assert_int_equal(blocks[0], 1);
		assert_int_equal(blocks[1], 0);
		assert_int_equal(wp_trace_compute_ns(&trace, 0), i == 6 ? 900000000 : 0);
		assert_int_equal(wp_trace_hints(&trace, 1, &blocks), i == 5 ? 1 : 0);
		assert_int_equal(trace.has_hints, i == 5);
		wp_trace_done(&trace);
	}
}

static void test_more_frames_than_there_are(void **state)
{
	char path[WP_PATH_MAX];
	struct wp_trace trace;
	struct wp_error error = {0};

	(void)state;
	find_case(path, "good", "plain.jsonl");
	assert_int_equal(wp_trace_load(&trace, path, 4, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_USAGE);
	assert_true(place_agrees(&error, "")); /* it is no fault of a line */
	assert_string_equal(error.text, "has 3 frames; 4 were asked for");
	assert_null(trace.poses);
	for (uint32_t frames = 1; frames <= 3; frames++) {
		assert_int_equal(wp_trace_load(&trace, path, frames, &error), 0);
		assert_int_equal(trace.frames, frames);
		wp_trace_done(&trace);
	}
}

/* A temporary file with this text; unlink() and free() the path. */
static char *write_file(const void *text, size_t size)
{
	const char *folder = getenv("TMPDIR");
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%.200s/traceXXXXXX", folder ? folder : "/tmp");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
	return strdup(path);
}

static void test_long_line(void **state)
{
	static const char header[] = "{\"format\":\"worldpager-trace\"";
	size_t size = 2 << 20;
	char *text = malloc(size), *path;
	struct wp_trace trace;
	struct wp_error error;

	(void)state;
	memset(text, ' ', size);
	memcpy(text, header, sizeof(header) - 1);
	path = write_file(text, size);
	assert_int_equal(wp_trace_load(&trace, path, 0, &error), -1);
	assert_int_equal(error.line, 1);
	assert_string_equal(error.text, "line is longer than 1048576 bytes");
	unlink(path);
	free(path);
	free(text);
}

static void test_first_frames(void **state)
{
	struct wp_trace whole, part, none;
	struct wp_error error;
	const uint32_t *a, *b;

	(void)state;
	assert_int_equal(wp_trace_load(&whole, "b1_ws", 0, &error), 0);
	assert_int_equal(wp_trace_load(&part, "b1_ws", 50, &error), 0);
	assert_int_equal(part.frames, 50);
	assert_string_equal(part.digest, whole.digest);
	for (uint32_t i = 0; i < 50; i++) {
		assert_int_equal(wp_trace_retrieved(&part, i, &a),
				 wp_trace_retrieved(&whole, i, &b));
		assert_memory_equal(a, b, wp_trace_retrieved(&part, i, &a) * sizeof(*a));
	}
	assert_int_equal(wp_trace_load(&none, "b1_ws", 161, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_USAGE);
	assert_string_equal(error.text, "has 160 frames; 161 were asked for");
	wp_trace_done(&whole);
	wp_trace_done(&part);
}

static void test_names(void **state)
{
	struct wp_trace trace;
	struct wp_error error;

	(void)state;
	assert_int_equal(wp_trace_load(&trace, "b1", 0, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_CONTENT);
	assert_non_null(strstr(error.text, "a_yaw, b1_ws, explore_return, mixed"));
	assert_int_equal(wp_trace_load(&trace, "", 0, &error), -1);
	assert_int_equal(wp_trace_load(&trace, "./nonsuch", 0, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_CONTENT);
	assert_string_equal(error.file, "./nonsuch");
	assert_int_equal(wp_trace_load(&trace, "nonsuch.jsonl", 0, &error), -1);
	assert_string_equal(error.file, "nonsuch.jsonl");
}

/* A trace of drawn sets, written, read back and written again: the same bytes. */
static void check_round_trip(uint64_t seed, bool poses, bool hints)
{
	struct wp_random random = {.state = seed};
	struct wp_trace made = {.rule = wp_rule_default()}, back;
	struct wp_error error;
	char *first = NULL, *second = NULL, *path;
	size_t first_size, second_size;
	FILE *stream;

	snprintf(made.name, sizeof(made.name), "drawn-%llu", (unsigned long long)seed);
	strcpy(made.model, "mg2 \"x\" \\ y");
	strcpy(made.origin, "synthetic");
	strcpy(made.made_by, "test_trace");
	made.has_rule = poses;
	made.rule.translation_weight = 1.0 / 3;
	made.rule.tie = 2.5e-7;
	made.motion.video_frames_per_frame = 12;
	for (uint32_t i = 0; i < 300; i++) {
		uint32_t set[2] = {0, 1}, count = i < 2 ? i : (uint32_t)wp_random_below(&random, 3);
		struct wp_pose pose = {(double)wp_random_below(&random, 1000) / 7 - 70, -1e-9, 3,
				       -18.5, (double)wp_random_below(&random, 100) / 3};
		struct wp_trace_frame frame = {.retrieved = set,
					       .retrieved_count = count,
					       .hints = set,
					       .hints_count = hints && i > 1 ? 2 : 0,
					       .has_hints = hints,
					       .compute_ns = wp_random_below(&random, 2) * 77};

		pose = wp_pose_rounded(&pose);
		if (poses)
			frame.pose = frame.end = &pose;
		assert_int_equal(wp_trace_append(&made, &frame), 0);
	}
	stream = open_memstream(&first, &first_size);
	wp_trace_write(stream, &made);
	fclose(stream);
	path = write_file(first, first_size);
	if (wp_trace_load(&back, path, 0, &error) < 0)
		fail_msg("seed %llu: line %d: %s", (unsigned long long)seed, error.line,
			 error.text);
	stream = open_memstream(&second, &second_size);
	wp_trace_write(stream, &back);
	fclose(stream);
	assert_int_equal(first_size, second_size);
	assert_memory_equal(first, second, first_size);
	assert_int_equal(back.has_poses, poses);
	assert_int_equal(back.has_hints, hints);
	assert_int_equal(back.has_rule, poses);
	if (poses)
		assert_true(back.rule.translation_weight == 1.0 / 3 && back.rule.tie == 2.5e-7);
	if (poses)
		assert_memory_equal(back.poses, made.poses, 300 * sizeof(*made.poses));
	unlink(path);
	free(path);
	free(first);
	free(second);
	wp_trace_done(&made);
	wp_trace_done(&back);
}

static void test_round_trip(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++)
		check_round_trip(seed, seed & 1, seed & 2);
}

static void test_other_k(void **state)
{
	struct wp_trace trace;
	struct wp_error error;
	const uint32_t *blocks;
	char path[WP_PATH_MAX];
	uint32_t equal;

	(void)state;
	assert_int_equal(wp_trace_load(&trace, "a_yaw", 0, &error), 0);
	assert_int_equal(wp_trace_set_k(&trace, 3, &error), 0);
	assert_int_equal(wp_trace_retrieved(&trace, 100, &blocks), 3);
	assert_int_equal(blocks[0], 80);
	assert_int_equal(blocks[1], 60);
	assert_int_equal(blocks[2], 40);
	assert_int_equal(wp_trace_check_rule(&trace, &equal), 0);
	assert_int_equal(equal, 160);
	assert_int_equal(wp_trace_set_k(&trace, 1, &error), 0);
	assert_int_equal(wp_trace_retrieved(&trace, 100, &blocks), 1);
	assert_int_equal(blocks[0], 80);
	wp_trace_done(&trace);

	find_case(path, "good", "plain.jsonl");
	assert_int_equal(wp_trace_load(&trace, path, 0, &error), 0);
	assert_int_equal(wp_trace_set_k(&trace, 2, &error), 0);
	assert_int_equal(wp_trace_set_k(&trace, 1, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_USAGE);
	wp_trace_done(&trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bad_files),
	    cmocka_unit_test(test_good_files),
	    cmocka_unit_test(test_more_frames_than_there_are),
	    cmocka_unit_test(test_long_line),
	    cmocka_unit_test(test_first_frames),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_other_k),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
