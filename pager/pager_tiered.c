/*
 * tiered: blocks stay in GPU and DRAM while they fit; every new block is also
 * written through to NVMe, so that letting one go costs nothing.
 *
 *   put     claims a GPU and a DRAM slot; ENCODE, SAVE, write, acknowledged; a
 *           full store forgets its oldest block first, if it may
 *   hint    blocks not on the GPU are brought there; those that are, are held
 *   need    what a guess brought or holds is the set's; the rest is brought now
 *   settle  the set is held for the model; guesses stay where they are, unheld
 *
 * A needed block that finds no slot waits for one in step(): guesses without
 * use are let go at need, and everything else that holds slots ends by itself.
 */
#include <errno.h>
#include <stdlib.h>

#include "pager/tiered.h"

static bool tiered_is_legal(const struct wp_pager_config *config)
{
	const struct wp_pager_tiers *tiers = &config->tiers;

	return tiers->eviction && (!tiers->eviction->ranks || tiers->rank) &&
	       tiers->device_slots >= config->set_blocks_max + 1 && tiers->host_slots >= 1 &&
	       tiers->blocks_max >= 1 && tiers->blocks_max <= WP_BLOCKS_MAX &&
	       tiers->write_depth >= 1 && tiers->write_blocks >= 1 &&
	       (!tiers->forget_oldest || tiers->nvme_blocks > 2 * (uint64_t)tiers->write_blocks);
}

static uint32_t tiered_transfer_count(const struct wp_pager_config *config)
{
	return config->set_blocks_max + config->staging_blocks + config->tiers.write_blocks;
}

static int tiered_open(struct wp_pager *pager)
{
	const struct wp_pager_config *config = &pager->config;
	const struct wp_tiers_config tiers = {
	    .slots = {config->tiers.device_slots, config->tiers.host_slots},
	    .blocks_max = config->tiers.blocks_max,
	    .eviction = config->tiers.eviction,
	    .rank = config->tiers.rank,
	    .rank_context = config->tiers.rank_context,
	};
	const struct wp_writer_config writer = {
	    .geometry = config->geometry,
	    .depth = config->tiers.write_depth,
	    .blocks_max = config->tiers.write_blocks,
	    .deadline_ns = config->read_deadline_ns,
	};
	struct wp_tiered *tiered = calloc(1, sizeof(*tiered));
	int error;

	if (!tiered)
		return -ENOMEM;
	pager->state = tiered;
	tiered->encodes.limit_ns = config->read_deadline_ns;
	tiered->move_count = tiered_transfer_count(config);
	tiered->moves = calloc(tiered->move_count, sizeof(*tiered->moves));
	tiered->set = calloc(config->set_blocks_max, sizeof(*tiered->set));
	tiered->guesses = calloc(config->staging_blocks + 1u, sizeof(*tiered->guesses));
	tiered->fresh = calloc(config->tiers.write_blocks, sizeof(*tiered->fresh));
	if (!tiered->moves || !tiered->set || !tiered->guesses || !tiered->fresh)
		return -ENOMEM;
	error = wp_tiers_open(&tiered->tiers, &tiers);
	if (!error && config->tiers.nvme_blocks)
		error = wp_writer_open(&tiered->writer, &writer, pager->world);
	return error;
}

static void tiered_close(struct wp_pager *pager)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);

	if (!tiered)
		return;
	wp_writer_close(tiered->writer);
	wp_tiers_close(tiered->tiers);
	free(tiered->fresh);
	free(tiered->guesses);
	free(tiered->set);
	free(tiered->moves);
	free(tiered);
}

/* A block that is nowhere whole was just put and is being encoded on the GPU. */
static enum wp_tier tier_of(const struct wp_tiered *tiered, uint32_t block)
{
	if (wp_tiers_holds(tiered->tiers, WP_TIER_GPU, block))
		return WP_TIER_GPU;
	if (wp_tiers_holds(tiered->tiers, WP_TIER_DRAM, block))
		return WP_TIER_DRAM;
	return wp_tiers_is_stored(tiered->tiers, block) ? WP_TIER_COUNT : WP_TIER_GPU;
}

static void hold(struct wp_tiered *tiered, struct wp_wanted *wanted)
{
	wp_tiers_pin(tiered->tiers, WP_TIER_GPU, wanted->block);
	wanted->pinned = true;
	wanted->placed = true;
}

/* Holds what is on the GPU, brings what is not; whether anything began to move. */
static bool place(struct wp_pager *pager, struct wp_wanted *wanted, bool needed)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);

	if (wanted->pinned || wp_tiered_find_move(pager, wanted->block) != WP_MOVE_NONE) {
		wanted->placed = true;
		if (!wanted->pinned && wp_tiers_holds(tiered->tiers, WP_TIER_GPU, wanted->block))
			hold(tiered, wanted); /* being saved */
		return false;
	}
	if (wp_tiers_holds(tiered->tiers, WP_TIER_GPU, wanted->block)) {
		hold(tiered, wanted);
		return false;
	}
	wanted->placed = wp_tiered_bring(pager, wanted->block, needed);
	return wanted->placed;
}

static bool place_guesses(struct wp_pager *pager)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);
	/* One GPU slot is left for the block that the frame makes. */
	uint32_t most = pager->config.tiers.device_slots - 1;
	bool began = false;

	for (uint32_t i = 0; i < tiered->guess_count && i < most; i++) {
		struct wp_wanted *guess = &tiered->guesses[i];

		if (guess->placed || !wp_pager_has(pager, guess->block))
			continue;
		began |= place(pager, guess, false);
		pager->figures.hinted += guess->placed;
		if (!guess->placed)
			break; /* the best first: none overtakes one that waits for a slot */
	}
	return began;
}

static bool place_set(struct wp_pager *pager)
{
	bool began = false;

	for (uint32_t i = 0; i < pager->set_count; i++)
		if (!wp_tiered_of(pager)->set[i].pinned)
			began |= place(pager, &wp_tiered_of(pager)->set[i], true);
	return began;
}

static void tiered_hint(struct wp_pager *pager, const uint32_t *blocks, uint32_t count)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);

	for (uint32_t i = 0; i < count && tiered->guess_count < pager->config.staging_blocks; i++) {
		bool repeated = false;

		for (uint32_t j = 0; j < tiered->guess_count; j++)
			repeated |= tiered->guesses[j].block == blocks[i];
		if (!repeated)
			tiered->guesses[tiered->guess_count++] = (struct wp_wanted){
			    .block = blocks[i],
			    .origin = tier_of(tiered, blocks[i]),
			};
	}
	place_guesses(pager);
}

static const struct wp_wanted *find_guess(const struct wp_tiered *tiered, uint32_t block)
{
	for (uint32_t i = 0; i < tiered->guess_count; i++)
		if (tiered->guesses[i].block == block && tiered->guesses[i].placed)
			return &tiered->guesses[i];
	return NULL;
}

static bool is_in_set(const struct wp_pager *pager, uint32_t block)
{
	for (uint32_t i = 0; i < pager->set_count; i++)
		if (wp_tiered_of(pager)->set[i].block == block)
			return true;
	return false;
}

/* No guess holds anything any more; those under way end unless `give_up`. */
static void drop_guesses(struct wp_pager *pager, bool give_up)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);

	for (uint32_t i = 0; i < tiered->guess_count; i++) {
		struct wp_wanted *guess = &tiered->guesses[i];

		if (guess->pinned)
			wp_tiers_unpin(tiered->tiers, WP_TIER_GPU, guess->block);
		pager->figures.wasted += guess->placed && guess->origin == WP_TIER_COUNT &&
					 !is_in_set(pager, guess->block);
	}
	tiered->guess_count = 0;
	for (uint32_t i = 0; give_up && i < tiered->move_count; i++) {
		const struct wp_move *move = &tiered->moves[i];

		if ((move->kind == WP_MOVE_LOAD || move->kind == WP_MOVE_PROMOTE) &&
		    !move->given_up && !is_in_set(pager, move->block))
			wp_tiered_give_up(pager, i);
	}
}

static void count_found(struct wp_pager_figures *figures, const struct wp_wanted *wanted,
			bool guessed)
{
	figures->blocks_gpu += wanted->origin == WP_TIER_GPU;
	figures->blocks_dram += wanted->origin == WP_TIER_DRAM;
	figures->blocks_nvme += wanted->origin == WP_TIER_COUNT;
	figures->hit += guessed;
	figures->missed += !guessed && wanted->origin != WP_TIER_GPU;
}

static void tiered_need(struct wp_pager *pager, const uint32_t *blocks, uint32_t count)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);

	for (uint32_t i = 0; i < count; i++) {
		const struct wp_wanted *guess = find_guess(tiered, blocks[i]);
		struct wp_wanted *wanted = &tiered->set[i];
		uint32_t move = wp_tiered_find_move(pager, blocks[i]);

		*wanted = (struct wp_wanted){
		    .block = blocks[i],
		    .origin = guess ? guess->origin : tier_of(tiered, blocks[i]),
		    .done_ns = guess ? guess->done_ns : 0,
		};
		count_found(&pager->figures, wanted, guess);
		if (move != WP_MOVE_NONE && tiered->moves[move].kind != WP_MOVE_SAVE) {
			tiered->moves[move].needed = true;
			wp_transfer_demand(pager->transfers, move);
		}
		if (wp_tiers_holds(tiered->tiers, WP_TIER_GPU, blocks[i]))
			hold(tiered, wanted);
	}
	drop_guesses(pager, !pager->config.order->keeps_wrong_guesses);
	place_set(pager);
}

static bool take_acknowledged(struct wp_pager *pager)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);
	const struct wp_pager_tiers *config = &pager->config.tiers;
	bool taken = false;
	uint32_t block;

	while (tiered->writer && wp_writer_take_acknowledged(tiered->writer, &block)) {
		wp_tiers_set_stored(tiered->tiers, block);
		wp_tiers_unpin(tiered->tiers, WP_TIER_DRAM, block);
		if (config->acknowledged)
			config->acknowledged(config->acknowledged_context, block);
		taken = true;
	}
	return taken;
}

static int step_writer(struct wp_pager *pager)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);

	if (!tiered->writer)
		return 0;
	return wp_writer_step(tiered->writer,
			      !tiered->stopped && !wp_tiered_is_reading_needed(pager));
}

static int tiered_step(struct wp_pager *pager)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);
	int error = 0;
	bool changed;

	do {
		int result = wp_transfers_step(pager->transfers);

		error = error ? error : result;
		result = step_writer(pager);
		error = error ? error : result;
		changed = wp_tiered_finish_moves(pager);
		changed |= wp_tiered_take_encoded(pager);
		changed |= take_acknowledged(pager);
		if (tiered->stopped)
			continue;
		changed |= place_set(pager);
		if (!pager->needing)
			changed |= place_guesses(pager);
	} while (changed && !error);
	return error ? error : tiered->fault.error;
}

static bool tiered_is_ready(const struct wp_pager *pager)
{
	for (uint32_t i = 0; i < pager->set_count; i++)
		if (!wp_tiered_of(pager)->set[i].pinned)
			return false;
	return true;
}

static uint64_t tiered_settle(struct wp_pager *pager)
{
	uint64_t ready_ns = 0;

	for (uint32_t i = 0; i < pager->set_count; i++) {
		uint64_t done_ns = wp_tiered_of(pager)->set[i].done_ns;

		ready_ns = done_ns > ready_ns ? done_ns : ready_ns;
	}
	drop_guesses(pager, true);
	return ready_ns;
}

static void tiered_release(struct wp_pager *pager)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);

	for (uint32_t i = 0; i < pager->set_count; i++)
		if (tiered->set[i].pinned)
			wp_tiers_unpin(tiered->tiers, WP_TIER_GPU, tiered->set[i].block);
}

static void tiered_stop(struct wp_pager *pager)
{
	struct wp_tiered *tiered = wp_tiered_of(pager);

	tiered_release(pager);
	pager->set_count = 0;
	drop_guesses(pager, false);
	for (uint32_t i = 0; i < tiered->move_count; i++)
		if (tiered->moves[i].kind != WP_MOVE_IDLE && !tiered->moves[i].given_up)
			wp_tiered_give_up(pager, i);
	tiered->stopped = true;
}

static uint32_t tiered_host_slot(const struct wp_pager *pager, uint32_t index)
{
	const struct wp_tiered *tiered = wp_tiered_of(pager);

	return wp_tiers_slot(tiered->tiers, WP_TIER_DRAM, tiered->set[index].block);
}

static uint32_t tiered_device_slot(const struct wp_pager *pager, uint32_t index)
{
	const struct wp_tiered *tiered = wp_tiered_of(pager);

	return wp_tiers_slot(tiered->tiers, WP_TIER_GPU, tiered->set[index].block);
}

static uint32_t tiered_in_flight(const struct wp_pager *pager)
{
	const struct wp_tiered *tiered = wp_tiered_of(pager);

	return tiered->encodes.count + (tiered->writer ? wp_writer_in_flight(tiered->writer) : 0);
}

static uint64_t tiered_deadline_ns(const struct wp_pager *pager)
{
	const struct wp_tiered *tiered = wp_tiered_of(pager);
	uint64_t encode_ns = wp_outstanding_deadline_ns(&tiered->encodes);
	uint64_t write_ns = tiered->writer ? wp_writer_deadline_ns(tiered->writer) : WP_TIME_NEVER;

	return encode_ns < write_ns ? encode_ns : write_ns;
}

static uint64_t tiered_last_deadline_ns(const struct wp_pager *pager)
{
	const struct wp_tiered *tiered = wp_tiered_of(pager);
	uint64_t last_ns = 0, write_ns;

	if (tiered->encodes.count)
		last_ns = wp_outstanding_last_deadline_ns(&tiered->encodes);
	if (tiered->writer && wp_writer_in_flight(tiered->writer)) {
		write_ns = wp_writer_last_deadline_ns(tiered->writer);
		last_ns = write_ns > last_ns ? write_ns : last_ns;
	}
	return last_ns;
}

static struct wp_pager_fault tiered_fault(const struct wp_pager *pager)
{
	const struct wp_tiered *tiered = wp_tiered_of(pager);

	if (tiered->fault.error || !tiered->writer)
		return tiered->fault;
	return wp_writer_fault(tiered->writer);
}

static void tiered_check(const struct wp_pager *pager)
{
	const struct wp_tiered *tiered = wp_tiered_of(pager);

	wp_tiers_check(tiered->tiers);
	for (uint32_t i = 0; i < pager->set_count; i++)
		if (tiered->set[i].pinned)
			WP_CHECK(wp_tiers_holds(tiered->tiers, WP_TIER_GPU, tiered->set[i].block));
}

const struct wp_residency_ops wp_residency_tiered = {
    .is_legal = tiered_is_legal,
    .transfer_count = tiered_transfer_count,
    .open = tiered_open,
    .close = tiered_close,
    .hint = tiered_hint,
    .need = tiered_need,
    .step = tiered_step,
    .is_ready = tiered_is_ready,
    .settle = tiered_settle,
    .release = tiered_release,
    .stop = tiered_stop,
    .host_slot = tiered_host_slot,
    .device_slot = tiered_device_slot,
    .in_flight = tiered_in_flight,
    .deadline_ns = tiered_deadline_ns,
    .last_deadline_ns = tiered_last_deadline_ns,
    .fault = tiered_fault,
    .check = tiered_check,
};
