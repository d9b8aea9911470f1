/*
 * Sessions by seed: `make sim SEED=n` and `make soak MINUTES=n`. Each seed draws
 * a session of either residency; each is played twice and the digests of
 * everything that happened are compared. The sessions themselves are in
 * session.h and tiered_session.h.
 *
 *   simulate SEED            that one, with what was drawn
 *   simulate SEED COUNT      COUNT from there on
 *   simulate --minutes N     fresh ones for so long
 */
#include "tests/sim/session.h"
#include "tests/sim/tiered_session.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#define REPORT_S 20

struct counts {
	uint64_t seeds, faulty, struck, failed, frames, blocks, acknowledged, steps;
};

static char seed_line[64];

/* The pager's own checks know of no seed. */
static void on_abort(int number)
{
	(void)number;
	(void)!write(STDERR_FILENO, seed_line, strlen(seed_line));
}

static void play_forced(uint64_t seed, struct counts *counts)
{
	struct session_config config = session_draw(seed);
	struct session first, second;

	session_run(&first, &config);
	session_run(&second, &config);
	if (first.digest != second.digest)
		session_fail(&first, "the same seed does the same", __LINE__);
	counts->faulty += config.store_faults.count + config.device_faults.count > 0;
	counts->struck += first.struck;
	counts->failed += first.error != 0;
	counts->frames += first.frames_done;
	counts->blocks += first.blocks_checked;
	counts->steps += first.steps;
}

static void play_tiered(uint64_t seed, struct counts *counts)
{
	struct tiered_config config = tiered_draw(seed);
	struct tiered_session first, second;

	tiered_run(&first, &config);
	tiered_run(&second, &config);
	if (first.digest != second.digest)
		tiered_fail(&first, "the same seed does the same", __LINE__);
	counts->faulty += config.store_faults.count + config.device_faults.count > 0;
	counts->struck += first.struck;
	counts->failed += first.error != 0;
	counts->frames += first.frames_done;
	counts->blocks += first.blocks_checked;
	counts->acknowledged += first.acknowledged_count;
	counts->steps += first.steps;
}

static void play_seed(uint64_t seed, struct counts *counts)
{
	snprintf(seed_line, sizeof(seed_line), "repeat: make sim SEED=%" PRIu64 "\n", seed);
	play_forced(seed, counts);
	play_tiered(seed, counts);
	counts->seeds++;
}

static void print_counts(const struct counts *counts)
{
	printf("%" PRIu64 " seeds, each a forced-nvme and a tiered session, each twice: %" PRIu64
	       " sessions with faults, which struck %" PRIu64 " times; %" PRIu64
	       " ended with an error that a fault explains; %" PRIu64 " frames, %" PRIu64
	       " blocks compared byte by byte, %" PRIu64 " acknowledged, %" PRIu64
	       " events checked; 0 wrong bytes, 0 acknowledged blocks lost, 0 hangs\n",
	       counts->seeds, counts->faulty, counts->struck, counts->failed, counts->frames,
	       counts->blocks, counts->acknowledged, counts->steps);
	fflush(stdout);
}

static void print_forced(uint64_t seed)
{
	struct session_config config = session_draw(seed);
	char store[WP_FAULT_PLAN_BYTES], device[WP_FAULT_PLAN_BYTES];

	printf("seed %" PRIu64 ", forced-nvme: block %" PRIu64 " bytes, %" PRIu32
	       " chunks a read, depth %" PRIu32 ", k %" PRIu32 ", staging %" PRIu32 ", %" PRIu32
	       " blocks, %" PRIu32 " frames, order %s, bucket %" PRIu64
	       " B/s, faults \"%s\" \"%s\"\n",
	       seed, config.block_bytes, config.read_chunks, config.read_depth, config.k,
	       config.staging_blocks, config.blocks, config.frames, config.order,
	       config.bucket_bytes_per_s, wp_fault_plan_text(&config.store_faults, store),
	       wp_fault_plan_text(&config.device_faults, device));
}

static void print_tiered(uint64_t seed)
{
	struct tiered_config config = tiered_draw(seed);
	char store[WP_FAULT_PLAN_BYTES], device[WP_FAULT_PLAN_BYTES];

	printf("seed %" PRIu64 ", tiered: block %" PRIu64 " bytes, %" PRIu32
	       " chunks a read, depth %" PRIu32 ", k %" PRIu32 ", staging %" PRIu32
	       ", slots %" PRIu32 " gpu %" PRIu32 " dram %" PRIu32 " nvme, %" PRIu32
	       " frames, writes %" PRIu32 " of %" PRIu32
	       " blocks, order %s, eviction %s, bucket %" PRIu64 " B/s, faults \"%s\" \"%s\"\n",
	       seed, config.geometry.block_bytes, config.geometry.read_chunks, config.read_depth,
	       config.k, config.staging_blocks, config.device_slots, config.host_slots,
	       config.nvme_blocks, config.frames, config.write_depth, config.write_blocks,
	       config.order, config.eviction, config.bucket_bytes_per_s,
	       wp_fault_plan_text(&config.store_faults, store),
	       wp_fault_plan_text(&config.device_faults, device));
}

static uint64_t number_of(const char *text)
{
	char *end;
	uint64_t number = strtoull(text, &end, 10);

	if (*end || end == text) {
		fprintf(stderr, "usage: simulate SEED [COUNT] | --minutes N\n");
		exit(2);
	}
	return number;
}

static void soak(uint64_t minutes, struct counts *counts)
{
	time_t begin = time(NULL), told = begin;
	uint64_t seed = wp_mix64((uint64_t)begin ^ (uint64_t)getpid()) >> 16;

	printf("seeds from %" PRIu64 " on\n", seed);
	while (time(NULL) - begin < (time_t)(60 * minutes)) {
		play_seed(seed++, counts);
		if (time(NULL) - told >= REPORT_S) {
			told = time(NULL);
			print_counts(counts);
		}
	}
}

int main(int argc, char **argv)
{
	struct counts counts = {0};

	signal(SIGABRT, on_abort);
	if (argc == 3 && strcmp(argv[1], "--minutes") == 0) {
		soak(number_of(argv[2]), &counts);
	} else if (argc == 2 || argc == 3) {
		uint64_t seed = number_of(argv[1]);
		uint64_t count = argc == 3 ? number_of(argv[2]) : 1;

		if (count == 1) {
			print_forced(seed);
			print_tiered(seed);
		}
		for (uint64_t i = 0; i < count; i++)
			play_seed(seed + i, &counts);
	} else {
		(void)number_of("");
	}
	print_counts(&counts);
	return 0;
}
