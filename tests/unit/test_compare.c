/* Comparing results: the tests keep their false-alarm rate, find what is there, and refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "harness/compare/compare.h"
#include "pager/random.h"

#define FRAMES 160
#define TRIALS 3000

static struct wp_random dice;

static double uniform(void)
{
	return (double)(wp_random_next(&dice) >> 11) * 0x1p-53;
}

/* Symmetric, with a long tail: one in twenty is ten times as far off. */
static double noise(double width)
{
	return (uniform() - 0.5) * width * (uniform() < 0.05 ? 10 : 1);
}

static void assert_near(double found, double expected)
{
	if (!(fabs(found - expected) <= 1e-12))
		fail_msg("%.15g instead of %.15g", found, expected);
}

static void test_coins(void **state)
{
	struct wp_compare_limit none = {0};
	double base[140], next[140];

	(void)state;
	for (int i = 0; i < 140; i++) {
		base[i] = 100;
		next[i] = 101;
	}
	assert_near(wp_compare_frames(base, next, 140, &none), ldexp(1, -20));
	assert_near(wp_compare_frames_least(140), ldexp(1, -20));
	assert_near(wp_compare_frames(next, base, 140, &none), 1);
	assert_near(wp_compare_frames(base, base, 140, &none), 1);
	/* Hiccups of the base, however long, are three votes of seven, then four. */
	base[0] = base[1] = base[2] = 1e9;
	assert_near(wp_compare_frames(base, next, 140, &none), ldexp(1, -20));
	base[3] = 1e9;
	assert_near(wp_compare_frames(base, next, 140, &none), 21 * ldexp(1, -20));
	/* Three frames are three blocks; 80 are 16 of five. */
	assert_near(wp_compare_frames(base + 10, next + 10, 3, &none), 0.125);
	assert_near(wp_compare_frames_least(80), ldexp(1, -16));
	assert_near(wp_compare_frames(base, next, 0, &none), 1);
	/* Within the tolerance nothing is slower; frames without a stall have no say. */
	assert_near(wp_compare_frames(base, next, 140, &(struct wp_compare_limit){.share = 0.02}),
		    1);
	for (int i = 0; i < 140; i++)
		base[i] = next[i] = i % 5 ? 0.5 : 100;
	for (int i = 0; i < 140; i += 5)
		next[i] = 120;
	assert_near(wp_compare_frames(base, next, 140, &(struct wp_compare_limit){0.05, 1}),
		    ldexp(1, -20));
}

/* As many votes for as against, or none at all: that block says nothing is slower. */
static void test_ties(void **state)
{
	const struct wp_compare_limit floor = {.floor_ns = 1};
	struct wp_compare_limit none = {0};
	double base[40], next[40];

	(void)state;
	for (int i = 0; i < 40; i++)
		base[i] = next[i] = 0.5;
	assert_near(wp_compare_frames(base, next, 40, &floor), 1);
	/* 13 blocks, of three frames, the last of four: two against two. */
	assert_near(wp_compare_frames_least(40), ldexp(1, -13));
	next[38] = next[39] = 1;
	assert_near(wp_compare_frames(base, next, 40, &none), 1);
	next[37] = 1;
	assert_near(wp_compare_frames(base, next, 40, &none), 1 - ldexp(1, -13));
}

static void test_ranks(void **state)
{
	static const double low[] = {1, 2, 3, 4, 5, 6}, high[] = {7, 8, 9, 10, 11, 12};
	static const double tied[] = {3, 3, 3, 3, 3, 3};
	struct wp_compare_limit none = {0};

	(void)state;
	assert_true(fabs(wp_compare_runs(low, 6, high, 6, &none) - 1.0 / 924) < 1e-12);
	assert_true(fabs(wp_compare_runs_least(6, 6) - 1.0 / 924) < 1e-12);
	assert_true(fabs(wp_compare_runs(high, 6, low, 6, &none) - 1) < 1e-12);
	assert_true(fabs(wp_compare_runs(tied, 6, tied, 6, &none) - 1) < 1e-12);
	/* {1,4} and {2,3}: sums of pairs of ranks are 3 4 5 5 6 7, and 5 or more are four of six.
	 */
	assert_true(
	    fabs(wp_compare_runs((const double[]){1, 4}, 2, (const double[]){2, 3}, 2, &none) -
		 4.0 / 6) < 1e-12);
	assert_true(fabs(wp_compare_runs(low, 1, high, 0, &none) - 1) < 1e-12);
}

/* At the worst case that is still no fault: slower by exactly the tolerance. */
static void test_false_alarms(void **state)
{
	struct wp_compare_limit limit = {.share = 0.05};
	double base[140], next[140];
	unsigned by_frames = 0, by_runs = 0;

	(void)state;
	dice.state = 20260101;
	for (int trial = 0; trial < TRIALS; trial++) {
		for (int i = 0; i < 140; i++) {
			base[i] = 1000 + noise(100);
			next[i] = 1.05 * (1000 + noise(100));
		}
		by_frames += wp_compare_frames(base, next, 140, &limit) <= 0.01;
		by_runs += wp_compare_runs(base, 8, next, 8, &limit) <= 0.01;
	}
	/* 1 % of 3,000 and four standard deviations. */
	if (by_frames > 52 || by_runs > 52)
		fail_msg("%u and %u false alarms of %d", by_frames, by_runs, TRIALS);
}

static void test_power(void **state)
{
	struct wp_compare_limit limit = {.share = 0.05};
	double base[140], next[140];
	unsigned found = 0;

	(void)state;
	dice.state = 7;
	for (int trial = 0; trial < 200; trial++) {
		for (int i = 0; i < 140; i++) {
			base[i] = 1000 + noise(60);
			next[i] = 1000 / 0.9 + noise(60);
		}
		found += wp_compare_frames(base, next, 140, &limit) <= 0.0025;
	}
	if (found < 190)
		fail_msg("found %u of 200", found);
}

static char folder[4096];

static int make_folder(void **state)
{
	const char *base = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof(folder), "%s/compare-XXXXXX", base ? base : "/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"base", "new"};
	char path[4200];

	(void)state;
	for (int side = 0; side < 2; side++) {
		for (int i = 0; i < 8; i++) {
			snprintf(path, sizeof(path), "%s/%s%d", folder, names[side], i);
			unlink(path);
		}
	}
	snprintf(path, sizeof(path), "%s/out", folder);
	unlink(path);
	return rmdir(folder);
}

struct shape {
	double stall_ms, read_ms; /* of a frame */
	double tail_ms;		  /* on top, every fortieth frame */
	const char *arm;
	uint64_t bytes_per_s;
	bool other_machine, invalid;
};

static void fill_frames(struct wp_frame_figures *frames, const struct shape *shape)
{
	uint64_t now_ns = 0;

	for (uint32_t i = 0; i < FRAMES; i++) {
		struct wp_frame_figures *frame = &frames[i];
		double stall_ms = shape->stall_ms + noise(0.5) + 0.25;

		stall_ms += i % 40 == 39 ? shape->tail_ms : 0;
		memset(frame, 0, sizeof(*frame));
		frame->frame = i;
		frame->needed_ns = now_ns;
		frame->stall_ns = stall_ms > 0 ? (uint64_t)(stall_ms * 1e6) : 0;
		frame->ready_ns = now_ns + frame->stall_ns;
		frame->compute_ns = 75000000;
		frame->blocks_nvme = 2;
		frame->missed = 2;
		frame->bytes_nvme = 2 * 8078400;
		frame->read_ns = (uint64_t)((shape->read_ms + noise(0.5)) * 1e6);
		now_ns = frame->ready_ns + frame->compute_ns;
	}
}

static void write_run(const char *name, const struct shape *shape)
{
	static struct wp_frame_figures frames[FRAMES];
	struct wp_error error = {0};
	struct wp_run run = {0};
	char path[4200];

	fill_frames(frames, shape);
	run.world = "model";
	run.trace_name = "a_yaw";
	run.trace_origin = "reconstructed";
	run.model_name = "mg2";
	run.machine_name = "rtx4090";
	run.arm = shape->arm ? shape->arm : "on_demand";
	run.hints = "none";
	run.residency = "forced-nvme";
	run.codec = "int4";
	run.k = 2;
	run.warmup_frames = 20;
	run.scale =
	    (struct wp_scale_figures){.asked = 1. / 16, .effective = 1. / 16, .text = "1/16"};
	run.block_bytes = 8078400;
	run.block_full_bytes = 129254400;
	run.throttle.method = "bucket";
	run.throttle.asked_bytes_per_s = shape->bytes_per_s ? shape->bytes_per_s : 250000000;
	run.throttle.valid = true;
	run.has_machine_facts = true;
	strcpy(run.machine_facts.cpu_model, shape->other_machine ? "Other" : "Quick 9000");
	strcpy(run.machine_facts.kernel_release, "6.1.0");
	run.frames = frames;
	run.frame_count = run.frame_target = FRAMES;
	run.wall_ns = frames[FRAMES - 1].ready_ns + frames[FRAMES - 1].compute_ns;
	run.valid = !shape->invalid;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path); /* what this process has read or written is not replaced */
	if (wp_result_write(&run, path, &error) != 0)
		fail_msg("%s", error.text);
}

/* Writes and adds `count` runs a side. */
static int compare(struct wp_compare *compared, const struct shape *base, const struct shape *next,
		   int count, bool force, struct wp_error *error)
{
	const struct shape *shapes[] = {base, next};

	wp_compare_open(compared, WP_COMPARE_TOLERANCE, force);
	memset(error, 0, sizeof(*error));
	for (int side = 0; side < 2; side++) {
		for (int i = 0; i < count; i++) {
			char name[16], path[4300];

			snprintf(name, sizeof(name), "%s%d", side ? "new" : "base", i);
			write_run(name, shapes[side]);
			snprintf(path, sizeof(path), "%s/%s", folder, name);
			if (wp_compare_add(compared, (enum wp_compare_side)side, path, error) != 0)
				fail_msg("%s", error->text);
		}
	}
	return wp_compare_run(compared, error);
}

static void test_measured_runs(void **state)
{
	const struct shape usual = {.stall_ms = 64.6, .read_ms = 64.6};
	const struct shape slower = {.stall_ms = 71.8, .read_ms = 71.8};
	const struct shape hidden = {.stall_ms = 0, .read_ms = 71.8};
	const struct shape silent = {.stall_ms = 0, .read_ms = 64.6};
	struct wp_compare compared;
	struct wp_error error;

	(void)state;
	dice.state = 1;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(compare(&compared, &usual, &usual, 1, false, &error), 0);
		assert_int_equal(compared.worse, 0);
		wp_compare_close(&compared);
		assert_int_equal(compare(&compared, &usual, &slower, 1, false, &error), 0);
		assert_int_equal(compared.worse, 2);
		assert_int_equal(compared.undecided, 2); /* one run has no spread */
		/* All 140 frames after the warm-up, and no other. */
		assert_near(compared.points[0].tests[WP_COMPARE_STALL].p_least, ldexp(1, -20));
		wp_compare_close(&compared);
	}
	assert_int_equal(compare(&compared, &slower, &usual, 1, false, &error), 0);
	assert_int_equal(compared.worse, 0);
	assert_int_equal(compared.better, 2);
	wp_compare_close(&compared);
	/* A slower store shows before anything stalls. */
	assert_int_equal(compare(&compared, &silent, &hidden, 1, false, &error), 0);
	assert_int_equal(compared.points[0].tests[WP_COMPARE_STALL].outcome, WP_COMPARE_SAME);
	assert_int_equal(compared.points[0].tests[WP_COMPARE_READ].outcome, WP_COMPARE_WORSE);
	wp_compare_close(&compared);
}

/* Rare long stalls do not move a median; six runs a side find them. */
static void test_a_longer_tail(void **state)
{
	const struct shape usual = {.stall_ms = 64.6, .read_ms = 64.6};
	const struct shape longer = {.stall_ms = 64.6, .read_ms = 64.6, .tail_ms = 40};
	struct wp_compare compared;
	struct wp_error error;

	(void)state;
	dice.state = 2;
	assert_int_equal(compare(&compared, &usual, &longer, 6, false, &error), 0);
	assert_int_equal(compared.points[0].tests[WP_COMPARE_STALL].outcome, WP_COMPARE_SAME);
	assert_int_equal(compared.points[0].tests[WP_COMPARE_P99].outcome, WP_COMPARE_WORSE);
	assert_int_equal(compared.points[0].tests[WP_COMPARE_MAX].outcome, WP_COMPARE_WORSE);
	wp_compare_close(&compared);
}

static void test_refusals(void **state)
{
	const struct shape usual = {.stall_ms = 64.6, .read_ms = 64.6};
	const struct {
		struct shape shape;
		const char *names;
	} cases[] = {
	    {{.stall_ms = 64.6, .read_ms = 64.6, .other_machine = true}, "fingerprint"},
	    {{.stall_ms = 64.6, .read_ms = 64.6, .bytes_per_s = 225000000}, "asked_bytes_per_s"},
	    {{.stall_ms = 64.6, .read_ms = 64.6, .arm = "prefetch"}, "arm"},
	    {{.stall_ms = 64.6, .read_ms = 64.6, .invalid = true}, "not valid"},
	};
	struct wp_compare compared;
	struct wp_error error;
	char path[4200];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(compare(&compared, &usual, &cases[i].shape, 1, false, &error), -1);
		assert_int_equal(error.exit_code, WP_EXIT_CONTENT);
		if (!strstr(error.text, cases[i].names))
			fail_msg("\"%s\" does not name %s", error.text, cases[i].names);
		wp_compare_close(&compared);
		assert_int_equal(compare(&compared, &usual, &cases[i].shape, 1, true, &error), 0);
		assert_true(compared.note_count >= 1);
		assert_non_null(strstr(compared.notes[0], cases[i].names));
		wp_compare_close(&compared);
	}
	wp_compare_open(&compared, 0.05, false);
	snprintf(path, sizeof(path), "%s/none", folder);
	assert_int_equal(wp_compare_add(&compared, WP_COMPARE_BASE, path, &error), -1);
	wp_compare_close(&compared);
}

static void test_no_more_runs_than_there_is_room(void **state)
{
	const struct shape usual = {.stall_ms = 64.6, .read_ms = 64.6};
	struct wp_compare compared;
	struct wp_error error = {0};
	char path[4300];

	(void)state;
	write_run("base0", &usual);
	snprintf(path, sizeof(path), "%s/base0", folder);
	for (uint32_t more = 0; more < 2; more++) {
		wp_compare_open(&compared, WP_COMPARE_TOLERANCE, false);
		for (uint32_t i = 0; i < WP_COMPARE_RUNS_MAX + more; i++)
			assert_int_equal(wp_compare_add(&compared,
							i % 2 ? WP_COMPARE_NEW : WP_COMPARE_BASE,
							path, &error),
					 0);
		assert_int_equal(wp_compare_run(&compared, &error), more ? -1 : 0);
		wp_compare_close(&compared);
	}
	assert_int_equal(error.exit_code, WP_EXIT_CONTENT);
	assert_non_null(strstr(error.text, "more than 100 runs"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_coins),
	    cmocka_unit_test(test_ranks),
	    cmocka_unit_test(test_false_alarms),
	    cmocka_unit_test(test_power),
	    cmocka_unit_test(test_measured_runs),
	    cmocka_unit_test(test_a_longer_tail),
	    cmocka_unit_test(test_refusals),
	    cmocka_unit_test(test_ties),
	    cmocka_unit_test(test_no_more_runs_than_there_is_room),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
