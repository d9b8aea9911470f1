/*
 * Stall against the volume copied for each frame, double and single buffered.
 * The vertical axis is that of the stall figures: nearly linear below 20 ms, so
 * that it has a zero.
 */
#include <string.h>

#include "harness/plot/gnuplot.h"
#include "harness/plot/plot.h"
#include "harness/units.h"

static double ms_full(const struct wp_overlap *overlap, uint64_t ns)
{
	return (double)wp_overlap_full_ns(overlap, ns) / 1e6;
}

static void write_series(const struct wp_overlap *overlap, uint32_t buffers, unsigned index,
			 FILE *data)
{
	char volume[WP_UNITS_TEXT], p50[WP_UNITS_TEXT], most[WP_UNITS_TEXT];

	fprintf(data, "%s# index %u: %s, %s buffered, scale %s\n# GB median_ms max_ms\n",
		index ? "\n\n" : "", index, overlap->world, buffers == 2 ? "double" : "single",
		overlap->scale_text);
	for (uint32_t i = 0; i < overlap->count; i++) {
		const struct wp_overlap_point *point = &overlap->points[i];

		if (point->buffers != buffers)
			continue;
		fprintf(data, "%s %s %s\n",
			wp_units_fixed(volume, (double)point->bytes_full / 1e9, 6),
			wp_units_fixed(p50, ms_full(overlap, point->stall.p50), 6),
			wp_units_fixed(most, ms_full(overlap, point->stall.max), 6));
	}
}

static void write_curve(const struct wp_overlap *overlap, uint32_t buffers, unsigned index,
			const char *figure, FILE *script)
{
	bool simulated = strcmp(overlap->world, "virtual") == 0;
	const char *colour = buffers == 2 ? "#0072B2" : "#D55E00";
	char title[256], note[160] = "";

	if (overlap->gpu[0])
		snprintf(note, sizeof(note), "%.120s", overlap->gpu);
	else if (!simulated)
		snprintf(note, sizeof(note), "this machine's %s, scale %.16s",
			 overlap->memcpy_governed ? "memcpy" : "timing", overlap->scale_text);
	else
		snprintf(note, sizeof(note), "simulated");
	snprintf(title, sizeof(title), "%s, %s", buffers == 2 ? "double" : "single", note);
	if (simulated)
		fprintf(script,
			"  '%s.dat' index %u using 1:2 with linespoints lw 2.2 pt 7 ps 0.55 lc "
			"rgb '%s' title ",
			figure, index, colour);
	else
		fprintf(script,
			"  '%s.dat' index %u using 1:2:2:3 with yerrorbars lw 1.6 pt %u ps 1.35 "
			"lc rgb '%s' title ",
			figure, index, overlap->gpu[0] ? 4u : 6u, colour);
	wp_gnuplot_text(script, title);
	fputs(", \\\n", script);
}

static void write_axes(const struct wp_overlaps *overlaps, FILE *script)
{
	double least = 1e9, most = 0, top_ms = 100, tick = 10;
	char text[WP_UNITS_TEXT];

	for (uint32_t i = 0; i < overlaps->count; i++)
		for (uint32_t j = 0; j < overlaps->runs[i].count; j++) {
			const struct wp_overlap_point *point = &overlaps->runs[i].points[j];
			double volume = (double)point->bytes_full / 1e9;
			double stall = ms_full(&overlaps->runs[i], point->stall.max);

			least = volume < least ? volume : least;
			most = volume > most ? volume : most;
			top_ms = stall > top_ms ? stall : top_ms;
		}
	fprintf(script, "set logscale x\nset xrange [%s:", wp_units_fixed(text, least / 1.2, 9));
	fprintf(script, "%s]\n", wp_units_fixed(text, most * 1.2, 9));
	fputs("set xtics (0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200)\n"
	      "set xlabel 'copied for each frame (GB, 10^9 bytes, at full scale)'\n",
	      script);
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

/* Where the paper's range ends, and where a copy lasts as long as compute. */
static void write_marks(const struct wp_overlaps *overlaps, const struct wp_claims *claims,
			FILE *script)
{
	const struct wp_overlap *first = &overlaps->runs[0];
	char text[WP_UNITS_TEXT];

	wp_units_fixed(text, (double)claims->p4_bytes / 1e9, 2);
	fprintf(script,
		"set arrow 1 from %s, graph 0 to %s, graph 1 nohead back lw 1.2 dt (8,5) lc rgb "
		"'#555555'\n"
		"set label 1 'paper: up to %s GB' at %s, graph 0.7 right offset -0.7,0 "
		"textcolor rgb '#444444'\n",
		text, text, text, text);
	if (!first->copy_bytes_per_s)
		return;
	wp_units_fixed(text,
		       (double)first->copy_bytes_per_s * (double)first->compute_full_ns / 1e18, 1);
	fprintf(script,
		"set arrow 2 from %s, graph 0 to %s, graph 1 nohead back lw 1.0 dt (2,4) lc rgb "
		"'#888888'\n"
		"set label 2 'a copy as long as compute: %s GB' at %s, graph 0.1 right offset "
		"-0.7,0 textcolor rgb '#777777'\n",
		text, text, text, text);
}

bool wp_plot_overlap(const struct wp_overlaps *overlaps, const struct wp_claims *claims,
		     const char *figure, FILE *script, FILE *data, char *caption,
		     size_t caption_size)
{
	unsigned index = 0;

	if (!overlaps->count)
		return false;
	wp_gnuplot_head(script, figure);
	fputs("set title 'Stall against the volume copied beside compute' offset 0,0.9\n"
	      "set label 9 'median frame; bar: up to the longest stall' at graph 0.5, graph 1.045 "
	      "center textcolor rgb '#666666'\n"
	      "set key top left opaque samplen 2.2 spacing 1.15 box lc rgb '#DDDDDD'\n"
	      "set lmargin 10\nset rmargin 3\n",
	      script);
	write_axes(overlaps, script);
	write_marks(overlaps, claims, script);
	wp_gnuplot_outputs(script, figure, 820, 500);
	fputs("plot \\\n", script);
	for (uint32_t i = 0; i < overlaps->count; i++)
		for (uint32_t buffers = 2; buffers >= 1; buffers--) {
			write_series(&overlaps->runs[i], buffers, index, data);
			write_curve(&overlaps->runs[i], buffers, index++, figure, script);
		}
	fputs("  NaN notitle\n", script);
	wp_gnuplot_tail(script);
	snprintf(caption, caption_size, "Stall against the volume copied beside compute");
	return true;
}
