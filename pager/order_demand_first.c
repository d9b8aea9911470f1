/*
 * Needed blocks before guesses, each in order of arrival: a guess gives way at
 * the next small read, and goes on where it stopped if it turns out to be
 * needed. What is known to be wrong is not read any further.
 */
#include "pager/order.h"

static bool earlier(const struct wp_candidate *a, const struct wp_candidate *b)
{
	return a->needed != b->needed ? a->needed : a->sequence < b->sequence;
}

static uint32_t pick(const struct wp_candidate *candidates, uint32_t count)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < count; i++)
		if (earlier(&candidates[i], &candidates[best]))
			best = i;
	return best;
}

const struct wp_order wp_order_demand_first = {
    .name = "demand_first",
    .keeps_wrong_guesses = false,
    .pick = pick,
};
