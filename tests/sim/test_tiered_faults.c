/*
 * Every n-th operation of a short tiered session fails, once and from then on,
 * until the session no longer has so many. Each time the pager says what
 * happened or goes on, and what was acknowledged is there afterwards.
 *
 * A sample of the n by default; WP_FULL=1: all of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/sim/tiered_session.h"

#define SEEDS	       1500u
#define OPERATIONS_MAX 20000u
#define STRIDE	       11u /* of the sample, once past its dense beginning */
#define DENSE	       25u

/* Slots so few that blocks leave both memories and are read again. */
static struct tiered_config short_session(void)
{
	return (struct tiered_config){
	    .seed = 50,
	    .geometry = {3 * WP_CHUNK_BYTES - 5, 16, 1},
	    .k = 2,
	    .staging_blocks = 3,
	    .device_slots = 5,
	    .host_slots = 6,
	    .nvme_blocks = 50,
	    .read_depth = 3,
	    .retries_max = 1,
	    .write_blocks = 2,
	    .write_depth = 2,
	    .frames = 50,
	    .exclude_recent = 2,
	    .order = "demand_first",
	    .eviction = "lru",
	    .bucket_bytes_per_s = 1u << 28,
	    .compute_ns = 400000,
	    .flushes = true,
	    .drive = {.write_latency_ns = 20000, .flush_latency_ns = 300000},
	    .rates = {.copy_bytes_per_s = 1u << 30},
	};
}

static bool is_of_device(enum wp_op op)
{
	return op == WP_OP_COPY || op == WP_OP_FETCH || op == WP_OP_ENCODE;
}

struct sweep {
	uint64_t operations; /* the last one that failed */
	uint64_t sessions, ended;
};

static void run_with(const struct wp_fault_rule *rule, struct sweep *sweep, bool *struck)
{
	struct tiered_config config = short_session();
	struct wp_fault_plan *plan =
	    is_of_device(rule->op) ? &config.device_faults : &config.store_faults;
	struct tiered_session session;

	plan->count = 1;
	plan->rules[0] = *rule;
	config.patient = rule->nth % 2;
	tiered_run(&session, &config);
	*struck = session.struck > 0;
	sweep->sessions += *struck;
	sweep->ended += *struck && session.error != 0;
}

static struct sweep fail_each(enum wp_op op, enum wp_fault_kind kind, bool lasting, bool full)
{
	struct sweep sweep = {0};
	struct wp_fault_rule rule = {
	    .op = op,
	    .kind = kind,
	    .lasting = lasting,
	    .value = kind == WP_FAULT_ERROR   ? EIO
		     : kind == WP_FAULT_DELAY ? 50000000
					      : 0,
	};
	bool struck = true;

	for (rule.nth = 1; rule.nth < OPERATIONS_MAX; rule.nth++) {
		if (!full && rule.nth > DENSE && rule.nth % STRIDE)
			continue;
		run_with(&rule, &sweep, &struck);
		if (!struck)
			return sweep;
		sweep.operations = rule.nth;
	}
	fail_msg("operation %d never runs out", op);
	return sweep;
}

/* As the fault plan writes it, without the which and the how much. */
static const char *sweep_name(enum wp_op op, enum wp_fault_kind kind)
{
	static char text[WP_FAULT_PLAN_BYTES];
	struct wp_fault_plan plan = {.rules = {{.op = op, .kind = kind, .nth = 1}}, .count = 1};

	wp_fault_plan_text(&plan, text);
	*strchr(text, '@') = 0;
	return text;
}

static void every_operation_fails_once_and_for_good(void **state)
{
	static const enum wp_fault_kind kinds[] = {WP_FAULT_ERROR, WP_FAULT_DELAY,
						   WP_FAULT_NEVER, WP_FAULT_FLIP,
						   WP_FAULT_SHORT, WP_FAULT_MISDIRECT};
	static const enum wp_op ops[] = {WP_OP_READ, WP_OP_VERIFY, WP_OP_WRITE, WP_OP_COMMIT,
					 WP_OP_COPY, WP_OP_FETCH,  WP_OP_ENCODE};
	bool full = getenv("WP_FULL") != NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		/* Only what a checksum covers is damaged. */
		size_t kind_count = ops[i] == WP_OP_READ ? 6 : 3;

		for (size_t j = 0; j < kind_count; j++) {
			struct sweep once = fail_each(ops[i], kinds[j], false, full);
			struct sweep lasting = fail_each(ops[i], kinds[j], true, full);
			print_message("%s: %" PRIu64 " operations failed once (%" PRIu64
				      " sessions ended), %" PRIu64 " for good (%" PRIu64 ")\n",
				      sweep_name(ops[i], kinds[j]), once.sessions, once.ended,
				      lasting.sessions, lasting.ended);
			assert_true(once.operations >= 40); /* a session and not an empty one */
			if (kinds[j] == WP_FAULT_DELAY)
				assert_int_equal(once.ended + lasting.ended, 0);
			else if (kinds[j] == WP_FAULT_FLIP || kinds[j] == WP_FAULT_SHORT ||
				 kinds[j] == WP_FAULT_MISDIRECT)
				/* One wrong piece is read again, and nobody notices. */
				assert_int_equal(once.ended, 0);
			else
				assert_true(once.ended > 0);
		}
	}
}

/* Without a fault it does what the sweep is about. */
static void the_short_session_uses_every_tier(void **state)
{
	struct tiered_config config = short_session();
	struct tiered_session session;

	(void)state;
	tiered_run(&session, &config);
	assert_int_equal(session.error, 0);
	assert_int_equal(session.frames_done, config.frames);
	assert_int_equal(session.acknowledged_count, config.frames);
	assert_true(session.blocks_nvme > config.frames);
}

static void a_stretch_of_seeds(void **state)
{
	uint32_t failed = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct tiered_config config = tiered_draw(seed);
		struct tiered_session session, again;

		tiered_run(&session, &config);
		tiered_run(&again, &config);
		assert_true(session.digest == again.digest);
		failed += session.error != 0;
	}
	/* Both ends were reached often: a harness without faults would prove nothing. */
	assert_in_range(failed, SEEDS / 50, SEEDS * 3 / 4);
}

/* A block that could not be made is not stored in the form it did not get. */
static void a_failed_encode_is_never_acknowledged(void **state)
{
	struct tiered_config config = short_session();
	struct tiered_session session;

	(void)state;
	config.patient = true; /* the pager is stepped on after its error */
	config.device_faults.count = 1;
	config.device_faults.rules[0] = (struct wp_fault_rule){
	    .op = WP_OP_ENCODE, .kind = WP_FAULT_ERROR, .nth = 10, .value = EIO};
	tiered_run(&session, &config);
	assert_int_equal(session.error, -EIO);
	assert_true(session.struck);
}

static void a_lost_encode_is_noticed(void **state)
{
	struct tiered_config config = short_session();
	struct tiered_session session;

	(void)state;
	config.device_faults.count = 1;
	config.device_faults.rules[0] =
	    (struct wp_fault_rule){.op = WP_OP_ENCODE, .kind = WP_FAULT_NEVER, .nth = 10};
	tiered_run(&session, &config);
	assert_int_equal(session.error, -ETIMEDOUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_short_session_uses_every_tier),
	    cmocka_unit_test(a_failed_encode_is_never_acknowledged),
	    cmocka_unit_test(a_lost_encode_is_noticed),
	    cmocka_unit_test(every_operation_fails_once_and_for_good),
	    cmocka_unit_test(a_stretch_of_seeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
