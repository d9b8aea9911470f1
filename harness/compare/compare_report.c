/* What a comparison came to, for a terminal, for a pull request (Markdown) and for CI (JUnit XML).
 */
#include <stdlib.h>
#include <string.h>

#include "harness/compare/compare.h"
#include "harness/files/markup.h"
#include "harness/files/output.h"
#include "harness/tool.h"
#include "harness/units.h"

#define FIGURE_TEXT 160
#define REASON_TEXT 1100 /* all that an error holds */

const char *wp_compare_figure_name(enum wp_compare_figure figure)
{
	static const char *const names[] = {"stall", "read time of a block", "stall p99",
					    "stall max"};

	return names[figure];
}

const char *wp_compare_outcome_name(enum wp_compare_outcome outcome)
{
	static const char *const names[] = {"same", "WORSE", "better", "not told"};

	return names[outcome];
}

static bool is_matched(const struct wp_compare_point *point)
{
	return point->count[WP_COMPARE_BASE] && point->count[WP_COMPARE_NEW];
}

/* "1034.0 -> 1140.2 ms (+10.3 %), p 1.2e-06" */
static char *figures_text(char text[FIGURE_TEXT], const struct wp_compare_test *test)
{
	double base_ms = test->value_ns[WP_COMPARE_BASE] / 1e6;
	double new_ms = test->value_ns[WP_COMPARE_NEW] / 1e6;
	char change[32] = "";

	if (base_ms > 0)
		snprintf(change, sizeof(change), " (%+.1f %%)", (new_ms / base_ms - 1) * 100);
	snprintf(text, FIGURE_TEXT, "%.1f -> %.1f ms%s, p %.2g", base_ms, new_ms, change,
		 test->outcome == WP_COMPARE_BETTER ? test->p_better : test->p);
	return text;
}

static char *verdict_text(char text[FIGURE_TEXT], const struct wp_compare *compare)
{
	if (compare->worse)
		snprintf(text, FIGURE_TEXT, "FAILED: %u %s worse", compare->worse,
			 compare->worse == 1 ? "figure is" : "figures are");
	else
		snprintf(text, FIGURE_TEXT, "passed: nothing is worse%s",
			 compare->better ? ", something is better" : "");
	return text;
}

static bool any_measured(const struct wp_compare *compare)
{
	for (uint32_t i = 0; i < compare->point_count; i++) {
		if (is_matched(&compare->points[i]) && !compare->points[i].is_virtual)
			return true;
	}
	return false;
}

static void print_rule(const struct wp_compare *compare, FILE *stream)
{
	if (!any_measured(compare)) {
		fputs("Virtual results: the same bits or not.\n", stream);
		return;
	}
	fprintf(
	    stream,
	    "Tolerance %.1f %% and %.1f ms as measured. Stall and read time: sign test over %u "
	    "blocks of frames paired by frame; p99 and maximum: rank test over runs. The chance "
	    "of any false alarm is at most %.0f %%, if disturbances last no longer than a block "
	    "of frames, or touch both sides' runs alike.\n",
	    compare->tolerance * 100, WP_COMPARE_FLOOR_NS / 1e6, WP_COMPARE_BLOCKS,
	    WP_COMPARE_ALPHA * 100);
}

void wp_compare_print(const struct wp_compare *compare, FILE *stream)
{
	char text[FIGURE_TEXT];

	for (uint32_t i = 0; i < compare->point_count; i++) {
		const struct wp_compare_point *point = &compare->points[i];

		fprintf(stream, "%s (%u and %u runs)\n", point->name, point->count[0],
			point->count[1]);
		if (!is_matched(point))
			fputs("  on one side only: not compared\n", stream);
		else if (point->is_virtual)
			fprintf(stream, "  %s%s\n",
				point->equal ? "the same, bit for bit" : "DIFFERS: ",
				point->difference);
		for (int figure = 0; figure < WP_COMPARE_FIGURES; figure++) {
			const struct wp_compare_test *test = &point->tests[figure];

			if (is_matched(point) && !point->is_virtual)
				fprintf(stream, "  %-8s %-22s %s\n",
					wp_compare_outcome_name(test->outcome),
					wp_compare_figure_name((enum wp_compare_figure)figure),
					figures_text(text, test));
		}
	}
	for (uint32_t i = 0; i < compare->note_count; i++)
		fprintf(stream, "note: %s\n", compare->notes[i]);
	print_rule(compare, stream);
	fprintf(stream, "%s\n", verdict_text(text, compare));
}

static int commit(struct wp_output *output, struct wp_error *error)
{
	int result = wp_output_commit(output, error);

	wp_output_abandon(output);
	return result;
}

static void markdown_point(const struct wp_compare_point *point, FILE *stream)
{
	char text[FIGURE_TEXT];

	for (int figure = 0; figure < WP_COMPARE_FIGURES; figure++) {
		const struct wp_compare_test *test = &point->tests[figure];

		fputs("| ", stream);
		wp_markup_cell(stream, point->name);
		if (point->is_virtual || !is_matched(point)) {
			fprintf(stream, " | all | ");
			wp_markup_cell(stream, !is_matched(point) ? "on one side only"
					       : point->equal	  ? "the same bits"
								  : point->difference);
			fprintf(stream, " | %s |\n",
				!is_matched(point) ? "-"
				: point->equal	   ? "same"
						   : "**WORSE**");
			return;
		}
		fprintf(stream, " | %s | %s | %s |\n",
			wp_compare_figure_name((enum wp_compare_figure)figure),
			figures_text(text, test),
			test->outcome == WP_COMPARE_WORSE ? "**WORSE**"
							  : wp_compare_outcome_name(test->outcome));
	}
}

int wp_compare_write_markdown(const struct wp_compare *compare, const char *file,
			      struct wp_error *error)
{
	struct wp_output output = {0};
	char text[FIGURE_TEXT];

	if (wp_output_open(&output, file, error) != 0)
		return -1;
	fprintf(output.stream, "### worldpager compare: %s\n\n", verdict_text(text, compare));
	fputs("| point | figure | base -> new | outcome |\n|---|---|---|---|\n", output.stream);
	for (uint32_t i = 0; i < compare->point_count; i++)
		markdown_point(&compare->points[i], output.stream);
	fputc('\n', output.stream);
	for (uint32_t i = 0; i < compare->note_count; i++) {
		fputs("* ", output.stream);
		wp_markup_cell(output.stream, compare->notes[i]);
		fputc('\n', output.stream);
	}
	if (compare->note_count)
		fputc('\n', output.stream);
	print_rule(compare, output.stream);
	return commit(&output, error);
}

static void junit_case(FILE *stream, const char *point, const char *figure, const char *state,
		       const char *text)
{
	fputs("    <testcase classname=\"", stream);
	wp_markup_text(stream, point);
	fprintf(stream, "\" name=\"%s\">", figure);
	if (state) {
		fprintf(stream, "<%s message=\"", state);
		wp_markup_text(stream, text);
		fputs("\"/>", stream);
	} else {
		fputs("<system-out>", stream);
		wp_markup_text(stream, text);
		fputs("</system-out>", stream);
	}
	fputs("</testcase>\n", stream);
}

static void junit_point(const struct wp_compare_point *point, FILE *stream)
{
	char text[FIGURE_TEXT];

	if (!is_matched(point)) {
		junit_case(stream, point->name, "all", "skipped", "on one side only");
		return;
	}
	if (point->is_virtual) {
		junit_case(stream, point->name, "all", point->equal ? NULL : "failure",
			   point->equal ? "the same bits" : point->difference);
		return;
	}
	for (int figure = 0; figure < WP_COMPARE_FIGURES; figure++) {
		const struct wp_compare_test *test = &point->tests[figure];

		junit_case(stream, point->name,
			   wp_compare_figure_name((enum wp_compare_figure)figure),
			   test->outcome == WP_COMPARE_WORSE	   ? "failure"
			   : test->outcome == WP_COMPARE_UNDECIDED ? "skipped"
								   : NULL,
			   figures_text(text, test));
	}
}

static void junit_begin(FILE *stream, uint32_t cases, uint32_t failures, uint32_t errors,
			uint32_t skipped)
{
	fprintf(stream,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites>\n"
		"  <testsuite name=\"worldpager compare\" tests=\"%u\" failures=\"%u\" "
		"errors=\"%u\" skipped=\"%u\">\n",
		cases, failures, errors, skipped);
}

static void junit_end(FILE *stream)
{
	fputs("  </testsuite>\n</testsuites>\n", stream);
}

int wp_compare_write_junit(const struct wp_compare *compare, const char *file,
			   struct wp_error *error)
{
	uint32_t cases = 0, skipped = compare->undecided;
	struct wp_output output = {0};

	for (uint32_t i = 0; i < compare->point_count; i++) {
		const struct wp_compare_point *point = &compare->points[i];

		skipped += !is_matched(point);
		cases += is_matched(point) && !point->is_virtual ? WP_COMPARE_FIGURES : 1;
	}
	if (wp_output_open(&output, file, error) != 0)
		return -1;
	junit_begin(output.stream, cases, compare->worse, 0, skipped);
	for (uint32_t i = 0; i < compare->point_count; i++)
		junit_point(&compare->points[i], output.stream);
	junit_end(output.stream);
	return commit(&output, error);
}

static char *reason_text(char text[REASON_TEXT], const struct wp_error *why)
{
	char line[16] = "";

	if (why->line > 0)
		snprintf(line, sizeof(line), ":%d", why->line);
	snprintf(text, REASON_TEXT, "%s%s%s%s", why->file, line, why->file[0] ? ": " : "",
		 why->text);
	return text;
}

int wp_compare_refuse_markdown(const struct wp_error *why, const char *file, struct wp_error *error)
{
	struct wp_output output = {0};
	char text[REASON_TEXT];

	if (wp_output_open(&output, file, error) != 0)
		return -1;
	fputs("### worldpager compare: ERROR: not compared\n\n", output.stream);
	wp_markup_cell(output.stream, reason_text(text, why));
	fputc('\n', output.stream);
	return commit(&output, error);
}

int wp_compare_refuse_junit(const struct wp_error *why, const char *file, struct wp_error *error)
{
	struct wp_output output = {0};
	char text[REASON_TEXT];

	if (wp_output_open(&output, file, error) != 0)
		return -1;
	junit_begin(output.stream, 1, 0, 1, 0);
	junit_case(output.stream, "worldpager compare", "comparison", "error",
		   reason_text(text, why));
	junit_end(output.stream);
	return commit(&output, error);
}
