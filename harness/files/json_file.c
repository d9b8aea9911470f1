/*
 * Strict reading of JSON. Knows nothing of what the values mean. The one idea:
 * a getter is also the declaration of a key, so the set of known keys is the
 * set of keys that were asked for, and no list of them can drift from the code.
 */
#include "harness/files/json_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/files/input_file.h"
#include "harness/tool.h"

struct json_t *wp_json_parse(struct wp_json_reader *reader, const char *bytes, size_t size)
{
	json_error_t fault;
	json_t *document = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &fault);
	int line;

	if (document)
		return document;
	line = reader->line ? reader->line + fault.line - 1 : fault.line;
	reader->failed = true;
	wp_error_at(reader->error, reader->exit_code, reader->file, line,
		    fault.column > 0 ? fault.column : 1, "%s", fault.text);
	return NULL;
}

struct json_t *wp_json_load(struct wp_json_reader *reader, const char *what, uint64_t bytes_max)
{
	size_t size, mark;
	char *bytes =
	    wp_input_read(reader->file, what, reader->exit_code, bytes_max, &size, reader->error);
	json_t *document = NULL;
	const char *kind;

	if (!bytes) {
		reader->failed = true;
		return NULL;
	}
	kind = wp_input_kind((const unsigned char *)bytes, size);
	if (kind) {
		reader->failed = true;
		wp_error_at(reader->error, reader->exit_code, reader->file, 0, 0,
			    "not %s (found %s)", what, kind);
	} else {
		mark = wp_input_mark(bytes, size);
		document = wp_json_parse(reader, bytes + mark, size - mark);
	}
	free(bytes);
	return document;
}

void wp_json_free(struct json_t *document)
{
	json_decref(document);
}

/* Prints the path of a value, "actions[3].do", into `text`; returns its end. */
static char *print_path(char *text, char *end, const struct wp_json *where)
{
	int length;

	if (!where->parent)
		return text;
	text = print_path(text, end, where->parent);
	if (where->key)
		length = snprintf(text, (size_t)(end - text), "%s%.40s",
				  where->parent->parent ? "." : "", where->key);
	else
		length = snprintf(text, (size_t)(end - text), "[%u]", where->index);
	return length < end - text ? text + length : end - 1;
}

void wp_json_fail(const struct wp_json *where, const char *key, const char *format, ...)
{
	struct wp_json_reader *reader = where->reader;
	struct wp_json value = {.reader = reader, .parent = where, .key = key};
	char path[256] = "", why[400];
	va_list arguments;

	if (reader->failed)
		return;
	reader->failed = true;
	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	print_path(path, path + sizeof(path), key ? &value : where);
	wp_error_at(reader->error, reader->exit_code, reader->file, reader->line, 0, "%s%s%s", path,
		    *path ? ": " : "", why);
}

static void start(struct wp_json *node, struct wp_json_reader *reader, const struct wp_json *parent,
		  const char *key, uint32_t index, json_t *value)
{
	node->reader = reader;
	node->parent = parent;
	node->key = key;
	node->index = index;
	node->value = value;
	node->found_count = 0;
	node->asked_count = 0;
}

void wp_json_root(struct wp_json *root, struct wp_json_reader *reader, struct json_t *document)
{
	start(root, reader, NULL, NULL, 0, reader->failed ? NULL : document);
	if (root->value && !json_is_object(root->value)) {
		wp_json_fail(root, NULL, "must be a JSON object");
		root->value = NULL;
	}
}

/* The value of a key, noted as known; NULL if it is not there. */
static json_t *ask(struct wp_json *object, const char *key)
{
	json_t *value;

	if (object->reader->failed || !object->value)
		return NULL;
	value = json_object_get(object->value, key);
	for (uint32_t i = 0; i < object->asked_count; i++) {
		if (!strcmp(object->asked[i], key))
			return value;
	}
	WP_CHECK(object->asked_count < WP_JSON_KEYS_MAX);
	object->asked[object->asked_count++] = key;
	if (value)
		object->found_count++;
	return value;
}

static json_t *demand(struct wp_json *object, const char *key)
{
	json_t *value = ask(object, key);

	if (!value)
		wp_json_fail(object, NULL, "key \"%s\" is missing", key);
	return value;
}

bool wp_json_has(struct wp_json *object, const char *key)
{
	return ask(object, key) != NULL;
}

/* Conversions of a value whose place is `where` + `key`, or `where` alone. */

static uint64_t as_u64(const struct wp_json *where, const char *key, const json_t *value,
		       uint64_t min, uint64_t max)
{
	json_int_t number;

	if (where->reader->failed)
		return 0;
	if (!json_is_integer(value)) {
		wp_json_fail(where, key, "must be a whole number");
		return 0;
	}
	number = json_integer_value(value);
	if (number < 0 || (uint64_t)number < min || (uint64_t)number > max) {
		wp_json_fail(where, key, "%lld is out of range (%llu to %llu)", (long long)number,
			     (unsigned long long)min, (unsigned long long)max);
		return 0;
	}
	return (uint64_t)number;
}

static double as_number(const struct wp_json *where, const char *key, const json_t *value,
			double min, double max)
{
	double number;

	if (where->reader->failed)
		return 0;
	if (!json_is_number(value)) {
		wp_json_fail(where, key, "must be a number");
		return 0;
	}
	number = json_number_value(value);
	if (!isfinite(number) || number < min || number > max) {
		wp_json_fail(where, key, "%.15g is out of range (%g to %g)", number, min, max);
		return 0;
	}
	return number;
}

static void as_string(const struct wp_json *where, const char *key, const json_t *value, char *text,
		      size_t size)
{
	const char *string;

	text[0] = '\0';
	if (where->reader->failed)
		return;
	if (!json_is_string(value)) {
		wp_json_fail(where, key, "must be a string");
		return;
	}
	string = json_string_value(value);
	if (!*string) {
		wp_json_fail(where, key, "must not be empty");
		return;
	}
	if (json_string_length(value) >= size) {
		wp_json_fail(where, key, "must be at most %zu bytes long", size - 1);
		return;
	}
	for (const unsigned char *at = (const unsigned char *)string; *at; at++) {
		if (*at < 0x20 || *at == 0x7f) {
			wp_json_fail(where, key, "must not contain control characters");
			return;
		}
	}
	strcpy(text, string);
}

uint64_t wp_json_u64(struct wp_json *object, const char *key, uint64_t min, uint64_t max)
{
	return as_u64(object, key, demand(object, key), min, max);
}

uint64_t wp_json_u64_or(struct wp_json *object, const char *key, uint64_t min, uint64_t max,
			uint64_t fallback)
{
	const json_t *value = ask(object, key);

	return value ? as_u64(object, key, value, min, max) : fallback;
}

uint32_t wp_json_u32(struct wp_json *object, const char *key, uint32_t min, uint32_t max)
{
	return (uint32_t)wp_json_u64(object, key, min, max);
}

uint32_t wp_json_u32_or(struct wp_json *object, const char *key, uint32_t min, uint32_t max,
			uint32_t fallback)
{
	return (uint32_t)wp_json_u64_or(object, key, min, max, fallback);
}

double wp_json_number(struct wp_json *object, const char *key, double min, double max)
{
	return as_number(object, key, demand(object, key), min, max);
}

double wp_json_number_or(struct wp_json *object, const char *key, double min, double max,
			 double fallback)
{
	const json_t *value = ask(object, key);

	return value ? as_number(object, key, value, min, max) : fallback;
}

bool wp_json_bool_or(struct wp_json *object, const char *key, bool fallback)
{
	const json_t *value = ask(object, key);

	if (!value)
		return fallback;
	if (!json_is_boolean(value))
		wp_json_fail(object, key, "must be true or false");
	return json_is_true(value);
}

void wp_json_string(struct wp_json *object, const char *key, char *text, size_t size)
{
	as_string(object, key, demand(object, key), text, size);
}

void wp_json_string_or(struct wp_json *object, const char *key, char *text, size_t size,
		       const char *fallback)
{
	const json_t *value = ask(object, key);

	if (value)
		as_string(object, key, value, text, size);
	else
		snprintf(text, size, "%s", fallback);
}

void wp_json_name(struct wp_json *object, const char *key, char *text, size_t size)
{
	wp_json_string(object, key, text, size);
	if (!object->reader->failed && !wp_tool_name_valid(text))
		wp_json_fail(object, key,
			     "\"%s\" is not a name (letters, digits, \"_\", \"-\", \".\")", text);
}

void wp_json_object(struct wp_json *object, const char *key, struct wp_json *child)
{
	json_t *value = demand(object, key);

	if (value && !json_is_object(value)) {
		wp_json_fail(object, key, "must be an object");
		value = NULL;
	}
	start(child, object->reader, object, key, 0, value);
}

static uint32_t as_array(struct wp_json *child, uint32_t min, uint32_t max)
{
	size_t size;

	if (child->reader->failed)
		return 0;
	if (!json_is_array(child->value)) {
		wp_json_fail(child, NULL, "must be an array");
		return 0;
	}
	size = json_array_size(child->value);
	if (size >= min && size <= max)
		return (uint32_t)size;
	if (min == max)
		wp_json_fail(child, NULL, "must have %u elements, not %zu", min, size);
	else
		wp_json_fail(child, NULL, "has %zu elements; %u to %u are allowed", size, min, max);
	return 0;
}

uint32_t wp_json_array(struct wp_json *object, const char *key, uint32_t min, uint32_t max,
		       struct wp_json *child)
{
	start(child, object->reader, object, key, 0, demand(object, key));
	return as_array(child, min, max);
}

static json_t *element(const struct wp_json *array, uint32_t index)
{
	json_t *value;

	if (array->reader->failed)
		return NULL;
	value = json_array_get(array->value, index);
	WP_CHECK(value);
	return value;
}

uint64_t wp_json_at_u64(struct wp_json *array, uint32_t index, uint64_t min, uint64_t max)
{
	struct wp_json place;

	start(&place, array->reader, array, NULL, index, element(array, index));
	return as_u64(&place, NULL, place.value, min, max);
}

double wp_json_at_number(struct wp_json *array, uint32_t index, double min, double max)
{
	struct wp_json place;

	start(&place, array->reader, array, NULL, index, element(array, index));
	return as_number(&place, NULL, place.value, min, max);
}

void wp_json_at_string(struct wp_json *array, uint32_t index, char *text, size_t size)
{
	struct wp_json place;

	start(&place, array->reader, array, NULL, index, element(array, index));
	as_string(&place, NULL, place.value, text, size);
}

void wp_json_at_object(struct wp_json *array, uint32_t index, struct wp_json *child)
{
	start(child, array->reader, array, NULL, index, element(array, index));
	if (child->value && !json_is_object(child->value)) {
		wp_json_fail(child, NULL, "must be an object");
		child->value = NULL;
	}
}

uint32_t wp_json_at_array(struct wp_json *array, uint32_t index, uint32_t min, uint32_t max,
			  struct wp_json *child)
{
	start(child, array->reader, array, NULL, index, element(array, index));
	return as_array(child, min, max);
}

bool wp_json_is_string(struct wp_json *object, const char *key)
{
	return json_is_string(ask(object, key));
}

const char *wp_json_key_at(const struct wp_json *object, uint32_t index)
{
	void *at;

	if (object->reader->failed || !object->value)
		return NULL;
	at = json_object_iter(object->value);
	while (at && index--)
		at = json_object_iter_next(object->value, at);
	return at ? json_object_iter_key(at) : NULL;
}

static bool was_asked(const struct wp_json *object, const char *key)
{
	for (uint32_t i = 0; i < object->asked_count; i++) {
		if (!strcmp(object->asked[i], key))
			return true;
	}
	return false;
}

void wp_json_only(struct wp_json *object)
{
	const char *key;
	json_t *value;

	if (object->reader->failed || !object->value ||
	    json_object_size(object->value) == object->found_count)
		return;
	json_object_foreach(object->value, key, value)
	{
		if (!was_asked(object, key)) {
			wp_json_fail(object, NULL, "unknown key \"%.60s\"", key);
			return;
		}
	}
}
