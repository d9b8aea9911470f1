/*
 * Assertions for the programmer's mistakes: on in every build, because a
 * benchmark that goes on after one would publish wrong numbers.
 */
#ifndef WP_CHECK_H
#define WP_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define WP_CHECK(condition)                                                                        \
	((condition) ? (void)0 : wp_check_failed(#condition, __FILE__, __LINE__, __func__))

/* For what cannot be reached: an unknown operation, a table without its row. */
#define WP_ABORT(text) wp_check_failed(text, __FILE__, __LINE__, __func__)

#define WP_MUST_USE    __attribute__((warn_unused_result))

__attribute__((noreturn)) static inline void wp_check_failed(const char *text, const char *file,
							     int line, const char *function)
{
	fprintf(stderr, "%s:%d: %s: check failed: %s\n", file, line, function, text);
	abort();
}

#endif
