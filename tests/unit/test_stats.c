/* Statistics against a plain reference that counts instead of sorting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/stats.h"
#include "pager/random.h"

/* The smallest sample with at least per_mille / 1000 of all samples at or below it. */
static uint64_t reference_percentile(const uint64_t *samples, size_t n, unsigned per_mille)
{
	uint64_t best = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		size_t below = 0;

		for (size_t j = 0; j < n; j++)
			below += samples[j] <= samples[i];
		if (below * 1000 >= n * per_mille && samples[i] < best)
			best = samples[i];
	}
	return best;
}

static void check_against_reference(const uint64_t *samples, size_t n, uint64_t seed)
{
	uint64_t scratch[400];
	struct wp_stats stats;
	uint64_t sum = 0;

	memcpy(scratch, samples, n * sizeof(*samples));
	wp_stats_compute(scratch, n, &stats);
	for (size_t i = 0; i < n; i++)
		sum += samples[i];
	if (stats.p50 != reference_percentile(samples, n, 500))
		print_error("seed %llu\n", (unsigned long long)seed);
	assert_int_equal(stats.n, n);
	assert_int_equal(stats.sum, sum);
	assert_int_equal(stats.mean, (sum + n / 2) / n);
	assert_int_equal(stats.min, reference_percentile(samples, n, 1));
	assert_int_equal(stats.p50, reference_percentile(samples, n, 500));
	assert_int_equal(stats.p90, reference_percentile(samples, n, 900));
	assert_int_equal(stats.p95, reference_percentile(samples, n, 950));
	assert_int_equal(stats.p99, reference_percentile(samples, n, 990));
	assert_int_equal(stats.p99_9, reference_percentile(samples, n, 999));
	assert_int_equal(stats.max, reference_percentile(samples, n, 1000));
}

static void test_random_columns(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct wp_random random = {.state = seed};
		size_t n = 1 + wp_random_below(&random, 399);
		/* Few distinct values in every other column: ties everywhere. */
		uint64_t bound = seed % 2 ? 5 : 40000000000u;
		uint64_t samples[400];

		for (size_t i = 0; i < n; i++)
			samples[i] = wp_random_below(&random, bound);
		check_against_reference(samples, n, seed);
	}
}

static void test_order_changes_nothing(void **state)
{
	uint64_t samples[257];
	struct wp_stats first;
	struct wp_random random = {.state = 7};

	(void)state;
	for (size_t i = 0; i < 257; i++)
		samples[i] = wp_random_below(&random, 1000);
	wp_stats_compute(samples, 257, &first);
	for (int round = 0; round < 20; round++) {
		struct wp_stats again;

		for (size_t i = 256; i > 0; i--) {
			size_t j = wp_random_below(&random, i + 1);
			uint64_t swap = samples[i];

			samples[i] = samples[j];
			samples[j] = swap;
		}
		wp_stats_compute(samples, 257, &again);
		assert_memory_equal(&first, &again, sizeof(first));
	}
}

static void test_few_samples(void **state)
{
	struct wp_stats stats;
	uint64_t one[] = {32000000000u};
	uint64_t ten[] = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1};

	(void)state;
	wp_stats_compute(NULL, 0, &stats);
	assert_int_equal(stats.n, 0);
	wp_stats_compute(one, 1, &stats);
	assert_int_equal(stats.p50, 32000000000u);
	assert_int_equal(stats.p99_9, 32000000000u);
	assert_int_equal(stats.max, 32000000000u);
	wp_stats_compute(ten, 10, &stats);
	assert_int_equal(stats.p50, 5);
	assert_int_equal(stats.p90, 9);
	assert_int_equal(stats.p95, 10);
	assert_int_equal(stats.p99_9, 10);
	assert_int_equal(stats.mean, 6); /* 5.5, halves up */
}

static void test_a_sum_too_large_saturates(void **state)
{
	uint64_t samples[] = {UINT64_MAX, UINT64_MAX, 2};
	struct wp_stats stats;

	(void)state;
	wp_stats_compute(samples, 3, &stats);
	assert_true(stats.sum == UINT64_MAX);
	assert_true(stats.mean == UINT64_MAX / 3 * 2 + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random_columns),
	    cmocka_unit_test(test_order_changes_nothing),
	    cmocka_unit_test(test_few_samples),
	    cmocka_unit_test(test_a_sum_too_large_saturates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
