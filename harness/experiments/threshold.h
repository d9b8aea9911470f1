/*
 * Threshold finder: the smallest read rate at which an arm's median, 99th
 * percentile and maximum stall are zero, each found by bisection. What a run at
 * one rate shows comes from the caller, so that nothing here knows of replays.
 *
 * Bisection supposes that a stall, once gone, does not come back as the rate
 * rises: true of every arm up to the rounding of small reads. Where a run shows
 * the contrary, the answer lies above the highest rate that stalled. In any case it is
 * a measured rate with zero stall, one step above a measured one with stall. A run made for
 * one figure narrows the others as well.
 */
#ifndef WP_THRESHOLD_H
#define WP_THRESHOLD_H

#include <stdint.h>

#include "harness/error.h"

enum wp_threshold_figure {
	WP_THRESHOLD_P50,
	WP_THRESHOLD_P99,
	WP_THRESHOLD_MAX,
	WP_THRESHOLD_FIGURES
};

/* "p50" "p99" "max" */
const char *wp_threshold_figure_name(enum wp_threshold_figure figure);

/* Stalls of one run; p50 <= p99 <= max. */
struct wp_threshold_stall {
	uint64_t stall_ns[WP_THRESHOLD_FIGURES];
};

/* Runs at `read_bytes_per_s`. 0, or -1 with `error` set: the search ends there. */
typedef int (*wp_threshold_run)(void *context, uint64_t read_bytes_per_s,
				struct wp_threshold_stall *stall, struct wp_error *error);

struct wp_threshold_config {
	uint64_t min_bytes_per_s;  /* at least 1 */
	uint64_t max_bytes_per_s;  /* above min */
	uint64_t step_bytes_per_s; /* answers are min + a multiple of this, or max; at least 1 */
};

enum wp_threshold_state {
	WP_THRESHOLD_FOUND,
	WP_THRESHOLD_BELOW, /* zero already at min: the threshold lies there or lower */
	WP_THRESHOLD_ABOVE, /* not zero even at max: none in the range */
};

struct wp_threshold {
	enum wp_threshold_state state;
	uint64_t stall_bytes_per_s; /* highest rate measured with stall; 0 with BELOW */
	uint64_t zero_bytes_per_s;  /* lowest above it measured without; 0 with ABOVE */
	uint64_t stall_ns;	    /* the figure there */
};

/* Fills one entry a figure. 0, or -1 with the run's error. `runs` counts what was measured. */
int wp_threshold_find(const struct wp_threshold_config *config, wp_threshold_run run, void *context,
		      struct wp_threshold thresholds[WP_THRESHOLD_FIGURES], uint32_t *runs,
		      struct wp_error *error) WP_MUST_USE;

#endif
