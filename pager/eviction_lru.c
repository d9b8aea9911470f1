/* Least recently used: knows nothing of poses or of what is to come. */
#include "pager/eviction.h"

static bool goes_before(const struct wp_resident *a, const struct wp_resident *b)
{
	return a->used < b->used;
}

const struct wp_eviction wp_eviction_lru = {.name = "lru", .goes_before = goes_before};
