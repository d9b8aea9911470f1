/*
 * Looks at the blocks of a settled frame where the model would read them, on
 * the device side, and compares every byte with what the store was filled
 * with. A thread of its own, so that the check hides behind the frame's
 * compute and no stall is timed around it. What lies on a GPU is compared there.
 */
#ifndef WP_DEVICE_CHECK_H
#define WP_DEVICE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/check.h"
#include "pager/geometry.h"
#include "pager/gpu.h"

struct wp_device_check;

struct wp_device_check_result {
	uint64_t blocks; /* compared so far */
	bool wrong;
	uint32_t block;	 /* the first wrong one */
	uint64_t offset; /* of its first wrong chunk; on a GPU of its first wrong byte */
	int error;	 /* of the GPU: what was left to compare was not */
};

struct wp_device_check_config {
	struct wp_geometry geometry;
	uint64_t seed;
	bool threaded;	    /* false: begin does the work itself (virtual world) */
	struct wp_gpu *gpu; /* the caller's; NULL: addresses are host memory */
};

/* 0 or -errno. */
int wp_device_check_open(struct wp_device_check **check,
			 const struct wp_device_check_config *config) WP_MUST_USE;
void wp_device_check_close(struct wp_device_check *check);

/* `blocks[i]` must lie at `addresses[i]`, untouched until end returns. */
void wp_device_check_begin(struct wp_device_check *check, const uint32_t *blocks,
			   void *const *addresses, uint32_t count);
struct wp_device_check_result wp_device_check_end(struct wp_device_check *check);

#endif
