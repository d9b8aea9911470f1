/*
 * The longest stall against bandwidth, every arm: what a user feels. Beyond the
 * paper, whose figures this is no part of: drawn only where an arm of ours was run.
 */
#include <string.h>

#include "harness/plot/gnuplot.h"
#include "harness/plot/plot.h"
#include "harness/plot/plot_axes.h"
#include "harness/units.h"

static bool goes_beyond(const struct wp_cell *cell)
{
	return wp_cell_counts(cell) && strcmp(cell->arm, "on_demand") != 0 &&
	       strcmp(cell->arm, "prefetch") != 0;
}

static uint32_t write_data(FILE *data, const struct wp_plot_group *group, uint32_t first,
			   uint32_t end, unsigned index)
{
	const struct wp_cell *head = &group->cells[first];
	char rate[WP_UNITS_TEXT], most[WP_UNITS_TEXT];
	uint32_t count = 0;

	for (uint32_t i = first; i < end; i++) {
		const struct wp_cell *cell = &group->cells[i];

		if (!wp_cell_counts(cell))
			continue;
		if (!count++)
			fprintf(data, "%s# index %u: %s, world %s, scale %s\n# GB/s max_ms\n",
				index ? "\n\n" : "", index, head->arm, head->world, head->scale);
		fprintf(data, "%s %s\n", wp_units_rate_in_gb(rate, cell->bytes_per_s),
			wp_units_fixed(most, (double)cell->stall.max / 1e6, 6));
	}
	return count;
}

/* The first is the widest: of curves that coincide each can be seen. */
static void write_curve(FILE *script, const char *figure, const struct wp_cell *cell,
			unsigned index)
{
	static const char *const widths[] = {"7", "5.4", "3.6", "1.8"};
	const char *width = widths[index < 3 ? index : 3];
	char title[256], world[128];

	snprintf(title, sizeof(title), "%.64s, %s", cell->arm,
		 wp_plot_world(world, sizeof(world), cell));
	fprintf(script, "  '%s.dat' index %u using 1:2 with ", figure, index);
	if (strcmp(cell->world, "virtual") == 0)
		fprintf(script, "linespoints lw %s pt 7 ps 0.55", width);
	else
		fputs("points lw 1.6 pt 6 ps 1.35", script);
	fprintf(script, " lc rgb '%s' title ", wp_gnuplot_colour(cell->arm));
	wp_gnuplot_text(script, title);
	fputs(", \\\n", script);
}

static void write_curves(const struct wp_plot_group *group, const char *figure, FILE *script,
			 FILE *data)
{
	unsigned index = 0;

	fputs("plot \\\n", script);
	for (uint32_t first = 0, end; first < group->count; first = end) {
		end = wp_plot_series_end(group, first);
		if (write_data(data, group, first, end, index))
			write_curve(script, figure, &group->cells[first], index++);
	}
	wp_plot_bound(script, data, group, figure, index);
	fputs("  NaN notitle\n", script);
}

bool wp_plot_worst(const struct wp_plot_group *group, const char *figure, FILE *script, FILE *data,
		   char *caption, size_t caption_size)
{
	struct wp_plot_rates rates = {0};
	uint64_t top_ns = 0;
	bool beyond = false;
	char title[640];

	for (uint32_t i = 0; i < group->count; i++) {
		const struct wp_cell *cell = &group->cells[i];

		beyond |= goes_beyond(cell);
		if (!wp_cell_counts(cell))
			continue;
		wp_plot_add_rate(&rates, cell->bytes_per_s);
		top_ns = cell->stall.max > top_ns ? cell->stall.max : top_ns;
	}
	if (!beyond)
		return false;
	wp_gnuplot_head(script, figure);
	snprintf(title, sizeof(title), "Longest stall against NVMe bandwidth: %s", group->title);
	fputs("set title ", script);
	wp_gnuplot_text(script, title);
	fputs("\nset key top right samplen 2.2 spacing 1.15 width -1 box lc rgb '#DDDDDD'\n"
	      "set lmargin 10\nset rmargin 3\n",
	      script);
	wp_plot_rate_axis(script, group, &rates);
	wp_plot_stall_axis(script, top_ns);
	wp_plot_marks(script, group, &rates);
	wp_gnuplot_outputs(script, figure, 820, 500);
	write_curves(group, figure, script, data);
	wp_gnuplot_tail(script);
	snprintf(caption, caption_size, "Longest stall against bandwidth, all arms, %.150s",
		 group->title);
	return true;
}
