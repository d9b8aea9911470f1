/* The block table and the slots; see tiers.h for the picture. */
#include "pager/tiers.h"

#include <errno.h>
#include <stdlib.h>

struct slot {
	uint32_t block; /* WP_BLOCK_NONE: empty */
	uint32_t pins;
	uint64_t used;
	bool valid;
};

struct entry {
	uint32_t slots[WP_TIER_COUNT];
	bool stored;
	bool forgotten;
};

_Static_assert(sizeof(struct entry) <= 64, "at most 64 bytes of metadata a block");

struct tier {
	struct slot *slots;
	uint32_t slot_count;
	uint32_t empty; /* slots from here on may be empty; none before */
	uint32_t valid;
};

struct wp_tiers {
	struct wp_tiers_config config;
	struct tier tiers[WP_TIER_COUNT];
	struct entry *entries;
	uint32_t stored;
	uint32_t forgotten;
	uint64_t uses;
	uint64_t accesses; /* of entries; counted, also by readers */
};

int wp_tiers_open(struct wp_tiers **opened, const struct wp_tiers_config *config)
{
	struct wp_tiers *tiers = calloc(1, sizeof(*tiers));

	if (!tiers)
		return -ENOMEM;
	tiers->config = *config;
	tiers->entries = malloc(config->blocks_max * sizeof(*tiers->entries));
	if (!tiers->entries)
		goto no_memory;
	for (uint32_t i = 0; i < config->blocks_max; i++)
		tiers->entries[i] = (struct entry){{WP_SLOT_NONE, WP_SLOT_NONE}, false, false};
	for (int i = 0; i < WP_TIER_COUNT; i++) {
		struct tier *tier = &tiers->tiers[i];

		tier->slot_count = config->slots[i];
		tier->slots = malloc(tier->slot_count * sizeof(*tier->slots));
		if (!tier->slots)
			goto no_memory;
		for (uint32_t slot = 0; slot < tier->slot_count; slot++)
			tier->slots[slot] = (struct slot){.block = WP_BLOCK_NONE};
	}
	*opened = tiers;
	return 0;

no_memory:
	wp_tiers_close(tiers);
	return -ENOMEM;
}

void wp_tiers_close(struct wp_tiers *tiers)
{
	if (!tiers)
		return;
	for (int i = 0; i < WP_TIER_COUNT; i++)
		free(tiers->tiers[i].slots);
	free(tiers->entries);
	free(tiers);
}

static struct entry *entry_of(const struct wp_tiers *tiers, uint32_t block)
{
	WP_CHECK(block < tiers->config.blocks_max);
	((struct wp_tiers *)tiers)->accesses++;
	return &tiers->entries[block];
}

uint32_t wp_tiers_slot(const struct wp_tiers *tiers, enum wp_tier tier, uint32_t block)
{
	return entry_of(tiers, block)->slots[tier];
}

static struct slot *slot_of(const struct wp_tiers *tiers, enum wp_tier tier, uint32_t block)
{
	uint32_t slot = wp_tiers_slot(tiers, tier, block);

	WP_CHECK(slot < tiers->tiers[tier].slot_count);
	return &tiers->tiers[tier].slots[slot];
}

bool wp_tiers_holds(const struct wp_tiers *tiers, enum wp_tier tier, uint32_t block)
{
	uint32_t slot = wp_tiers_slot(tiers, tier, block);

	return slot != WP_SLOT_NONE && tiers->tiers[tier].slots[slot].valid;
}

static uint32_t find_empty(struct tier *tier)
{
	while (tier->empty < tier->slot_count && tier->slots[tier->empty].block != WP_BLOCK_NONE)
		tier->empty++;
	return tier->empty < tier->slot_count ? tier->empty : WP_SLOT_NONE;
}

/* Whether its block is somewhere else, too. */
static bool may_go(const struct wp_tiers *tiers, enum wp_tier tier, const struct slot *slot)
{
	if (!slot->valid || slot->pins)
		return false;
	return wp_tiers_is_stored(tiers, slot->block) || entry_of(tiers, slot->block)->forgotten ||
	       (tier == WP_TIER_GPU && wp_tiers_holds(tiers, WP_TIER_DRAM, slot->block));
}

static uint32_t find_victim(struct wp_tiers *tiers, enum wp_tier tier)
{
	const struct wp_eviction *eviction = tiers->config.eviction;
	struct wp_resident best = {0};
	uint32_t victim = WP_SLOT_NONE;

	for (uint32_t i = 0; i < tiers->tiers[tier].slot_count; i++) {
		const struct slot *slot = &tiers->tiers[tier].slots[i];
		struct wp_resident resident = {.block = slot->block, .used = slot->used};

		if (!may_go(tiers, tier, slot))
			continue;
		if (eviction->ranks)
			resident.rank = tiers->config.rank(tiers->config.rank_context, slot->block);
		if (victim == WP_SLOT_NONE || eviction->goes_before(&resident, &best)) {
			victim = i;
			best = resident;
		}
	}
	return victim;
}

static void empty_slot(struct wp_tiers *tiers, enum wp_tier tier, uint32_t at)
{
	struct tier *of = &tiers->tiers[tier];
	struct slot *slot = &of->slots[at];

	entry_of(tiers, slot->block)->slots[tier] = WP_SLOT_NONE;
	of->valid -= slot->valid;
	*slot = (struct slot){.block = WP_BLOCK_NONE};
	if (at < of->empty)
		of->empty = at;
}

uint32_t wp_tiers_claim(struct wp_tiers *tiers, enum wp_tier tier, uint32_t block)
{
	struct entry *entry = entry_of(tiers, block);
	uint32_t at = find_empty(&tiers->tiers[tier]);

	WP_CHECK(entry->slots[tier] == WP_SLOT_NONE);
	if (at == WP_SLOT_NONE) {
		at = find_victim(tiers, tier);
		if (at == WP_SLOT_NONE)
			return WP_SLOT_NONE;
		empty_slot(tiers, tier, at);
	}
	tiers->tiers[tier].slots[at] = (struct slot){
	    .block = block,
	    .pins = 1,
	    .used = ++tiers->uses,
	};
	entry->slots[tier] = at;
	return at;
}

void wp_tiers_filled(struct wp_tiers *tiers, enum wp_tier tier, uint32_t block)
{
	struct slot *slot = slot_of(tiers, tier, block);

	WP_CHECK(!slot->valid && slot->pins);
	slot->valid = true;
	tiers->tiers[tier].valid++;
}

void wp_tiers_unclaim(struct wp_tiers *tiers, enum wp_tier tier, uint32_t block)
{
	const struct slot *slot = slot_of(tiers, tier, block);

	WP_CHECK(!slot->valid && slot->pins == 1);
	empty_slot(tiers, tier, wp_tiers_slot(tiers, tier, block));
}

void wp_tiers_pin(struct wp_tiers *tiers, enum wp_tier tier, uint32_t block)
{
	struct slot *slot = slot_of(tiers, tier, block);

	slot->pins++;
	slot->used = ++tiers->uses;
}

void wp_tiers_unpin(struct wp_tiers *tiers, enum wp_tier tier, uint32_t block)
{
	struct slot *slot = slot_of(tiers, tier, block);

	WP_CHECK(slot->pins && (slot->valid || slot->pins > 1));
	slot->pins--;
}

bool wp_tiers_is_pinned(const struct wp_tiers *tiers, enum wp_tier tier, uint32_t block)
{
	uint32_t slot = wp_tiers_slot(tiers, tier, block);

	return slot != WP_SLOT_NONE && tiers->tiers[tier].slots[slot].pins;
}

void wp_tiers_set_stored(struct wp_tiers *tiers, uint32_t block)
{
	struct entry *entry = entry_of(tiers, block);

	tiers->stored += !entry->stored;
	entry->stored = true;
}

bool wp_tiers_is_stored(const struct wp_tiers *tiers, uint32_t block)
{
	return entry_of(tiers, block)->stored;
}

void wp_tiers_forget(struct wp_tiers *tiers, uint32_t block)
{
	struct entry *entry = entry_of(tiers, block);

	tiers->stored -= entry->stored;
	tiers->forgotten += entry->stored;
	entry->stored = false;
	entry->forgotten = true;
	for (int i = 0; i < WP_TIER_COUNT; i++) {
		uint32_t at = entry->slots[i];

		if (at == WP_SLOT_NONE)
			continue;
		WP_CHECK(tiers->tiers[i].slots[at].valid);
		if (!tiers->tiers[i].slots[at].pins)
			empty_slot(tiers, i, at);
	}
}

uint32_t wp_tiers_forgotten_count(const struct wp_tiers *tiers)
{
	return tiers->forgotten;
}

uint32_t wp_tiers_count(const struct wp_tiers *tiers, enum wp_tier tier)
{
	return tiers->tiers[tier].valid;
}

uint32_t wp_tiers_stored_count(const struct wp_tiers *tiers)
{
	return tiers->stored;
}

uint64_t wp_tiers_accesses(const struct wp_tiers *tiers)
{
	return tiers->accesses;
}

void wp_tiers_check(const struct wp_tiers *tiers)
{
	for (int i = 0; i < WP_TIER_COUNT; i++) {
		const struct tier *tier = &tiers->tiers[i];
		uint32_t valid = 0;

		for (uint32_t at = 0; at < tier->slot_count; at++) {
			const struct slot *slot = &tier->slots[at];

			if (slot->block == WP_BLOCK_NONE) {
				WP_CHECK(at >= tier->empty && !slot->pins && !slot->valid);
				continue;
			}
			WP_CHECK(tiers->entries[slot->block].slots[i] == at);
			WP_CHECK(slot->valid || slot->pins);
			valid += slot->valid;
		}
		WP_CHECK(valid == tier->valid);
	}
}
