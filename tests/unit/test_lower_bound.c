/*
 * lower_bound against exhaustion: on small sessions a scheduler that tries every
 * choice in every slot of time (which known block to read from, what to drop,
 * when to idle, when to start a compute that could start) never ends below the
 * bound, and reaches the least total and the least maximum with one schedule.
 * The scheduler is given the rules of the game, not the argument: it may trade
 * the stall of one frame for another's and would show it if that gained anything.
 *
 * A slot is SLOT_NS, the drive reads one byte in it, a block has a few bytes.
 * Cases are drawn; a failure prints the seed: `test_lower_bound SEED` repeats it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/replay/lower_bound.h"
#include "pager/random.h"

#define SLOT_NS		1000u
#define FRAMES_MAX	4u
#define KNOWN_MAX	3u /* blocks of set and hints of one frame together */
#define BLOCK_BYTES_MAX 3u
#define WINDOW_MAX	6u
#define STALL_MAX	11u /* slots: the longest read on need is 9 */
#define UNITS_STATES	64u /* (BLOCK_BYTES_MAX + 1) ^ KNOWN_MAX */
#define CASES		2000u
#define UNREACHABLE	UINT32_MAX

static uint64_t base_seed = 1;

/* Blocks of a frame are 0 .. known-1; bit i of `set` and `hints` tells block i's part. */
struct game_frame {
	uint32_t known;
	uint32_t set;
	uint32_t hints;
	uint32_t window; /* slots the frame before computes; 0 for frame 0 */
};

struct game {
	struct game_frame frames[FRAMES_MAX];
	uint32_t frame_count;
	uint32_t warmup;
	uint32_t block_bytes;
	uint32_t staging;
	bool told; /* case (a): the set is known as early as the hints are */
};

/* What to minimise: the total, or the maximum, or the total with every stall at most `cap`. */
enum goal { GOAL_SUM, GOAL_MAX, GOAL_SUM_CAPPED };

struct search {
	const struct game *game;
	enum goal goal;
	uint32_t cap;
	/* [frame][slots since the frame before was ready][bytes of each block read] */
	uint32_t best[FRAMES_MAX + 1][WINDOW_MAX + STALL_MAX + 1][UNITS_STATES];
	bool seen[FRAMES_MAX + 1][WINDOW_MAX + STALL_MAX + 1][UNITS_STATES];
};

static uint32_t units_of(uint32_t units, uint32_t block)
{
	return units >> (2 * block) & 3u;
}

static uint32_t blocks_held(uint32_t units)
{
	uint32_t held = 0;

	for (uint32_t i = 0; i < KNOWN_MAX; i++)
		held += units_of(units, i) > 0;
	return held;
}

static bool is_complete(const struct game *game, const struct game_frame *frame, uint32_t units)
{
	for (uint32_t i = 0; i < frame->known; i++)
		if (frame->set >> i & 1 && units_of(units, i) < game->block_bytes)
			return false;
	return true;
}

static uint32_t solve(struct search *search, uint32_t c, uint32_t slot, uint32_t units);

/* The frame starts to compute now: what it costs, with the best of all later frames. */
static uint32_t start(struct search *search, uint32_t c, uint32_t slot)
{
	const struct game *game = search->game;
	uint32_t stall = c >= game->warmup ? slot - game->frames[c].window : 0;
	uint32_t rest = solve(search, c + 1, 0, 0);

	if (rest == UNREACHABLE || (search->goal == GOAL_SUM_CAPPED && stall > search->cap))
		return UNREACHABLE;
	if (search->goal == GOAL_MAX)
		return stall > rest ? stall : rest;
	return stall + rest;
}

static void take_less(uint32_t *best, uint32_t value)
{
	if (value < *best)
		*best = value;
}

/* One slot passes: idle, or one byte of any block that may be read. */
static uint32_t pass_slot(struct search *search, uint32_t c, uint32_t slot, uint32_t units)
{
	const struct game *game = search->game;
	const struct game_frame *frame = &game->frames[c];
	bool needed = slot >= frame->window;
	uint32_t allowed = frame->hints;
	uint32_t best = solve(search, c, slot + 1, units);

	if (needed || (game->told && c > 0))
		allowed |= frame->set;
	for (uint32_t i = 0; i < frame->known; i++) {
		uint32_t more = units + (1u << (2 * i));

		if (!(allowed >> i & 1) || units_of(units, i) == game->block_bytes)
			continue;
		if (!needed && blocks_held(more) > game->staging)
			continue;
		take_less(&best, solve(search, c, slot + 1, more));
	}
	return best;
}

static uint32_t solve(struct search *search, uint32_t c, uint32_t slot, uint32_t units)
{
	const struct game *game = search->game;
	const struct game_frame *frame = &game->frames[c];
	uint32_t best = UNREACHABLE;

	if (c == game->frame_count)
		return 0;
	if (slot > frame->window + STALL_MAX)
		return UNREACHABLE;
	if (search->seen[c][slot][units])
		return search->best[c][slot][units];
	if (slot >= frame->window && is_complete(game, frame, units))
		take_less(&best, start(search, c, slot));
	take_less(&best, pass_slot(search, c, slot, units));
	for (uint32_t i = 0; i < frame->known; i++) /* drop a block, wholly */
		if (units_of(units, i))
			take_less(&best, solve(search, c, slot, units & ~(3u << (2 * i))));
	search->seen[c][slot][units] = true;
	search->best[c][slot][units] = best;
	return best;
}

static uint32_t least(const struct game *game, enum goal goal, uint32_t cap)
{
	struct search *search = calloc(1, sizeof(*search));
	uint32_t best;

	assert_non_null(search);
	search->game = game;
	search->goal = goal;
	search->cap = cap;
	best = solve(search, 0, 0, 0);
	free(search);
	return best;
}

static struct game draw_game(struct wp_random *random)
{
	struct game game = {
	    .frame_count = 1 + (uint32_t)wp_random_below(random, FRAMES_MAX),
	    .block_bytes = 1 + (uint32_t)wp_random_below(random, BLOCK_BYTES_MAX),
	    .staging = (uint32_t)wp_random_below(random, KNOWN_MAX + 1),
	};

	game.warmup = (uint32_t)wp_random_below(random, game.frame_count + 1);
	for (uint32_t c = 0; c < game.frame_count; c++) {
		struct game_frame *frame = &game.frames[c];

		frame->known = (uint32_t)wp_random_below(random, KNOWN_MAX + 1);
		frame->set = (uint32_t)wp_random_below(random, 1u << frame->known);
		if (c == 0)
			continue; /* nothing is known ahead of the first */
		frame->hints = (uint32_t)wp_random_below(random, 1u << frame->known);
		frame->window = (uint32_t)wp_random_below(random, WINDOW_MAX + 1);
	}
	return game;
}

static uint32_t list_bits(uint32_t bits, uint32_t *list)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < KNOWN_MAX; i++)
		if (bits >> i & 1)
			list[count++] = i;
	return count;
}

static struct wp_lower_bound bound_of(const struct game *game)
{
	uint32_t sets[FRAMES_MAX][KNOWN_MAX], hints[FRAMES_MAX][KNOWN_MAX];
	struct wp_lower_bound_frame frames[FRAMES_MAX];
	struct wp_lower_bound_config config = {
	    .block_bytes = game->block_bytes,
	    .read_bytes_per_s = 1000000000u / SLOT_NS,
	    .staging_blocks = game->staging,
	    .warmup_frames = game->warmup,
	};

	for (uint32_t c = 0; c < game->frame_count; c++) {
		frames[c] = (struct wp_lower_bound_frame){
		    .set = sets[c],
		    .hints = hints[c],
		    .set_count = list_bits(game->frames[c].set, sets[c]),
		    .hint_count = list_bits(game->frames[c].hints, hints[c]),
		    .compute_ns = 0,
		};
		if (c > 0)
			frames[c - 1].compute_ns = (uint64_t)game->frames[c].window * SLOT_NS;
	}
	return wp_lower_bound_of(&config, frames, game->frame_count);
}

static bool agrees(struct game *game, bool told, const struct wp_lower_bound_figures *bound)
{
	uint32_t sum, max, both;

	game->told = told;
	sum = least(game, GOAL_SUM, 0);
	max = least(game, GOAL_MAX, 0);
	both = least(game, GOAL_SUM_CAPPED, max);
	if ((uint64_t)sum * SLOT_NS == bound->sum_ns && (uint64_t)max * SLOT_NS == bound->max_ns &&
	    both == sum && bound->n == game->frame_count - game->warmup)
		return true;
	print_error("%s: least sum %u, max %u, sum at that max %u slots; bound %llu, %llu ns\n",
		    told ? "told" : "hinted", sum, max, both, (unsigned long long)bound->sum_ns,
		    (unsigned long long)bound->max_ns);
	return false;
}

static void test_exhaustion(void **state)
{
	uint64_t stalled = 0, split = 0;

	(void)state;
	for (uint64_t seed = base_seed; seed < base_seed + CASES; seed++) {
		struct wp_random random = {.state = seed};
		struct game game = draw_game(&random);
		struct wp_lower_bound bound = bound_of(&game);
		bool told = agrees(&game, true, &bound.told);
		bool hinted = agrees(&game, false, &bound.hinted);

		if (!told || !hinted)
			fail_msg("repeat with: test_lower_bound %llu", (unsigned long long)seed);
		assert_true(bound.told.sum_ns <= bound.hinted.sum_ns);
		stalled += bound.told.sum_ns > 0;
		split += bound.told.sum_ns < bound.hinted.sum_ns;
	}
	/* The draw must reach what is tested: stalls, and hints worth less than the truth. */
	assert_true(stalled > CASES / 10);
	assert_true(split > CASES / 10);
}

/* Rounding: the exact stall, in [T, T + 1), reads the bytes left after need and all bytes in all.
 */
static void test_rounding(void **state)
{
	struct wp_random random = {.state = base_seed};

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		struct wp_lower_bound_config config = {
		    .block_bytes = 1 + wp_random_below(&random, 1u << 30),
		    .read_bytes_per_s = 1 + wp_random_below(&random, 4000000000u),
		};
		uint32_t n = (uint32_t)wp_random_below(&random, 65);
		uint32_t p = (uint32_t)wp_random_below(&random, n + 1);
		uint64_t window_ns = wp_random_below(&random, 3000000000u);
		uint64_t stall_ns = wp_lower_bound_stall_ns(&config, n, p, window_ns);
		unsigned __int128 all = (unsigned __int128)config.block_bytes * n * 1000000000u;
		unsigned __int128 left =
		    (unsigned __int128)config.block_bytes * (n - p) * 1000000000u;
		unsigned __int128 rate = config.read_bytes_per_s;

		assert_true(rate * (stall_ns + 1) > left);
		assert_true(rate * (stall_ns + 1 + window_ns) > all);
		if (stall_ns > 0)
			assert_true(rate * stall_ns <= left ||
				    rate * (stall_ns + window_ns) <= all);
	}
}

/* Two Int4 blocks a frame at 0.20 GB/s, 1.2 s of compute: the figures of the golden table. */
static void test_golden(void **state)
{
	const uint32_t set[] = {80, 60}, one_wrong[] = {80, 79};
	struct wp_lower_bound_frame frames[160];
	struct wp_lower_bound_config config = {
	    .block_bytes = 129254400,
	    .read_bytes_per_s = 200000000,
	    .staging_blocks = 4,
	    .warmup_frames = 20,
	};
	struct wp_lower_bound bound;

	(void)state;
	for (uint32_t c = 0; c < 160; c++)
		frames[c] = (struct wp_lower_bound_frame){set, one_wrong, 2, 2, 1200000000};
	bound = wp_lower_bound_of(&config, frames, 160);
	assert_int_equal(bound.told.n, 140);
	assert_int_equal(bound.told.max_ns, 92544000);
	assert_int_equal(bound.told.sum_ns, 140 * 92544000ull);
	assert_int_equal(bound.hinted.max_ns, 646272000); /* the unhinted block, at need */
	config.staging_blocks = 1;
	assert_int_equal(wp_lower_bound_of(&config, frames, 160).told.max_ns, 646272000);
	config.staging_blocks = 0;
	assert_int_equal(wp_lower_bound_of(&config, frames, 160).told.max_ns, 1292544000);
	config.staging_blocks = 4;
	config.read_bytes_per_s = 250000000;
	assert_int_equal(wp_lower_bound_of(&config, frames, 160).told.sum_ns, 0);
}

static void test_edges(void **state)
{
	const uint32_t set[] = {0};
	struct wp_lower_bound_config config = {.block_bytes = 1000, .read_bytes_per_s = 1000};
	struct wp_lower_bound_frame frame = {set, set, 1, 1, 5};
	struct wp_lower_bound bound;
	double ratio = -1;

	(void)state;
	config.staging_blocks = 2;
	bound = wp_lower_bound_of(&config, &frame, 1); /* frame 0: nothing is known ahead */
	assert_int_equal(bound.told.sum_ns, 1000000000);
	assert_int_equal(bound.hinted.sum_ns, 1000000000);
	config.warmup_frames = 7; /* more than there are */
	bound = wp_lower_bound_of(&config, &frame, 1);
	assert_int_equal(bound.told.n, 0);
	assert_int_equal(bound.told.sum_ns, 0);
	config.read_bytes_per_s = 0; /* no limit */
	assert_int_equal(wp_lower_bound_stall_ns(&config, 64, 0, 0), 0);
	config.block_bytes = UINT64_MAX;
	config.read_bytes_per_s = 1;
	assert_true(wp_lower_bound_stall_ns(&config, UINT32_MAX, 0, 0) == UINT64_MAX);
	assert_int_equal(wp_lower_bound_stall_ns(&config, 0, 0, 0), 0);
	assert_false(wp_lower_bound_ratio(5, 0, &ratio));
	assert_true(wp_lower_bound_ratio(3, 2, &ratio));
	assert_true(ratio == 1.5);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_exhaustion),
	    cmocka_unit_test(test_rounding),
	    cmocka_unit_test(test_golden),
	    cmocka_unit_test(test_edges),
	};

	if (argc > 1)
		base_seed = strtoull(argv[1], NULL, 10);
	printf("seeds from %llu\n", (unsigned long long)base_seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
