/* Text from outside put into XML, HTML and Markdown without becoming markup. */
#ifndef WP_MARKUP_H
#define WP_MARKUP_H

#include <stdio.h>

/* Escapes & < > " and '; control characters and become "?", bytes that are not UTF-8 "\xNN". */
void wp_markup_text(FILE *stream, const char *text);

/* A cell of a Markdown table: as above, and "|" and "\" are escaped. */
void wp_markup_cell(FILE *stream, const char *text);

#endif
