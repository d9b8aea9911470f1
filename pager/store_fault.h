/*
 * Words for what goes wrong with a store: one line, for the user, in every
 * locale the same.
 */
#ifndef WP_STORE_FAULT_H
#define WP_STORE_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#include "pager/store_host.h"

/* Fills `fault` with the text and, in the first, ": ENOSPC (No space ...)" after
 * it; that one tells contents from environment by the number. Return `error`. */
int wp_store_fault_errno(struct wp_store_fault *fault, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int wp_store_fault_text(struct wp_store_fault *fault, int error, bool content, const char *format,
			...) __attribute__((format(printf, 4, 5)));

/* "ENOSPC (No space left on device)", the same in every locale. */
void wp_store_errno_text(int error, char *text, size_t size);

/* Adds a reason to a list of them, separated by "; ". */
void wp_store_reason_add(char *reasons, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
