/*
 * What a column of samples comes to. Exact: percentiles are nearest-rank on the
 * samples themselves, so each is a value that occurred and none exceeds `max`.
 *
 *   percentile p of n sorted samples = sample number ceil(p n / 100), from 1
 */
#ifndef WP_STATS_H
#define WP_STATS_H

#include <stddef.h>
#include <stdint.h>

/* All in the samples' own unit. With n = 0 the rest means nothing (null in JSON). */
struct wp_stats {
	uint64_t n;
	uint64_t mean; /* rounded to the nearest integer, halves up */
	uint64_t min;
	uint64_t p50;
	uint64_t p90;
	uint64_t p95;
	uint64_t p99;
	uint64_t p99_9;
	uint64_t max;
	uint64_t sum; /* UINT64_MAX should it not fit */
};

/* Sorts `samples` in place; the order they come in changes nothing. */
void wp_stats_compute(uint64_t *samples, size_t n, struct wp_stats *stats);

/* Rank `per_mille` / 10 percent of n > 0 sorted samples, per_mille in 1..1000. */
uint64_t wp_stats_percentile(const uint64_t *sorted, size_t n, unsigned per_mille);

#endif
