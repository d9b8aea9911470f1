/*
 * Eviction policies: which block leaves a tier that is full. Pure functions of
 * what they are shown: blocks that may go, because another copy of each exists
 * and nothing is moving it. One file each, one row in eviction.c.
 */
#ifndef WP_EVICTION_H
#define WP_EVICTION_H

#include <stdbool.h>
#include <stdint.h>

struct wp_resident {
	uint32_t block;
	uint64_t used; /* grows with every use of the tier's slots; unique within a tier */
	uint64_t rank; /* the caller's, only if the policy asks for it: larger goes earlier */
};

struct wp_eviction {
	const char *name;
	bool ranks; /* `rank` is filled in */
	/* Whether `a` goes before `b`: a strict order over distinct residents. */
	bool (*goes_before)(const struct wp_resident *a, const struct wp_resident *b);
};

extern const struct wp_eviction wp_eviction_lru;      /* least recently used */
extern const struct wp_eviction wp_eviction_farthest; /* rank: distance from the current pose */
extern const struct wp_eviction wp_eviction_next_use; /* rank: frames until its next use */

/* NULL if there is none of that name. */
const struct wp_eviction *wp_eviction_find(const char *name);

#endif
