/*
 * forced-nvme: which blocks are on their way as guesses, which are needed,
 * which are in use by the frame that computes. Every retrieved block is read;
 * nothing outlives its frame.
 *
 *   slots   |  set_blocks_max + staging_blocks, one transfer each  |
 *
 *   FREE -> GUESS  (hint)     -> NEEDED (need names it) -> IN_USE (settle) -> FREE (release)
 *        -> NEEDED (need)     -> dropped (settle): free once nothing of it is in flight
 *
 * Guesses and dropped ones still draining together never exceed the staging
 * capacity, so a needed block always finds a slot.
 */
#include <errno.h>
#include <stdlib.h>

#include "pager/residency.h"

enum role {
	ROLE_NONE, /* free, or dropped and draining */
	ROLE_GUESS,
	ROLE_NEEDED,
	ROLE_IN_USE,
};

struct forced {
	uint32_t slot_count;
	enum role *roles; /* by slot */

	uint32_t *hints; /* of the coming frame, without a slot yet */
	uint32_t hint_count;
	uint32_t hint_next;

	uint32_t *set; /* slots of the needed, then settled, set in the caller's order */
};

static struct forced *forced_of(const struct wp_pager *pager)
{
	return pager->state;
}

static bool forced_is_legal(const struct wp_pager_config *config)
{
	(void)config;
	return true;
}

static uint32_t forced_transfer_count(const struct wp_pager_config *config)
{
	return config->set_blocks_max + config->staging_blocks;
}

static int forced_open(struct wp_pager *pager)
{
	struct forced *forced = calloc(1, sizeof(*forced));

	if (!forced)
		return -ENOMEM;
	pager->state = forced;
	forced->slot_count = forced_transfer_count(&pager->config);
	forced->roles = calloc(forced->slot_count, sizeof(*forced->roles));
	forced->hints = calloc(pager->config.staging_blocks + 1u, sizeof(*forced->hints));
	forced->set = calloc(pager->config.set_blocks_max, sizeof(*forced->set));
	return forced->roles && forced->hints && forced->set ? 0 : -ENOMEM;
}

static void forced_close(struct wp_pager *pager)
{
	struct forced *forced = forced_of(pager);

	if (!forced)
		return;
	free(forced->set);
	free(forced->hints);
	free(forced->roles);
	free(forced);
}

static uint32_t find_slot(const struct wp_pager *pager, enum role role, uint32_t block)
{
	const struct forced *forced = forced_of(pager);

	for (uint32_t slot = 0; slot < forced->slot_count; slot++)
		if (forced->roles[slot] == role &&
		    wp_transfer_block(pager->transfers, slot) == block)
			return slot;
	return forced->slot_count;
}

static uint32_t find_free_slot(const struct wp_pager *pager)
{
	uint32_t slot = 0;

	while (!wp_transfer_is_free(pager->transfers, slot))
		slot++;
	return slot;
}

/* Slots that count against the staging capacity. */
static uint32_t staged_count(const struct wp_pager *pager)
{
	const struct forced *forced = forced_of(pager);
	uint32_t count = 0;

	for (uint32_t slot = 0; slot < forced->slot_count; slot++)
		count += forced->roles[slot] == ROLE_GUESS ||
			 (forced->roles[slot] == ROLE_NONE &&
			  !wp_transfer_is_free(pager->transfers, slot));
	return count;
}

static void begin(struct wp_pager *pager, uint32_t slot, uint32_t block, enum role role)
{
	const struct wp_transfer_order order = {
	    .kind = WP_TRANSFER_LOAD,
	    .needed = role == ROLE_NEEDED,
	    .block = block,
	    .host = wp_pager_host_slot(pager, slot),
	    .device = wp_pager_device_slot(pager, slot),
	};

	wp_transfer_begin(pager->transfers, slot, &order);
	forced_of(pager)->roles[slot] = role;
}

/* Gives hinted blocks a slot, as far as the staging capacity goes; whether any got one. */
static bool place_hints(struct wp_pager *pager)
{
	struct forced *forced = forced_of(pager);
	uint32_t first = forced->hint_next, room;

	if (forced->hint_next == forced->hint_count)
		return false;
	room = pager->config.staging_blocks - staged_count(pager);
	for (; room > 0 && forced->hint_next < forced->hint_count; room--) {
		begin(pager, find_free_slot(pager), forced->hints[forced->hint_next++], ROLE_GUESS);
		pager->figures.hinted++;
	}
	return forced->hint_next != first;
}

static void forced_hint(struct wp_pager *pager, const uint32_t *blocks, uint32_t count)
{
	struct forced *forced = forced_of(pager);

	forced->hint_count = 0;
	forced->hint_next = 0;
	for (uint32_t i = 0; i < count && forced->hint_count < pager->config.staging_blocks; i++) {
		bool repeated = find_slot(pager, ROLE_GUESS, blocks[i]) < forced->slot_count;

		for (uint32_t j = 0; j < forced->hint_count; j++)
			repeated |= forced->hints[j] == blocks[i];
		if (!repeated)
			forced->hints[forced->hint_count++] = blocks[i];
	}
	(void)place_hints(pager);
}

/* Guesses that the frame did not use are given up. */
static void drop_guesses(struct wp_pager *pager)
{
	struct forced *forced = forced_of(pager);

	for (uint32_t slot = 0; slot < forced->slot_count; slot++) {
		if (forced->roles[slot] != ROLE_GUESS)
			continue;
		pager->figures.wasted += wp_transfer_is_begun(pager->transfers, slot);
		wp_transfer_abandon(pager->transfers, slot);
		forced->roles[slot] = ROLE_NONE;
	}
}

static void forced_need(struct wp_pager *pager, const uint32_t *blocks, uint32_t count)
{
	struct forced *forced = forced_of(pager);

	forced->hint_count = forced->hint_next; /* hints without a slot come too late */
	for (uint32_t i = 0; i < count; i++) {
		uint32_t slot = find_slot(pager, ROLE_GUESS, blocks[i]);

		if (slot < forced->slot_count) {
			wp_transfer_demand(pager->transfers, slot);
			forced->roles[slot] = ROLE_NEEDED;
			pager->figures.hit++;
		} else {
			slot = find_free_slot(pager);
			begin(pager, slot, blocks[i], ROLE_NEEDED);
			pager->figures.missed++;
		}
		forced->set[i] = slot;
	}
	pager->figures.blocks_nvme = count;
	if (!pager->config.order->keeps_wrong_guesses)
		drop_guesses(pager);
}

static int forced_step(struct wp_pager *pager)
{
	int error;

	(void)place_hints(pager);
	do { /* what came home may have left a slot, and no other completion need follow */
		error = wp_transfers_step(pager->transfers);
	} while (!error && place_hints(pager));
	return error;
}

static bool forced_is_ready(const struct wp_pager *pager)
{
	for (uint32_t i = 0; i < pager->set_count; i++)
		if (!wp_transfer_is_complete(pager->transfers, forced_of(pager)->set[i]))
			return false;
	return true;
}

static uint64_t forced_settle(struct wp_pager *pager)
{
	struct forced *forced = forced_of(pager);
	uint64_t ready_ns = 0;

	for (uint32_t i = 0; i < pager->set_count; i++) {
		uint64_t done_ns = wp_transfer_done_ns(pager->transfers, forced->set[i]);

		ready_ns = done_ns > ready_ns ? done_ns : ready_ns;
		forced->roles[forced->set[i]] = ROLE_IN_USE;
	}
	drop_guesses(pager);
	return ready_ns;
}

static void forced_release(struct wp_pager *pager)
{
	struct forced *forced = forced_of(pager);

	for (uint32_t i = 0; i < pager->set_count; i++) {
		wp_transfer_abandon(pager->transfers, forced->set[i]);
		forced->roles[forced->set[i]] = ROLE_NONE;
	}
}

static void forced_stop(struct wp_pager *pager)
{
	struct forced *forced = forced_of(pager);

	for (uint32_t slot = 0; slot < forced->slot_count; slot++) {
		if (forced->roles[slot] == ROLE_NONE)
			continue;
		wp_transfer_abandon(pager->transfers, slot);
		forced->roles[slot] = ROLE_NONE;
	}
	forced->hint_next = forced->hint_count;
}

static uint32_t forced_slot(const struct wp_pager *pager, uint32_t index)
{
	return forced_of(pager)->set[index];
}

const struct wp_residency_ops wp_residency_forced = {
    .is_legal = forced_is_legal,
    .transfer_count = forced_transfer_count,
    .open = forced_open,
    .close = forced_close,
    .hint = forced_hint,
    .need = forced_need,
    .step = forced_step,
    .is_ready = forced_is_ready,
    .settle = forced_settle,
    .release = forced_release,
    .stop = forced_stop,
    .host_slot = forced_slot,
    .device_slot = forced_slot,
};
