/*
 * Threshold finder: on curves whose threshold is known the answer is the first
 * step without stall, at a bounded number of runs, and whatever a curve does the
 * two rates reported were measured and lie one step apart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "harness/experiments/threshold.h"
#include "pager/random.h"

#define RUNS_MAX 4096

struct curve {
	uint64_t zero_from[WP_THRESHOLD_FIGURES]; /* no stall at this rate and above */
	uint64_t noise_seed;	       /* not 0: some rates below stall not, some above do */
	uint64_t noise_from, noise_to; /* where */
	uint32_t fail_at;	       /* the run that fails; 0: none */
	uint32_t runs;
	uint64_t rates[RUNS_MAX];
	struct wp_threshold_stall stalls[RUNS_MAX];
};

static int run_curve(void *context, uint64_t rate, struct wp_threshold_stall *stall,
		     struct wp_error *error)
{
	struct curve *curve = context;

	assert_true(curve->runs < RUNS_MAX);
	if (curve->runs + 1 == curve->fail_at)
		return wp_error_set(error, WP_EXIT_CONTENT, "run %u", curve->runs + 1);
	for (uint32_t i = 0; i < curve->runs && !curve->noise_seed; i++)
		assert_true(curve->rates[i] != rate); /* nothing is run twice */
	for (unsigned i = 0; i < WP_THRESHOLD_FIGURES; i++) {
		bool zero = rate >= curve->zero_from[i];

		if (curve->noise_seed && rate >= curve->noise_from && rate < curve->noise_to)
			zero ^= wp_mix64(curve->noise_seed ^ rate ^ (uint64_t)i << 56) & 1;
		stall->stall_ns[i] = zero ? 0 : 1 + i + 1000000000000u / rate;
	}
	curve->rates[curve->runs] = rate;
	curve->stalls[curve->runs++] = *stall;
	return 0;
}

static const struct wp_threshold_config config = {
    .min_bytes_per_s = 50000000,
    .max_bytes_per_s = 4000000000,
    .step_bytes_per_s = 100000,
};

/* The first rate of the grid at or above `rate`. */
static uint64_t on_grid(uint64_t rate)
{
	uint64_t steps =
	    (rate - config.min_bytes_per_s + config.step_bytes_per_s - 1) / config.step_bytes_per_s;

	return config.min_bytes_per_s + steps * config.step_bytes_per_s;
}

static void test_known_thresholds(void **state)
{
	struct wp_random random = {.state = 1};

	(void)state;
	for (uint32_t n = 0; n < 200; n++) {
		struct curve curve = {0};
		struct wp_threshold found[WP_THRESHOLD_FIGURES];
		struct wp_error error;
		uint32_t runs;
		uint64_t from = config.min_bytes_per_s;

		for (unsigned i = 0; i < WP_THRESHOLD_FIGURES; i++) {
			from += 1 + wp_random_below(&random, 1000000000);
			curve.zero_from[i] = from;
		}
		assert_int_equal(
		    wp_threshold_find(&config, run_curve, &curve, found, &runs, &error), 0);
		assert_int_equal(runs, curve.runs);
		assert_in_range(runs, 3, 2 + 3 * 16);
		for (unsigned i = 0; i < WP_THRESHOLD_FIGURES; i++) {
			assert_int_equal(found[i].state, WP_THRESHOLD_FOUND);
			assert_int_equal(found[i].zero_bytes_per_s, on_grid(curve.zero_from[i]));
			assert_int_equal(found[i].stall_bytes_per_s,
					 found[i].zero_bytes_per_s - config.step_bytes_per_s);
			assert_int_equal(found[i].stall_ns,
					 1 + i + 1000000000000u / found[i].stall_bytes_per_s);
		}
	}
}

static void test_outside_the_range(void **state)
{
	struct curve curve = {.zero_from = {1, 100000000, UINT64_MAX}};
	struct wp_threshold found[WP_THRESHOLD_FIGURES];
	struct wp_error error;
	uint32_t runs;

	(void)state;
	assert_int_equal(wp_threshold_find(&config, run_curve, &curve, found, &runs, &error), 0);
	assert_int_equal(found[WP_THRESHOLD_P50].state, WP_THRESHOLD_BELOW);
	assert_int_equal(found[WP_THRESHOLD_P50].zero_bytes_per_s, config.min_bytes_per_s);
	assert_int_equal(found[WP_THRESHOLD_P50].stall_bytes_per_s, 0);
	assert_int_equal(found[WP_THRESHOLD_P99].state, WP_THRESHOLD_FOUND);
	assert_int_equal(found[WP_THRESHOLD_P99].zero_bytes_per_s, 100000000);
	assert_int_equal(found[WP_THRESHOLD_MAX].state, WP_THRESHOLD_ABOVE);
	assert_int_equal(found[WP_THRESHOLD_MAX].zero_bytes_per_s, 0);
	assert_int_equal(found[WP_THRESHOLD_MAX].stall_bytes_per_s, config.max_bytes_per_s);
}

/* A range that is no whole number of steps: the answer may be `max` itself. */
static void test_last_step(void **state)
{
	const struct wp_threshold_config odd = {100, 1005, 10};
	struct curve curve = {.zero_from = {1001, 996, 100}};
	struct wp_threshold found[WP_THRESHOLD_FIGURES];
	struct wp_error error;
	uint32_t runs;

	(void)state;
	assert_int_equal(wp_threshold_find(&odd, run_curve, &curve, found, &runs, &error), 0);
	assert_int_equal(found[0].zero_bytes_per_s, 1005);
	assert_int_equal(found[0].stall_bytes_per_s, 1000);
	assert_int_equal(found[1].zero_bytes_per_s, 1000);
	assert_int_equal(found[2].state, WP_THRESHOLD_BELOW);
}

static void test_stall_that_comes_back(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct curve curve = {
		    .zero_from = {200000000, 200000000, 210000000},
		    .noise_seed = seed,
		    .noise_from = 195000000,
		    .noise_to = 215000000,
		};
		struct wp_threshold found[WP_THRESHOLD_FIGURES];
		struct wp_error error;
		uint32_t runs;

		assert_int_equal(
		    wp_threshold_find(&config, run_curve, &curve, found, &runs, &error), 0);
		for (unsigned i = 0; i < WP_THRESHOLD_FIGURES; i++) {
			const struct wp_threshold *threshold = &found[i];
			bool seen_zero = false;

			assert_int_equal(threshold->state, WP_THRESHOLD_FOUND);
			assert_int_equal(threshold->zero_bytes_per_s - threshold->stall_bytes_per_s,
					 config.step_bytes_per_s);
			for (uint32_t j = 0; j < curve.runs; j++) {
				if (curve.stalls[j].stall_ns[i] > 0)
					assert_true(curve.rates[j] <= threshold->stall_bytes_per_s);
				else if (curve.rates[j] == threshold->zero_bytes_per_s)
					seen_zero = true;
			}
			assert_true(seen_zero);
		}
	}
}

static void test_run_fails(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= 10; n++) {
		struct curve curve = {.zero_from = {200000000, 300000000, 400000000}, .fail_at = n};
		struct wp_threshold found[WP_THRESHOLD_FIGURES];
		struct wp_error error;
		uint32_t runs;

		assert_int_equal(
		    wp_threshold_find(&config, run_curve, &curve, found, &runs, &error), -1);
		assert_int_equal(error.exit_code, WP_EXIT_CONTENT);
		assert_int_equal(runs, n - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_known_thresholds), cmocka_unit_test(test_outside_the_range),
	    cmocka_unit_test(test_last_step),	     cmocka_unit_test(test_stall_that_comes_back),
	    cmocka_unit_test(test_run_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
