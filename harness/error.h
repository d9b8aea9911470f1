/*
 * Errors a user meets: where (file, line, column when known), what, and the
 * exit code that belongs to it. Lives on the caller's stack; nothing to free.
 */
#ifndef WP_ERROR_H
#define WP_ERROR_H

#include <stdbool.h>
#include <stdio.h>

#include "pager/check.h"

/* The command line's contract. */
enum wp_exit {
	WP_EXIT_OK = 0,
	WP_EXIT_VERDICT = 1,	 /* a verdict failed */
	WP_EXIT_USAGE = 2,	 /* options and config files */
	WP_EXIT_ENVIRONMENT = 3, /* rights, space, device, filesystem, unproven throttle */
	WP_EXIT_CONTENT = 4,	 /* contents of trace, store or result; I/O errors */
	WP_EXIT_INTERRUPTED = 130,
};

struct wp_error {
	enum wp_exit exit_code;
	int line;   /* 1-based; 0: not known */
	int column; /* 1-based; 0: not known */
	char file[256];
	char text[768];
};

/* Both return -1, so that `return wp_error_set(...)` reports and fails in one. */
int wp_error_set(struct wp_error *error, enum wp_exit exit_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int wp_error_at(struct wp_error *error, enum wp_exit exit_code, const char *file, int line,
		int column, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* "worldpager: FILE:LINE:COLUMN: TEXT", one line, control characters made visible. */
void wp_error_print(FILE *stream, const struct wp_error *error);

/* Whether this process has told of any. */
bool wp_error_was_printed(void);

#endif
