/* What only a tiered session has: new blocks, blocks from before a restart, usage. */
#include <errno.h>

#include "pager/tiered.h"

/* Put and not yet durable; without a store, not yet in DRAM. */
static uint32_t unacknowledged(const struct wp_tiered *tiered)
{
	uint32_t count =
	    tiered->encodes.count + (tiered->writer ? wp_writer_count(tiered->writer) : 0);

	for (uint32_t i = 0; i < tiered->move_count; i++)
		count += tiered->moves[i].kind == WP_MOVE_SAVE;
	return count;
}

static void encode(struct wp_pager *pager, uint32_t block, uint32_t position)
{
	const struct wp_geometry *geometry = &pager->config.geometry;
	struct wp_tiered *tiered = wp_tiered_of(pager);
	struct wp_fresh *fresh = tiered->fresh;
	uint32_t chunks = wp_geometry_chunks(geometry);

	while (fresh->active)
		fresh++;
	*fresh = (struct wp_fresh){
	    .encode =
		{
		    .owner = &tiered->encoded,
		    .op = WP_OP_ENCODE,
		    .block = block,
		    .chunk_count = chunks,
		    .payload_bytes = wp_geometry_payload_bytes(geometry, 0, chunks),
		    .device = wp_pager_device_slot(
			pager, wp_tiers_slot(tiered->tiers, WP_TIER_GPU, block)),
		},
	    .active = true,
	    .block = block,
	    .position = position,
	};
	/* The compute engine queues without a limit. */
	WP_CHECK(wp_port_submit(pager->world->device, &fresh->encode) == 0);
	wp_outstanding_add(&tiered->encodes, &fresh->asked, &fresh->encode,
			   fresh->encode.submit_ns);
}

static void set_fault(struct wp_tiered *tiered, uint32_t block, int error)
{
	if (!tiered->fault.error)
		tiered->fault =
		    (struct wp_pager_fault){.error = error, .block = block, .stage = "encode"};
}

static bool take(struct wp_pager *pager, const struct wp_fresh *fresh)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);
	struct wp_tiers *tiers = tiered->tiers;

	if (fresh->encode.result < 0) {
		/* Nothing was made, so nothing may hold or store it. */
		set_fault(tiered, fresh->block, fresh->encode.result);
		wp_tiers_unclaim(tiers, WP_TIER_DRAM, fresh->block);
		wp_tiers_unclaim(tiers, WP_TIER_GPU, fresh->block);
		return false;
	}
	wp_tiers_filled(tiers, WP_TIER_GPU, fresh->block);
	if (tiered->stopped) {
		wp_tiers_unclaim(tiers, WP_TIER_DRAM, fresh->block);
		wp_tiers_unpin(tiers, WP_TIER_GPU, fresh->block);
		return false;
	}
	wp_tiered_save(pager, fresh->block, fresh->position);
	return true;
}

bool wp_tiered_take_encoded(struct wp_pager *pager)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);
	struct wp_request *request;
	bool began = false;

	while ((request = wp_queue_pop(&tiered->encoded))) {
		struct wp_fresh *fresh = (struct wp_fresh *)request;

		fresh->active = false;
		wp_outstanding_remove(&tiered->encodes, &fresh->asked);
		began |= take(pager, fresh);
	}
	request = wp_outstanding_overdue(&tiered->encodes, wp_clock_now_ns(pager->world->clock));
	if (request)
		set_fault(tiered, ((struct wp_fresh *)request)->block, -ETIMEDOUT);
	return began;
}

/*
 * Room in the store for `block`, whose oldest goes for it; false while that is being read.
 * Who may forget keeps what is unacknowledged within the newest write_blocks, so that a
 * restart can tell the forgotten from the unfinished. Both hold their DRAM slot.
 */
static bool make_room(struct wp_pager *pager, uint32_t block)
{
	const struct wp_pager_tiers *config = &pager->config.tiers;
	struct wp_tiers *tiers = wp_tiered_of(pager)->tiers;
	uint32_t oldest = block - config->nvme_blocks;

	if (!wp_tiered_of(pager)->writer || !config->forget_oldest)
		return true;
	if (block >= config->write_blocks &&
	    wp_tiers_is_pinned(tiers, WP_TIER_DRAM, block - config->write_blocks))
		return false;
	if (block < config->nvme_blocks)
		return true;
	if (wp_tiers_is_pinned(tiers, WP_TIER_DRAM, oldest))
		return false;
	wp_tiers_forget(tiers, oldest);
	return true;
}

int wp_pager_put(struct wp_pager *pager, uint32_t block, uint32_t position)
{
	const struct wp_pager_tiers *config = &pager->config.tiers;
	struct wp_tiered *tiered = wp_tiered_of(pager);
	struct wp_tiers *tiers = tiered->tiers;

	WP_CHECK(pager->ops == &wp_residency_tiered && !pager->needing);
	WP_CHECK(wp_tiers_slot(tiers, WP_TIER_GPU, block) == WP_SLOT_NONE &&
		 wp_tiers_slot(tiers, WP_TIER_DRAM, block) == WP_SLOT_NONE);
	if (tiered->writer && block >= config->nvme_blocks && !config->forget_oldest)
		return -ENOSPC;
	if (unacknowledged(tiered) >= config->write_blocks || !make_room(pager, block))
		return -EAGAIN;
	/* Without a store nothing leaves DRAM, so what is full stays full. */
	if (wp_tiers_claim(tiers, WP_TIER_DRAM, block) == WP_SLOT_NONE)
		return tiered->writer ? -EAGAIN : -ENOSPC;
	if (wp_tiers_claim(tiers, WP_TIER_GPU, block) == WP_SLOT_NONE) {
		wp_tiers_unclaim(tiers, WP_TIER_DRAM, block);
		return -EAGAIN;
	}
	encode(pager, block, position);
	return 0;
}

void wp_pager_adopt(struct wp_pager *pager, uint32_t block)
{
	WP_CHECK(pager->ops == &wp_residency_tiered);
	wp_tiers_set_stored(wp_tiered_of(pager)->tiers, block);
}

bool wp_pager_has(const struct wp_pager *pager, uint32_t block)
{
	const struct wp_tiers *tiers = wp_tiered_of(pager)->tiers;

	WP_CHECK(pager->ops == &wp_residency_tiered);
	return wp_tiers_is_stored(tiers, block) ||
	       wp_tiers_slot(tiers, WP_TIER_GPU, block) != WP_SLOT_NONE ||
	       wp_tiers_slot(tiers, WP_TIER_DRAM, block) != WP_SLOT_NONE;
}

struct wp_pager_usage wp_pager_usage(const struct wp_pager *pager)
{
	const struct wp_tiered *tiered = wp_tiered_of(pager);

	WP_CHECK(pager->ops == &wp_residency_tiered);
	return (struct wp_pager_usage){
	    .gpu_blocks = wp_tiers_count(tiered->tiers, WP_TIER_GPU),
	    .dram_blocks = wp_tiers_count(tiered->tiers, WP_TIER_DRAM),
	    .nvme_blocks = wp_tiers_stored_count(tiered->tiers),
	    .forgotten = wp_tiers_forgotten_count(tiered->tiers),
	    .unacknowledged = unacknowledged(tiered),
	    .bytes_written = tiered->writer ? wp_writer_bytes(tiered->writer) : 0,
	};
}

uint64_t wp_pager_table_accesses(const struct wp_pager *pager)
{
	return pager->ops == &wp_residency_tiered ? wp_tiers_accesses(wp_tiered_of(pager)->tiers)
						  : 0;
}
