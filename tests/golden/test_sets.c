/*
 * The committed traces: their golden sets, what the hints make of them, and how
 * often a cache of the paper's size would read. Change the expected values only
 * together with the definition of motion, rule or hints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/trace/hints.h"
#include "harness/trace/trace.h"
#include "harness/trace/trace_info.h"

static void load(struct wp_trace *trace, const char *name)
{
	struct wp_error error;

	if (wp_trace_load(trace, name, 0, &error) < 0)
		fail_msg("%s:%d: %s", name, error.line, error.text);
}

static void check_set(const struct wp_trace *trace, uint32_t frame, uint32_t first, uint32_t second)
{
	const uint32_t *blocks;

	assert_int_equal(wp_trace_retrieved(trace, frame, &blocks), 2);
	if (blocks[0] != first || blocks[1] != second)
		fail_msg("%s, frame %u: [%u, %u], expected [%u, %u]", trace->name, frame, blocks[0],
			 blocks[1], first, second);
}

static void test_a_yaw(void **state)
{
	struct wp_trace trace;
	struct wp_trace_info info;

	(void)state;
	load(&trace, "a_yaw");
	check_set(&trace, 20, 0, 1);
	check_set(&trace, 30, 10, 11);
	check_set(&trace, 40, 20, 0);
	check_set(&trace, 100, 80, 60);
	check_set(&trace, 159, 139, 119);
	assert_int_equal(wp_trace_info_make(&trace, &info), 0);
	assert_int_equal(info.hold_last.frames_missed, 0);
	assert_int_equal(info.rule_frames_equal, 160);
	wp_trace_done(&trace);
}

static void test_b1_ws(void **state)
{
	struct wp_trace trace;
	struct wp_trace_info info;

	(void)state;
	load(&trace, "b1_ws");
	check_set(&trace, 100, 90, 80);
	check_set(&trace, 101, 91, 81);
	check_set(&trace, 102, 92, 82);
	assert_int_equal(wp_trace_info_make(&trace, &info), 0);
	assert_int_equal(info.hold_last.frames, 140);
	assert_int_equal(info.hold_last.frames_missed, 28);
	assert_int_equal(info.alternatives.frames_missed, 0);
	assert_int_equal(info.alternatives.list_blocks_max, 6);
	wp_trace_done(&trace);
}

/* Diagonals, pitch and turns while walking; sets from the independent model. */
static void test_mixed(void **state)
{
	struct wp_trace trace;
	struct wp_trace_info info;

	(void)state;
	load(&trace, "mixed");
	check_set(&trace, 20, 17, 10);
	check_set(&trace, 47, 44, 43);
	check_set(&trace, 63, 60, 31);
	check_set(&trace, 88, 85, 84);
	check_set(&trace, 111, 74, 75);
	check_set(&trace, 135, 100, 99);
	check_set(&trace, 170, 167, 166);
	check_set(&trace, 203, 200, 199);
	check_set(&trace, 240, 237, 31);
	check_set(&trace, 277, 34, 35);
	check_set(&trace, 300, 52, 57);
	check_set(&trace, 333, 330, 329);
	check_set(&trace, 366, 128, 127);
	check_set(&trace, 399, 156, 157);
	assert_int_equal(wp_trace_info_make(&trace, &info), 0);
	assert_int_equal(info.hold_last.frames_missed, 53);
	assert_int_equal(info.alternatives.frames_missed, 9);
	assert_int_equal(info.rule_frames_equal, 400);
	wp_trace_done(&trace);
}

/* A cache of blocks in which the least recently used goes first. */
struct cache {
	uint32_t room, count, reads;
	uint64_t clock;
	uint64_t used[4096]; /* by block; 0: not held */
};

static void touch(struct cache *cache, uint32_t block)
{
	uint32_t oldest = WP_BLOCK_NONE;

	if (!cache->used[block] && ++cache->count > cache->room) {
		for (uint32_t i = 0; i < 4096; i++) {
			if (cache->used[i] &&
			    (oldest == WP_BLOCK_NONE || cache->used[i] < cache->used[oldest]))
				oldest = i;
		}
		cache->used[oldest] = 0;
		cache->count--;
	}
	cache->used[block] = ++cache->clock;
}

static uint32_t count_reads(const struct wp_trace *trace, uint32_t room)
{
	struct cache cache = {.room = room};

	for (uint32_t frame = 0; frame < trace->frames; frame++) {
		const uint32_t *blocks;
		uint32_t count = wp_trace_retrieved(trace, frame, &blocks);

		for (uint32_t i = 0; i < count; i++) {
			cache.reads += !cache.used[blocks[i]];
			touch(&cache, blocks[i]);
		}
		touch(&cache, frame);
	}
	return cache.reads;
}

static void test_explore_return(void **state)
{
	struct wp_trace trace;
	struct wp_trace_info info;

	(void)state;
	load(&trace, "explore_return");
	assert_int_equal(trace.frames, 3000);
	assert_int_equal(count_reads(&trace, 225), 3691);
	assert_int_equal(count_reads(&trace, 3000), 0);
	assert_int_equal(wp_trace_info_make(&trace, &info), 0);
	assert_int_equal(info.gap_frames_max, 2440);
	assert_int_equal(info.hold_last.frames_missed, 6);
	wp_trace_done(&trace);
}

static void check_hints(const struct wp_trace *trace, const char *kind, uint32_t frame,
			const char *expected)
{
	char text[128] = "";
	uint32_t blocks[WP_STAGING_MAX], count;
	struct wp_hints *hints;
	struct wp_error error;

	if (wp_hints_open(&hints, trace, kind, &error) < 0)
		fail_msg("%s", error.text);
	assert_int_equal(wp_hints_make(hints, 0, blocks, WP_STAGING_MAX), 0);
	/* Asked twice: the same answer. */
	for (int i = 0; i < 2; i++) {
		count = wp_hints_make(hints, frame, blocks, WP_STAGING_MAX);
		text[0] = '\0';
		for (uint32_t j = 0; j < count; j++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u",
				 j ? " " : "", blocks[j]);
		if (strcmp(text, expected))
			fail_msg("%s of %s for frame %u: \"%s\", expected \"%s\"", kind,
				 trace->name, frame, text, expected);
	}
	if (count > 1)
		assert_int_equal(wp_hints_make(hints, frame, blocks, 1), 1);
	wp_hints_close(hints);
}

static void test_hint_lists(void **state)
{
	struct wp_trace trace;

	(void)state;
	load(&trace, "a_yaw");
	check_hints(&trace, "none", 100, "");
	check_hints(&trace, "hold_last", 100, "80 60");
	check_hints(&trace, "known", 100, "80 60");
	check_hints(&trace, "right", 100, "80 60");
	check_hints(&trace, "reverse", 100, "79 59");
	wp_trace_done(&trace);
	load(&trace, "b1_ws");
	/* Frame 100 walks ahead again after five frames back. */
	check_hints(&trace, "hold_last", 100, "89 79");
	check_hints(&trace, "reverse", 100, "90 80");
	check_hints(&trace, "still", 100, "89 79");
	check_hints(&trace, "w", 100, "90 80");
	check_hints(&trace, "s", 100, "89 79");
	check_hints(&trace, "left", 100, "89 79");
	check_hints(&trace, "alternatives", 100, "89 79 90 80");
	check_hints(&trace, "hold_last", 101, "91 81");
	check_hints(&trace, "reverse", 101, "89 79");
	check_hints(&trace, "still", 101, "98 90");
	check_hints(&trace, "w", 101, "91 81");
	check_hints(&trace, "s", 101, "89 79");
	check_hints(&trace, "left", 101, "98 90");
	check_hints(&trace, "alternatives", 101, "91 81 89 79 98 90");
	wp_trace_done(&trace);
}

static void check_refused(const struct wp_trace *trace, const char *kind, const char *why)
{
	struct wp_hints *hints;
	struct wp_error error;

	assert_int_equal(wp_hints_open(&hints, trace, kind, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_USAGE);
	if (!strstr(error.text, why))
		fail_msg("%s", error.text);
}

static void test_what_hints_need(void **state)
{
	struct wp_trace trace;

	(void)state;
	load(&trace, "b1_ws");
	check_refused(&trace, "psychic", "no hints \"psychic\"");
	check_refused(&trace, "trace", "hints of its own");
	trace.has_motion = false;
	check_refused(&trace, "alternatives", "motion constants");
	check_hints(&trace, "hold_last", 102, "92 82");
	trace.has_poses = false;
	check_refused(&trace, "hold_last", "poses");
	check_hints(&trace, "known", 102, "92 82");
	wp_trace_done(&trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_yaw),      cmocka_unit_test(test_b1_ws),
	    cmocka_unit_test(test_mixed),      cmocka_unit_test(test_explore_return),
	    cmocka_unit_test(test_hint_lists), cmocka_unit_test(test_what_hints_need),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
