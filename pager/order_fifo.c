/*
 * First in, first out: a needed block waits behind every guess that was queued
 * before it, begun or not. The paper's prefetching; without guesses, on-demand.
 */
#include "pager/order.h"

static uint32_t pick(const struct wp_candidate *candidates, uint32_t count)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < count; i++)
		if (candidates[i].sequence < candidates[best].sequence)
			best = i;
	return best;
}

const struct wp_order wp_order_fifo = {
    .name = "fifo",
    .keeps_wrong_guesses = true,
    .pick = pick,
};
