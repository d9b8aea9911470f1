/*
 * Which blocks something of another tool's trace became: a hash id or a key,
 * any bytes, and the run of consecutive blocks that now stand for it.
 */
#ifndef WP_BLOCK_NAMES_H
#define WP_BLOCK_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "pager/check.h"

struct wp_named_blocks {
	uint32_t first, count;
	uint64_t object_bytes; /* as the trace says; 0: it does not */
	uint32_t mark;	       /* the user's own */
};

/* All zero: empty. */
struct wp_block_names {
	void *root;
};

/* The entry of a name, or NULL. Stays where it is until wp_block_names_done. */
struct wp_named_blocks *wp_block_names_find(const struct wp_block_names *names, const void *name,
					    size_t size);

/* The same, made (all zero) where there was none. NULL: out of memory. */
struct wp_named_blocks *wp_block_names_take(struct wp_block_names *names, const void *name,
					    size_t size) WP_MUST_USE;

void wp_block_names_done(struct wp_block_names *names);

#endif
