/*
 * One line of a CSV file (RFC 4180), split into fields that know their column,
 * so that complaints can point at them. A record ends with its line: a line
 * break inside quotes is refused.
 */
#ifndef WP_CSV_LINE_H
#define WP_CSV_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "pager/check.h"

#define WP_CSV_FIELDS_MAX 16u

struct wp_csv_field {
	const char *text; /* quotes taken off; not terminated; valid until the next split */
	size_t size;
	int column; /* 1-based, in bytes: where the field begins */
};

/* All zero before the first use. */
struct wp_csv_line {
	struct wp_csv_field fields[WP_CSV_FIELDS_MAX];
	uint32_t count;
	char *buffer; /* the fields' bytes */
	size_t room;
};

/* NULL, or what is wrong, in words for the user, with *column where. */
const char *wp_csv_split(struct wp_csv_line *line, const char *text, size_t size,
			 int *column) WP_MUST_USE;

/* Frees the buffer; an all-zero line is allowed. */
void wp_csv_done(struct wp_csv_line *line);

#endif
