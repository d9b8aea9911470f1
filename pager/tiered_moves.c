/* One block from tier to tier: begin, give up, end. See tiered.h. */
#include "pager/tiered.h"

#include <errno.h>

uint32_t wp_tiered_find_move(const struct wp_pager *pager, uint32_t block)
{
	const struct wp_tiered *tiered = wp_tiered_of(pager);

	for (uint32_t i = 0; i < tiered->move_count; i++)
		if (tiered->moves[i].kind != WP_MOVE_IDLE && tiered->moves[i].block == block &&
		    !tiered->moves[i].given_up)
			return i;
	return WP_MOVE_NONE;
}

static uint32_t find_idle(const struct wp_tiered *tiered)
{
	for (uint32_t i = 0; i < tiered->move_count; i++)
		if (tiered->moves[i].kind == WP_MOVE_IDLE)
			return i;
	return WP_MOVE_NONE;
}

/* Movements to the GPU have to leave enough for every new block to be saved. */
static bool may_bring(const struct wp_pager *pager)
{
	const struct wp_tiered *tiered = wp_tiered_of(pager);
	uint32_t count = 0;

	for (uint32_t i = 0; i < tiered->move_count; i++)
		count += tiered->moves[i].kind == WP_MOVE_LOAD ||
			 tiered->moves[i].kind == WP_MOVE_PROMOTE;
	return count < tiered->move_count - pager->config.tiers.write_blocks;
}

static void begin(struct wp_pager *pager, uint32_t at, const struct wp_move *move)
{
	static const enum wp_transfer_kind kinds[] = {
	    [WP_MOVE_LOAD] = WP_TRANSFER_LOAD,
	    [WP_MOVE_PROMOTE] = WP_TRANSFER_PROMOTE,
	    [WP_MOVE_SAVE] = WP_TRANSFER_DEMOTE,
	};
	struct wp_tiered *tiered = wp_tiered_of(pager);
	const struct wp_transfer_order order = {
	    .kind = kinds[move->kind],
	    .needed = move->needed,
	    .block = move->block,
	    .host =
		wp_pager_host_slot(pager, wp_tiers_slot(tiered->tiers, WP_TIER_DRAM, move->block)),
	    .device =
		wp_pager_device_slot(pager, wp_tiers_slot(tiered->tiers, WP_TIER_GPU, move->block)),
	};

	tiered->moves[at] = *move;
	wp_transfer_begin(pager->transfers, at, &order);
}

/* Nobody has it: it was never put, or the store forgot it. */
static void set_missing(struct wp_tiered *tiered, uint32_t block)
{
	if (!tiered->fault.error)
		tiered->fault =
		    (struct wp_pager_fault){.error = -ENODATA, .block = block, .stage = "read"};
}

bool wp_tiered_bring(struct wp_pager *pager, uint32_t block, bool needed)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);
	struct wp_tiers *tiers = tiered->tiers;
	struct wp_move move = {.kind = WP_MOVE_PROMOTE, .block = block, .needed = needed};
	uint32_t at;

	/* In a slot, but not valid: a new block, or one given up that still drains. */
	if (!may_bring(pager) || wp_tiers_slot(tiers, WP_TIER_GPU, block) != WP_SLOT_NONE)
		return false;
	if (!wp_tiers_holds(tiers, WP_TIER_DRAM, block)) {
		if (wp_tiers_slot(tiers, WP_TIER_DRAM, block) != WP_SLOT_NONE)
			return false;
		if (!wp_tiers_is_stored(tiers, block)) {
			if (needed)
				set_missing(tiered, block);
			return false;
		}
		if (wp_tiers_claim(tiers, WP_TIER_DRAM, block) == WP_SLOT_NONE)
			return false;
		move.kind = WP_MOVE_LOAD;
	} else {
		wp_tiers_pin(tiers, WP_TIER_DRAM, block);
	}
	if (wp_tiers_claim(tiers, WP_TIER_GPU, block) == WP_SLOT_NONE) {
		if (move.kind == WP_MOVE_LOAD)
			wp_tiers_unclaim(tiers, WP_TIER_DRAM, block);
		else
			wp_tiers_unpin(tiers, WP_TIER_DRAM, block);
		return false;
	}
	at = find_idle(tiered);
	WP_CHECK(at != WP_MOVE_NONE);
	begin(pager, at, &move);
	return true;
}

void wp_tiered_save(struct wp_pager *pager, uint32_t block, uint32_t position)
{
	const struct wp_move move = {.kind = WP_MOVE_SAVE, .block = block, .position = position};
	uint32_t at = find_idle(wp_tiered_of(pager));

	/* There are as many movements as set, guesses and new blocks together. */
	WP_CHECK(at != WP_MOVE_NONE);
	begin(pager, at, &move);
}

/* Nothing of a given-up movement is in flight any more: its slots go back. */
static void undo(struct wp_tiered *tiered, struct wp_move *move)
{
	struct wp_tiers *tiers = tiered->tiers;

	if (move->kind == WP_MOVE_SAVE)
		wp_tiers_unpin(tiers, WP_TIER_GPU, move->block);
	else
		wp_tiers_unclaim(tiers, WP_TIER_GPU, move->block);
	if (move->kind == WP_MOVE_PROMOTE)
		wp_tiers_unpin(tiers, WP_TIER_DRAM, move->block);
	else
		wp_tiers_unclaim(tiers, WP_TIER_DRAM, move->block);
	*move = (struct wp_move){0};
}

void wp_tiered_give_up(struct wp_pager *pager, uint32_t at)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);

	wp_transfer_abandon(pager->transfers, at);
	tiered->moves[at].given_up = true;
	if (wp_transfer_is_free(pager->transfers, at))
		undo(tiered, &tiered->moves[at]);
}

/* Whoever wants the block takes its own pin before the movement's goes. */
static void hand_over(struct wp_pager *pager, uint32_t block, uint64_t done_ns)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);

	for (uint32_t i = 0; i < pager->set_count + tiered->guess_count; i++) {
		struct wp_wanted *wanted =
		    i < pager->set_count ? &tiered->set[i] : &tiered->guesses[i - pager->set_count];

		if (wanted->block != block || wanted->pinned)
			continue;
		wanted->pinned = true;
		wanted->placed = true;
		wanted->done_ns = done_ns;
		wp_tiers_pin(tiered->tiers, WP_TIER_GPU, block);
	}
}

static void end(struct wp_pager *pager, uint32_t at)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);
	struct wp_tiers *tiers = tiered->tiers;
	const struct wp_move move = tiered->moves[at];
	uint64_t done_ns = wp_transfer_done_ns(pager->transfers, at);

	wp_transfer_abandon(pager->transfers, at);
	tiered->moves[at] = (struct wp_move){0};
	if (move.kind != WP_MOVE_PROMOTE)
		wp_tiers_filled(tiers, WP_TIER_DRAM, move.block);
	if (move.kind == WP_MOVE_SAVE) {
		/* The writer keeps the DRAM slot's pin until the block is durable. */
		if (tiered->writer)
			wp_writer_add(tiered->writer, move.block, move.position,
				      wp_pager_host_slot(
					  pager, wp_tiers_slot(tiers, WP_TIER_DRAM, move.block)));
		else
			wp_tiers_unpin(tiers, WP_TIER_DRAM, move.block);
	} else {
		wp_tiers_filled(tiers, WP_TIER_GPU, move.block);
		hand_over(pager, move.block, done_ns);
		wp_tiers_unpin(tiers, WP_TIER_DRAM, move.block);
	}
	wp_tiers_unpin(tiers, WP_TIER_GPU, move.block);
}

bool wp_tiered_finish_moves(struct wp_pager *pager)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);
	bool changed = false;

	for (uint32_t i = 0; i < tiered->move_count; i++) {
		struct wp_move *move = &tiered->moves[i];

		if (move->kind == WP_MOVE_IDLE)
			continue;
		if (move->given_up && wp_transfer_is_free(pager->transfers, i)) {
			undo(tiered, move);
			changed = true;
		} else if (!move->given_up && wp_transfer_is_complete(pager->transfers, i)) {
			end(pager, i);
			changed = true;
		}
	}
	return changed;
}

bool wp_tiered_is_reading_needed(const struct wp_pager *pager)
{
	const struct wp_tiered *tiered = wp_tiered_of(pager);

	for (uint32_t i = 0; i < tiered->move_count; i++)
		if (tiered->moves[i].kind == WP_MOVE_LOAD && tiered->moves[i].needed &&
		    !tiered->moves[i].given_up)
			return true;
	return false;
}
