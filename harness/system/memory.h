/*
 * Memory of a run: what there is to have, and arenas taken once, before frames
 * run. A run that would not fit is refused before anything is allocated: the
 * kernel's way of refusing is to kill.
 */
#ifndef WP_MEMORY_H
#define WP_MEMORY_H

#include <stdint.h>

#include "harness/error.h"
#include "harness/system/kernel.h"

/* The least of MemAvailable and what the process's own memory control groups
 * (v1 and v2, all levels) leave; UINT64_MAX where nothing can be read. */
uint64_t wp_memory_available_bytes(const struct wp_kernel *kernel);

struct wp_arena {
	void *base;
	uint64_t bytes;
};

/* Takes and touches `bytes` of page-aligned zeroed memory. Exit code 3. */
int wp_arena_open(struct wp_arena *arena, uint64_t bytes, const char *what,
		  struct wp_error *error) WP_MUST_USE;
void wp_arena_close(struct wp_arena *arena);

#endif
