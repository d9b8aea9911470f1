/*
 * Axes of the figures over bandwidth. The headline of these is a zero, so the
 * axis of stalls must have one: below 20 ms it is nearly linear, above it grows
 * like a logarithm (y -> log10(1 + y / 20)). Bandwidth is logarithmic, with a
 * tick at each rate that was measured.
 */
#ifndef WP_PLOT_AXES_H
#define WP_PLOT_AXES_H

#include <stdio.h>

#include "harness/plot/plot.h"

#define WP_PLOT_RATES_MAX 48

struct wp_plot_rates {
	uint32_t count;
	uint64_t bytes_per_s[WP_PLOT_RATES_MAX]; /* ascending */
};

void wp_plot_add_rate(struct wp_plot_rates *rates, uint64_t bytes_per_s);

void wp_plot_rate_axis(FILE *script, const struct wp_plot_group *group,
		       const struct wp_plot_rates *rates);
void wp_plot_stall_axis(FILE *script, uint64_t top_ns);

/* Where the paper's threshold and the need lie. */
void wp_plot_marks(FILE *script, const struct wp_plot_group *group,
		   const struct wp_plot_rates *rates);

/*
 * The least of longest stalls that any schedule can have which learns a set one frame
 * ahead (lower_bound.h): data set `index` and its curve. False: no cell has one.
 */
bool wp_plot_bound(FILE *script, FILE *data, const struct wp_plot_group *group, const char *figure,
		   unsigned index);

#endif
