/*
 * Stall against bandwidth: the median frame's as a line, up to the longest as a
 * shade, and the least that the longest could be.
 */
#include <string.h>

#include "harness/plot/gnuplot.h"
#include "harness/plot/plot.h"
#include "harness/plot/plot_axes.h"
#include "harness/units.h"

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static void write_series_data(FILE *data, const struct wp_plot_group *group, uint32_t first,
			      uint32_t end, unsigned index)
{
	const struct wp_cell *head = &group->cells[first];
	char rate[WP_UNITS_TEXT], p50[WP_UNITS_TEXT], least[WP_UNITS_TEXT], most[WP_UNITS_TEXT];

	fprintf(data, "%s# index %u: %s, world %s, scale %s\n# GB/s median_ms min_ms max_ms\n",
		index ? "\n\n" : "", index, head->arm, head->world, head->scale);
	for (uint32_t i = first; i < end; i++) {
		const struct wp_cell *cell = &group->cells[i];

		if (!wp_cell_counts(cell))
			continue;
		fprintf(data, "%s %s %s %s\n", wp_units_rate_in_gb(rate, cell->bytes_per_s),
			wp_units_fixed(p50, ms(cell->stall.p50), 6),
			wp_units_fixed(least, ms(cell->stall.min), 6),
			wp_units_fixed(most, ms(cell->stall.max), 6));
	}
}

static void write_curve(FILE *script, const char *figure, const struct wp_cell *cell,
			unsigned index, bool line, unsigned shape)
{
	const char *colour = wp_gnuplot_colour(cell->arm);
	/* Open shapes, one a scale, so that points on one another can be told apart. */
	static const unsigned shapes[] = {6, 4, 8, 12};
	char title[256], world[128];

	snprintf(title, sizeof(title), "%.64s, %s", cell->arm,
		 wp_plot_world(world, sizeof(world), cell));
	if (line)
		fprintf(
		    script,
		    "  '%s.dat' index %u using 1:2:4 with filledcurves lc rgb '%s' notitle, \\\n"
		    "  '' index %u using 1:4 with lines lw 0.8 dt (4,4) lc rgb '%s' notitle, \\\n"
		    "  '' index %u using 1:2 with linespoints lw 2.2 pt 7 ps 0.55 lc rgb '%s' "
		    "title ",
		    figure, index, colour, index, colour, index, colour);
	else
		fprintf(
		    script,
		    "  '%s.dat' index %u using 1:2:2:4 with yerrorbars lw 1.6 pt %u ps 1.35 lc rgb "
		    "'%s' title ",
		    figure, index, shapes[shape % 4], colour);
	wp_gnuplot_text(script, title);
	fputs(", \\\n", script);
}

static bool is_papers(const struct wp_cell *cell)
{
	return strcmp(cell->arm, "on_demand") == 0 || strcmp(cell->arm, "prefetch") == 0;
}

/* Where the paper's arms are, they are drawn here, and all arms in `worst`. */
static bool has_papers(const struct wp_plot_group *group)
{
	for (uint32_t i = 0; i < group->count; i++)
		if (wp_cell_counts(&group->cells[i]) && is_papers(&group->cells[i]))
			return true;
	return false;
}

static bool series_counts(const struct wp_plot_group *group, uint32_t first, uint32_t end)
{
	if (has_papers(group) && !is_papers(&group->cells[first]))
		return false;
	for (uint32_t i = first; i < end; i++) {
		if (wp_cell_counts(&group->cells[i]))
			return true;
	}
	return false;
}

static void write_curves(const struct wp_plot_group *group, const char *figure, FILE *script,
			 FILE *data)
{
	bool simulated = false;
	unsigned index = 0;

	fputs("plot \\\n", script);
	for (uint32_t first = 0, end; first < group->count; first = end) {
		const struct wp_cell *cell = &group->cells[first];
		bool is_virtual = strcmp(cell->world, "virtual") == 0;

		end = wp_plot_series_end(group, first);
		if (!series_counts(group, first, end))
			continue;
		simulated |= is_virtual;
		write_series_data(data, group, first, end, index);
		/* Measured points get a line of their own only where no simulated one is. */
		write_curve(script, figure, cell, index++, is_virtual || !simulated, 0);
	}
	wp_plot_bound(script, data, group, figure, index);
	fputs("  NaN notitle\n", script);
}

bool wp_plot_stall(const struct wp_plot_group *group, const char *figure, FILE *script, FILE *data,
		   char *caption, size_t caption_size)
{
	struct wp_plot_rates rates = {0};
	uint64_t top_ns = 0;
	char title[640];

	for (uint32_t i = 0; i < group->count; i++) {
		const struct wp_cell *cell = &group->cells[i];

		if (!wp_cell_counts(cell))
			continue;
		wp_plot_add_rate(&rates, cell->bytes_per_s);
		top_ns = cell->stall.max > top_ns ? cell->stall.max : top_ns;
	}
	if (!rates.count)
		return false;
	wp_gnuplot_head(script, figure);
	snprintf(title, sizeof(title), "Stall against NVMe bandwidth: %s", group->title);
	fputs("set title ", script);
	wp_gnuplot_text(script, title);
	fputs(" offset 0,0.9\n"
	      "set label 9 'solid: median frame; shaded or bar: up to the longest stall' "
	      "at graph 0.5, graph 1.045 center textcolor rgb '#666666'\n"
	      "set key top right samplen 2.2 spacing 1.15 width -1 box lc rgb '#DDDDDD'\n"
	      "set lmargin 10\nset rmargin 3\n",
	      script);
	wp_plot_rate_axis(script, group, &rates);
	wp_plot_stall_axis(script, top_ns);
	wp_plot_marks(script, group, &rates);
	wp_gnuplot_outputs(script, figure, 820, 500);
	write_curves(group, figure, script, data);
	wp_gnuplot_tail(script);
	snprintf(caption, caption_size, "Stall against bandwidth, %.200s", group->title);
	return true;
}
