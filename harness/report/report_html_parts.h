/* The parts of the page that report_html.h describes, each a section with its heading. */
#ifndef WP_REPORT_HTML_PARTS_H
#define WP_REPORT_HTML_PARTS_H

#include <stdio.h>

#include "harness/experiments/collection.h"
#include "harness/report/report.h"
#include "harness/report/report_documents.h"

/* report_html_style.c: the page's style sheet. */
extern const char wp_report_html_style[];

/* report_html_points.c: a table a trace, with a strip of all frames in each row. */
void wp_report_html_points(const struct wp_collection *collection, FILE *stream);

/* report_html_proof.c */
void wp_report_html_limits(const struct wp_report_documents *documents, FILE *stream);
void wp_report_html_machine(const struct wp_report_documents *documents, FILE *stream);
void wp_report_html_notes(const struct wp_report_documents *documents,
			  const struct wp_collection *collection, FILE *stream);

/* report_html_figures.c: 0, or -1 (exit 4); `count` figures were shown. */
int wp_report_html_figures(const char *folder, FILE *stream, uint32_t *count,
			   struct wp_error *error) WP_MUST_USE;

/* report_html_table.c. A table in a box of its own that scrolls, which the keyboard reaches, too.
 * `headings` are plain text of ours; text from documents is for the others to escape. */
void wp_html_table_begin(FILE *stream, const char *caption, const char *const *headings,
			 size_t count);
void wp_html_table_end(FILE *stream);
void wp_html_row_begin(FILE *stream, const char *heading); /* of the row; escaped */
void wp_html_cell(FILE *stream, const char *text);	   /* escaped */
void wp_html_number(FILE *stream, const char *text);	   /* the same, to the right */

#endif
