/*
 * Slots and who leaves them: each policy's order, and that nothing leaves which
 * is held, is not whole yet, or would be lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pager/tiers.h"

#define SLOTS  4u
#define BLOCKS 32u

static uint64_t rank_of(void *context, uint32_t block)
{
	return ((const uint64_t *)context)[block];
}

static struct wp_tiers *open_tiers(const struct wp_eviction *eviction, uint64_t *ranks)
{
	const struct wp_tiers_config config = {
	    .slots = {SLOTS, SLOTS},
	    .blocks_max = BLOCKS,
	    .eviction = eviction,
	    .rank = rank_of,
	    .rank_context = ranks,
	};
	struct wp_tiers *tiers;

	assert_int_equal(wp_tiers_open(&tiers, &config), 0);
	return tiers;
}

/* A block that came from NVMe, whole and not held. */
static void settle(struct wp_tiers *tiers, enum wp_tier tier, uint32_t block)
{
	wp_tiers_set_stored(tiers, block);
	assert_int_not_equal(wp_tiers_claim(tiers, tier, block), WP_SLOT_NONE);
	wp_tiers_filled(tiers, tier, block);
	wp_tiers_unpin(tiers, tier, block);
	wp_tiers_check(tiers);
}

static void use(struct wp_tiers *tiers, enum wp_tier tier, uint32_t block)
{
	wp_tiers_pin(tiers, tier, block);
	wp_tiers_unpin(tiers, tier, block);
}

/* Brings in one new block after the other and says who had to go, in this order. */
static void assert_leaves(struct wp_tiers *tiers, enum wp_tier tier, const uint32_t *order)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		uint32_t newcomer = BLOCKS - 1 - i;

		assert_true(wp_tiers_holds(tiers, tier, order[i]));
		assert_int_not_equal(wp_tiers_claim(tiers, tier, newcomer), WP_SLOT_NONE);
		assert_false(wp_tiers_holds(tiers, tier, order[i]));
		wp_tiers_check(tiers); /* the newcomer is being filled and stays */
	}
	assert_int_equal(wp_tiers_claim(tiers, tier, BLOCKS - 1 - SLOTS), WP_SLOT_NONE);
}

static void the_least_recently_used_leaves(void **state)
{
	const uint32_t order[SLOTS] = {1, 3, 0, 2};

	(void)state;
	for (enum wp_tier tier = WP_TIER_GPU; tier < WP_TIER_COUNT; tier++) {
		struct wp_tiers *tiers = open_tiers(&wp_eviction_lru, NULL);

		for (uint32_t block = 0; block < SLOTS; block++)
			settle(tiers, tier, block);
		use(tiers, tier, 0);
		use(tiers, tier, 2);
		assert_leaves(tiers, tier, order);
		wp_tiers_close(tiers);
	}
}

static void the_farthest_leaves(void **state)
{
	/* Equally far: the least recently used. */
	uint64_t ranks[BLOCKS] = {5, 9, 5, 7};
	const uint32_t order[SLOTS] = {1, 3, 2, 0};
	struct wp_tiers *tiers = open_tiers(&wp_eviction_farthest, ranks);

	(void)state;
	for (uint32_t block = 0; block < SLOTS; block++)
		settle(tiers, WP_TIER_DRAM, block);
	use(tiers, WP_TIER_DRAM, 0);
	assert_leaves(tiers, WP_TIER_DRAM, order);
	wp_tiers_close(tiers);
}

static void the_latest_next_use_leaves(void **state)
{
	/* Never again, both of them: the newest first, whenever it was used. */
	uint64_t ranks[BLOCKS] = {UINT64_MAX, 3, 4, UINT64_MAX};
	const uint32_t order[SLOTS] = {3, 0, 2, 1};
	struct wp_tiers *tiers = open_tiers(&wp_eviction_next_use, ranks);

	(void)state;
	for (uint32_t block = 0; block < SLOTS; block++)
		settle(tiers, WP_TIER_DRAM, block);
	use(tiers, WP_TIER_DRAM, 3);
	assert_leaves(tiers, WP_TIER_DRAM, order);
	wp_tiers_close(tiers);
}

static void what_is_held_stays(void **state)
{
	struct wp_tiers *tiers = open_tiers(&wp_eviction_lru, NULL);

	(void)state;
	for (uint32_t block = 0; block < SLOTS; block++) {
		settle(tiers, WP_TIER_GPU, block);
		wp_tiers_pin(tiers, WP_TIER_GPU, block);
		assert_true(wp_tiers_is_pinned(tiers, WP_TIER_GPU, block));
	}
	assert_int_equal(wp_tiers_claim(tiers, WP_TIER_GPU, 9), WP_SLOT_NONE);
	/* Pins nest. */
	wp_tiers_pin(tiers, WP_TIER_GPU, 2);
	wp_tiers_unpin(tiers, WP_TIER_GPU, 2);
	assert_int_equal(wp_tiers_claim(tiers, WP_TIER_GPU, 9), WP_SLOT_NONE);
	wp_tiers_unpin(tiers, WP_TIER_GPU, 2);
	assert_false(wp_tiers_is_pinned(tiers, WP_TIER_GPU, 2));
	assert_int_not_equal(wp_tiers_claim(tiers, WP_TIER_GPU, 9), WP_SLOT_NONE);
	assert_false(wp_tiers_holds(tiers, WP_TIER_GPU, 2));
	wp_tiers_check(tiers);
	wp_tiers_close(tiers);
}

/* The last copy of a block does not leave: of DRAM's, one in NVMe is needed. */
static void what_would_be_lost_stays(void **state)
{
	struct wp_tiers *tiers = open_tiers(&wp_eviction_lru, NULL);

	(void)state;
	for (uint32_t block = 0; block < SLOTS; block++) {
		assert_int_equal(wp_tiers_claim(tiers, WP_TIER_GPU, block), block);
		wp_tiers_filled(tiers, WP_TIER_GPU, block);
		wp_tiers_unpin(tiers, WP_TIER_GPU, block);
	}
	assert_int_equal(wp_tiers_count(tiers, WP_TIER_GPU), SLOTS);
	assert_int_equal(wp_tiers_claim(tiers, WP_TIER_GPU, 9), WP_SLOT_NONE);
	/* On its way to DRAM is not there. */
	assert_int_equal(wp_tiers_claim(tiers, WP_TIER_DRAM, 3), 0);
	assert_int_equal(wp_tiers_claim(tiers, WP_TIER_GPU, 9), WP_SLOT_NONE);
	wp_tiers_filled(tiers, WP_TIER_DRAM, 3);
	assert_int_equal(wp_tiers_claim(tiers, WP_TIER_GPU, 9), 3);
	assert_int_equal(wp_tiers_count(tiers, WP_TIER_GPU), SLOTS - 1);
	/* Nor does a copy on the GPU let DRAM's go. */
	wp_tiers_unpin(tiers, WP_TIER_DRAM, 3);
	for (uint32_t block = 0; block < SLOTS - 1; block++) {
		assert_int_not_equal(wp_tiers_claim(tiers, WP_TIER_DRAM, block), WP_SLOT_NONE);
		wp_tiers_filled(tiers, WP_TIER_DRAM, block);
		wp_tiers_unpin(tiers, WP_TIER_DRAM, block);
	}
	assert_int_equal(wp_tiers_claim(tiers, WP_TIER_DRAM, 10), WP_SLOT_NONE);
	wp_tiers_set_stored(tiers, 1);
	wp_tiers_set_stored(tiers, 1);
	assert_int_equal(wp_tiers_stored_count(tiers), 1);
	assert_int_not_equal(wp_tiers_claim(tiers, WP_TIER_DRAM, 10), WP_SLOT_NONE);
	assert_false(wp_tiers_holds(tiers, WP_TIER_DRAM, 1));
	wp_tiers_check(tiers);
	wp_tiers_close(tiers);
}

static void an_unclaimed_slot_is_taken_again(void **state)
{
	struct wp_tiers *tiers = open_tiers(&wp_eviction_lru, NULL);

	(void)state;
	for (uint32_t block = 0; block < SLOTS; block++)
		assert_int_equal(wp_tiers_claim(tiers, WP_TIER_DRAM, block), block);
	wp_tiers_unclaim(tiers, WP_TIER_DRAM, 2);
	wp_tiers_unclaim(tiers, WP_TIER_DRAM, 1);
	assert_int_equal(wp_tiers_slot(tiers, WP_TIER_DRAM, 2), WP_SLOT_NONE);
	wp_tiers_check(tiers);
	assert_int_equal(wp_tiers_claim(tiers, WP_TIER_DRAM, 8), 1);
	assert_int_equal(wp_tiers_claim(tiers, WP_TIER_DRAM, 9), 2);
	assert_int_equal(wp_tiers_claim(tiers, WP_TIER_DRAM, 10), WP_SLOT_NONE);
	assert_int_equal(wp_tiers_count(tiers, WP_TIER_DRAM), 0);
	wp_tiers_close(tiers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_least_recently_used_leaves),
	    cmocka_unit_test(the_farthest_leaves),
	    cmocka_unit_test(the_latest_next_use_leaves),
	    cmocka_unit_test(what_is_held_stays),
	    cmocka_unit_test(what_would_be_lost_stays),
	    cmocka_unit_test(an_unclaimed_slot_is_taken_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
