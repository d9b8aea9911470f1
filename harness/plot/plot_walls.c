/*
 * Blocks in host memory against the session's time, for each of the four
 * sessions of the capacity walls, with the ends that the paper reports.
 */
#include <string.h>

#include "harness/plot/gnuplot.h"
#include "harness/plot/plot.h"
#include "harness/units.h"

/* The sessions share their beginning: the later ones are drawn thinner, on top. */
static const char *const widths[WP_WALLS_SESSIONS] = {"3.2", "8.0", "4.6", "1.6"};
static const char *const colours[WP_WALLS_SESSIONS] = {"#D55E00", "#E69F00", "#CC79A7", "#0072B2"};

static void write_series(const struct wp_walls *walls, uint32_t at, FILE *data)
{
	const struct wp_walls_session *session = &walls->sessions[at];
	char minutes[WP_UNITS_TEXT], gib[WP_UNITS_TEXT];

	fprintf(data, "%s# index %u: %s\n# minutes GiB\n", at ? "\n\n" : "", at, session->name);
	for (uint32_t i = 0; i < session->blocks; i++)
		fprintf(data, "%s %s\n",
			wp_units_fixed(minutes, (i + 1) * walls->frame_video_s / 60, 5),
			wp_units_fixed(gib, (double)session->dram_bytes[i] / (1ull << 30), 4));
}

static void write_marks(const struct wp_walls *walls, const struct wp_claims *claims, FILE *script)
{
	char minutes[WP_UNITS_TEXT], gib[WP_UNITS_TEXT];

	for (uint32_t i = 0; i < WP_CLAIM_WALLS; i++) {
		wp_units_fixed(minutes, claims->p5_video_s[i] / 60, 4);
		fprintf(script,
			"set arrow %u from %s, graph 0 to %s, graph 1 nohead back lw 1.1 dt (8,5) "
			"lc rgb '%s'\n",
			i + 1, minutes, minutes, colours[i]);
	}
	wp_units_fixed(gib, (double)walls->host_bytes / (1ull << 30), 2);
	fprintf(script,
		"set arrow 9 from graph 0, first %s to graph 1, first %s nohead back lw 1.1 dt "
		"(2,4) lc rgb '#555555'\n"
		"set label 9 'host memory' at graph 0.99, first %s right offset 0,0.6 textcolor "
		"rgb '#555555'\nset yrange [0:%s * 1.15]\n",
		gib, gib, gib, gib);
}

/* "int4, host only: 2.81 min (host budget)" */
static void write_curve(const struct wp_walls_session *session, uint32_t at, const char *figure,
			FILE *script)
{
	char title[128], minutes[WP_UNITS_TEXT];

	snprintf(title, sizeof(title), "%s: %s min%s%s%s", session->name,
		 wp_units_fixed(minutes, session->video_s / 60, 2), session->wall[0] ? " (" : "",
		 session->wall, session->wall[0] ? ")" : "");
	fprintf(script, "  '%s.dat' index %u using 1:2 with lines lw %s lc rgb '%s' title ", figure,
		at, widths[at], colours[at]);
	wp_gnuplot_text(script, title);
	fputs(", \\\n", script);
}

bool wp_plot_walls(const struct wp_walls *walls, const struct wp_claims *claims, const char *figure,
		   FILE *script, FILE *data, char *caption, size_t caption_size)
{
	if (!walls->world[0])
		return false;
	wp_gnuplot_head(script, figure);
	fputs("set title 'Blocks in host memory, until the session ends' offset 0,0.9\n"
	      "set label 8 'dashed: the ends that the paper reports' at graph 0.5, graph 1.045 "
	      "center textcolor rgb '#666666'\n"
	      "set key bottom right opaque samplen 2.2 spacing 1.15 box lc rgb '#DDDDDD'\n"
	      "set lmargin 10\nset rmargin 3\n"
	      "set logscale x\nset xrange [0.1:*]\n"
	      "set xtics (0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 40)\n"
	      "set xlabel 'session (minutes of video)'\nset ylabel 'blocks in DRAM (GiB)'\n",
	      script);
	write_marks(walls, claims, script);
	wp_gnuplot_outputs(script, figure, 820, 500);
	fputs("plot \\\n", script);
	for (uint32_t i = 0; i < WP_WALLS_SESSIONS; i++) {
		write_series(walls, i, data);
		write_curve(&walls->sessions[i], i, figure, script);
	}
	fputs("  NaN notitle\n", script);
	wp_gnuplot_tail(script);
	snprintf(caption, caption_size, "Blocks in host memory against the session's time");
	return true;
}
