/* The table of eviction policies. */
#include "pager/eviction.h"

#include <stddef.h>
#include <string.h>

static const struct wp_eviction *const policies[] = {
    &wp_eviction_lru,
    &wp_eviction_farthest,
    &wp_eviction_next_use,
};

const struct wp_eviction *wp_eviction_find(const char *name)
{
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
		if (strcmp(policies[i]->name, name) == 0)
			return policies[i];
	return NULL;
}
