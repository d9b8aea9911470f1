/*
 * Stores: implementations and decorators of the store port. Operations:
 *
 *   READ    chunks [chunk_first, +chunk_count) of `block` into `host`. The whole
 *           range or an error: short transfers and -EAGAIN are repeated inside
 *           (counted in `retries`, bounded).
 *   VERIFY  the bytes at `host` against the index entry of `block`: 0, or
 *           -EBADMSG with fault_offset = start of the first bad chunk.
 *   WRITE   `host` into the record of `block`, same range rules.
 *   COMMIT  all WRITEs of `block` and its index entry durable.
 *
 * -ENODATA: the block was never stored. Errors carry fault_offset, and end_missing where
 * the file ends there.
 */
#ifndef WP_STORE_H
#define WP_STORE_H

#include <stdint.h>

#include "pager/clock.h"
#include "pager/events.h"
#include "pager/geometry.h"
#include "pager/port.h"

/* How a drive behaves in the virtual world; 0 = no latency, no limit. Times
 * from submission: latency, then the drive's rate, one request after another. */
struct wp_drive {
	uint64_t read_latency_ns;
	uint64_t write_latency_ns;
	uint64_t flush_latency_ns;
	uint64_t read_bytes_per_s;
	uint64_t write_bytes_per_s;
	uint64_t verify_bytes_per_s;
};

/* store_virtual.c: `block_count` prepared blocks of wp_content_fill(seed). */
int wp_store_virtual_open(struct wp_port **store, struct wp_events *events,
			  const struct wp_geometry *geometry, const struct wp_drive *drive,
			  uint64_t seed, uint32_t block_count) WP_MUST_USE;

/*
 * The same, empty at first, with room for `block_count` blocks: a block can be read
 * once it was written and committed. Block b lies in the record b mod block_count, and a
 * newer one takes it. Wrong bytes written are wrong when read.
 */
int wp_store_virtual_open_session(struct wp_port **store, struct wp_events *events,
				  const struct wp_geometry *geometry, const struct wp_drive *drive,
				  uint64_t seed, uint32_t block_count) WP_MUST_USE;

/*
 * store_rate.c, the bucket: lets READ through at `bytes_per_s`, one piece
 * accruing at a time, everything else untouched. A piece is released when all
 * its bytes have accrued since the store was last idle, so a frame takes
 * bytes / R and not one piece less. Late polls are made up for up to 20 ms; the
 * rest is lost and counted. Takes `next` over (closes it on close).
 */
int wp_store_rate_open(struct wp_port **store, struct wp_port *next, struct wp_clock *clock,
		       uint64_t bytes_per_s) WP_MUST_USE;
uint64_t wp_store_rate_lost_bytes(const struct wp_port *store);

#endif
