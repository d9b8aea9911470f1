/*
 * The pager in the virtual world against arithmetic that can be done by hand:
 * blocks of B bytes at R bytes per second beside C ns of compute.
 */
#include "tests/sim/rig.h"

#include <errno.h>

#include "pager/port_fault.h"

#define ROUNDS	      300u
#define R	      100000000ull /* 0.1 GB/s */
#define B	      12925440ull  /* a tenth of an Int4 block of MG2 */
#define C	      120000000ull /* a tenth of its compute */
#define T	      wp_duration_ns(B, R)
#define SMALL_READ_NS wp_duration_ns(WP_CHUNK_BYTES, R)

static const struct rig_config base = {
    .block_bytes = B,
    .read_bytes_per_s = R,
    .compute_ns = C,
    .order = "fifo",
    .k = 2,
    .staging_blocks = 4,
    .read_chunks = 1,
    .read_depth = 16,
};

/* Rounding up once a small read is exact to the ns over a frame. */
static void assert_near(uint64_t actual, uint64_t expected, uint64_t tolerance)
{
	assert_in_range(actual, expected > tolerance ? expected - tolerance : 0,
			expected + tolerance);
}

static void on_demand_takes_bytes_over_rate(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, &base);
	for (uint32_t frame = 0; frame < 10; frame++) {
		uint32_t set[] = {2 * frame, 2 * frame + 1};

		rig_frame(&rig, set, 2, NULL, 0);
		assert_near(rig.stall_ns, wp_duration_ns(2 * B, R), 1);
		assert_int_equal(rig.figures.bytes_nvme, 2 * B);
		assert_int_equal(rig.figures.missed, 2);
		assert_int_equal(rig.figures.blocks_nvme, 2);
		assert_int_equal(rig.figures.read_ns, rig.stall_ns);
	}
	rig_close(&rig);
}

static void right_guesses_hide_behind_compute(void **state)
{
	struct rig rig;
	uint32_t set[] = {1, 2}, next[] = {3, 4};

	(void)state;
	rig_open(&rig, &base);
	rig_frame(&rig, set, 2, next, 2);
	rig_frame(&rig, next, 2, NULL, 0);
	assert_near(rig.stall_ns, wp_duration_ns(2 * B, R) - C, 1);
	assert_int_equal(rig.figures.hit, 2);
	assert_int_equal(rig.figures.hinted, 2);
	assert_int_equal(rig.figures.wasted, 0);
	rig_close(&rig);
}

static void nothing_is_reused_between_frames(void **state)
{
	struct rig rig;
	uint32_t set[] = {1, 2};

	(void)state;
	rig_open(&rig, &base);
	rig_frame(&rig, set, 2, set, 2);
	rig_frame(&rig, set, 2, NULL, 0);
	assert_int_equal(rig.figures.bytes_nvme, 2 * B);
	assert_near(rig.stall_ns, wp_duration_ns(2 * B, R) - C, 1);
	rig_close(&rig);
}

static void fifo_reads_wrong_guesses_first(void **state)
{
	struct rig rig;
	uint32_t set[] = {1, 2}, wrong[] = {3, 4}, next[] = {5, 6};

	(void)state;
	rig_open(&rig, &base);
	rig_frame(&rig, set, 2, wrong, 2);
	rig_frame(&rig, next, 2, NULL, 0);
	assert_near(rig.stall_ns, wp_duration_ns(4 * B, R) - C, 1);
	assert_int_equal(rig.figures.missed, 2);
	assert_int_equal(rig.figures.wasted, 2);
	rig_close(&rig);
}

static void demand_first_lets_guesses_give_way(void **state)
{
	struct rig_config config = base;
	uint32_t set[] = {1, 2}, wrong[] = {3, 4}, next[] = {5, 6};
	struct rig rig;

	(void)state;
	config.order = "demand_first";
	rig_open(&rig, &config);
	rig_frame(&rig, set, 2, wrong, 2);
	rig_frame(&rig, next, 2, NULL, 0);
	assert_in_range(rig.stall_ns, wp_duration_ns(2 * B, R) - 1,
			wp_duration_ns(2 * B, R) + SMALL_READ_NS);
	rig_close(&rig);
}

/* A begun guess that turns out to be needed goes on where it stopped. */
static void half_read_guess_is_not_read_again(void **state)
{
	struct rig_config config = base;
	uint32_t set[] = {1}, hints[] = {3, 4}, next[] = {5, 3};
	struct rig rig;

	(void)state;
	config.order = "demand_first";
	config.compute_ns = T / 2;
	rig_open(&rig, &config);
	rig_frame(&rig, set, 1, hints, 2);
	rig_frame(&rig, next, 2, NULL, 0);
	assert_in_range(rig.stall_ns, wp_duration_ns(2 * B, R) - T / 2 - 1,
			wp_duration_ns(2 * B, R) - T / 2 + SMALL_READ_NS);
	assert_int_equal(rig.figures.hit, 1);
	assert_int_equal(rig.figures.missed, 1);
	rig_close(&rig);
}

static void idle_time_earns_no_credit(void **state)
{
	struct rig_config config = base;
	uint32_t set[] = {1, 2};
	struct rig rig;

	(void)state;
	config.compute_ns = 3600 * WP_NS_PER_S;
	rig_open(&rig, &config);
	for (int i = 0; i < 3; i++) {
		rig_frame(&rig, set, 2, NULL, 0);
		assert_near(rig.stall_ns, wp_duration_ns(2 * B, R), 1);
	}
	rig_close(&rig);
}

static void hints_beyond_capacity_are_dropped(void **state)
{
	struct rig_config config = base;
	uint32_t set[] = {1}, hints[] = {3, 4, 3, 5, 6};
	struct rig rig;

	(void)state;
	config.staging_blocks = 2;
	rig_open(&rig, &config);
	rig_frame(&rig, set, 1, hints, 5);
	rig_frame(&rig, hints + 3, 1, NULL, 0);
	assert_int_equal(rig.figures.hinted, 2);
	assert_int_equal(rig.figures.missed, 1);
	rig_close(&rig);
}

static void empty_set_never_stalls(void **state)
{
	struct rig rig;
	uint32_t hints[] = {3, 4};

	(void)state;
	rig_open(&rig, &base);
	rig_frame(&rig, NULL, 0, hints, 2);
	rig_frame(&rig, NULL, 0, NULL, 0);
	assert_int_equal(rig.stall_ns, 0);
	assert_int_equal(rig.figures.hinted, 2);
	assert_int_equal(rig.figures.wasted, 1); /* the other one was never begun */
	rig_close(&rig);
}

/* The last small read's copy is all that a copy rate adds: copies overlap reads. */
static void copies_overlap_reads(void **state)
{
	struct rig_config config = base;
	uint32_t set[] = {1, 2};
	struct rig rig;

	(void)state;
	config.copy_bytes_per_s = 10 * R;
	rig_open(&rig, &config);
	rig_frame(&rig, set, 2, NULL, 0);
	assert_in_range(rig.stall_ns, wp_duration_ns(2 * B, R),
			wp_duration_ns(2 * B, R) + wp_duration_ns(WP_CHUNK_BYTES, 10 * R) + 2);
	rig_close(&rig);
}

/* Needed copies overtake those of guesses when the link is the bottleneck. */
static void needed_copies_overtake(void **state)
{
	struct rig_config config = base;
	uint32_t set[] = {1}, hints[] = {3, 4, 5, 6}, next[] = {9};
	struct rig rig;

	(void)state;
	config.order = "demand_first";
	config.read_bytes_per_s = 0;
	config.copy_bytes_per_s = R;
	config.compute_ns = T / 2;
	rig_open(&rig, &config);
	rig_frame(&rig, set, 1, hints, 4);
	rig_frame(&rig, next, 1, NULL, 0);
	assert_in_range(rig.stall_ns, T, T + 3 * SMALL_READ_NS);
	rig_close(&rig);
}

/* Random sets, hints and sizes down to the smallest: every byte right, nothing stuck. */
/* One small read, of which the first `wrong` answers have a bit flipped; their block's fault. */
static struct wp_pager_fault read_with_flips(uint32_t wrong, struct wp_pager_figures *figures)
{
	static const uint32_t set[] = {5};
	struct wp_port_fault_config faults = {.seed = 1, .block_count = RIG_BLOCKS, .capacity = 8};
	struct rig_config config = base;
	struct wp_pager_fault fault;
	struct rig rig;

	config.block_bytes = WP_CHUNK_BYTES;
	for (uint32_t i = 0; i < wrong; i++)
		faults.plan.rules[faults.plan.count++] =
		    (struct wp_fault_rule){.op = WP_OP_READ, .kind = WP_FAULT_FLIP, .nth = i + 1};
	rig_open(&rig, &config);
	assert_int_equal(
	    wp_port_fault_open(&rig.world.store, rig.world.store, rig.world.clock, &faults), 0);
	wp_pager_need(rig.pager, set, 1, 0);
	(void)!wp_pager_wait_ready(rig.pager);
	fault = wp_pager_fault(rig.pager);
	assert_int_equal(wp_pager_step(rig.pager), fault.error);
	if (!fault.error) {
		wp_pager_settle(rig.pager, figures);
		rig_check_bytes(&rig, set, 1);
		wp_pager_release(rig.pager);
	}
	rig_close(&rig);
	return fault;
}

static void wrong_bytes_are_read_again_three_times(void **state)
{
	struct wp_pager_figures figures;
	struct wp_pager_fault fault;

	(void)state;
	for (uint32_t wrong = 0; wrong <= WP_READ_RETRIES_MAX; wrong++) {
		assert_int_equal(read_with_flips(wrong, &figures).error, 0);
		assert_int_equal(figures.retries, wrong);
		assert_int_equal(figures.bytes_nvme, (wrong + 1) * WP_CHUNK_BYTES);
	}
	fault = read_with_flips(WP_READ_RETRIES_MAX + 1, &figures);
	assert_int_equal(fault.error, -EBADMSG);
	assert_int_equal(fault.block, 5);
	assert_string_equal(fault.stage, "verify");
}

static void random_sessions_deliver_every_byte(void **state)
{
	static const char *const orders[] = {"fifo", "demand_first"};
	uint64_t seed = 20261129;

	(void)state;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct wp_random random = {.state = seed + round};
		struct rig_config config = base;
		struct rig rig;

		config.block_bytes = 1 + wp_random_below(&random, 3 * WP_CHUNK_BYTES);
		config.order = orders[wp_random_below(&random, 2)];
		config.k = 1 + (uint32_t)wp_random_below(&random, 4);
		config.staging_blocks = (uint32_t)wp_random_below(&random, 9);
		config.read_chunks = 1 + (uint32_t)wp_random_below(&random, 4);
		config.read_depth = 1 + (uint32_t)wp_random_below(&random, 8);
		config.copy_bytes_per_s = wp_random_below(&random, 2) * 3 * R;
		config.read_bytes_per_s = wp_random_below(&random, 3) * R;
		config.compute_ns = wp_random_below(&random, 30000000);
		config.drive.read_latency_ns = wp_random_below(&random, 2) * 100000;
		config.drive.read_bytes_per_s = wp_random_below(&random, 2) * 5 * R;
		config.drive.verify_bytes_per_s = wp_random_below(&random, 2) * 4 * R;
		rig_open(&rig, &config);
		if (round == 0)
			print_message("seeds %llu and the %u after it\n", (unsigned long long)seed,
				      ROUNDS - 1);
		for (int frame = 0; frame < 30; frame++) {
			uint32_t first = (uint32_t)wp_random_below(&random, RIG_BLOCKS - 8);
			uint32_t set[4], hints[8];
			uint32_t count = (uint32_t)wp_random_below(&random, config.k + 1);
			uint32_t hint_count = (uint32_t)wp_random_below(&random, 9);

			for (uint32_t i = 0; i < count; i++)
				set[i] = frame % 3 ? i : first + i;
			for (uint32_t i = 0; i < hint_count; i++)
				hints[i] = (uint32_t)wp_random_below(&random, 8);
			rig_frame(&rig, set, count, hints, hint_count);
			assert_int_equal(rig.figures.hit + rig.figures.missed, count);
		}
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(on_demand_takes_bytes_over_rate),
	    cmocka_unit_test(right_guesses_hide_behind_compute),
	    cmocka_unit_test(nothing_is_reused_between_frames),
	    cmocka_unit_test(fifo_reads_wrong_guesses_first),
	    cmocka_unit_test(demand_first_lets_guesses_give_way),
	    cmocka_unit_test(half_read_guess_is_not_read_again),
	    cmocka_unit_test(idle_time_earns_no_credit),
	    cmocka_unit_test(hints_beyond_capacity_are_dropped),
	    cmocka_unit_test(empty_set_never_stalls),
	    cmocka_unit_test(copies_overlap_reads),
	    cmocka_unit_test(needed_copies_overtake),
	    cmocka_unit_test(wrong_bytes_are_read_again_three_times),
	    cmocka_unit_test(random_sessions_deliver_every_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
