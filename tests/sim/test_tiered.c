/*
 * The tiered residency under one event queue: walls, eviction, write-through, and
 * random sessions whose sizes, drive and traffic are drawn down to the smallest
 * legal, with invariants after every step and every byte checked on the device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pager/content.h"
#include "pager/device.h"
#include "pager/duration.h"
#include "pager/events.h"
#include "pager/pager.h"
#include "pager/random.h"
#include "pager/store.h"

#define SEED	   7u
#define FRAMES_MAX 120u
#define CHUNKS_MAX 9u

struct draw {
	uint32_t chunks, k, staging, device_slots, host_slots, nvme_blocks;
	uint32_t write_blocks, write_depth, read_depth, read_chunks, frames, exclude_recent;
	const char *order, *eviction;
	struct wp_drive drive;
	uint64_t copy_bytes_per_s, compute_ns;
};

struct bench {
	struct draw draw;
	struct wp_geometry geometry;
	struct wp_events *events;
	struct wp_world world;
	struct wp_pager *pager;
	void *host, *device;
	struct wp_queue done;
	struct wp_request compute;
	uint64_t needed_ns;
	uint32_t acknowledged;
	bool stored[FRAMES_MAX];
	uint64_t digest;
	uint32_t gpu, dram, nvme;
};

static void note_acknowledged(void *context, uint32_t block)
{
	struct bench *bench = context;

	assert_false(bench->stored[block]);
	bench->stored[block] = true;
	bench->acknowledged++;
}

/* Any function of the block will do: the policy only has to be asked. */
static uint64_t rank_of(void *context, uint32_t block)
{
	(void)context;
	return wp_mix64(block) % 16;
}

static void bench_open(struct bench *bench, const struct draw *draw)
{
	struct wp_device_rates rates = {.copy_bytes_per_s = draw->copy_bytes_per_s,
					.content_seed = SEED};
	struct wp_pager_config config = {
	    .order = wp_order_find(draw->order),
	    .residency = WP_RESIDENCY_TIERED,
	    .set_blocks_max = draw->k,
	    .staging_blocks = draw->staging,
	    .read_depth = draw->read_depth,
	    .read_retries_max = WP_READ_RETRIES_MAX,
	    .tiers =
		{
		    .device_slots = draw->device_slots,
		    .host_slots = draw->host_slots,
		    .nvme_blocks = draw->nvme_blocks,
		    .blocks_max = FRAMES_MAX,
		    .write_depth = draw->write_depth,
		    .write_blocks = draw->write_blocks,
		    .eviction = wp_eviction_find(draw->eviction),
		    .rank = rank_of,
		    .acknowledged = note_acknowledged,
		    .acknowledged_context = bench,
		},
	};

	memset(bench, 0, sizeof(*bench));
	bench->draw = *draw;
	bench->geometry.block_bytes = (uint64_t)draw->chunks * WP_CHUNK_BYTES - 77;
	bench->geometry.chunk_payload_bytes = 32;
	bench->geometry.read_chunks = draw->read_chunks;
	config.geometry = bench->geometry;
	bench->host = malloc(wp_pager_host_bytes(&config));
	bench->device = malloc(wp_pager_device_bytes(&config));
	assert_true(bench->host && bench->device);
	config.host_slots = bench->host;
	config.device_slots = bench->device;
	assert_int_equal(wp_events_open(&bench->events, 4096), 0);
	bench->world.clock = wp_events_clock(bench->events);
	assert_int_equal(wp_store_virtual_open_session(&bench->world.store, bench->events,
						       &bench->geometry, &draw->drive, SEED,
						       draw->nvme_blocks ? draw->nvme_blocks : 1),
			 0);
	assert_int_equal(wp_device_virtual_open(&bench->world.device, bench->events, &rates), 0);
	assert_int_equal(wp_pager_open(&bench->pager, &config, &bench->world), 0);
}

static void bench_close(struct bench *bench)
{
	assert_int_equal(wp_pager_quiesce(bench->pager), 0);
	wp_pager_check(bench->pager);
	wp_pager_close(bench->pager);
	wp_world_close(&bench->world);
	wp_events_close(bench->events);
	free(bench->host);
	free(bench->device);
}

static void check_bytes(struct bench *bench, const uint32_t *set, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const unsigned char *at = wp_pager_device(bench->pager, i);

		for (uint32_t chunk = 0; chunk < bench->draw.chunks; chunk++)
			assert_true(wp_content_equals(at + 32u * chunk, 32, SEED, set[i], chunk));
	}
}

static void step(struct bench *bench)
{
	assert_int_equal(wp_pager_step(bench->pager), 0);
	wp_pager_check(bench->pager);
}

/* Up to `most` different blocks that frame `frame` may retrieve. */
static uint32_t pick(struct bench *bench, struct wp_random *random, uint32_t frame, uint32_t most,
		     uint32_t *blocks)
{
	uint32_t from = frame > bench->draw.exclude_recent ? frame - bench->draw.exclude_recent : 0;
	uint32_t count = 0;

	for (uint32_t tries = 0; tries < 2 * most && count < most && from; tries++) {
		uint32_t block = (uint32_t)wp_random_below(random, from);
		bool repeated = false;

		for (uint32_t i = 0; i < count; i++)
			repeated |= blocks[i] == block;
		if (!repeated)
			blocks[count++] = block;
	}
	return count;
}

/* Frame `frame` with its hints for the next one; -ENOSPC from put is handed on. */
static int play(struct bench *bench, struct wp_random *random, uint32_t frame)
{
	uint32_t set[WP_SET_BLOCKS_MAX], hints[64];
	uint32_t count = pick(bench, random, frame, bench->draw.k, set);
	struct wp_pager_figures figures;
	int result;

	wp_pager_need(bench->pager, set, count, bench->needed_ns);
	while (!wp_pager_ready(bench->pager)) {
		step(bench);
		if (!wp_pager_ready(bench->pager))
			assert_int_equal(wp_world_wait(&bench->world, WP_TIME_NEVER), 0);
	}
	wp_pager_settle(bench->pager, &figures);
	check_bytes(bench, set, count);
	assert_int_equal(figures.blocks_gpu + figures.blocks_dram + figures.blocks_nvme, count);
	bench->gpu += figures.blocks_gpu;
	bench->dram += figures.blocks_dram;
	bench->nvme += figures.blocks_nvme;
	bench->digest = wp_mix64(bench->digest ^ figures.ready_ns ^ figures.bytes_nvme << 20);
	bench->compute = (struct wp_request){
	    .owner = &bench->done, .op = WP_OP_COMPUTE, .duration_ns = bench->draw.compute_ns};
	assert_int_equal(wp_port_submit(bench->world.device, &bench->compute), 0);
	wp_pager_hint(bench->pager, hints,
		      pick(bench, random, frame + 1, bench->draw.staging, hints));
	for (step(bench); !wp_queue_pop(&bench->done); step(bench))
		assert_int_equal(wp_world_wait(&bench->world, WP_TIME_NEVER), 0);
	check_bytes(bench, set, count); /* nothing took the slots while the frame computed */
	wp_pager_release(bench->pager);
	result = wp_pager_wait_put(bench->pager, frame, frame % 15); /* -EDEADLK: would hang */
	wp_pager_check(bench->pager);
	bench->needed_ns = wp_clock_now_ns(bench->world.clock);
	return result;
}

static void flush(struct bench *bench)
{
	for (step(bench); wp_pager_usage(bench->pager).unacknowledged; step(bench))
		assert_int_equal(wp_world_wait(&bench->world, WP_TIME_NEVER), 0);
}

static struct draw plain_draw(void)
{
	return (struct draw){
	    .chunks = 3,
	    .k = 2,
	    .staging = 4,
	    .device_slots = 5,
	    .host_slots = 12,
	    .nvme_blocks = FRAMES_MAX,
	    .write_blocks = 2,
	    .write_depth = 2,
	    .read_depth = 4,
	    .read_chunks = 1,
	    .frames = 80,
	    .exclude_recent = 2,
	    .order = "fifo",
	    .eviction = "lru",
	    .compute_ns = 1000000,
	};
}

static void host_alone_ends_when_it_is_full(void **state)
{
	struct draw draw = plain_draw();
	struct wp_random random = {1};
	struct bench bench;
	uint32_t frame = 0;
	int result;

	(void)state;
	draw.nvme_blocks = 0;
	bench_open(&bench, &draw);
	while ((result = play(&bench, &random, frame)) == 0)
		frame++;
	assert_int_equal(result, -ENOSPC);
	assert_int_equal(frame, draw.host_slots);
	assert_int_equal(wp_pager_usage(bench.pager).dram_blocks, draw.host_slots);
	assert_int_equal(bench.nvme, 0);
	bench_close(&bench);
}

static void full_store_ends_the_session(void **state)
{
	struct draw draw = plain_draw();
	struct wp_random random = {2};
	struct bench bench;
	uint32_t frame = 0;
	int result;

	(void)state;
	draw.nvme_blocks = 30;
	bench_open(&bench, &draw);
	while ((result = play(&bench, &random, frame)) == 0)
		frame++;
	assert_int_equal(result, -ENOSPC);
	assert_int_equal(frame, 30);
	flush(&bench);
	assert_int_equal(bench.acknowledged, 30);
	bench_close(&bench);
}

static void what_is_let_go_is_read_again(void **state)
{
	struct draw draw = plain_draw();
	struct wp_random random = {3};
	struct bench bench;

	(void)state;
	bench_open(&bench, &draw);
	for (uint32_t frame = 0; frame < draw.frames; frame++)
		assert_int_equal(play(&bench, &random, frame), 0);
	flush(&bench);
	assert_int_equal(bench.acknowledged, draw.frames);
	assert_int_equal(wp_pager_usage(bench.pager).bytes_written,
			 draw.frames * bench.geometry.block_bytes);
	assert_true(bench.nvme > 0 && bench.dram > 0 && bench.gpu > 0);
	bench_close(&bench);
}

static void what_fits_in_dram_is_never_read(void **state)
{
	struct draw draw = plain_draw();
	struct wp_random random = {4};
	struct bench bench;

	(void)state;
	draw.host_slots = FRAMES_MAX;
	bench_open(&bench, &draw);
	for (uint32_t frame = 0; frame < draw.frames; frame++)
		assert_int_equal(play(&bench, &random, frame), 0);
	assert_int_equal(bench.nvme, 0);
	assert_true(wp_pager_totals(bench.pager).bytes_nvme == 0);
	bench_close(&bench);
}

/* A frame that retrieves `set`, then computes beside hints, and leaves no block behind. */
static struct wp_pager_figures look(struct bench *bench, const uint32_t *set, uint32_t count,
				    const uint32_t *hints, uint32_t hint_count)
{
	struct wp_pager_figures figures;

	wp_pager_need(bench->pager, set, count, bench->needed_ns);
	assert_int_equal(wp_pager_wait_ready(bench->pager), 0);
	wp_pager_settle(bench->pager, &figures);
	check_bytes(bench, set, count);
	bench->compute = (struct wp_request){
	    .owner = &bench->done, .op = WP_OP_COMPUTE, .duration_ns = bench->draw.compute_ns};
	assert_int_equal(wp_port_submit(bench->world.device, &bench->compute), 0);
	wp_pager_hint(bench->pager, hints, hint_count);
	for (step(bench); !wp_queue_pop(&bench->done); step(bench))
		assert_int_equal(wp_world_wait(&bench->world, WP_TIME_NEVER), 0);
	wp_pager_release(bench->pager);
	bench->needed_ns = wp_clock_now_ns(bench->world.clock);
	return figures;
}

static void make_blocks(struct bench *bench, uint32_t count)
{
	for (uint32_t block = 0; block < count; block++) {
		look(bench, NULL, 0, NULL, 0);
		assert_int_equal(wp_pager_put(bench->pager, block, block % 15), 0);
		flush(bench);
	}
}

/* What was read on a guess and is not in the set; not what was at hand anyway. */
static void waste_is_what_was_read_for_nothing(void **state)
{
	static const uint32_t far[] = {0, 1}, farther[] = {2, 3}, near[] = {38, 39};
	struct draw draw = plain_draw();
	struct wp_pager_figures figures;
	struct bench bench;

	(void)state;
	bench_open(&bench, &draw);
	make_blocks(&bench, 40);
	look(&bench, NULL, 0, far, 2);
	figures = look(&bench, far, 2, farther, 2);
	assert_int_equal(figures.blocks_nvme, 2);
	assert_int_equal(figures.hit, 2);
	assert_int_equal(figures.wasted, 0);
	figures = look(&bench, far, 1, near, 2);
	assert_int_equal(figures.blocks_gpu, 1);
	assert_int_equal(figures.hit, 0);
	assert_int_equal(figures.wasted, 2);
	figures = look(&bench, NULL, 0, NULL, 0);
	assert_int_equal(figures.wasted, 0);
	bench_close(&bench);
}

static void hints_that_repeat_take_one_place(void **state)
{
	static const uint32_t hints[] = {0, 1, 1, 0, 2, 3}, last[] = {2};
	struct draw draw = plain_draw();
	struct wp_pager_figures figures;
	struct bench bench;

	(void)state;
	draw.staging = 3;
	bench_open(&bench, &draw);
	make_blocks(&bench, 40);
	look(&bench, NULL, 0, hints, 6);
	figures = look(&bench, last, 1, NULL, 0);
	assert_int_equal(figures.hit, 1);
	assert_int_equal(figures.wasted, 2);
	bench_close(&bench);
}

static void a_block_that_nobody_has(void **state)
{
	static const uint32_t set[] = {3, 77};
	struct draw draw = plain_draw();
	struct wp_pager_fault fault;
	struct bench bench;

	(void)state;
	bench_open(&bench, &draw);
	make_blocks(&bench, 4);
	wp_pager_need(bench.pager, set, 2, bench.needed_ns);
	assert_int_equal(wp_pager_wait_ready(bench.pager), -ENODATA);
	fault = wp_pager_fault(bench.pager);
	assert_int_equal(fault.error, -ENODATA);
	assert_int_equal(fault.block, 77);
	assert_string_equal(fault.stage, "read");
	bench_close(&bench);
}

static void smaller_than_a_set_and_a_block_is_refused(void **state)
{
	struct wp_pager_config config = {
	    .geometry = {WP_CHUNK_BYTES, 32, 1},
	    .order = &wp_order_fifo,
	    .residency = WP_RESIDENCY_TIERED,
	    .set_blocks_max = 2,
	    .read_depth = 1,
	    .tiers = {.device_slots = 2,
		      .host_slots = 1,
		      .blocks_max = 1,
		      .write_depth = 1,
		      .write_blocks = 1,
		      .eviction = &wp_eviction_lru},
	    .host_slots = &config,
	    .device_slots = &config,
	};
	struct wp_pager *pager = NULL;
	struct wp_world world = {0};

	(void)state;
	assert_int_equal(wp_pager_open(&pager, &config, &world), -EINVAL);
	config.tiers.device_slots = 3;
	config.tiers.eviction = &wp_eviction_farthest; /* ranks, and nobody to ask */
	assert_int_equal(wp_pager_open(&pager, &config, &world), -EINVAL);
	assert_null(pager);
}

static struct draw random_draw(struct wp_random *random)
{
	static const char *const orders[] = {"fifo", "demand_first"};
	static const char *const evictions[] = {"lru", "farthest", "next_use"};
	struct draw draw = {
	    .chunks = 1 + (uint32_t)wp_random_below(random, CHUNKS_MAX),
	    .k = 1 + (uint32_t)wp_random_below(random, 4),
	    .staging = (uint32_t)wp_random_below(random, 9),
	    .host_slots = 2 + (uint32_t)wp_random_below(random, 12),
	    .nvme_blocks = FRAMES_MAX,
	    .write_blocks = 1 + (uint32_t)wp_random_below(random, 4),
	    .write_depth = 1 + (uint32_t)wp_random_below(random, 4),
	    .read_depth = 1 + (uint32_t)wp_random_below(random, 6),
	    .read_chunks = 1 + (uint32_t)wp_random_below(random, 4),
	    .frames = 20 + (uint32_t)wp_random_below(random, FRAMES_MAX - 20),
	    .exclude_recent = (uint32_t)wp_random_below(random, 4),
	    .order = orders[wp_random_below(random, 2)],
	    .eviction = evictions[wp_random_below(random, 3)],
	    .copy_bytes_per_s = wp_random_below(random, 2) * 2500000000u,
	    .compute_ns = 1 + wp_random_below(random, 3000000),
	};

	draw.device_slots = draw.k + 1 + (uint32_t)wp_random_below(random, 8);
	draw.drive = (struct wp_drive){
	    .read_latency_ns = wp_random_below(random, 2) * 80000,
	    .write_latency_ns = wp_random_below(random, 2) * 20000,
	    .flush_latency_ns = wp_random_below(random, 2) * 400000,
	    .read_bytes_per_s = wp_random_below(random, 2) * 1000000000u,
	    .write_bytes_per_s = wp_random_below(random, 2) * 700000000u,
	};
	return draw;
}

static uint64_t play_seed(uint64_t seed)
{
	struct wp_random random = {seed};
	struct draw draw = random_draw(&random);
	struct bench bench;
	uint64_t digest;

	bench_open(&bench, &draw);
	for (uint32_t frame = 0; frame < draw.frames; frame++)
		assert_int_equal(play(&bench, &random, frame), 0);
	if (seed % 2) {
		flush(&bench);
		assert_int_equal(bench.acknowledged, draw.frames);
	}
	digest = bench.digest ^ wp_pager_usage(bench.pager).bytes_written;
	bench_close(&bench);
	return digest;
}

static void random_sessions_hold(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 800; seed++) {
		uint64_t digest = play_seed(seed);

		if (play_seed(seed) != digest)
			fail_msg("seed %" PRIu64 " differs when played twice", seed);
	}
}

/* Looking blocks up costs the same with 10^3 and 10^6 of them. */
static void lookups_do_not_grow_with_the_session(void **state)
{
	uint64_t accesses[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		const uint32_t blocks = i ? 1000000u : 1000u;
		struct wp_pager_config config = {
		    .geometry = {WP_CHUNK_BYTES, 32, 1},
		    .order = &wp_order_demand_first,
		    .residency = WP_RESIDENCY_TIERED,
		    .set_blocks_max = 2,
		    .staging_blocks = 4,
		    .read_depth = 4,
		    .tiers = {.device_slots = 8,
			      .host_slots = 32,
			      .nvme_blocks = blocks,
			      .blocks_max = blocks,
			      .write_depth = 2,
			      .write_blocks = 2,
			      .eviction = &wp_eviction_lru},
		};
		struct wp_device_rates rates = {.content_seed = SEED};
		struct wp_drive drive = {0};
		struct bench bench = {.geometry = config.geometry};
		uint32_t first = blocks - 100;
		uint64_t before;

		config.host_slots = malloc(wp_pager_host_bytes(&config));
		config.device_slots = malloc(wp_pager_device_bytes(&config));
		assert_int_equal(wp_events_open(&bench.events, 4096), 0);
		bench.world.clock = wp_events_clock(bench.events);
		/* Prepared: every block is there, as after a restart. */
		assert_int_equal(wp_store_virtual_open(&bench.world.store, bench.events,
						       &bench.geometry, &drive, SEED, blocks),
				 0);
		assert_int_equal(wp_device_virtual_open(&bench.world.device, bench.events, &rates),
				 0);
		assert_int_equal(wp_pager_open(&bench.pager, &config, &bench.world), 0);
		for (uint32_t block = 0; block < blocks; block++)
			wp_pager_adopt(bench.pager, block);
		before = wp_pager_table_accesses(bench.pager);
		for (uint32_t frame = 0; frame < 40; frame++) {
			const uint32_t set[2] = {first + frame, first + 2 * frame + 1};
			struct wp_pager_figures figures;

			wp_pager_need(bench.pager, set, set[0] == set[1] ? 1 : 2, 0);
			assert_int_equal(wp_pager_wait_ready(bench.pager), 0);
			wp_pager_settle(bench.pager, &figures);
			wp_pager_release(bench.pager);
		}
		accesses[i] = wp_pager_table_accesses(bench.pager) - before;
		assert_int_equal(wp_pager_quiesce(bench.pager), 0);
		wp_pager_close(bench.pager);
		wp_world_close(&bench.world);
		wp_events_close(bench.events);
		free(config.host_slots);
		free(config.device_slots);
	}
	assert_true(accesses[0] > 0);
	assert_int_equal(accesses[0], accesses[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(host_alone_ends_when_it_is_full),
	    cmocka_unit_test(full_store_ends_the_session),
	    cmocka_unit_test(what_is_let_go_is_read_again),
	    cmocka_unit_test(what_fits_in_dram_is_never_read),
	    cmocka_unit_test(waste_is_what_was_read_for_nothing),
	    cmocka_unit_test(hints_that_repeat_take_one_place),
	    cmocka_unit_test(a_block_that_nobody_has),
	    cmocka_unit_test(smaller_than_a_set_and_a_block_is_refused),
	    cmocka_unit_test(random_sessions_hold),
	    cmocka_unit_test(lookups_do_not_grow_with_the_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
