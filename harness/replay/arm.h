/*
 * Arms: ways of moving blocks, each a recipe of hints and an order of reads.
 * Adding one is one row in arm.c.
 */
#ifndef WP_ARM_H
#define WP_ARM_H

#include <stdint.h>

struct wp_arm {
	const char *name;
	const char *hints; /* a kind of hints.h */
	const char *order; /* a policy of pager/order.h; NULL: the kernel pages (os_paging.h) */
	uint32_t staging_per_k; /* staging capacity by default, in blocks per retrieved block */
};

/* NULL if there is none of that name. */
const struct wp_arm *wp_arm_find(const char *name);

/* The names, separated by spaces, for messages and help. */
const char *wp_arm_names(void);

#endif
