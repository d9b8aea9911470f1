/*
 * A limit on the memory that this process takes from now on, page cache
 * included: what a budget means to a program that leaves caching to the kernel.
 *
 *   v1   a group of its own in the memory controller's hierarchy
 *   v2   the group that the read limit has made (throttle.h), which is the
 *        process's own in the one hierarchy there is; open that first, close
 *        this first
 *
 * Pages that the process holds already stay charged to where it came from.
 */
#ifndef WP_MEMORY_LIMIT_H
#define WP_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "harness/system/cgroup.h"
#include "harness/system/kernel.h"

struct wp_memory_limit {
	const struct wp_kernel *kernel;
	const char *version;		 /* "v1" "v2"; NULL: no limit */
	char origin[WP_CGROUP_PATH_MAX]; /* v1: where the process came from; v2: the parent */
	char path[WP_CGROUP_PATH_MAX];
	bool handed_down; /* v2: the controller was enabled in `origin` for this group */
	uint64_t bytes;	  /* as the kernel says it enforces them: whole pages */
};

/* 0, or -1 with exit 3 in `error` and nothing left behind. */
int wp_memory_limit_open(struct wp_memory_limit *limit, const struct wp_kernel *kernel,
			 uint64_t bytes, struct wp_error *error) WP_MUST_USE;
void wp_memory_limit_close(struct wp_memory_limit *limit); /* an all-zero one is allowed */

#endif
