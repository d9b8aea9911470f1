/*
 * Order policies: which block on its way gets the next small read. Pure
 * functions of what they are shown, asked for one read at a time when the
 * store can take it; nothing queues behind a limiter. One file each, one row
 * in order.c.
 */
#ifndef WP_ORDER_H
#define WP_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/* A block of which some bytes have still to be asked for. */
struct wp_candidate {
	uint64_t sequence; /* when it joined the queue; unique */
	bool needed;	   /* of the frame that waits now; otherwise a guess for the next */
};

struct wp_order {
	const char *name;
	/* Whether guesses that the true set does not name go on being read once it
	 * is known. In forced-nvme nobody will ever use them. */
	bool keeps_wrong_guesses;
	/* Index of the one to read from next; `count` > 0, in no particular order. */
	uint32_t (*pick)(const struct wp_candidate *candidates, uint32_t count);
};

extern const struct wp_order wp_order_fifo;	    /* prefetch, on_demand: by sequence alone */
extern const struct wp_order wp_order_demand_first; /* deadline, hedged: needed before guesses */

/* NULL if there is none of that name. */
const struct wp_order *wp_order_find(const char *name);

#endif
