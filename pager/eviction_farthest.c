/*
 * Farthest from the current pose: what the model would have to travel to see
 * again goes first. Equally far: the least recently used.
 */
#include "pager/eviction.h"

static bool goes_before(const struct wp_resident *a, const struct wp_resident *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	return a->used < b->used;
}

const struct wp_eviction wp_eviction_farthest = {
    .name = "farthest",
    .ranks = true,
    .goes_before = goes_before,
};
