/* Escaping. Knows characters, no documents. */
#include "harness/files/markup.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/files/json_value.h"

static void put(FILE *stream, const char *text, bool cell)
{
	for (const char *at = text; *at; at++) {
		switch (*at) {
		case '&':
			fputs("&amp;", stream);
			break;
		case '<':
			fputs("&lt;", stream);
			break;
		case '>':
			fputs("&gt;", stream);
			break;
		case '"':
			fputs("&quot;", stream);
			break;
		case '\'':
			fputs("&#39;", stream);
			break;
		case '|':
		case '\\':
			if (cell)
				fputc('\\', stream);
			fputc(*at, stream);
			break;
		default:
			fputc((unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at, stream);
		}
	}
}

/* wp_json_text makes any bytes valid UTF-8. */
static void put_valid(FILE *stream, const char *text, bool cell)
{
	json_t *valid = wp_json_text(text);

	if (json_is_string(valid))
		put(stream, json_string_value(valid), cell);
	json_decref(valid);
}

void wp_markup_text(FILE *stream, const char *text)
{
	put_valid(stream, text, false);
}

void wp_markup_cell(FILE *stream, const char *text)
{
	put_valid(stream, text, true);
}
