/*
 * The stall of every frame, one panel an arm, at the rate where the arms differ
 * most: the highest that was measured below the need, else the lowest.
 */
#include <string.h>

#include "harness/plot/gnuplot.h"
#include "harness/plot/plot.h"
#include "harness/units.h"

#define PANELS_MAX 8

static uint64_t pick_rate(const struct wp_plot_group *group)
{
	uint64_t below = 0, lowest = UINT64_MAX;

	for (uint32_t i = 0; i < group->count; i++) {
		const struct wp_cell *cell = &group->cells[i];

		if (!wp_cell_counts(cell))
			continue;
		if (cell->bytes_per_s < cell->need_bytes_per_s && cell->bytes_per_s > below)
			below = cell->bytes_per_s;
		lowest = cell->bytes_per_s < lowest ? cell->bytes_per_s : lowest;
	}
	return below ? below : lowest == UINT64_MAX ? 0 : lowest;
}

struct panel {
	const char *arm;
	const struct wp_cell *cells[4]; /* worlds of this arm: simulated first */
	uint32_t cell_count;
};

static uint32_t collect(const struct wp_plot_group *group, uint64_t rate, struct panel *panels)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < group->count; i++) {
		const struct wp_cell *cell = &group->cells[i];
		uint32_t at = 0;

		if (!wp_cell_counts(cell) || cell->bytes_per_s != rate)
			continue;
		while (at < count && strcmp(panels[at].arm, cell->arm) != 0)
			at++;
		if (at == PANELS_MAX)
			continue;
		if (at == count)
			panels[count++] = (struct panel){.arm = cell->arm};
		if (panels[at].cell_count < 4)
			panels[at].cells[panels[at].cell_count++] = cell;
	}
	return count;
}

static void write_data(FILE *data, const struct panel *panels, uint32_t count)
{
	unsigned index = 0;
	char text[WP_UNITS_TEXT];

	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < panels[i].cell_count; j++) {
			const struct wp_cell *cell = panels[i].cells[j];

			fprintf(data, "%s# index %u: %s, world %s, scale %s\n# frame stall_ms\n",
				index ? "\n\n" : "", index, cell->arm, cell->world, cell->scale);
			index++;
			for (uint32_t frame = 0; frame < cell->frame_count; frame++)
				fprintf(data, "%u %s\n", frame,
					wp_units_fixed(
					    text, (double)cell->frame_stall_ns[frame] / 1e6, 6));
		}
	}
}

static void write_panel(FILE *script, const char *figure, const struct panel *panel,
			unsigned *index, bool last)
{
	char title[256], world[128];
	const char *colour = wp_gnuplot_colour(panel->arm);

	fprintf(script, "%s\nset label 5 ",
		last ? "set xlabel 'frame'\nset format x '%g'" : "unset xlabel\nset format x ''");
	wp_gnuplot_text(script, panel->arm);
	fprintf(script,
		" at graph 0.012, graph 0.91 left front textcolor rgb '%s' font ',13'\n"
		"plot \\\n",
		colour);
	for (uint32_t i = 0; i < panel->cell_count; i++) {
		bool simulated = strcmp(panel->cells[i]->world, "virtual") == 0;

		snprintf(title, sizeof(title), "%s",
			 wp_plot_world(world, sizeof(world), panel->cells[i]));
		if (simulated || panel->cell_count == 1)
			fprintf(script,
				"  '%s.dat' index %u using 1:2 with boxes fill solid 0.45 noborder "
				"lc rgb '%s' title ",
				figure, *index, colour);
		else
			fprintf(
			    script,
			    "  '%s.dat' index %u using 1:2 with points pt 6 ps 0.5 lw 0.9 lc rgb "
			    "'#222222' title ",
			    figure, *index);
		*index += 1;
		wp_gnuplot_text(script, title);
		fputs(i + 1 < panel->cell_count ? ", \\\n" : "\n", script);
	}
}

static void write_setup(FILE *script, const struct wp_plot_group *group, uint64_t rate,
			const struct panel *panels, uint32_t count)
{
	uint32_t frames = 0, warmup = panels[0].cells[0]->warmup_frames;
	uint64_t top_ns = 0;
	char text[WP_UNITS_TEXT], title[700];

	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < panels[i].cell_count; j++) {
			const struct wp_cell *cell = panels[i].cells[j];

			frames = cell->frame_count > frames ? cell->frame_count : frames;
			for (uint32_t frame = 0; frame < cell->frame_count; frame++)
				top_ns = cell->frame_stall_ns[frame] > top_ns
					     ? cell->frame_stall_ns[frame]
					     : top_ns;
		}
	}
	snprintf(title, sizeof(title), "Stall of every frame at %s GB/s: %s",
		 wp_units_rate_in_gb(text, rate), group->title);
	fprintf(script,
		"set xrange [-1:%u]\nset yrange [0:%s]\nset ylabel 'stall (ms)'\n"
		"set key top right horizontal opaque samplen 1.5\n"
		"set boxwidth 0.9\n",
		frames, wp_units_fixed(text, top_ns ? (double)top_ns / 1e6 * 1.45 : 100, 3));
	if (warmup && warmup < frames)
		fprintf(
		    script,
		    "set object 1 rectangle from -1, graph 0 to %u.5, graph 1 behind fillcolor rgb "
		    "'#F0F0F0' fillstyle solid 1 noborder\n"
		    "set label 6 'warm-up' at graph 0.012, graph 0.78 left front textcolor rgb "
		    "'#888888'\n",
		    warmup - 1);
	fputs("figure_title = ", script);
	wp_gnuplot_text(script, title);
	fputc('\n', script);
}

bool wp_plot_timeline(const struct wp_plot_group *group, const char *figure, FILE *script,
		      FILE *data, char *caption, size_t caption_size)
{
	struct panel panels[PANELS_MAX];
	uint64_t rate = pick_rate(group);
	uint32_t count = rate ? collect(group, rate, panels) : 0;
	unsigned index = 0, height;
	char text[WP_UNITS_TEXT];

	if (!count)
		return false;
	write_data(data, panels, count);
	wp_gnuplot_head(script, figure);
	write_setup(script, group, rate, panels, count);
	wp_gnuplot_outputs(script, figure, 820, 120 + 170 * count);
	height = 120 + 170 * count;
	fprintf(script, "set multiplot layout %u,1 title figure_title margins 0.1,0.97,%s,", count,
		wp_units_fixed(text, 70.0 / height, 4));
	fprintf(script, "%s spacing 0,", wp_units_fixed(text, 1 - 46.0 / height, 4));
	fprintf(script, "%s\n", wp_units_fixed(text, 24.0 / height, 4));
	for (uint32_t i = 0; i < count; i++)
		write_panel(script, figure, &panels[i], &index, i + 1 == count);
	fputs("unset multiplot\n", script);
	wp_gnuplot_tail(script);
	snprintf(caption, caption_size, "Stall of every frame at %s GB/s, %.150s",
		 wp_units_rate_in_gb(text, rate), group->title);
	return true;
}
