/*
 * Latest next use (Belady's rule): knows the trace, so no policy reads less
 * from NVMe on it. A bound for the others, not something a live model can do.
 * Never used again: the newest first, whose copy below is the freshest.
 */
#include "pager/eviction.h"

static bool goes_before(const struct wp_resident *a, const struct wp_resident *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	return a->block > b->block;
}

const struct wp_eviction wp_eviction_next_use = {
    .name = "next_use",
    .ranks = true,
    .goes_before = goes_before,
};
