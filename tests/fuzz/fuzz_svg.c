/*
 * Fuzzes the reader of figures that go into a page: what it lets through is elements in
 * elements, each closed again, that refer to nothing outside; what it refuses has a reason.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "harness/plot/svg_inline.h"
#include "tests/fuzz/input.h"

#define PREFIX "f1-"
#define LABEL  "A figure"

static bool is_one_of(const char *const *words, size_t count, const char *text, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(words[i]) == size && strncmp(words[i], text, size) == 0)
			return true;
	}
	return false;
}

/* One NAME="VALUE" from its name on; returns what follows it. */
static const char *check_attribute(const char *text)
{
	static const char *const forbidden[] = {"style", "src", "xmlns", "xlink:href"};
	size_t name_size = strcspn(text, "=");
	const char *value = text + name_size + 2, *end;
	size_t size;

	WP_CHECK(name_size && strncmp(text + name_size, "=\"", 2) == 0);
	WP_CHECK(!is_one_of(forbidden, sizeof(forbidden) / sizeof(forbidden[0]), text, name_size));
	WP_CHECK(strncmp(text, "on", 2) != 0);
	end = strchr(value, '"');
	WP_CHECK(end);
	size = (size_t)(end - value);
	WP_CHECK(!memchr(value, '<', size) && !memchr(value, ':', size));
	if (name_size == 4 && strncmp(text, "href", 4) == 0)
		WP_CHECK(strncmp(value, "#" PREFIX, strlen("#" PREFIX)) == 0);
	else if (name_size == 2 && strncmp(text, "id", 2) == 0)
		WP_CHECK(strncmp(value, PREFIX, strlen(PREFIX)) == 0);
	else if (strncasecmp(value, "url(", 4) == 0)
		WP_CHECK(strncmp(value, "url(#" PREFIX, strlen("url(#" PREFIX)) == 0);
	return end + 1;
}

/* What stands between "<" and ">"; 1 for an element that begins, -1 for one that ends. */
static int check_tag(const char *text, const char *end)
{
	static const char *const forbidden[] = {"script", "style", "image", "a", "foreignObject"};
	size_t name_size = strcspn(text, " >");

	if (*text == '/')
		return -1;
	WP_CHECK(name_size && *text != '!' && *text != '?');
	WP_CHECK(!is_one_of(forbidden, sizeof(forbidden) / sizeof(forbidden[0]), text, name_size));
	text += name_size;
	while (text < end) {
		WP_CHECK(*text == ' ');
		text = check_attribute(text + 1);
	}
	return 1;
}

/* An attribute may hold ">". */
static const char *tag_end(const char *text)
{
	bool quoted = false;

	for (; *text && (quoted || *text != '>'); text++)
		quoted ^= *text == '"';
	WP_CHECK(*text == '>');
	return text;
}

static void check_drawing(const char *text)
{
	int depth = 0;

	while ((text = strchr(text, '<')) != NULL) {
		const char *end = tag_end(text);

		depth += check_tag(text + 1, end);
		WP_CHECK(depth >= 0);
		text = end + 1;
	}
	WP_CHECK(depth == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_error error = {0};
	char *bytes = malloc(size + 1), *text = NULL;
	size_t text_size = 0;
	FILE *stream = open_memstream(&text, &text_size);
	int status;

	WP_CHECK(bytes && stream);
	memcpy(bytes, data, size);
	bytes[size] = '\0';
	status = wp_svg_inline(stream, "figure.svg", bytes, size, PREFIX, LABEL, &error);
	fclose(stream);
	if (status == 0)
		check_drawing(text);
	else
		WP_CHECK(error.exit_code == WP_EXIT_CONTENT && error.text[0]);
	free(text);
	free(bytes);
	return 0;
}
