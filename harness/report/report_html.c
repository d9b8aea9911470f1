/*
 * Putting the page together. It is made in memory first: a figure that cannot be
 * shown leaves no half of a page, not even on standard output.
 */
#include "harness/report/report_html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/files/markup.h"
#include "harness/files/output.h"
#include "harness/report/report_html_parts.h"
#include "harness/tool.h"

struct page {
	struct wp_report report;
	struct wp_collection collection;
	struct wp_report_documents documents;
};

static void write_head(const struct wp_collection *collection, FILE *stream)
{
	/* The policy is a second lock: nothing here refers outside, and nothing may. */
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'\">\n<title>",
	      stream);
	wp_markup_text(stream, collection->title);
	fprintf(stream, " - worldpager</title>\n<style>\n%s</style>\n</head>\n<body>\n",
		wp_report_html_style);
}

static void write_state(const struct wp_collection *collection, FILE *stream)
{
	fputs("<header>\n<h1>", stream);
	wp_markup_text(stream, collection->title);
	fputs("</h1>\n<p>How long each frame of a world model waited while its memory was paged "
	      "from NVMe, and how the limit on the drive was proven.</p>\n",
	      stream);
	if (collection->interrupted || collection->missing)
		fprintf(stream,
			"<p class=\"differs\">Not complete: %" PRIu32 " replays were not made%s."
			"</p>\n",
			collection->missing, collection->interrupted ? " (interrupted)" : "");
	if (collection->failed)
		fprintf(stream,
			"<p class=\"differs\">%" PRIu32
			" replays failed; the tables say why.</p>\n",
			collection->failed);
	fputs("<nav aria-label=\"Sections\"><p><a href=\"#claims\">Claims</a> | "
	      "<a href=\"#figures\">Figures</a> | <a href=\"#stalls\">Stalls</a> | "
	      "<a href=\"#limits\">Limits and proof</a> | <a href=\"#machine\">Machine</a> | "
	      "<a href=\"#notes\">Notes and failures</a></p></nav>\n</header>\n",
	      stream);
}

static void write_finding(const struct wp_finding *finding, FILE *stream)
{
	static const char *const classes[] = {
	    [WP_VERDICT_AGREES] = "agrees",
	    [WP_VERDICT_DIFFERS] = "differs",
	    [WP_VERDICT_NOT_COVERED] = "none",
	    [WP_VERDICT_NOT_MEASURABLE] = "none",
	};

	fprintf(stream, "<td><span class=\"%s\">%s</span>", classes[finding->verdict],
		wp_verdict_text(finding->verdict));
	if (finding->verdict != WP_VERDICT_NOT_COVERED) {
		fputs(": ", stream);
		wp_markup_text(stream, finding->text);
	}
	fputs("</td>", stream);
}

static void write_claims(const struct wp_report *report, FILE *stream)
{
	static const char *const headings[] = {"Claim", "The paper", "Simulated",
					       "On this machine"};

	fputs("<section aria-labelledby=\"claims\">\n<h2 id=\"claims\">The paper's claims</h2>\n",
	      stream);
	wp_html_table_begin(stream, "Each claim beside what was found; stalls at full scale",
			    headings, sizeof(headings) / sizeof(headings[0]));
	for (int claim = 0; claim < WP_CLAIM_COUNT; claim++) {
		wp_html_row_begin(stream, wp_claim_id((enum wp_claim)claim));
		wp_html_cell(stream, report->claims.text[claim]);
		write_finding(&report->virtual_findings[claim], stream);
		write_finding(&report->measured_findings[claim], stream);
		fputs("</tr>\n", stream);
	}
	wp_html_table_end(stream);
	fputs("</section>\n", stream);
}

static int write_page(const struct page *page, const char *folder, FILE *stream, uint32_t *figures,
		      struct wp_error *error)
{
	write_head(&page->collection, stream);
	write_state(&page->collection, stream);
	fputs("<main>\n", stream);
	write_claims(&page->report, stream);
	if (wp_report_html_figures(folder, stream, figures, error) != 0)
		return -1;
	wp_report_html_points(&page->collection, stream);
	wp_report_html_limits(&page->documents, stream);
	wp_report_html_machine(&page->documents, stream);
	wp_report_html_notes(&page->documents, &page->collection, stream);
	fprintf(stream,
		"</main>\n<footer><p>Made by worldpager %s (%s).</p></footer>\n</body>\n</html>\n",
		wp_tool_version(), wp_tool_commit());
	return 0;
}

static int put_out(const char *path, const char *bytes, size_t size, struct wp_error *error)
{
	struct wp_output output;

	if (wp_output_open(&output, path, error) != 0)
		return -1;
	fwrite(bytes, 1, size, output.stream); /* the commit looks at the stream's error flag */
	return wp_output_commit(&output, error);
}

static int make(const struct page *page, const char *folder, const char *path,
		struct wp_report_html *shown, struct wp_error *error)
{
	char *bytes = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&bytes, &size);
	int result;

	if (!stream)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "the page: %s", strerror(errno));
	result = write_page(page, folder, stream, &shown->figures, error);
	if ((ferror(stream) | fclose(stream)) != 0 && result == 0)
		result = wp_error_set(error, WP_EXIT_ENVIRONMENT, "the page: %s", strerror(ENOMEM));
	if (result == 0)
		result = put_out(path, bytes, size, error);
	free(bytes);
	return result;
}

int wp_report_html_write(const char *folder, const char *path, struct wp_report_html *shown,
			 struct wp_error *error)
{
	struct page *page = calloc(1, sizeof(*page));
	struct wp_collection_visitor visitor = {.visit = wp_report_documents_visit};
	int result;

	if (!page)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "the page: %s", strerror(ENOMEM));
	visitor.context = &page->documents;
	result = wp_report_load(&page->report, &page->collection, &folder, 1, &visitor, error);
	if (result == 0) {
		shown->documents = page->documents.count;
		shown->points = page->collection.count;
		result = make(page, folder, path, shown, error);
		wp_collection_close(&page->collection);
	}
	wp_report_documents_close(&page->documents);
	wp_report_done(&page->report);
	free(page);
	return result;
}
