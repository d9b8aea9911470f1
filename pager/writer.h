/*
 * New blocks on their way to NVMe, behind everything that a frame waits for:
 *
 *   device slot --ENCODE--> --FETCH--> DRAM slot --WRITE...--> --COMMIT--> acknowledged
 *               (pager_tiered.c)                 (here)
 *
 * Small writes of a bounded number in flight; a block is acknowledged when
 * payload and index entry are durable. Blocks are written in the order in
 * which they came, commits may overtake one another.
 */
#ifndef WP_WRITER_H
#define WP_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/geometry.h"
#include "pager/meter.h"
#include "pager/pager.h"
#include "pager/world.h"

struct wp_writer_config {
	struct wp_geometry geometry;
	uint32_t depth;	      /* WRITEs in flight: at least 1 */
	uint32_t blocks_max;  /* unacknowledged at once: at least 1 */
	uint64_t deadline_ns; /* for the store to answer one request; 0: none */
};

struct wp_writer;

/* 0 or -ENOMEM. Takes all memory there will be. */
int wp_writer_open(struct wp_writer **writer, const struct wp_writer_config *config,
		   struct wp_world *world) WP_MUST_USE;
void wp_writer_close(struct wp_writer *writer);

/* There must be room. `host` stays as it is until the block is acknowledged. */
void wp_writer_add(struct wp_writer *writer, uint32_t block, uint32_t position, void *host);
uint32_t wp_writer_count(const struct wp_writer *writer); /* blocks not acknowledged */

/* Takes completions; starts what can start if `may_start`. 0 or the fault's -errno. */
int wp_writer_step(struct wp_writer *writer, bool may_start) WP_MUST_USE;

/* The next block acknowledged since the last call; false: none. */
bool wp_writer_take_acknowledged(struct wp_writer *writer, uint32_t *block);

/* As those of transfers. */
uint64_t wp_writer_deadline_ns(const struct wp_writer *writer);
uint64_t wp_writer_last_deadline_ns(const struct wp_writer *writer);
uint32_t wp_writer_in_flight(const struct wp_writer *writer);
uint64_t wp_writer_bytes(const struct wp_writer *writer); /* written since open */
struct wp_pager_fault wp_writer_fault(const struct wp_writer *writer);

#endif
