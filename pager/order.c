/* The table of order policies. */
#include "pager/order.h"

#include <stddef.h>
#include <string.h>

static const struct wp_order *const orders[] = {
    &wp_order_fifo,
    &wp_order_demand_first,
};

const struct wp_order *wp_order_find(const char *name)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (strcmp(orders[i]->name, name) == 0)
			return orders[i];
	return NULL;
}
