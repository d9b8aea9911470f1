/*
 * Copying out of a mapped file whose bytes may not be there: a file that was cut
 * short or a drive that fails answers with SIGBUS, which would end the program
 * with its limits still in place. Here it is an error like any other.
 */
#ifndef WP_MAPPED_COPY_H
#define WP_MAPPED_COPY_H

#include <stdint.h>

#include "pager/check.h"

/* 0, or -EIO with *bad_offset: a byte after `from`, at the start of its page, that could not be
 * had; `to` is then undefined. For one thread at a time. */
int wp_mapped_copy(void *to, const void *from, uint64_t bytes, uint64_t *bad_offset) WP_MUST_USE;

#endif
