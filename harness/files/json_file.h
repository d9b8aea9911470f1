/*
 * Strict reading of JSON written by people: sizes are limited, duplicate and
 * unknown keys refused, every complaint names file, place and key path.
 *
 * A reader keeps the first failure; after it every getter does nothing and
 * returns zero, so a caller reads all it wants and asks once, at the end:
 *
 *   struct wp_json root;
 *   wp_json_root(&root, &reader, value);
 *   profile->layers = wp_json_u64(&root, "layers", 1, 1000);
 *   wp_json_only(&root);               every key must have been asked for
 *   if (reader.failed) ...             reader.error tells why
 *
 * jansson stays behind this header.
 */
#ifndef WP_JSON_FILE_H
#define WP_JSON_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/error.h"

struct json_t;

#define WP_JSON_KEYS_MAX 48 /* known keys of one object */

struct wp_json_reader {
	const char *file;
	int line; /* of a document within a file of many; 0: the document is the file */
	enum wp_exit exit_code;
	struct wp_error *error; /* set by the first failure */
	bool failed;
};

/* A value and where it stands. Borrowed from the document; parents outlive children. */
struct wp_json {
	struct wp_json_reader *reader;
	const struct wp_json *parent; /* NULL: the document */
	const char *key;	      /* in an object; NULL: in an array */
	uint32_t index;		      /* in an array */
	struct json_t *value;	      /* NULL after a failure */
	uint32_t found_count;	      /* asked keys that were there */
	uint32_t asked_count;
	const char *asked[WP_JSON_KEYS_MAX];
};

/* The document in `bytes`, or NULL with the reader failed. Free with wp_json_free. */
struct json_t *wp_json_parse(struct wp_json_reader *reader, const char *bytes, size_t size);

/* The document in a file of at most `bytes_max`; a byte order mark is skipped.
 * `what` says what the file should be ("a model profile"). */
struct json_t *wp_json_load(struct wp_json_reader *reader, const char *what, uint64_t bytes_max);

void wp_json_free(struct json_t *document); /* NULL is allowed */

/* Starts at the document, which must be an object. */
void wp_json_root(struct wp_json *root, struct wp_json_reader *reader, struct json_t *document);

bool wp_json_has(struct wp_json *object, const char *key);

/* Getters: without `_or` the key is required. Ranges are inclusive. */
uint64_t wp_json_u64(struct wp_json *object, const char *key, uint64_t min, uint64_t max);
uint64_t wp_json_u64_or(struct wp_json *object, const char *key, uint64_t min, uint64_t max,
			uint64_t fallback);
uint32_t wp_json_u32(struct wp_json *object, const char *key, uint32_t min, uint32_t max);
uint32_t wp_json_u32_or(struct wp_json *object, const char *key, uint32_t min, uint32_t max,
			uint32_t fallback);
double wp_json_number(struct wp_json *object, const char *key, double min, double max);
double wp_json_number_or(struct wp_json *object, const char *key, double min, double max,
			 double fallback);
bool wp_json_bool_or(struct wp_json *object, const char *key, bool fallback);

/* Copies a string of 1 .. size - 1 bytes without control characters. */
void wp_json_string(struct wp_json *object, const char *key, char *text, size_t size);
void wp_json_string_or(struct wp_json *object, const char *key, char *text, size_t size,
		       const char *fallback);

/* A string that becomes part of file names: letters, digits, "_", "-", "." (not first). */
void wp_json_name(struct wp_json *object, const char *key, char *text, size_t size);

/* Children. An array's length must be in [min, max]; returns it. */
void wp_json_object(struct wp_json *object, const char *key, struct wp_json *child);
uint32_t wp_json_array(struct wp_json *object, const char *key, uint32_t min, uint32_t max,
		       struct wp_json *child);

uint64_t wp_json_at_u64(struct wp_json *array, uint32_t index, uint64_t min, uint64_t max);
double wp_json_at_number(struct wp_json *array, uint32_t index, double min, double max);
void wp_json_at_string(struct wp_json *array, uint32_t index, char *text, size_t size);
void wp_json_at_object(struct wp_json *array, uint32_t index, struct wp_json *child);
uint32_t wp_json_at_array(struct wp_json *array, uint32_t index, uint32_t min, uint32_t max,
			  struct wp_json *child);

/* What a value is, for keys that take more than one type. */
bool wp_json_is_string(struct wp_json *object, const char *key);

/* Key `index` of an object of free keys (sorted by nothing), or NULL past the end. */
const char *wp_json_key_at(const struct wp_json *object, uint32_t index);

/* Refuses keys that no getter asked for. */
void wp_json_only(struct wp_json *object);

/* Fails the reader with a message about `key` of `where` (NULL: about `where` itself). */
void wp_json_fail(const struct wp_json *where, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
