/*
 * The pager: keeps past blocks in GPU memory, DRAM and NVMe and brings a
 * frame's retrieved set to the device, staging what is hinted while the
 * previous frame computes. A deterministic, single-threaded state machine that
 * sees only clock, store and device (world.h).
 *
 * One frame, as the caller drives it:
 *
 *   compute of c-1 ends                      compute of c ends
 *      | need(set of c)                          |
 *      |--- stall ---| ready                     |
 *                    | settle: figures of c      |
 *                    | hint(guess for c+1)       |
 *                    |------- compute of c ------| release
 *
 *   step() moves everything as far as it goes without blocking; call it after
 *   every wait, look whether what is waited for has come, and only then wait
 *   again with wp_world_wait(): step may have taken the last completion that
 *   there was to come. The wait_ functions do so.
 *
 * A tiered session adds the block that frame c leaves behind: put(c), after
 * release and before need(c + 1).
 *
 * Errors are 0 or -errno. After an error of step() the pager is stuck: read
 * wp_pager_fault() and close. All memory is taken by open().
 */
#ifndef WP_PAGER_H
#define WP_PAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/eviction.h"
#include "pager/geometry.h"
#include "pager/order.h"
#include "pager/world.h"

struct wp_pager;

enum wp_residency {
	WP_RESIDENCY_FORCED_NVME, /* every retrieved block is read, nothing is reused */
	WP_RESIDENCY_TIERED,	  /* blocks stay where they fit: GPU, DRAM, NVMe */
};

/* Of a tiered session. Budgets are slots: payload bytes / bytes of a block. */
struct wp_pager_tiers {
	uint32_t device_slots; /* at least k + 1: a set and the block that was just made */
	uint32_t host_slots;  /* at least 1; a block is in a DRAM slot before it is anywhere else */
	uint32_t nvme_blocks; /* room in the store; 0: there is no store */
	uint32_t blocks_max;  /* block numbers stay below: 1 .. WP_BLOCKS_MAX */
	uint32_t write_depth; /* small writes in flight: at least 1 */
	uint32_t write_blocks; /* put and not acknowledged, at once: at least 1 */
	/* A full store drops its oldest block for a new one. Needs room for more than twice
	 * write_blocks, so that after a crash what is missing is known to be unfinished. */
	bool forget_oldest;
	const struct wp_eviction *eviction;
	/* For policies that rank; asked while a slot is being freed. */
	uint64_t (*rank)(void *context, uint32_t block);
	void *rank_context;
	/* The store holds `block` durably; within step(). May be NULL. */
	void (*acknowledged)(void *context, uint32_t block);
	void *acknowledged_context;
};

struct wp_pager_config {
	struct wp_geometry geometry;
	const struct wp_order *order;
	enum wp_residency residency;
	uint32_t set_blocks_max;     /* k: 1 .. WP_SET_BLOCKS_MAX */
	uint32_t staging_blocks;     /* guesses held at once: 0 .. WP_STAGING_MAX */
	uint32_t read_depth;	     /* small reads in flight: 1 .. WP_READ_DEPTH_MAX */
	uint32_t read_retries_max;   /* re-reads of one small read that did not verify */
	uint64_t read_deadline_ns;   /* for store and device to answer one request; 0: none */
	struct wp_pager_tiers tiers; /* WP_RESIDENCY_TIERED */
	/* Slots of wp_geometry_slot_bytes() each, 4096-aligned: one a block in use or
	 * staged, or the tiers' budgets. Owned by the caller, who pins or registers
	 * them; NULL device memory is never touched by the pager. */
	void *host_slots;
	void *device_slots;
};

/* What one frame took; the caller adds the times it alone knows. */
struct wp_pager_figures {
	uint64_t ready_ns; /* of the last block; needed_ns if nothing had to move */
	uint64_t read_ns, verify_ns, copy_ns;
	uint64_t bytes_nvme;
	uint32_t blocks_gpu, blocks_dram, blocks_nvme;
	uint32_t hinted, hit, missed, wasted, retries;
};

/* Totals since open. */
struct wp_pager_totals {
	uint64_t bytes_nvme;   /* read from the store */
	uint64_t read_busy_ns; /* time with at least one read outstanding */
	uint64_t reads;
	uint64_t mismatches; /* verifications that failed */
};

struct wp_pager_fault {
	int error; /* -errno; 0: none */
	uint32_t block;
	uint64_t offset;       /* bytes within the block */
	uint64_t wanted_bytes; /* where the store's file ends at `offset`: what was asked for, */
	uint64_t got_bytes;    /* and what of it came before the end; else 0 and 0 */
	const char *stage;     /* "read" "verify" "copy" "fetch" "encode" "write" "commit";
				* error -ETIMEDOUT: not answered in time */
};

/* Where a session's blocks are. */
struct wp_pager_usage {
	uint32_t gpu_blocks, dram_blocks, nvme_blocks; /* copies in each tier */
	uint32_t forgotten;			       /* by the store since open */
	uint32_t unacknowledged;		       /* put and not yet durable */
	uint64_t bytes_written;			       /* to the store since open */
};

/* Bytes of host slots and of device slots that a configuration needs. */
uint64_t wp_pager_host_bytes(const struct wp_pager_config *config);
uint64_t wp_pager_device_bytes(const struct wp_pager_config *config);

/* 0; -EINVAL for a configuration outside the limits; -ENOMEM. */
int wp_pager_open(struct wp_pager **pager, const struct wp_pager_config *config,
		  struct wp_world *world) WP_MUST_USE;

/*
 * Waits for nothing: call wp_pager_quiesce first. If that returned -ETIMEDOUT,
 * requests are still with the seams: close the world first, or, where its
 * storage is stuck in the kernel, neither. NULL is allowed.
 */
void wp_pager_close(struct wp_pager *pager);

/* Stages blocks for the coming frame, best first; what exceeds the staging
 * capacity or repeats is dropped. Once a frame, after settle. */
void wp_pager_hint(struct wp_pager *pager, const uint32_t *blocks, uint32_t count);

/* The true set of the coming frame, known since `needed_ns`. `count` may be 0. */
void wp_pager_need(struct wp_pager *pager, const uint32_t *blocks, uint32_t count,
		   uint64_t needed_ns);

/* Takes completions, starts what can start. 0 or the fault's -errno. */
int wp_pager_step(struct wp_pager *pager) WP_MUST_USE;

/* Whether every block of the set has arrived and is verified. */
bool wp_pager_ready(const struct wp_pager *pager);

/* Waits (world clock) until the set is ready. 0, the fault, or -EINTR. */
int wp_pager_wait_ready(struct wp_pager *pager) WP_MUST_USE;

/* The frame begins to compute: its figures, and unused guesses are given up. */
void wp_pager_settle(struct wp_pager *pager, struct wp_pager_figures *figures);

/* Where block `index` of the settled set lies, until release. */
const void *wp_pager_host(const struct wp_pager *pager, uint32_t index);
void *wp_pager_device(const struct wp_pager *pager, uint32_t index);

/* The frame's compute has ended: its blocks may go. */
void wp_pager_release(struct wp_pager *pager);

/*
 * Tiered: the block that a frame left behind, encoded by the device and written
 * through behind what frames wait for. `position`: the latent index at which its
 * K was rotated. 0; -EAGAIN: no slot now, or too many unacknowledged: step and try
 * again, then wait; -ENOSPC: no tier will ever have room, the session is over.
 */
int wp_pager_put(struct wp_pager *pager, uint32_t block, uint32_t position) WP_MUST_USE;

/* The same, but waits (world clock) where put says -EAGAIN. Also the fault, or -EINTR:
 * not put, call it again. */
int wp_pager_wait_put(struct wp_pager *pager, uint32_t block, uint32_t position) WP_MUST_USE;

/* Tiered: the store already holds `block`, from before a restart. */
void wp_pager_adopt(struct wp_pager *pager, uint32_t block);

/* Tiered: whether `block` can be needed. Not so if it was never put, or forgotten and no
 * longer in memory; needing it then is -ENODATA. Stays true from put to need. */
bool wp_pager_has(const struct wp_pager *pager, uint32_t block);

struct wp_pager_usage wp_pager_usage(const struct wp_pager *pager);

/* Accesses to the block table since open; 0 without one. */
uint64_t wp_pager_table_accesses(const struct wp_pager *pager);

/* Starts nothing new and waits until nothing is in flight: 0, or -ETIMEDOUT when what
 * is in flight was not answered by the deadline and will not be waited for. */
int wp_pager_quiesce(struct wp_pager *pager) WP_MUST_USE;

/* The same, and no longer than until `until_ns`. */
int wp_pager_quiesce_until(struct wp_pager *pager, uint64_t until_ns) WP_MUST_USE;

/*
 * The instant by which a caller that waits has to step again, so that a request
 * without an answer is noticed; WP_TIME_NEVER if there is none.
 */
uint64_t wp_pager_deadline_ns(const struct wp_pager *pager);

/* Aborts unless the pager's own counts agree: for tests, after every event. */
void wp_pager_check(const struct wp_pager *pager);

/* Requests with the seams. */
uint32_t wp_pager_in_flight(const struct wp_pager *pager);

struct wp_pager_totals wp_pager_totals(const struct wp_pager *pager);
struct wp_pager_fault wp_pager_fault(const struct wp_pager *pager);

#endif
