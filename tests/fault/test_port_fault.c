/*
 * Injected faults, one kind at a time, in front of the virtual store and
 * device: what the owner sees, that nothing else is touched, and that plans
 * survive being written down and read again.
 */
#include "tests/sim/rig.h"

#include <errno.h>

#include "pager/port_fault.h"

#define BLOCKS	4u
#define CHUNKS	3u
#define PAYLOAD 32u
#define LATENCY 1000u

struct bench {
	struct wp_events *events;
	struct wp_clock *clock;
	struct wp_port *port;
	struct wp_queue done;
	unsigned char memory[CHUNKS * PAYLOAD];
};

static struct wp_fault_plan plan_of(const char *text)
{
	struct wp_fault_plan plan;
	char why[160];

	if (wp_fault_plan_parse(&plan, text, why, sizeof(why)) != 0)
		fail_msg("%s: %s", text, why);
	return plan;
}

static void bench_open(struct bench *bench, const char *plan, uint64_t seed)
{
	const struct wp_geometry geometry = {CHUNKS * WP_CHUNK_BYTES, PAYLOAD, 1};
	const struct wp_drive drive = {.read_latency_ns = LATENCY};
	const struct wp_port_fault_config config = {
	    .plan = plan_of(plan),
	    .seed = seed,
	    .block_count = BLOCKS,
	    .capacity = 8,
	};
	struct wp_port *store;

	memset(bench, 0, sizeof(*bench));
	assert_int_equal(wp_events_open(&bench->events, 64), 0);
	bench->clock = wp_events_clock(bench->events);
	assert_int_equal(wp_store_virtual_open(&store, bench->events, &geometry, &drive, 7, BLOCKS),
			 0);
	assert_int_equal(wp_port_fault_open(&bench->port, store, bench->clock, &config), 0);
}

static void bench_close(struct bench *bench)
{
	wp_port_close(bench->port);
	wp_events_close(bench->events);
}

static struct wp_request read_of(struct bench *bench, uint32_t block)
{
	return (struct wp_request){
	    .owner = &bench->done,
	    .op = WP_OP_READ,
	    .block = block,
	    .chunk_count = CHUNKS,
	    .bytes = CHUNKS * WP_CHUNK_BYTES,
	    .payload_bytes = CHUNKS * PAYLOAD,
	    .host = bench->memory,
	};
}

/* Until the request is answered: true; or until nothing more can happen: false. */
static bool wait_for(struct bench *bench, const struct wp_request *request)
{
	for (;;) {
		struct wp_request *done;

		wp_port_poll(bench->port);
		done = wp_queue_pop(&bench->done);
		if (done) {
			assert_ptr_equal(done, request);
			assert_ptr_equal(done->owner, &bench->done);
			return true;
		}
		if (wp_clock_wait_until(bench->clock, wp_port_next_ns(bench->port)) != 0)
			return false;
	}
}

static int run(struct bench *bench, struct wp_request *request)
{
	assert_int_equal(wp_port_submit(bench->port, request), 0);
	assert_int_equal(bench->done.count, 0); /* nothing completes inside submit */
	assert_true(wait_for(bench, request));
	return request->result;
}

static uint32_t wrong_bytes(struct bench *bench, uint32_t block, uint32_t *bits)
{
	uint32_t wrong = 0;

	*bits = 0;
	for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
		unsigned char right[PAYLOAD];

		wp_content_fill(right, PAYLOAD, 7, block, chunk);
		for (uint32_t i = 0; i < PAYLOAD; i++) {
			unsigned char difference = right[i] ^ bench->memory[chunk * PAYLOAD + i];

			wrong += difference != 0;
			*bits += (uint32_t)__builtin_popcount(difference);
		}
	}
	return wrong;
}

/* The second of three reads is hit, whatever the fault; the others are as without. */
static void only_the_nth_is_hit(void **state)
{
	static const char *const plans[] = {"read.error@2", "read.flip@2", "read.short@2",
					    "read.misdirect@2", "read.delay@2"};

	(void)state;
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		struct bench bench;
		uint32_t bits;

		bench_open(&bench, plans[i], 1);
		for (uint32_t n = 1; n <= 3; n++) {
			struct wp_request request = read_of(&bench, n);
			int result = run(&bench, &request);
			bool wrong = result != 0 || wrong_bytes(&bench, n, &bits) != 0 ||
				     request.done_ns - request.submit_ns > LATENCY;

			assert_int_equal(request.block, n);
			assert_int_equal(wrong, n == 2);
		}
		assert_int_equal(wp_port_fault_struck(bench.port), 1);
		bench_close(&bench);
	}
}

static void errors_name_number_and_place(void **state)
{
	struct bench bench;
	struct wp_request request;

	(void)state;
	bench_open(&bench, "read.error@1,read.error@2=61", 1);
	request = read_of(&bench, 1);
	request.chunk_first = 1;
	request.chunk_count = 2;
	assert_int_equal(run(&bench, &request), -EIO);
	assert_int_equal(request.fault_offset, WP_CHUNK_BYTES);
	assert_int_equal(run(&bench, &request), -ENODATA);
	assert_int_equal(run(&bench, &request), 0);
	bench_close(&bench);
}

static void damage_is_what_it_is_called(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct wp_request request;
		struct bench bench;
		uint32_t bits, wrong;

		bench_open(&bench, "read.flip@1,read.short@2,read.misdirect@3", seed);
		request = read_of(&bench, 1);
		assert_int_equal(run(&bench, &request), 0);
		assert_int_equal(wrong_bytes(&bench, 1, &bits), 1);
		assert_int_equal(bits, 1);
		assert_int_equal(run(&bench, &request), 0);
		wrong = wrong_bytes(&bench, 1, &bits);
		assert_in_range(wrong, 1, CHUNKS * PAYLOAD);
		assert_int_equal(bench.memory[CHUNKS * PAYLOAD - 1], 0xa5);
		assert_int_equal(run(&bench, &request), 0);
		wrong = CHUNKS * PAYLOAD;
		for (uint32_t other = 0; other < BLOCKS; other++)
			if (other != 1 && wrong_bytes(&bench, other, &bits) == 0)
				wrong = 0;
		assert_int_equal(wrong, 0); /* whole bytes, of another block */
		bench_close(&bench);
	}
}

static void late_answers_come_late_and_right(void **state)
{
	struct wp_request request;
	struct bench bench;
	uint32_t bits;

	(void)state;
	bench_open(&bench, "read.delay@1=5000000", 1);
	request = read_of(&bench, 1);
	assert_int_equal(wp_port_submit(bench.port, &request), 0);
	assert_int_equal(wp_port_fault_withheld(bench.port), 0); /* the port behind has it */
	assert_int_equal(wp_clock_wait_until(bench.clock, wp_port_next_ns(bench.port)), 0);
	wp_port_poll(bench.port);
	assert_int_equal(wp_port_fault_withheld(bench.port), 1);
	assert_true(wait_for(&bench, &request));
	assert_int_equal(request.result, 0);
	assert_int_equal(wp_port_fault_withheld(bench.port), 0);
	assert_int_equal(request.done_ns - request.submit_ns, LATENCY + 5000000);
	assert_int_equal(wp_clock_now_ns(bench.clock), request.done_ns);
	assert_int_equal(wrong_bytes(&bench, 1, &bits), 0);
	bench_close(&bench);
}

/* Never is never, until the fault is taken away. */
static void withheld_until_disarmed(void **state)
{
	struct wp_request request;
	struct bench bench;
	uint32_t bits;

	(void)state;
	bench_open(&bench, "read.never@1+", 1);
	request = read_of(&bench, 1);
	assert_int_equal(wp_port_submit(bench.port, &request), 0);
	assert_false(wait_for(&bench, &request));
	assert_int_equal(wp_port_fault_withheld(bench.port), 1);
	wp_port_fault_disarm(bench.port);
	assert_true(wait_for(&bench, &request));
	assert_int_equal(request.result, 0);
	assert_int_equal(wrong_bytes(&bench, 1, &bits), 0);
	assert_int_equal(wp_port_fault_withheld(bench.port), 0);
	bench_close(&bench);
}

static void once_or_from_then_on(void **state)
{
	struct wp_request request;
	struct bench bench;

	(void)state;
	bench_open(&bench, "read.error@3+", 1);
	request = read_of(&bench, 1);
	for (uint32_t n = 1; n <= 6; n++)
		assert_int_equal(run(&bench, &request), n < 3 ? 0 : -EIO);
	bench_close(&bench);
	bench_open(&bench, "read.error~1/10+", 5);
	for (uint32_t n = 1; n <= 200; n++)
		assert_true(run(&bench, &request) == 0 || request.result == -EIO);
	assert_int_equal(request.result, -EIO);
	bench_close(&bench);
}

/* The same seed hits the same; rates are kept; a second rule changes nothing in the first. */
static void chance_is_drawn_from_its_own_seed(void **state)
{
	enum { READS = 4000 };
	static bool hits[3][READS];
	static const char *const plans[] = {"read.error~1/20", "read.error~1/20",
					    "read.error~1/20,read.delay~1/3=1"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct bench bench;
		uint32_t count = 0;

		bench_open(&bench, plans[i], 99);
		for (int n = 0; n < READS; n++) {
			struct wp_request request = read_of(&bench, 1);

			hits[i][n] = run(&bench, &request) != 0;
			count += hits[i][n];
		}
		assert_in_range(count, READS / 20 / 2, READS / 20 * 2);
		bench_close(&bench);
	}
	assert_memory_equal(hits[0], hits[1], sizeof(hits[0]));
	assert_memory_equal(hits[0], hits[2], sizeof(hits[0]));
}

static void more_than_it_can_hold_is_refused(void **state)
{
	struct wp_request requests[9];
	struct bench bench;

	(void)state;
	bench_open(&bench, "read.never@1+", 1);
	for (int i = 0; i < 9; i++) {
		requests[i] = read_of(&bench, 1);
		assert_int_equal(wp_port_submit(bench.port, &requests[i]), i < 8 ? 0 : -EAGAIN);
	}
	bench_close(&bench);
}

static void plans_read_back_as_written(void **state)
{
	static const char *const kinds[] = {"error",	 "short", "flip",
					    "misdirect", "delay", "never"};
	static const char *const ops[] = {"read",  "verify", "write",  "commit",  "copy",
					  "fetch", "encode", "decode", "compute", "any"};
	struct wp_random random = {3};
	uint32_t legal = 0;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		char text[WP_FAULT_PLAN_BYTES] = "", again[WP_FAULT_PLAN_BYTES], why[160];
		uint64_t rules = wp_random_below(&random, 4);
		struct wp_fault_plan plan, back;

		for (uint64_t i = 0; i < rules; i++) {
			uint64_t of = 1 + wp_random_below(&random, 1000);
			bool nth = wp_random_below(&random, 2);
			size_t length = strlen(text);

			snprintf(text + length, sizeof(text) - length, "%s%s.%s%c%llu",
				 i ? "," : "", ops[wp_random_below(&random, 10)],
				 kinds[wp_random_below(&random, 6)], nth ? '@' : '~',
				 (unsigned long long)(1 + wp_random_below(&random, of)));
			length = strlen(text);
			if (!nth)
				snprintf(text + length, sizeof(text) - length, "/%llu",
					 (unsigned long long)of);
			if (wp_random_below(&random, 2))
				strcat(text, "+");
			if (wp_random_below(&random, 4) == 0)
				strcat(text, "=17");
		}
		if (wp_fault_plan_parse(&plan, text, why, sizeof(why)) != 0) {
			assert_int_equal(plan.count, 0);
			assert_non_null(strstr(why, "at character "));
			continue;
		}
		legal++;
		assert_string_equal(wp_fault_plan_text(&plan, again), text);
		assert_int_equal(wp_fault_plan_parse(&back, again, why, sizeof(why)), 0);
		assert_memory_equal(&plan, &back, sizeof(plan));
	}
	assert_in_range(legal, 500, 1999); /* both ways were tried */
}

static void wrong_plans_are_refused(void **state)
{
	static const char nine_rules[] =
	    "read.flip@1,read.flip@2,read.flip@3,read.flip@4,read.flip@5,read.flip@6,read.flip@7,"
	    "read.flip@8,read.flip@9";
	static const char *const texts[] = {"read",
					    "read.",
					    "read.flip",
					    "read.flip@",
					    "read.flip@0",
					    "read.flip@1x",
					    "read.flip@-1",
					    "read.flip~1",
					    "read.flip~2/1",
					    "read.flip~0/5",
					    "read.flip@1,",
					    ",read.flip@1",
					    "read.flip@1;read.flip@2",
					    "read.error@1=99999",
					    "read.flip@1=3",
					    "verify.flip@1",
					    "write.misdirect@1",
					    "any.flip@1",
					    "READ.flip@1",
					    "read.flip@99999999999999999999999",
					    nine_rules};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct wp_fault_plan plan;
		char why[160] = "";

		if (wp_fault_plan_parse(&plan, texts[i], why, sizeof(why)) == 0)
			fail_msg("taken: %s", texts[i]);
		assert_true(why[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_the_nth_is_hit),
	    cmocka_unit_test(errors_name_number_and_place),
	    cmocka_unit_test(damage_is_what_it_is_called),
	    cmocka_unit_test(late_answers_come_late_and_right),
	    cmocka_unit_test(withheld_until_disarmed),
	    cmocka_unit_test(once_or_from_then_on),
	    cmocka_unit_test(chance_is_drawn_from_its_own_seed),
	    cmocka_unit_test(more_than_it_can_hold_is_refused),
	    cmocka_unit_test(plans_read_back_as_written),
	    cmocka_unit_test(wrong_plans_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
