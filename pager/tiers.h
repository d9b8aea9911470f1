/*
 * Where every block is: slots of GPU and DRAM, and whether NVMe has it.
 *
 *   blocks   | 0 | 1 | 2 | ...      by number: its slot in each tier, stored or not
 *   GPU      |slot|slot| ...        a slot: the block in it, pins, when it was used
 *   DRAM     |slot|slot|slot| ...
 *
 * A slot is empty, being filled (claimed, not valid) or valid. A pinned slot
 * stays what it is. A valid slot without pins may be taken for another block if
 * its own exists elsewhere: in DRAM or NVMe for a GPU slot, in NVMe for a DRAM
 * slot; or if the block was forgotten. Nothing moves here; that is
 * pager_tiered.c's business.
 *
 * Looking a block up is one access to one table, whatever the session's length.
 */
#ifndef WP_TIERS_H
#define WP_TIERS_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/check.h"
#include "pager/eviction.h"
#include "pager/limits.h"

#define WP_SLOT_NONE UINT32_MAX

enum wp_tier { WP_TIER_GPU, WP_TIER_DRAM, WP_TIER_COUNT };

struct wp_tiers_config {
	uint32_t slots[WP_TIER_COUNT]; /* each at least 1 */
	uint32_t blocks_max;	       /* block numbers 0 .. blocks_max - 1 */
	const struct wp_eviction *eviction;
	uint64_t (*rank)(void *context, uint32_t block); /* if the policy ranks */
	void *rank_context;
};

struct wp_tiers;

/* 0 or -ENOMEM. Takes all memory there will be: 12 bytes a block, 32 a slot. */
int wp_tiers_open(struct wp_tiers **tiers, const struct wp_tiers_config *config) WP_MUST_USE;
void wp_tiers_close(struct wp_tiers *tiers);

/* The slot that holds `block` or is being filled with it; WP_SLOT_NONE. */
uint32_t wp_tiers_slot(const struct wp_tiers *tiers, enum wp_tier tier, uint32_t block);
/* Whether all of the block's bytes are there. */
bool wp_tiers_holds(const struct wp_tiers *tiers, enum wp_tier tier, uint32_t block);

/* A slot for `block`, claimed and pinned once: an empty one, or one taken from
 * the block that the policy lets go. WP_SLOT_NONE: nothing may go now. */
uint32_t wp_tiers_claim(struct wp_tiers *tiers, enum wp_tier tier, uint32_t block);
/* Its bytes have arrived. The pin stays. */
void wp_tiers_filled(struct wp_tiers *tiers, enum wp_tier tier, uint32_t block);
/* Claimed and not filled: empty again, its pin gone. */
void wp_tiers_unclaim(struct wp_tiers *tiers, enum wp_tier tier, uint32_t block);

/* Pins nest. Pinning counts as a use. The block must be in the tier. */
void wp_tiers_pin(struct wp_tiers *tiers, enum wp_tier tier, uint32_t block);
void wp_tiers_unpin(struct wp_tiers *tiers, enum wp_tier tier, uint32_t block);
/* Whether it is in the tier, or on its way there, and held. */
bool wp_tiers_is_pinned(const struct wp_tiers *tiers, enum wp_tier tier, uint32_t block);

/* NVMe holds it durably. */
void wp_tiers_set_stored(struct wp_tiers *tiers, uint32_t block);
bool wp_tiers_is_stored(const struct wp_tiers *tiers, uint32_t block);

/* NVMe drops it, and with it every copy that nobody holds. A copy that is held goes when
 * its slot is wanted after that. No slot of it may be filling or draining. */
void wp_tiers_forget(struct wp_tiers *tiers, uint32_t block);
uint32_t wp_tiers_forgotten_count(const struct wp_tiers *tiers);

/* Valid blocks of a tier; blocks NVMe holds. */
uint32_t wp_tiers_count(const struct wp_tiers *tiers, enum wp_tier tier);
uint32_t wp_tiers_stored_count(const struct wp_tiers *tiers);

/* Reads and writes of the block table since open: the cost that must not grow
 * with the number of blocks. */
uint64_t wp_tiers_accesses(const struct wp_tiers *tiers);

/* Aborts unless blocks and slots agree. */
void wp_tiers_check(const struct wp_tiers *tiers);

#endif
