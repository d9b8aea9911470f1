/* Tables of the page. Knows HTML, no results. */
#include "harness/files/markup.h"
#include "harness/report/report_html_parts.h"

void wp_html_table_begin(FILE *stream, const char *caption, const char *const *headings,
			 size_t count)
{
	fputs("<div class=\"box\" role=\"region\" tabindex=\"0\" aria-label=\"", stream);
	wp_markup_text(stream, caption);
	fputs("\">\n<table>\n<caption>", stream);
	wp_markup_text(stream, caption);
	fputs("</caption>\n<thead>\n<tr>", stream);
	for (size_t i = 0; i < count; i++) {
		fputs("<th scope=\"col\">", stream);
		wp_markup_text(stream, headings[i]);
		fputs("</th>", stream);
	}
	fputs("</tr>\n</thead>\n<tbody>\n", stream);
}

void wp_html_table_end(FILE *stream)
{
	fputs("</tbody>\n</table>\n</div>\n", stream);
}

void wp_html_row_begin(FILE *stream, const char *heading)
{
	fputs("<tr><th scope=\"row\">", stream);
	wp_markup_text(stream, heading);
	fputs("</th>", stream);
}

void wp_html_cell(FILE *stream, const char *text)
{
	fputs("<td>", stream);
	wp_markup_text(stream, text);
	fputs("</td>", stream);
}

void wp_html_number(FILE *stream, const char *text)
{
	fputs("<td class=\"n\">", stream);
	wp_markup_text(stream, text);
	fputs("</td>", stream);
}
