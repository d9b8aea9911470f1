/*
 * JSON values as results need them: absent figures are null, and text from
 * outside (arguments, names, error messages) is always valid UTF-8, so that no
 * key ever vanishes because its value could not be encoded.
 *
 * All return a new reference and abort when memory is exhausted.
 */
#ifndef WP_JSON_VALUE_H
#define WP_JSON_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* Bytes that are not UTF-8 become "\xNN" in plain characters; NULL and "" become null. */
json_t *wp_json_text(const char *text);

/* Unsigned figures; those past JSON's 63 bits are cut to INT64_MAX. */
json_t *wp_json_count(uint64_t value);

/* As above, with 0 meaning "not there". */
json_t *wp_json_count_or_null(uint64_t value);

/* null unless finite. */
json_t *wp_json_real(double value);

/* Puts `value` (stolen) under `key`. */
void wp_json_put(json_t *object, const char *key, json_t *value);

/* An argument as it may be published: folders of paths taken off ("--out=/a/b" -> "--out=b");
 * rates (0.25GB/s), fractions (1/16) and everything without a slash stay. */
json_t *wp_json_argument(const char *argument);

#endif
