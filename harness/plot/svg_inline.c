/*
 * Reading a drawing token by token. Not an XML parser: it knows the part of XML
 * that gnuplot writes and refuses the rest (entities of a file's own, CDATA,
 * document types). What a browser would fetch or run has no way through: an
 * attribute's value may hold none of the characters that an address needs.
 */
#include "harness/plot/svg_inline.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "harness/files/json_value.h"
#include "harness/files/markup.h"

#define DEPTH_MAX  32
#define NAME_BYTES 32 /* of elements and attributes; longer ones are not known anyway */

#define LETTERS	   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS	   "0123456789"
#define SPACE	   " \t\r\n"

struct reader {
	const char *file, *start, *at, *end; /* *end is 0 */
	const char *prefix, *label;
	FILE *stream;
	struct wp_error *error;
	const char *open[DEPTH_MAX]; /* names, of elements[] or silent[] */
	uint32_t depth, silent_depth;
	bool ended;
};

static const char *const elements[] = {
    "svg",     "g",	      "defs",		"path",	    "rect",
    "circle",  "ellipse",     "line",		"polygon",  "polyline",
    "use",     "text",	      "tspan",		"clipPath", "filter",
    "feFlood", "feComposite", "linearGradient", "stop",
};

/* What they hold is for readers of the file alone. */
static const char *const silent[] = {"title", "desc"};

static const char *const attributes[] = {
    "d",
    "x",
    "y",
    "x1",
    "x2",
    "y1",
    "y2",
    "cx",
    "cy",
    "r",
    "rx",
    "ry",
    "dx",
    "dy",
    "width",
    "height",
    "points",
    "transform",
    "fill",
    "fill-opacity",
    "fill-rule",
    "stroke",
    "stroke-width",
    "stroke-opacity",
    "color",
    "opacity",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-dasharray",
    "font-family",
    "font-size",
    "font-weight",
    "font-style",
    "text-anchor",
    "baseline-shift",
    "clip-path",
    "filter",
    "filterUnits",
    "in",
    "in2",
    "operator",
    "result",
    "flood-color",
    "flood-opacity",
    "offset",
    "stop-color",
    "stop-opacity",
    "shape-rendering",
    "xml:space",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int fault(struct reader *reader, const char *at, const char *text)
{
	int line = 1, column = 1;

	for (const char *byte = reader->start; byte < at; byte++) {
		column = *byte == '\n' ? 1 : column + 1;
		line += *byte == '\n';
	}
	return wp_error_at(reader->error, WP_EXIT_CONTENT, reader->file, line, column,
			   "not a figure that can be shown: %s", text);
}

static const char *known(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return names[i];
	}
	return NULL;
}

static bool starts(const struct reader *reader, const char *text)
{
	return strncmp(reader->at, text, strlen(text)) == 0;
}

static void skip_space(struct reader *reader)
{
	reader->at += strspn(reader->at, SPACE);
}

/* A name; longer ones come out cut, which makes them unknown. */
static int read_name(struct reader *reader, char name[NAME_BYTES])
{
	size_t length = strspn(reader->at, LETTERS DIGITS ":_-");

	if (!length)
		return fault(reader, reader->at, "a name was expected");
	snprintf(name, NAME_BYTES, "%.*s", (int)(length < NAME_BYTES ? length : NAME_BYTES - 1),
		 reader->at);
	reader->at += length;
	return 0;
}

/* Past `end`, from which nothing is shown. */
static int skip_past(struct reader *reader, const char *end)
{
	const char *found = strstr(reader->at, end);

	if (!found)
		return fault(reader, reader->at, "this does not end");
	reader->at = found + strlen(end);
	return 0;
}

/* Length of "#NAME" without its mark, 0 if it is none. */
static size_t local_name(const char *value, size_t size)
{
	size_t length = size > 1 && *value == '#' ? strspn(value + 1, LETTERS DIGITS "_.-") : 0;

	return length && length == size - 1 ? length : 0;
}

static bool is_drawing_value(const char *value, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (!strchr(LETTERS DIGITS SPACE "#.,()%+-_", value[i]))
			return false;
		if (size - i >= 4 && strncasecmp(value + i, "url(", 4) == 0)
			return false;
	}
	return true;
}

static void put_attribute(struct reader *reader, const char *name, const char *before,
			  const char *value, size_t size, const char *after)
{
	bool named = *before || strcmp(name, "id") == 0;

	if (!reader->silent_depth)
		fprintf(reader->stream, " %s=\"%s%s%.*s%s\"", name, before,
			named ? reader->prefix : "", (int)size, value, after);
}

/* NAME="VALUE": left out, put as it is, put with the prefix, or refused. */
static int write_attribute(struct reader *reader, const char *name, const char *value, size_t size)
{
	bool refers = strcmp(name, "href") == 0 || strcmp(name, "xlink:href") == 0;
	bool is_root = reader->depth == 1;
	size_t length;

	if (refers) {
		length = local_name(value, size);
		if (!length)
			return fault(reader, value, "it refers to something outside of it");
		put_attribute(reader, "href", "#", value + 1, length, "");
	} else if (strcmp(name, "id") == 0) {
		/* gnuplot gives several groups one name, and refers to none of them. */
		if (strcmp(reader->open[reader->depth - 1], "g") == 0)
			return 0;
		if (!size || strspn(value, LETTERS DIGITS "_.-") != size)
			return fault(reader, value, "a name that is none");
		put_attribute(reader, name, "", value, size, "");
	} else if (known(attributes, COUNT(attributes), name) || strcmp(name, "viewBox") == 0) {
		if (is_root && strcmp(name, "viewBox") != 0)
			return 0;
		length = size > 6 && strncmp(value, "url(", 4) == 0 && value[size - 1] == ')'
			     ? local_name(value + 4, size - 5)
			     : 0;
		if (length)
			put_attribute(reader, name, "url(#", value + 5, length, ")");
		else if (is_drawing_value(value, size))
			put_attribute(reader, name, "", value, size, "");
		else
			return fault(reader, value, "a value that draws nothing");
	}
	return 0;
}

static int read_attribute(struct reader *reader)
{
	char name[NAME_BYTES], quote[2] = "";
	const char *value;
	size_t size;

	if (read_name(reader, name) != 0)
		return -1;
	skip_space(reader);
	if (*reader->at != '=')
		return fault(reader, reader->at, "an attribute without a value");
	reader->at++;
	skip_space(reader);
	if (*reader->at != '"' && *reader->at != '\'')
		return fault(reader, reader->at, "an attribute without quotes");
	quote[0] = *reader->at++;
	value = reader->at;
	size = strcspn(value, quote);
	if (value + size >= reader->end || memchr(value, '<', size))
		return fault(reader, value, "an attribute that does not end");
	reader->at += size + 1;
	return write_attribute(reader, name, value, size);
}

static int open_element(struct reader *reader, const char *name)
{
	const char *shown = known(elements, COUNT(elements), name);
	const char *hidden = known(silent, COUNT(silent), name);
	bool is_root = strcmp(name, "svg") == 0;

	if ((!shown && !hidden) || is_root != (reader->depth == 0) || reader->ended)
		return fault(reader, reader->at, "an element that is no part of a drawing");
	if (reader->depth == DEPTH_MAX)
		return fault(reader, reader->at, "elements within elements without end");
	reader->open[reader->depth++] = shown ? shown : hidden;
	if (hidden || reader->silent_depth)
		reader->silent_depth++;
	else
		fprintf(reader->stream, "<%s", name);
	if (is_root) {
		fputs(" role=\"img\" aria-label=\"", reader->stream);
		wp_markup_text(reader->stream, reader->label);
		fputc('"', reader->stream);
	}
	return 0;
}

static void close_element(struct reader *reader)
{
	reader->depth--;
	if (reader->silent_depth)
		reader->silent_depth--;
	else
		fprintf(reader->stream, "</%s>\n", reader->open[reader->depth]);
	reader->ended = reader->depth == 0;
}

static int read_start(struct reader *reader)
{
	char name[NAME_BYTES];

	if (read_name(reader, name) != 0 || open_element(reader, name) != 0)
		return -1;
	for (skip_space(reader); *reader->at != '>' && !starts(reader, "/>"); skip_space(reader)) {
		if (read_attribute(reader) != 0)
			return -1;
	}
	if (!reader->silent_depth)
		fputc('>', reader->stream);
	if (*reader->at == '/')
		close_element(reader);
	reader->at += strcspn(reader->at, ">") + 1;
	return 0;
}

static int read_end(struct reader *reader)
{
	const char *begin = reader->at;
	char name[NAME_BYTES];

	if (read_name(reader, name) != 0)
		return -1;
	skip_space(reader);
	if (*reader->at != '>' || !reader->depth ||
	    strcmp(reader->open[reader->depth - 1], name) != 0)
		return fault(reader, begin, "an end of what was not begun");
	reader->at++;
	close_element(reader);
	return 0;
}

/* Length of an entity that every page knows: "&lt;", "&#176;". */
static size_t entity_length(const char *text)
{
	static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
	size_t length;

	for (size_t i = 0; i < COUNT(names); i++) {
		if (strncmp(text, names[i], strlen(names[i])) == 0)
			return strlen(names[i]);
	}
	if (strncmp(text, "&#", 2) != 0)
		return 0;
	length = strspn(text + 2, DIGITS);
	return length && length < 8 && text[2 + length] == ';' ? length + 3 : 0;
}

/* Everything up to the next "<". */
static int read_text(struct reader *reader)
{
	const char *inside = reader->depth ? reader->open[reader->depth - 1] : "";
	bool shown = strcmp(inside, "text") == 0 || strcmp(inside, "tspan") == 0;
	size_t size = strcspn(reader->at, "<");

	if (!shown && !reader->silent_depth && strspn(reader->at, SPACE) < size)
		return fault(reader, reader->at, "text that is no label");
	for (const char *end = reader->at + size; reader->at < end;) {
		size_t step = *reader->at == '&' ? entity_length(reader->at) : 1;

		if (!step)
			return fault(reader, reader->at, "an entity that is not known");
		if (shown && !reader->silent_depth)
			fwrite(reader->at, 1, step, reader->stream);
		reader->at += step;
	}
	return 0;
}

static int read_token(struct reader *reader)
{
	if (*reader->at != '<')
		return read_text(reader);
	if (starts(reader, "<!--"))
		return skip_past(reader, "-->");
	if (starts(reader, "<?"))
		return skip_past(reader, "?>");
	if (starts(reader, "</")) {
		reader->at += 2;
		return read_end(reader);
	}
	reader->at++;
	return read_start(reader);
}

/* UTF-8, and no character that no text file has. */
static bool is_text(const char *bytes, size_t size)
{
	json_t *text = json_stringn(bytes, size);
	bool valid = text != NULL;

	json_decref(text);
	for (size_t i = 0; i < size && valid; i++)
		valid = (unsigned char)bytes[i] >= 0x20 || (bytes[i] && strchr(SPACE, bytes[i]));
	return valid;
}

int wp_svg_inline(FILE *stream, const char *file, const char *bytes, size_t size,
		  const char *prefix, const char *label, struct wp_error *error)
{
	struct reader reader = {
	    .file = file,
	    .start = bytes,
	    .at = bytes,
	    .end = bytes + size,
	    .prefix = prefix,
	    .label = label,
	    .stream = stream,
	    .error = error,
	};

	if (!is_text(bytes, size))
		return fault(&reader, bytes, "it is no text");
	while (reader.at < reader.end) {
		if (read_token(&reader) != 0)
			return -1;
	}
	return reader.ended ? 0 : fault(&reader, reader.end, "it ends in the middle");
}
