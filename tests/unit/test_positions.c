/*
 * The position manager: the layouts of design, the walls of native sessions, and
 * that no managed frame of any session leaves the window.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "pager/positions.h"
#include "pager/random.h"

#define SEED 20252u

static struct wp_positions mg2(enum wp_positions_mode mode)
{
	return (struct wp_positions){
	    .mode = mode,
	    .latents_per_frame = 3,
	    .set_blocks_max = 3,
	    .local_blocks = 1,
	    .window_latents = 15,
	    .table_rows = 1024,
	    .action_rows = 7500,
	};
}

static void assert_place(const struct wp_place *place, uint32_t block, uint32_t latent,
			 uint32_t action_latent)
{
	assert_int_equal(place->block, block);
	assert_int_equal(place->latent, latent);
	assert_int_equal(place->action_latent, action_latent);
}

static void test_managed_layout(void **state)
{
	const struct wp_positions positions = mg2(WP_POSITIONS_MANAGED);
	const uint32_t set[] = {1800, 7, 2500};
	struct wp_placement placement;

	(void)state;
	assert_int_equal(wp_positions_check(&positions), 0);
	assert_int_equal(wp_positions_latents_max(&positions), 15);
	assert_int_equal(wp_positions_place(&positions, 2999, set, 3, &placement), 0);
	assert_int_equal(placement.retrieved, 3);
	assert_int_equal(placement.local, 1);
	assert_place(&placement.places[0], 1800, 0, WP_LATENT_NONE);
	assert_place(&placement.places[1], 7, 3, WP_LATENT_NONE);
	assert_place(&placement.places[2], 2500, 6, WP_LATENT_NONE);
	assert_place(&placement.places[3], 2998, 9, 0);
	assert_place(wp_placement_own(&placement), 2999, 12, 3);
	/* Stored when it was new, at 12: to the front is 12 back, never 2,999 frames' worth. */
	assert_int_equal(wp_place_shift(&placement.places[0], 12), -12);
	assert_int_equal(wp_place_shift(&placement.places[3], 0), 9);
}

static void test_first_frames(void **state)
{
	const struct wp_positions positions = mg2(WP_POSITIONS_MANAGED);
	const uint32_t set[] = {0};
	struct wp_placement placement;

	(void)state;
	assert_int_equal(wp_positions_place(&positions, 0, NULL, 0, &placement), 0);
	assert_int_equal(placement.local, 0);
	assert_place(wp_placement_own(&placement), 0, 0, 0);
	assert_int_equal(wp_positions_place(&positions, 1, NULL, 0, &placement), 0);
	assert_place(&placement.places[0], 0, 0, 0);
	assert_place(wp_placement_own(&placement), 1, 3, 3);
	assert_int_equal(wp_positions_place(&positions, 3, set, 1, &placement), 0);
	assert_place(&placement.places[0], 0, 0, WP_LATENT_NONE);
	assert_place(&placement.places[1], 2, 3, 0);
	assert_place(wp_placement_own(&placement), 3, 6, 3);
}

static void test_native(void **state)
{
	struct wp_positions positions = mg2(WP_POSITIONS_NATIVE);
	const uint32_t set[] = {5, 100};
	enum wp_positions_wall wall;
	struct wp_placement placement;

	(void)state;
	assert_int_equal(wp_positions_end(&positions, &wall), 341);
	assert_int_equal(wall, WP_POSITIONS_TABLE);
	assert_int_equal(wp_positions_place(&positions, 340, set, 2, &placement), 0);
	assert_place(&placement.places[0], 5, 15, WP_LATENT_NONE);
	assert_place(&placement.places[1], 100, 300, WP_LATENT_NONE);
	assert_place(&placement.places[2], 339, 1017, 1017);
	assert_place(wp_placement_own(&placement), 340, 1020, 1020);
	for (uint32_t i = 0; i < 4; i++) /* native blocks never turn */
		assert_int_equal(
		    wp_place_shift(&placement.places[i], 3 * placement.places[i].block), 0);
	assert_int_equal(wp_positions_place(&positions, 341, set, 2, &placement), -ERANGE);
}

/* The 7,500 rows of the actions end a session too: 2,500 frames, 31.25 minutes. */
static void test_action_table(void **state)
{
	struct wp_positions positions = mg2(WP_POSITIONS_NATIVE);
	enum wp_positions_wall wall;
	struct wp_placement placement;

	(void)state;
	positions.table_rows = 1000000;
	assert_int_equal(wp_positions_end(&positions, &wall), 2500);
	assert_int_equal(wall, WP_POSITIONS_ACTION_TABLE);
	assert_int_equal(wp_positions_place(&positions, 2499, NULL, 0, &placement), 0);
	assert_int_equal(wp_positions_place(&positions, 2500, NULL, 0, &placement), -ERANGE);
	positions.action_rows = 0;
	assert_int_equal(wp_positions_end(&positions, &wall), 333333);
	assert_int_equal(wall, WP_POSITIONS_TABLE);
	positions = mg2(WP_POSITIONS_MANAGED);
	assert_int_equal(wp_positions_end(&positions, &wall), UINT32_MAX);
	assert_int_equal(wall, WP_POSITIONS_ENDLESS);
}

static void test_check(void **state)
{
	struct wp_positions positions = mg2(WP_POSITIONS_MANAGED);

	(void)state;
	positions.set_blocks_max = 4;
	assert_int_equal(wp_positions_check(&positions), -ERANGE);
	positions.mode = WP_POSITIONS_NATIVE;
	assert_int_equal(wp_positions_check(&positions), 0);
	positions.latents_per_frame = 0;
	assert_int_equal(wp_positions_check(&positions), -EINVAL);
	positions = mg2(WP_POSITIONS_MANAGED);
	positions.action_rows = 5;
	assert_int_equal(wp_positions_check(&positions), -ERANGE);
	positions = mg2(WP_POSITIONS_MANAGED);
	positions.table_rows = 14;
	assert_int_equal(wp_positions_check(&positions), -ERANGE);
	positions.set_blocks_max = WP_SET_BLOCKS_MAX + 1;
	assert_int_equal(wp_positions_check(&positions), -EINVAL);
}

/* Any model, any frame, any set: within the window, in order, without gap or overlap. */
static void test_managed_never_leaves_the_window(void **state)
{
	struct wp_random random = {SEED};
	struct wp_placement placement;

	(void)state;
	for (uint32_t round = 0; round < 20000; round++) {
		struct wp_positions positions = {
		    .mode = WP_POSITIONS_MANAGED,
		    .latents_per_frame = 1 + (uint32_t)wp_random_below(&random, 8),
		    .set_blocks_max = (uint32_t)wp_random_below(&random, WP_SET_BLOCKS_MAX + 1),
		    .local_blocks = (uint32_t)wp_random_below(&random, 5),
		    .action_rows = (uint32_t)wp_random_below(&random, 2) * 7500,
		};
		uint32_t frame = (uint32_t)wp_random_below(&random, WP_BLOCKS_MAX);
		uint32_t set[WP_SET_BLOCKS_MAX], count, places;

		positions.window_latents = wp_positions_latents_max(&positions);
		positions.table_rows = positions.window_latents;
		if (round % 2)
			frame %= 8;
		count = (uint32_t)wp_random_below(&random, positions.set_blocks_max + 1);
		if (frame == 0)
			count = 0;
		for (uint32_t i = 0; i < count; i++)
			set[i] = (uint32_t)wp_random_below(&random, frame);
		assert_int_equal(wp_positions_place(&positions, frame, set, count, &placement), 0);
		places = placement.retrieved + placement.local + 1;
		for (uint32_t i = 0; i < places; i++)
			assert_int_equal(placement.places[i].latent,
					 i * positions.latents_per_frame);
		assert_true(places * positions.latents_per_frame <= positions.window_latents);
		assert_int_equal(wp_placement_own(&placement)->block, frame);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_managed_layout),
	    cmocka_unit_test(test_first_frames),
	    cmocka_unit_test(test_native),
	    cmocka_unit_test(test_action_table),
	    cmocka_unit_test(test_check),
	    cmocka_unit_test(test_managed_never_leaves_the_window),
	};

	printf("test_positions: seed %u\n", SEED);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
