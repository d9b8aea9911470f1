/*
 * Writing summary.md. Formats what collection and claims have found; decides
 * nothing but which verdicts count for the exit code: those of the virtual
 * world, because a drive may have reasons of its own.
 */
#include "harness/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/files/output.h"
#include "harness/plot/gnuplot.h"
#include "harness/tool.h"
#include "harness/units.h"

/* Text from documents: nothing of it may end a table cell or start markup. */
static void put_text(FILE *stream, const char *text)
{
	for (const char *at = text; *at; at++) {
		if (strchr("|\\`*_<>[]#", *at))
			fputc('\\', stream);
		fputc((unsigned char)*at < 0x20 ? ' ' : *at, stream);
	}
}

static void write_claims(const struct wp_report *report, FILE *stream)
{
	fputs("## The paper's claims\n\n"
	      "| | the paper | simulated | on this machine | verdict |\n|---|---|---|---|---|\n",
	      stream);
	for (int claim = 0; claim < WP_CLAIM_COUNT; claim++) {
		const struct wp_finding *simulated = &report->virtual_findings[claim];
		const struct wp_finding *measured = &report->measured_findings[claim];

		fprintf(stream, "| %s | ", wp_claim_id((enum wp_claim)claim));
		put_text(stream, report->claims.text[claim]);
		fputs(" | ", stream);
		put_text(stream, simulated->text);
		fputs(" | ", stream);
		put_text(stream, measured->text);
		fprintf(stream, " | simulated: %s; this machine: %s |\n",
			wp_verdict_text(simulated->verdict), wp_verdict_text(measured->verdict));
	}
	fputs("\nStalls are those of whole frames at full scale, after warm-up. The traces are "
	      "reconstructed from\naction scripts, not recorded; k = 2 and 4.25 bits an element "
	      "are inferred (results/paper/claims.json).\n\n",
	      stream);
}

static void write_figures(const struct wp_figures *figures, FILE *stream)
{
	if (!figures->count)
		return;
	fputs("## Figures\n\n", stream);
	for (uint32_t i = 0; i < figures->count; i++) {
		fputs("![", stream);
		put_text(stream, figures->figures[i].caption);
		fprintf(stream, "](figures/%s.png)\n\n", figures->figures[i].name);
	}
}

/* How far the runs of one point lie apart; beyond this they say little of the drive. */
#define UNSTEADY_CV 0.1

static void write_spread(const struct wp_cell *cell, FILE *stream)
{
	char least[WP_UNITS_TEXT], most[WP_UNITS_TEXT], cv[WP_UNITS_TEXT];

	if (cell->repeats < 2 || cell->p50_min_ns == cell->p50_max_ns)
		return;
	fprintf(stream, "%s%" PRIu32 " runs: p50 %s to %s, CV %s %%%s",
		cell->achieved_bytes_per_s ? "; " : "", cell->repeats,
		wp_units_fixed(least, (double)cell->p50_min_ns / 1e6, 1),
		wp_units_fixed(most, (double)cell->p50_max_ns / 1e6, 1),
		wp_units_fixed(cv, cell->p50_cv * 100, 1),
		cell->p50_cv > UNSTEADY_CV ? " (**unsteady**)" : "");
}

static void write_cell(const struct wp_cell *cell, FILE *stream)
{
	char rate[WP_UNITS_TEXT], p50[WP_UNITS_TEXT], p99[WP_UNITS_TEXT], max[WP_UNITS_TEXT],
	    sum[WP_UNITS_TEXT], ratio[WP_UNITS_TEXT];

	fprintf(stream, "| %s | %s | %s | ", wp_units_rate_in_gb(rate, cell->bytes_per_s),
		cell->world, cell->scale[0] ? cell->scale : "-");
	put_text(stream, cell->arm);
	if (!wp_cell_counts(cell)) {
		fputs(" | | | | | | not measurable here: ", stream);
		if (cell->device_limited)
			fprintf(stream, "the disk reaches %s",
				wp_units_rate(rate, cell->unthrottled_bytes_per_s));
		else
			put_text(stream, cell->why);
		fputs(" |\n", stream);
		return;
	}
	fprintf(
	    stream, " | %s | %s | %s | %s | %s | ",
	    wp_units_fixed(p50, (double)cell->stall.p50 / 1e6, 1),
	    wp_units_fixed(p99, (double)cell->stall.p99 / 1e6, 1),
	    wp_units_fixed(max, (double)cell->stall.max / 1e6, 1),
	    wp_units_fixed(sum, (double)cell->stall.sum / 1e9, 3),
	    !cell->has_bound ? ""
	    : !cell->bound_sum_ns
		? "-"
		: wp_units_fixed(ratio, (double)cell->stall.sum / (double)cell->bound_sum_ns, 3));
	if (cell->achieved_bytes_per_s)
		fprintf(stream, "achieved %s GB/s",
			wp_units_fixed(rate, (double)cell->achieved_bytes_per_s / 1e9, 4));
	write_spread(cell, stream);
	fputs(" |\n", stream);
}

static void write_table(const struct wp_collection *collection, FILE *stream)
{
	fputs("## Stalls\n\nMilliseconds at full scale; the sum in seconds, and over the least sum "
	      "of any "
	      "schedule that\nlearns each set one frame ahead (- where that is 0).\n",
	      stream);
	for (uint32_t first = 0, end; first < collection->count; first = end) {
		const struct wp_cell *head = &collection->cells[first];

		end = wp_collection_group_end(collection, first);
		fputs("\n### ", stream);
		put_text(stream, head->trace);
		if (head->k)
			fprintf(stream, ", %s, %s, k = %" PRIu32, head->model, head->codec,
				head->k);
		fputs("\n\n| R (GB/s) | world | scale | arm | p50 | p99 | max | sum (s) | sum / "
		      "least | |\n"
		      "|---|---|---|---|---|---|---|---|---|---|\n",
		      stream);
		for (uint32_t i = first; i < end; i++)
			write_cell(&collection->cells[i], stream);
	}
}

static void write_state(const struct wp_collection *collection, FILE *stream)
{
	fputs("# ", stream);
	put_text(stream, collection->title);
	fprintf(stream, "\n\nMade by worldpager %s (%s)", wp_tool_version(), wp_tool_commit());
	if (collection->machine[0])
		fprintf(stream, ", machine profile %s", collection->machine);
	fputs(".\n\n", stream);
	if (collection->interrupted || collection->missing)
		fprintf(stream, "**Not complete**: %" PRIu32 " replays were not made%s.\n\n",
			collection->missing, collection->interrupted ? " (interrupted)" : "");
	if (collection->failed)
		fprintf(stream, "**%" PRIu32 " replays failed**; the tables say why.\n\n",
			collection->failed);
}

static int write_summary(const struct wp_report *report, const struct wp_collection *collection,
			 const char *folder, struct wp_error *error)
{
	struct wp_output output;
	char path[WP_PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/summary.md", folder) >= (int)sizeof(path))
		return wp_error_set(error, WP_EXIT_USAGE, "the folder's name is too long");
	if (wp_output_open(&output, path, error) != 0)
		return -1;
	write_state(collection, output.stream);
	write_claims(report, output.stream);
	write_figures(&report->figures, output.stream);
	write_table(collection, output.stream);
	return wp_output_commit(&output, error);
}

static struct wp_finding check(const struct wp_report *report, enum wp_claim claim,
			       const struct wp_collection *collection, bool measured)
{
	if (claim >= WP_CLAIM_P5)
		return wp_claims_check_walls(&report->claims, claim,
					     measured ? &report->measured_walls : &report->walls);
	return claim == WP_CLAIM_P4
		   ? wp_claims_check_overlap(&report->claims, &report->overlaps, measured)
		   : wp_claims_check(&report->claims, claim, collection, measured);
}

static int load_walls(struct wp_walls *walls, const char *folder, const char *world,
		      struct wp_error *error)
{
	struct wp_walls found;
	int result = wp_walls_load(&found, folder, world, error);

	if (result == 1) {
		wp_walls_done(walls);
		*walls = found;
	}
	return result < 0 ? -1 : 0;
}

void wp_report_done(struct wp_report *report)
{
	wp_walls_done(&report->walls);
	wp_walls_done(&report->measured_walls);
}

/* A folder, before anything in it is looked for. */
static int check_source(const char *source, struct wp_error *error)
{
	struct stat status;
	int code = stat(source, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? 0 : ENOTDIR;

	return code ? wp_error_at(error, WP_EXIT_CONTENT, source, 0, 0, "no folder of results: %s",
				  strerror(code))
		    : 0;
}

int wp_report_load(struct wp_report *report, struct wp_collection *collection,
		   const char *const *sources, uint32_t source_count,
		   const struct wp_collection_visitor *visitor, struct wp_error *error)
{
	memset(report, 0, sizeof(*report));
	if (wp_claims_load(&report->claims, error) != 0)
		return -1;
	for (uint32_t i = 0; i < source_count; i++)
		if (check_source(sources[i], error) != 0 ||
		    wp_overlaps_load(&report->overlaps, sources[i], error) != 0 ||
		    load_walls(&report->walls, sources[i], "virtual", error) != 0 ||
		    load_walls(&report->measured_walls, sources[i], "model", error) != 0)
			return -1;
	if (wp_collection_load(collection, sources, source_count, visitor, error) != 0)
		return -1;
	for (int claim = 0; claim < WP_CLAIM_COUNT; claim++) {
		report->virtual_findings[claim] =
		    check(report, (enum wp_claim)claim, collection, false);
		report->measured_findings[claim] =
		    check(report, (enum wp_claim)claim, collection, true);
		report->failed |= report->virtual_findings[claim].verdict == WP_VERDICT_DIFFERS;
	}
	return 0;
}

int wp_report_make(struct wp_report *report, const char *const *sources, uint32_t source_count,
		   const char *folder, bool draw, struct wp_error *error)
{
	struct wp_collection collection;
	int result = 0;

	if (wp_report_load(report, &collection, sources, source_count, NULL, error) != 0)
		return -1;
	if (draw)
		result = wp_plot_write(&collection, &report->overlaps, &report->walls,
				       &report->claims, folder, &report->figures, error);
	if (result == 0)
		result = write_summary(report, &collection, folder, error);
	wp_collection_close(&collection);
	return result;
}

void wp_report_print(const struct wp_report *report, FILE *stream)
{
	for (int claim = 0; claim < WP_CLAIM_COUNT; claim++) {
		const struct wp_finding *simulated = &report->virtual_findings[claim];
		const struct wp_finding *measured = &report->measured_findings[claim];

		fprintf(stream, "%s  %s\n", wp_claim_id((enum wp_claim)claim),
			report->claims.text[claim]);
		if (simulated->verdict == WP_VERDICT_NOT_COVERED &&
		    measured->verdict == WP_VERDICT_NOT_COVERED &&
		    strcmp(simulated->text, wp_verdict_text(simulated->verdict)) != 0)
			fprintf(stream, "    %s (%s)\n", wp_verdict_text(simulated->verdict),
				simulated->text);
		if (simulated->verdict != WP_VERDICT_NOT_COVERED)
			fprintf(stream, "    simulated: %s (%s)\n",
				wp_verdict_text(simulated->verdict), simulated->text);
		if (measured->verdict != WP_VERDICT_NOT_COVERED)
			fprintf(stream, "    this machine: %s (%s)\n",
				wp_verdict_text(measured->verdict), measured->text);
	}
}
