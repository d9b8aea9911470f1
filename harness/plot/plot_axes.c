/* Axes over bandwidth; see plot_axes.h. */
#include "harness/plot/plot_axes.h"

#include <string.h>

#include "harness/plot/gnuplot.h"
#include "harness/units.h"

#define TICKS_MAX      14
#define STALL_MS_LEAST 100.0 /* of the axis: a figure of zeros needs one too */

void wp_plot_add_rate(struct wp_plot_rates *rates, uint64_t bytes_per_s)
{
	uint32_t at = rates->count;

	for (uint32_t i = 0; i < rates->count; i++) {
		if (rates->bytes_per_s[i] == bytes_per_s)
			return;
	}
	if (rates->count == WP_PLOT_RATES_MAX)
		return;
	for (; at > 0 && rates->bytes_per_s[at - 1] > bytes_per_s; at--)
		rates->bytes_per_s[at] = rates->bytes_per_s[at - 1];
	rates->bytes_per_s[at] = bytes_per_s;
	rates->count++;
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

void wp_plot_rate_axis(FILE *script, const struct wp_plot_group *group,
		       const struct wp_plot_rates *rates)
{
	uint64_t low = rates->bytes_per_s[0], high = rates->bytes_per_s[rates->count - 1];
	uint64_t mark = group->claims->p1_zero_from_bytes_per_s;
	double last = 0;
	char text[WP_UNITS_TEXT];
	bool first = true;

	low = mark < low ? mark : low;
	high = mark > high ? mark : high;
	fprintf(script, "set logscale x\nset xrange [%s:",
		wp_units_fixed(text, (double)low / 1e9 / 1.15, 6));
	fprintf(script, "%s]\nset xtics (", wp_units_fixed(text, (double)high / 1e9 * 1.15, 6));
	for (uint32_t i = 0; i < rates->count; i++) {
		double rate = (double)rates->bytes_per_s[i];

		/* Ticks nearer than 12 % would run into each other. */
		if (rates->count > TICKS_MAX && rate < last * 1.12)
			continue;
		last = rate;
		wp_units_rate_in_gb(text, rates->bytes_per_s[i]);
		fprintf(script, "%s'%s' %s", first ? "" : ", ", text, text);
		first = false;
	}
	fputs(")\nset xlabel 'NVMe read limit (GB/s, 10^9 bytes a second)'\n", script);
}

void wp_plot_stall_axis(FILE *script, uint64_t top_ns)
{
	double tick = 10, top_ms = ms(top_ns);
	char text[WP_UNITS_TEXT];

	if (top_ms < STALL_MS_LEAST)
		top_ms = STALL_MS_LEAST;
	fprintf(script,
		"set nonlinear y via log10(1 + y / 20.0) inverse 20.0 * (10 ** y - 1)\n"
		"set yrange [0:%s]\nset ytics ('0' 0",
		wp_units_fixed(text, top_ms * 1.35, 3));
	for (unsigned i = 0; tick <= top_ms * 1.35 && i < 24; i++) {
		wp_units_fixed(text, tick, 0);
		fprintf(script, ", '%s' %s", text, text);
		tick = i % 2 ? tick / 3 * 10 : tick * 3;
	}
	fputs(")\nset ylabel 'stall of a frame (ms, at full scale)'\n", script);
}

void wp_plot_marks(FILE *script, const struct wp_plot_group *group,
		   const struct wp_plot_rates *rates)
{
	uint64_t need = 0, mark = group->claims->p1_zero_from_bytes_per_s;
	char text[WP_UNITS_TEXT];

	for (uint32_t i = 0; i < group->count && !need; i++)
		need = group->cells[i].need_bytes_per_s;
	wp_units_rate_in_gb(text, mark);
	fprintf(script,
		"set arrow 1 from %s, graph 0 to %s, graph 1 nohead back lw 1.2 dt (8,5) lc rgb "
		"'#555555'\n"
		"set label 1 'paper: %s GB/s' at %s, graph 0.965 left offset 0.7,0 textcolor rgb "
		"'#444444'\n",
		text, text, text, text);
	if (need < rates->bytes_per_s[0] || need > rates->bytes_per_s[rates->count - 1])
		return;
	need = (need + 99999) / 100000 * 100000; /* rounded up: below it there is a stall */
	wp_units_fixed(text, (double)need / 1e9, 4);
	fprintf(script,
		"set arrow 2 from %s, graph 0 to %s, graph 1 nohead back lw 1.0 dt (2,4) lc rgb "
		"'#888888'\n"
		"set label 2 'need: %s GB/s' at %s, graph 0.03 right offset -0.7,0 "
		"textcolor rgb '#777777'\n",
		text, text, text, text);
}

bool wp_plot_bound(FILE *script, FILE *data, const struct wp_plot_group *group, const char *figure,
		   unsigned index)
{
	char rate[WP_UNITS_TEXT], least[WP_UNITS_TEXT];
	const struct wp_cell *head = NULL;

	for (uint32_t i = 0; i < group->count; i++) {
		const struct wp_cell *cell = &group->cells[i];

		if (!wp_cell_counts(cell) || !cell->has_bound ||
		    strcmp(cell->world, "virtual") != 0)
			continue;
		if (!head)
			fprintf(data,
				"%s# index %u: lower bound of the longest stall\n# GB/s max_ms\n",
				index ? "\n\n" : "", index);
		head = head ? head : cell;
		/* One arm's, which is every arm's: who is told needs no more staging than a set. */
		if (strcmp(cell->arm, head->arm) == 0)
			fprintf(data, "%s %s\n", wp_units_rate_in_gb(rate, cell->bytes_per_s),
				wp_units_fixed(least, ms(cell->bound_max_ns), 6));
	}
	if (!head)
		return false;
	fprintf(script,
		"  '%s.dat' index %u using 1:2 with lines lw 1.4 dt (2,3) lc rgb '%s' title "
		"'lower bound of the longest', \\\n",
		figure, index, wp_gnuplot_colour("lower_bound"));
	return true;
}
