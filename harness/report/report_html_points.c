/*
 * Stalls: a row a point, and in each row a strip with a bar a frame. Bars of one
 * table share their height, so that rows compare. A strip of more frames than
 * columns shows the longest stall of each column's frames.
 */
#include <inttypes.h>
#include <string.h>

#include "harness/files/markup.h"
#include "harness/plot/gnuplot.h"
#include "harness/report/report_html_parts.h"
#include "harness/units.h"

#define COLUMNS_MAX  480u
#define STRIP_HEIGHT 100u

static const char *const headings[] = {"R (GB/s)",	  "World",	   "Scale",   "Arm",
				       "Median",	  "99 %",	   "Longest", "Sum (s)",
				       "Achieved (GB/s)", "Frame by frame"};

static uint64_t longest_of(const struct wp_cell *cells, uint32_t count)
{
	uint64_t longest = 0;

	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t frame = 0; frame < cells[i].frame_count; frame++) {
			if (cells[i].frame_stall_ns[frame] > longest)
				longest = cells[i].frame_stall_ns[frame];
		}
	}
	return longest;
}

/* What the strip shows, in words. */
static void write_label(const struct wp_cell *cell, FILE *stream)
{
	uint32_t first =
	    cell->warmup_frames < cell->frame_count ? cell->warmup_frames : cell->frame_count;
	uint32_t stalled = 0, worst = first;
	char text[WP_UNITS_TEXT];

	for (uint32_t i = first; i < cell->frame_count; i++) {
		stalled += cell->frame_stall_ns[i] > 0;
		if (cell->frame_stall_ns[i] > cell->frame_stall_ns[worst])
			worst = i;
	}
	fprintf(stream, "%" PRIu32 " of %" PRIu32 " frames stalled", stalled,
		cell->frame_count - first);
	if (stalled)
		fprintf(stream, "; longest %s ms, frame %" PRIu32,
			wp_units_fixed(text, (double)cell->frame_stall_ns[worst] / 1e6, 1), worst);
}

/* Bars up to STRIP_HEIGHT; a stall above 0 is never drawn as none. */
static void write_bars(const struct wp_cell *cell, uint32_t columns, uint64_t longest_ns,
		       FILE *stream)
{
	fputs("<path d=\"M0 100", stream);
	for (uint32_t column = 0; column < columns; column++) {
		uint64_t begin = (uint64_t)column * cell->frame_count / columns;
		uint64_t end = (uint64_t)(column + 1) * cell->frame_count / columns;
		uint64_t stall_ns = 0;
		uint32_t height;

		for (uint64_t frame = begin; frame < end; frame++) {
			if (cell->frame_stall_ns[frame] > stall_ns)
				stall_ns = cell->frame_stall_ns[frame];
		}
		if (!stall_ns)
			continue;
		height = (uint32_t)((double)stall_ns / (double)longest_ns * STRIP_HEIGHT);
		fprintf(stream, "M%" PRIu32 " %uv-%" PRIu32 "h1v%" PRIu32 "z", column, STRIP_HEIGHT,
			height ? height : 1, height ? height : 1);
	}
	fputs("\"/>", stream);
}

static void write_strip(const struct wp_cell *cell, uint64_t longest_ns, FILE *stream)
{
	uint32_t columns = cell->frame_count < COLUMNS_MAX ? cell->frame_count : COLUMNS_MAX;
	uint64_t warmup = (uint64_t)cell->warmup_frames * columns / cell->frame_count;

	fprintf(
	    stream,
	    "<svg class=\"strip\" role=\"img\" viewBox=\"0 0 %" PRIu32
	    " %u\" preserveAspectRatio=\"none\" aria-label=\"A bar a frame\"><rect width=\"%" PRIu64
	    "\" height=\"%u\"/>",
	    columns, STRIP_HEIGHT, warmup, STRIP_HEIGHT);
	write_bars(cell, columns, longest_ns, stream);
	fputs("</svg>", stream);
	write_label(cell, stream);
}

static void write_why(const struct wp_cell *cell, FILE *stream)
{
	char text[WP_UNITS_TEXT];

	fputs("<td colspan=\"6\">not measurable here: ", stream);
	if (cell->device_limited)
		fprintf(stream, "the disk reaches %s",
			wp_units_rate(text, cell->unthrottled_bytes_per_s));
	else
		wp_markup_text(stream, cell->why);
	fputs("</td></tr>\n", stream);
}

static void write_row(const struct wp_cell *cell, uint64_t longest_ns, FILE *stream)
{
	char text[WP_UNITS_TEXT];

	wp_html_row_begin(stream, wp_units_rate_in_gb(text, cell->bytes_per_s));
	wp_html_cell(stream, cell->world);
	wp_html_cell(stream, cell->scale[0] ? cell->scale : "-");
	wp_html_cell(stream, cell->arm);
	if (!wp_cell_counts(cell)) {
		write_why(cell, stream);
		return;
	}
	wp_html_number(stream, wp_units_fixed(text, (double)cell->stall.p50 / 1e6, 1));
	wp_html_number(stream, wp_units_fixed(text, (double)cell->stall.p99 / 1e6, 1));
	wp_html_number(stream, wp_units_fixed(text, (double)cell->stall.max / 1e6, 1));
	wp_html_number(stream, wp_units_fixed(text, (double)cell->stall.sum / 1e9, 3));
	wp_html_number(stream,
		       cell->achieved_bytes_per_s
			   ? wp_units_fixed(text, (double)cell->achieved_bytes_per_s / 1e9, 4)
			   : "-");
	fputs("<td>", stream);
	write_strip(cell, longest_ns, stream);
	fputs("</td></tr>\n", stream);
}

static void write_group(const struct wp_cell *cells, uint32_t count, FILE *stream)
{
	uint64_t longest_ns = longest_of(cells, count);
	char caption[512], text[WP_UNITS_TEXT];

	fputs("<h3>", stream);
	wp_markup_text(stream, cells->trace);
	if (cells->k) {
		fputs(", ", stream);
		wp_markup_text(stream, cells->model);
		fputs(", ", stream);
		wp_markup_text(stream, cells->codec);
		fprintf(stream, ", k = %" PRIu32, cells->k);
	}
	fputs("</h3>\n", stream);
	snprintf(caption, sizeof(caption), "Stalls of %.200s in ms; a full bar is %s ms",
		 cells->trace, wp_units_fixed(text, (double)longest_ns / 1e6, 1));
	wp_html_table_begin(stream, caption, headings, sizeof(headings) / sizeof(headings[0]));
	for (uint32_t i = 0; i < count; i++)
		write_row(&cells[i], longest_ns, stream);
	wp_html_table_end(stream);
}

void wp_report_html_points(const struct wp_collection *collection, FILE *stream)
{
	fputs("<section aria-labelledby=\"stalls\">\n<h2 id=\"stalls\">Stalls, frame by "
	      "frame</h2>\n<p>Times at full scale. Median, 99 % and sum are medians over repeats, "
	      "longest is the longest of all; the bars are the frames of the first repeat, the "
	      "shade is warm-up, which counts in no figure.</p>\n",
	      stream);
	for (uint32_t first = 0, end; first < collection->count; first = end) {
		end = wp_collection_group_end(collection, first);
		write_group(&collection->cells[first], end - first, stream);
	}
	fputs("</section>\n", stream);
}
