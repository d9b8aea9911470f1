/*
 * The pager's own work, for scripts/bench:
 *
 *   bench_pager resident FRAMES    from need to return when the set is on the GPU
 *   bench_pager frames BLOCKS      a frame's bookkeeping in a session that holds BLOCKS blocks
 *
 * Blocks are of one chunk, storage and device take no simulated time: what is left
 * is bookkeeping, and the event queue that stands in for the machine. Times are of
 * this machine's clock. Prints one JSON object a line; judges nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pager/content.h"
#include "pager/device.h"
#include "pager/events.h"
#include "pager/pager.h"
#include "pager/random.h"
#include "pager/store.h"

#define K	     2u
#define STAGING	     4u
#define DEVICE_SLOTS 32u
#define HOST_SLOTS   48u
#define BACK_MAX     96u /* blocks retrieved lie so far back at most: in every tier */
#define FRAMES	     2000u

struct bench {
	struct wp_geometry geometry;
	struct wp_events *events;
	struct wp_world world;
	struct wp_pager *pager;
	void *host, *device;
	uint32_t blocks;
};

static _Noreturn void fail(const char *text)
{
	fprintf(stderr, "bench_pager: %s\n", text);
	exit(3);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void open_bench(struct bench *bench, uint32_t blocks_max)
{
	const struct wp_drive drive = {0};
	const struct wp_device_rates rates = {.content_seed = 1};
	struct wp_pager_config config = {
	    .order = wp_order_find("demand_first"),
	    .residency = WP_RESIDENCY_TIERED,
	    .set_blocks_max = K,
	    .staging_blocks = STAGING,
	    .read_depth = 16,
	    .tiers = {.device_slots = DEVICE_SLOTS,
		      .host_slots = HOST_SLOTS,
		      .nvme_blocks = blocks_max,
		      .blocks_max = blocks_max,
		      .write_depth = 8,
		      .write_blocks = 4,
		      .eviction = wp_eviction_find("lru")},
	};

	bench->geometry = (struct wp_geometry){
	    .block_bytes = WP_CHUNK_BYTES, .chunk_payload_bytes = 8, .read_chunks = 1};
	config.geometry = bench->geometry;
	bench->host = calloc(1, wp_pager_host_bytes(&config));
	bench->device = calloc(1, wp_pager_device_bytes(&config));
	if (!bench->host || !bench->device || wp_events_open(&bench->events, 4096) != 0)
		fail("no memory");
	config.host_slots = bench->host;
	config.device_slots = bench->device;
	bench->world.clock = wp_events_clock(bench->events);
	if (wp_store_virtual_open_session(&bench->world.store, bench->events, &bench->geometry,
					  &drive, 1, blocks_max) != 0 ||
	    wp_device_virtual_open(&bench->world.device, bench->events, &rates) != 0 ||
	    wp_pager_open(&bench->pager, &config, &bench->world) != 0)
		fail("no world");
}

static void step(struct bench *bench)
{
	if (wp_pager_step(bench->pager) != 0)
		fail("the pager failed");
}

static void put_next(struct bench *bench)
{
	if (wp_pager_wait_put(bench->pager, bench->blocks, 0) != 0)
		fail("the block could not be put");
	bench->blocks++;
}

static void bring_in(struct bench *bench, const uint32_t *set)
{
	struct wp_pager_figures figures;

	wp_pager_need(bench->pager, set, K, wp_clock_now_ns(bench->world.clock));
	if (wp_pager_wait_ready(bench->pager) != 0)
		fail("the set did not come");
	wp_pager_settle(bench->pager, &figures);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Nearest rank. */
static uint64_t percentile(const uint64_t *sorted, uint32_t count, uint32_t percent)
{
	return sorted[((uint64_t)percent * count + 99) / 100 - 1];
}

static void bench_resident(uint32_t frames)
{
	const uint32_t set[K] = {3, 1};
	uint64_t *took_ns = calloc(frames, sizeof(*took_ns));
	static struct bench bench;

	if (!took_ns)
		fail("no memory");
	open_bench(&bench, 64);
	while (bench.blocks < 16)
		put_next(&bench);
	for (uint32_t frame = 0; frame < frames; frame++) {
		uint64_t begin_ns = now_ns();

		bring_in(&bench, set);
		took_ns[frame] = now_ns() - begin_ns;
		wp_pager_release(bench.pager);
	}
	qsort(took_ns, frames, sizeof(*took_ns), compare);
	printf("{\"frames\": %" PRIu32 ", \"p50_ns\": %" PRIu64 ", \"p99_ns\": %" PRIu64
	       ", \"max_ns\": %" PRIu64 "}\n",
	       frames, percentile(took_ns, frames, 50), percentile(took_ns, frames, 99),
	       took_ns[frames - 1]);
	free(took_ns);
}

static void pick(struct wp_random *random, uint32_t blocks, uint32_t *set)
{
	set[0] = blocks - 1 - (uint32_t)wp_random_below(random, BACK_MAX);
	do
		set[1] = blocks - 1 - (uint32_t)wp_random_below(random, BACK_MAX);
	while (set[1] == set[0]);
}

/* Half of the guesses right: hits, misses, waste, evictions, a new block a frame. */
static void play(struct bench *bench, struct wp_random *random, uint32_t *set)
{
	uint32_t guesses[K], next[K];

	bring_in(bench, set);
	pick(random, bench->blocks, next);
	guesses[0] = next[0];
	guesses[1] = bench->blocks - 1 - (uint32_t)wp_random_below(random, BACK_MAX);
	wp_pager_hint(bench->pager, guesses, guesses[1] == guesses[0] ? 1 : K);
	step(bench);
	wp_pager_release(bench->pager);
	put_next(bench);
	memcpy(set, next, sizeof(next));
}

static void bench_frames(uint32_t blocks)
{
	static uint64_t took_ns[FRAMES];
	static struct bench bench;
	struct wp_random random = {1};
	uint64_t accesses;
	uint32_t set[K];

	open_bench(&bench, blocks + FRAMES);
	while (bench.blocks < blocks)
		put_next(&bench);
	pick(&random, bench.blocks, set);
	accesses = wp_pager_table_accesses(bench.pager);
	for (uint32_t frame = 0; frame < FRAMES; frame++) {
		uint64_t begin_ns = now_ns();

		play(&bench, &random, set);
		took_ns[frame] = now_ns() - begin_ns;
	}
	accesses = wp_pager_table_accesses(bench.pager) - accesses;
	qsort(took_ns, FRAMES, sizeof(*took_ns), compare);
	printf("{\"blocks\": %" PRIu32 ", \"frames\": %u, \"p50_ns\": %" PRIu64
	       ", \"p99_ns\": %" PRIu64 ", \"table_accesses_per_frame\": %.2f}\n",
	       blocks, FRAMES, percentile(took_ns, FRAMES, 50), percentile(took_ns, FRAMES, 99),
	       (double)accesses / FRAMES);
}

int main(int argc, char **argv)
{
	uint32_t count = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;

	if (count && strcmp(argv[1], "resident") == 0)
		bench_resident(count);
	else if (count >= 100 && count <= WP_BLOCKS_MAX - FRAMES && strcmp(argv[1], "frames") == 0)
		bench_frames(count);
	else
		fail("usage: resident FRAMES | frames BLOCKS (100 or more)");
	return 0;
}
