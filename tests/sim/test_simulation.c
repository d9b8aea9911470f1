/*
 * Simulated sessions with faults, over a stretch of seeds and over those that
 * once found something; and every n-th operation of a session made to fail
 * until the session no longer has so many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/sim/session.h"

#define SEEDS	       2000u
#define OPERATIONS_MAX 20000u

/* Each with what it found, so that it stays found. */
static const struct {
	uint64_t seed;
	const char *reason;
} past_seeds[] = {
    {26, "re-reads of pieces that did not verify went beyond the read depth"},
    {82, "a request withheld for a dropped guess: the end waits for it, and its answer is taken"},
};

static uint64_t play_twice(const struct session_config *config, struct session *session)
{
	struct session again;

	session_run(session, config);
	session_run(&again, config);
	assert_true(session->digest == again.digest);
	return session->digest;
}

static void past_seeds_stay_quiet(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(past_seeds) / sizeof(past_seeds[0]); i++) {
		struct session_config config = session_draw(past_seeds[i].seed);
		struct session session;

		print_message("seed %" PRIu64 ": %s\n", past_seeds[i].seed, past_seeds[i].reason);
		play_twice(&config, &session);
	}
}

static void a_stretch_of_seeds(void **state)
{
	uint32_t failed = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct session_config config = session_draw(seed);
		struct session session;

		play_twice(&config, &session);
		failed += session.error != 0;
	}
	/* Both ends were reached often: a harness without faults would prove nothing. */
	assert_in_range(failed, SEEDS / 50, SEEDS / 2);
}

/* Faults draw from their own generator: one that never strikes leaves the session as it was. */
static void a_fault_that_does_not_strike_changes_nothing(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct session_config config = session_draw(seed);
		struct session without, with;

		memset(&config.store_faults, 0, sizeof(config.store_faults));
		memset(&config.device_faults, 0, sizeof(config.device_faults));
		session_run(&without, &config);
		config.store_faults.count = 1;
		config.store_faults.rules[0] = (struct wp_fault_rule){
		    .op = WP_OP_READ, .kind = WP_FAULT_FLIP, .nth = UINT64_MAX};
		session_run(&with, &config);
		assert_true(without.digest == with.digest);
	}
}

/* A short session in which guesses hit, miss and are dropped half-way. */
static struct session_config short_session(void)
{
	return (struct session_config){
	    .seed = 50,
	    .block_bytes = 3 * WP_CHUNK_BYTES - 5,
	    .chunk_payload_bytes = 16,
	    .read_chunks = 1,
	    .read_depth = 3,
	    .retries_max = 1,
	    .k = 2,
	    .staging_blocks = 3,
	    .blocks = 12,
	    .frames = 50,
	    .order = "demand_first",
	    .bucket_bytes_per_s = 1u << 28,
	    .compute_ns = 4000000,
	    .rates = {.copy_bytes_per_s = 1u << 30},
	};
}

/* Fails operation 1, then 2, ... until a session has fewer; how many there were. */
static uint64_t fail_each(enum wp_op op, enum wp_fault_kind kind, bool lasting, uint64_t *ended)
{
	for (uint64_t nth = 1; nth < OPERATIONS_MAX; nth++) {
		struct session_config config = short_session();
		struct wp_fault_plan *plan =
		    op == WP_OP_COPY ? &config.device_faults : &config.store_faults;
		struct session session;

		plan->count = 1;
		plan->rules[0] = (struct wp_fault_rule){
		    .op = op,
		    .kind = kind,
		    .nth = nth,
		    .lasting = lasting,
		    .value = kind == WP_FAULT_ERROR   ? EIO
			     : kind == WP_FAULT_DELAY ? 50000000
						      : 0,
		};
		session_run(&session, &config);
		*ended += session.error != 0;
		if (!session.struck)
			return nth - 1;
	}
	fail_msg("operation %d never runs out", op);
	return 0;
}

static void every_operation_fails_once_and_for_good(void **state)
{
	static const struct {
		enum wp_op op;
		enum wp_fault_kind kind;
		const char *name;
	} tries[] = {
	    {WP_OP_READ, WP_FAULT_ERROR, "read.error"},
	    {WP_OP_READ, WP_FAULT_SHORT, "read.short"},
	    {WP_OP_READ, WP_FAULT_FLIP, "read.flip"},
	    {WP_OP_READ, WP_FAULT_MISDIRECT, "read.misdirect"},
	    {WP_OP_READ, WP_FAULT_DELAY, "read.delay"},
	    {WP_OP_READ, WP_FAULT_NEVER, "read.never"},
	    {WP_OP_VERIFY, WP_FAULT_ERROR, "verify.error"},
	    {WP_OP_VERIFY, WP_FAULT_NEVER, "verify.never"},
	    {WP_OP_COPY, WP_FAULT_ERROR, "copy.error"},
	    {WP_OP_COPY, WP_FAULT_NEVER, "copy.never"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		uint64_t ended[2] = {0};
		uint64_t once = fail_each(tries[i].op, tries[i].kind, false, &ended[0]);
		uint64_t lasting = fail_each(tries[i].op, tries[i].kind, true, &ended[1]);

		print_message("%s: %" PRIu64 " operations failed once (%" PRIu64
			      " sessions ended), %" PRIu64 " for good (%" PRIu64 ")\n",
			      tries[i].name, once, ended[0], lasting, ended[1]);
		assert_true(once > 100); /* it was a session and not an empty one */
		assert_true(lasting > 100);
		if (tries[i].kind == WP_FAULT_DELAY)
			assert_int_equal(ended[0] + ended[1], 0);
		/* One wrong piece is read again, and nobody notices. */
		if (tries[i].kind == WP_FAULT_FLIP || tries[i].kind == WP_FAULT_SHORT ||
		    tries[i].kind == WP_FAULT_MISDIRECT)
			assert_int_equal(ended[0], 0);
		if (tries[i].kind == WP_FAULT_ERROR)
			assert_true(ended[0] > 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(past_seeds_stay_quiet),
	    cmocka_unit_test(a_stretch_of_seeds),
	    cmocka_unit_test(a_fault_that_does_not_strike_changes_nothing),
	    cmocka_unit_test(every_operation_fails_once_and_for_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
