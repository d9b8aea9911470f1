/*
 * Exact statistics: sort, then pick. No histogram and no interpolation, because
 * a bucket's edge or a value between two samples is a stall that nobody had.
 */
#include "harness/stats.h"

#include <stdlib.h>
#include <string.h>

#include "pager/check.h"

static int compare_samples(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

uint64_t wp_stats_percentile(const uint64_t *sorted, size_t n, unsigned per_mille)
{
	WP_CHECK(n > 0 && per_mille >= 1 && per_mille <= 1000);
	WP_CHECK(n <= SIZE_MAX / 1000 - 1);
	return sorted[(n * per_mille + 999) / 1000 - 1];
}

void wp_stats_compute(uint64_t *samples, size_t n, struct wp_stats *stats)
{
	__uint128_t sum = 0;

	memset(stats, 0, sizeof(*stats));
	if (n == 0)
		return;
	qsort(samples, n, sizeof(*samples), compare_samples);
	for (size_t i = 0; i < n; i++)
		sum += samples[i];
	stats->n = n;
	stats->mean = (uint64_t)((sum + n / 2) / n);
	stats->min = samples[0];
	stats->p50 = wp_stats_percentile(samples, n, 500);
	stats->p90 = wp_stats_percentile(samples, n, 900);
	stats->p95 = wp_stats_percentile(samples, n, 950);
	stats->p99 = wp_stats_percentile(samples, n, 990);
	stats->p99_9 = wp_stats_percentile(samples, n, 999);
	stats->max = samples[n - 1];
	stats->sum = sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}
