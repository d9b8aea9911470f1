/* JSON values as results need them. Knows nothing of any document's layout. */
#include "harness/files/json_value.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pager/check.h"

static json_t *must(json_t *value)
{
	if (!value) {
		fputs("worldpager: out of memory\n", stderr);
		abort();
	}
	return value;
}

/* Length of the UTF-8 sequence at `at`, 0 when there is none (overlong and surrogates too). */
static size_t utf8_length(const unsigned char *at)
{
	size_t length = at[0] < 0x80   ? 1
			: at[0] < 0xc2 ? 0
			: at[0] < 0xe0 ? 2
			: at[0] < 0xf0 ? 3
			: at[0] < 0xf5 ? 4
				       : 0;

	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
	    (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	return length;
}

json_t *wp_json_text(const char *text)
{
	size_t length, used = 0;
	char *safe;
	json_t *value;

	if (!text || !text[0])
		return json_null();
	length = strlen(text);
	safe = malloc(length * 4 + 1);
	if (!safe)
		return must(NULL);
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t sequence = utf8_length(at);

		if (sequence == 0) {
			used += (size_t)sprintf(safe + used, "\\x%02x", *at++);
			continue;
		}
		memcpy(safe + used, at, sequence);
		used += sequence;
		at += sequence;
	}
	value = json_stringn(safe, used);
	free(safe);
	return must(value);
}

json_t *wp_json_count(uint64_t value)
{
	return must(json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value));
}

json_t *wp_json_count_or_null(uint64_t value)
{
	return value ? wp_json_count(value) : json_null();
}

json_t *wp_json_real(double value)
{
	return isfinite(value) ? must(json_real(value)) : json_null();
}

void wp_json_put(json_t *object, const char *key, json_t *value)
{
	WP_CHECK(json_object_set_new(object, key, value) == 0);
}

/* "0.25GB/s" and "1/16" have a slash and are no paths. */
static bool is_rate_or_fraction(const char *text)
{
	const char *at = text;

	while (isdigit((unsigned char)*at) || *at == '.')
		at++;
	if (at == text)
		return false;
	while (isalpha((unsigned char)*at))
		at++;
	if (*at++ != '/')
		return false;
	if (strcmp(at, "s") == 0)
		return true;
	return *at && strspn(at, "0123456789.") == strlen(at);
}

json_t *wp_json_argument(const char *argument)
{
	const char *equals = argument[0] == '-' ? strchr(argument, '=') : NULL;
	const char *value = equals ? equals + 1 : argument;
	size_t end = strlen(value);
	size_t start;
	char *shortened;
	json_t *result;

	if (!strchr(value, '/') || is_rate_or_fraction(value))
		return argument[0] ? wp_json_text(argument) : must(json_string(""));
	while (end > 1 && value[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && value[start - 1] != '/')
		start--;
	if (asprintf(&shortened, "%.*s%.*s", (int)(value - argument), argument, (int)(end - start),
		     value + start) < 0)
		return must(NULL);
	result = shortened[0] ? wp_json_text(shortened) : must(json_string("/"));
	free(shortened);
	return result;
}
