/*
 * Input files as a user hands them over: opened without hanging on pipes, and
 * named for what they are when they are not what was wanted.
 */
#ifndef WP_INPUT_FILE_H
#define WP_INPUT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/error.h"

/* A descriptor of a regular file and its size, or -1. `what` completes "not ...". A file that an
 * output is to replace (output.h) is refused with WP_EXIT_USAGE. */
int wp_input_open(const char *path, const char *what, enum wp_exit exit_code, uint64_t *size,
		  struct wp_error *error) WP_MUST_USE;

/* What the first bytes show that no text file starts with ("a PNG image"), or NULL. */
const char *wp_input_kind(const unsigned char *bytes, size_t size);

/* The bytes that a byte order mark takes at the start: 3 or 0. */
size_t wp_input_mark(const char *bytes, size_t size);

/* A whole file of at most `size_max` bytes, NUL-terminated; free() it. NULL on failure. */
char *wp_input_read(const char *path, const char *what, enum wp_exit exit_code, uint64_t size_max,
		    size_t *size, struct wp_error *error) WP_MUST_USE;

/*
 * A file line by line, with the digest of all its bytes. Lines may end in LF or
 * CR LF, the last one in nothing; a byte order mark is skipped.
 */
#define WP_LINE_BYTES_MAX (1024u * 1024u)

struct wp_input_lines {
	const char *path;
	enum wp_exit exit_code;
	int fd;
	int line; /* number of the line last returned */
	char *buffer;
	size_t begin, end; /* unread bytes of the buffer */
	int at_end;
	void *digest;
};

int wp_input_lines_open(struct wp_input_lines *lines, const char *path, const char *what,
			enum wp_exit exit_code, struct wp_error *error) WP_MUST_USE;

/* 1 with the next line (without its end; valid until the next call), 0 at the
 * end, -1 with `error`. */
int wp_input_lines_next(struct wp_input_lines *lines, const char **text, size_t *size,
			struct wp_error *error) WP_MUST_USE;

/* XXH3-64 of the bytes returned so far, as 16 hex digits. */
void wp_input_lines_digest(const struct wp_input_lines *lines, char digest[17]);

/* Allowed on an all-zero struct and after a failed open. */
void wp_input_lines_close(struct wp_input_lines *lines);

#endif
