/* The table of arms. */
#include "harness/replay/arm.h"

#include <stddef.h>
#include <string.h>

static const struct wp_arm arms[] = {
    {"on_demand", "none", "fifo", 2},
    {"prefetch", "hold_last", "fifo", 2},
    {"deadline", "hold_last", "demand_first", 2},
    {"hedged", "alternatives", "demand_first", 8},
    {"os_paging", "hold_last", NULL, 2},
};

const struct wp_arm *wp_arm_find(const char *name)
{
	for (size_t i = 0; i < sizeof(arms) / sizeof(arms[0]); i++)
		if (strcmp(arms[i].name, name) == 0)
			return &arms[i];
	return NULL;
}

const char *wp_arm_names(void)
{
	return "on_demand prefetch deadline hedged os_paging";
}
