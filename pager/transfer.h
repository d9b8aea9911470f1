/*
 * Blocks on their way from the store to the device, in small reads:
 *
 *   store --READ--> host slot --VERIFY--> --COPY--> device slot
 *           one small read at a time         needed blocks first
 *
 * Each small read goes on to verification and copy by itself, so the three
 * overlap within a block. Which block the next read is for is the order
 * policy's answer, asked when the store can take it. A transfer that is given
 * up starts nothing new and is free again when nothing of it is in flight.
 *
 * No residency, no frames, no hints: that is pager.c.
 */
#ifndef WP_TRANSFER_H
#define WP_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/geometry.h"
#include "pager/meter.h"
#include "pager/order.h"
#include "pager/pager.h"
#include "pager/world.h"

struct wp_transfers;

enum wp_transfer_kind {
	WP_TRANSFER_LOAD,    /* store -> host -> device, as drawn */
	WP_TRANSFER_PROMOTE, /* host -> device: the block lay in DRAM */
	WP_TRANSFER_DEMOTE,  /* device -> host: makes room on the device; behind all others */
};

struct wp_transfers_config {
	struct wp_geometry geometry;
	const struct wp_order *order;
	uint32_t count; /* transfers at once */
	uint32_t read_depth;
	uint32_t read_retries_max;
	uint64_t deadline_ns; /* for a seam to answer one request; 0: none */
};

struct wp_transfers_totals {
	uint64_t bytes_read;
	uint64_t reads;
	uint64_t retries;
	uint64_t mismatches;
	struct wp_meter read, verify, copy;
};

/* 0 or -ENOMEM. Takes all memory there will be. */
int wp_transfers_open(struct wp_transfers **transfers, const struct wp_transfers_config *config,
		      struct wp_world *world) WP_MUST_USE;
void wp_transfers_close(struct wp_transfers *transfers);

/* Index `at` (free) begins: a whole block between store, host and device slot. */
struct wp_transfer_order {
	enum wp_transfer_kind kind;
	bool needed; /* otherwise a guess */
	uint32_t block;
	void *host;
	void *device;
};
void wp_transfer_begin(struct wp_transfers *transfers, uint32_t at,
		       const struct wp_transfer_order *order);

/* A guess turns out to be needed: keeps its place in the queue. */
void wp_transfer_demand(struct wp_transfers *transfers, uint32_t at);

/* Gives it up. Free at once, or, while something is in flight, later. */
void wp_transfer_abandon(struct wp_transfers *transfers, uint32_t at);

bool wp_transfer_is_free(const struct wp_transfers *transfers, uint32_t at);
bool wp_transfer_is_complete(const struct wp_transfers *transfers, uint32_t at);
/* Whether any read of it was issued. */
bool wp_transfer_is_begun(const struct wp_transfers *transfers, uint32_t at);
uint32_t wp_transfer_block(const struct wp_transfers *transfers, uint32_t at);
/* When the last byte had arrived, verified. Complete ones only. */
uint64_t wp_transfer_done_ns(const struct wp_transfers *transfers, uint32_t at);

/* Takes completions and starts what can start; 0 or the fault's -errno. */
int wp_transfers_step(struct wp_transfers *transfers) WP_MUST_USE;

/*
 * When the oldest request in a seam has waited for too long: step() then fails
 * with -ETIMEDOUT, so whoever waits wakes by then. WP_TIME_NEVER: nothing is in
 * flight, or there is no deadline. `last` is that of the youngest: whatever is
 * in flight after it will not come back.
 */
uint64_t wp_transfers_deadline_ns(const struct wp_transfers *transfers);
uint64_t wp_transfers_last_deadline_ns(const struct wp_transfers *transfers);

/* Aborts unless counts and states agree. */
void wp_transfers_check(const struct wp_transfers *transfers);

uint32_t wp_transfers_in_flight(const struct wp_transfers *transfers);
const struct wp_transfers_totals *wp_transfers_totals(const struct wp_transfers *transfers);
struct wp_pager_fault wp_transfers_fault(const struct wp_transfers *transfers);

#endif
