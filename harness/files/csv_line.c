/*
 * CSV, one line at a time. Own code because complaints need columns, which the
 * libraries' callbacks do not carry. Knows nothing of headers or types.
 */
#include "harness/files/csv_line.h"

#include <stdlib.h>
#include <string.h>

struct cursor {
	const char *text;
	size_t size, at;
	char *out; /* where the next byte of a field goes */
};

static const char *fail(const char *fault, size_t at, int *column)
{
	*column = (int)at + 1;
	return fault;
}

/* From the byte after the opening quote to the one after the closing quote. */
static const char *take_quoted(struct cursor *cursor, int *column)
{
	size_t opening = cursor->at - 1;

	while (cursor->at < cursor->size) {
		char byte = cursor->text[cursor->at++];

		if (byte != '"') {
			*cursor->out++ = byte;
		} else if (cursor->at < cursor->size && cursor->text[cursor->at] == '"') {
			*cursor->out++ = '"';
			cursor->at++;
		} else if (cursor->at < cursor->size && cursor->text[cursor->at] != ',') {
			return fail("text after the closing quote", cursor->at, column);
		} else {
			return NULL;
		}
	}
	return fail("a quote that is not closed in its line", opening, column);
}

static const char *take_plain(struct cursor *cursor, int *column)
{
	while (cursor->at < cursor->size && cursor->text[cursor->at] != ',') {
		if (cursor->text[cursor->at] == '"')
			return fail("a quote within a field that does not begin with one",
				    cursor->at, column);
		*cursor->out++ = cursor->text[cursor->at++];
	}
	return NULL;
}

static int make_room(struct wp_csv_line *line, size_t size)
{
	char *larger;

	if (size < line->room)
		return 0;
	larger = realloc(line->buffer, 2 * size + 256);
	if (!larger)
		return -1;
	line->buffer = larger;
	line->room = 2 * size + 256;
	return 0;
}

const char *wp_csv_split(struct wp_csv_line *line, const char *text, size_t size, int *column)
{
	struct cursor cursor = {.text = text, .size = size};

	line->count = 0;
	if (make_room(line, size) < 0)
		return fail("out of memory", 0, column);
	cursor.out = line->buffer;
	for (;;) {
		struct wp_csv_field *field = &line->fields[line->count];
		const char *fault;

		if (line->count == WP_CSV_FIELDS_MAX)
			return fail("more fields than any known file has", cursor.at, column);
		line->count++;
		field->column = (int)cursor.at + 1;
		field->text = cursor.out;
		if (cursor.at < size && text[cursor.at] == '"') {
			cursor.at++;
			fault = take_quoted(&cursor, column);
		} else {
			fault = take_plain(&cursor, column);
		}
		if (fault)
			return fault;
		field->size = (size_t)(cursor.out - field->text);
		if (cursor.at == size)
			return NULL;
		cursor.at++; /* the comma */
	}
}

void wp_csv_done(struct wp_csv_line *line)
{
	free(line->buffer);
	memset(line, 0, sizeof(*line));
}
