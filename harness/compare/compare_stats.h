/*
 * Is NEW slower than BASE by more than a tolerance, or is it noise? Two exact
 * one-sided tests; both return p, the chance of an outcome at least this bad
 * if NEW were slower by just the tolerance.
 *
 * Frames: the same frame does the same work on both sides, so they are paired.
 * Neighbouring frames share disturbances, so they vote in blocks of consecutive
 * frames, an odd number each, up to WP_COMPARE_BLOCKS of them: a frame for
 * "slower" when NEW exceeds base (1 + share) + floor, else for "not slower", and
 * not at all when neither exceeds the floor. A block is slower by majority. However
 * long a hiccup, it is one vote. p = P(at least this many of n fair coins).
 *
 * Runs: figures that a run has once (its 99th percentile, its maximum) are
 * ranked; p = the share of all ways to call that many of the runs NEW whose rank
 * sum is at least as large. Ties take the mean rank, and p stays exact.
 */
#ifndef WP_COMPARE_STATS_H
#define WP_COMPARE_STATS_H

#include <stdbool.h>
#include <stdint.h>

#define WP_COMPARE_BLOCKS   20u
#define WP_COMPARE_RUNS_MAX 100u

struct wp_compare_limit {
	double share;	 /* of the base's figure */
	double floor_ns; /* and this much on top */
};

/* `base` and `next` hold `count` figures of the same frames, ns. 1 without frames. */
double wp_compare_frames(const double *base, const double *next, uint32_t count,
			 const struct wp_compare_limit *limit);

/* The least p that `count` frames can reach. */
double wp_compare_frames_least(uint32_t count);

/* At most WP_COMPARE_RUNS_MAX runs together. 1 when a side has none. */
double wp_compare_runs(const double *base, uint32_t base_count, const double *next,
		       uint32_t next_count, const struct wp_compare_limit *limit);
double wp_compare_runs_least(uint32_t base_count, uint32_t next_count);

#endif
