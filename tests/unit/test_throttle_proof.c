/*
 * Proof of the throttle: limits without effect, on another device or disturbed
 * are not believed, drives too slow for the rate are told apart, and counters
 * and rates of the run have the last word. Time is that of a simulated drive.
 */
#include "tests/support/throttle_run.h"

/* Opens, runs, and returns the reason why the result is not valid. */
static const char *reason_of(enum wp_throttle_method asked, uint64_t bytes, uint64_t achieved,
			     struct wp_throttle_figures *figures, bool *proven)
{
	struct wp_throttle *throttle = open_throttle(asked, RATE);

	assert_non_null(throttle);
	*proven = wp_throttle_proven(throttle);
	run(throttle, bytes, achieved, figures);
	assert_int_equal(figures->valid, !figures->reason[0]);
	wp_throttle_close(throttle);
	assert_undone(FAKE_V1 "/user", FAKE_V1 "/user");
	return figures->reason;
}

static void test_wrong_device(void **state)
{
	struct wp_throttle_figures figures;
	bool proven;

	(void)state;
	fake_mount_v1(&fake, false);
	fake.disk = "254:0";
	assert_non_null(strstr(reason_of(WP_THROTTLE_AUTO, 64u << 20, RATE, &figures, &proven),
			       "do not go to the limited device"));
	assert_false(proven);
	assert_string_equal(figures.device, "259:0");
	assert_int_equal(figures.device_bytes, 0);
}

static void test_without_effect(void **state)
{
	struct wp_throttle_figures figures;
	bool proven;

	(void)state;
	fake_mount_v1(&fake, false);
	fake.limit_without_effect = true;
	assert_non_null(strstr(reason_of(WP_THROTTLE_CGROUP, 64u << 20, RATE, &figures, &proven),
			       "has no effect"));
	assert_false(proven);
}

static void test_other_traffic(void **state)
{
	struct wp_throttle_figures figures;
	bool proven;

	(void)state;
	fake_mount_v1(&fake, false);
	fake.slowed_to = RATE / 100 * 90;
	assert_non_null(strstr(reason_of(WP_THROTTLE_CGROUP, 64u << 20, RATE, &figures, &proven),
			       "other traffic"));
	assert_false(proven);
	fake.slowed_to = RATE / 100 * 97;
	assert_string_equal(reason_of(WP_THROTTLE_CGROUP, 64u << 20, RATE, &figures, &proven), "");
	assert_true(proven);
}

/* A drive that does not reach the rate: no fault of the limit, but not to be drawn at it. */
static void test_slow_drive(void **state)
{
	struct wp_throttle_figures figures;
	bool proven;

	(void)state;
	fake_mount_v1(&fake, false);
	fake.drive_bytes_per_s = RATE / 2;
	assert_string_equal(reason_of(WP_THROTTLE_AUTO, 64u << 20, RATE / 2, &figures, &proven),
			    "");
	assert_true(proven);
	assert_true(figures.device_limited);
	assert_non_null(strstr(figures.notes[0], "device-limited"));
	assert_string_equal(reason_of(WP_THROTTLE_BUCKET, 64u << 20, RATE / 2, &figures, &proven),
			    "");
	assert_true(figures.device_limited);
}

/* A busy moment makes a drive look slow, and what it held up look like a limit without effect. */
static void test_busy_moment(void **state)
{
	struct wp_throttle_figures figures;
	bool proven;

	(void)state;
	fake_mount_v1(&fake, false);
	fake.busy_until_ns = 400000000u;
	assert_string_equal(reason_of(WP_THROTTLE_AUTO, 64u << 20, RATE, &figures, &proven), "");
	assert_true(proven);
	assert_false(figures.device_limited);
	assert_int_equal(figures.unthrottled_bytes_per_s, BUSY_BYTES_PER_S);
	assert_in_range(figures.probe_bytes_per_s, RATE / 100 * 95, RATE / 100 * 105);
}

static void test_counter_in_the_run(void **state)
{
	struct wp_throttle_figures figures;
	struct wp_throttle *throttle;

	(void)state;
	fake_mount_v1(&fake, false);
	for (int method = WP_THROTTLE_NONE; method <= WP_THROTTLE_AUTO; method++) {
		throttle = open_throttle((enum wp_throttle_method)method, RATE);
		assert_non_null(throttle);
		assert_int_equal(wp_throttle_start(throttle), 0);
		assert_int_equal(fake.source.read(&fake.source, 1u << 20), 0);
		/* 64 MiB came from somewhere else: the page cache, a hole. */
		wp_throttle_finish(throttle, 65u << 20, RATE, &figures);
		assert_false(figures.valid);
		assert_int_equal(figures.device_bytes, 1u << 20);
		assert_int_equal(figures.expected_bytes, 65u << 20);
		/* Little is no excuse for nothing. */
		assert_int_equal(wp_throttle_start(throttle), 0);
		wp_throttle_finish(throttle, 1u << 19, RATE, &figures);
		assert_false(figures.valid);
		assert_int_equal(wp_throttle_start(throttle), 0);
		assert_int_equal(fake.source.read(&fake.source, 1u << 20), 0);
		wp_throttle_finish(throttle, 1u << 20, RATE, &figures);
		assert_true(figures.valid);
		wp_throttle_close(throttle);
	}
}

static void test_above_the_limit(void **state)
{
	struct wp_throttle_figures figures;
	bool proven;

	(void)state;
	fake_mount_v1(&fake, false);
	assert_non_null(
	    strstr(reason_of(WP_THROTTLE_BUCKET, 64u << 20, RATE / 100 * 110, &figures, &proven),
		   "above"));
	assert_non_null(strstr(
	    reason_of(WP_THROTTLE_AUTO, 64u << 20, RATE / 100 * 110, &figures, &proven), "above"));
	assert_string_equal(
	    reason_of(WP_THROTTLE_AUTO, 64u << 20, RATE / 100 * 103, &figures, &proven), "");
}

/* The kernel's free credit: harmless in large frames, marked in small ones. */
static void test_credit_is_marked(void **state)
{
	struct wp_throttle_request request;
	struct wp_throttle_figures figures;
	struct wp_throttle *throttle;

	(void)state;
	fake_mount_v1(&fake, false);
	request = request_of(WP_THROTTLE_CGROUP, RATE);
	request.frame_bytes = 16u << 20;
	assert_int_equal(wp_throttle_open(&throttle, &request, &error), 0);
	/* Faster than the limit by its credit, as small frames are. */
	run(throttle, 16u << 20, RATE * 3ull, &figures);
	assert_true(figures.valid);
	assert_int_equal(figures.note_count, 1);
	assert_non_null(strstr(figures.notes[0], "--throttle auto"));
	assert_true(figures.credit_share > 1 && figures.credit_share < 2);
	wp_throttle_close(throttle);
	throttle = open_throttle(WP_THROTTLE_CGROUP, RATE);
	assert_non_null(throttle);
	run(throttle, 64u << 20, RATE, &figures);
	assert_int_equal(figures.note_count, 0);
	assert_true(figures.credit_share > 0 && figures.credit_share < 0.1);
	wp_throttle_close(throttle);
}

static void test_large_rates(void **state)
{
	static const uint64_t rates[] = {4294967295u, 4294967296u, 5000000000u, 8589934592u};

	(void)state;
	fake_mount_v1(&fake, false);
	fake.drive_bytes_per_s = 20000000000u;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct wp_throttle *throttle = open_throttle(WP_THROTTLE_CGROUP, rates[i]);
		struct wp_throttle_figures figures;
		char path[600], text[64], expected[64];

		assert_non_null(throttle);
		own_group(path, sizeof(path), FAKE_V1 "/user");
		strcat(path, LIMIT);
		assert_true(fake_text(&fake, path, text, sizeof(text)));
		snprintf(expected, sizeof(expected), "259:0 %" PRIu64 "\n", rates[i]);
		assert_string_equal(text, expected);
		run(throttle, 64u << 20, rates[i], &figures);
		assert_int_equal(figures.read_back_bytes_per_s, rates[i]);
		assert_in_range(figures.probe_bytes_per_s, rates[i] / 100 * 95,
				rates[i] / 100 * 105);
		wp_throttle_close(throttle);
	}
}

/* Less than one read a second: no proof in sensible time, so no kernel limit. */
static void test_tiny_rates(void **state)
{
	struct wp_throttle_figures figures;
	struct wp_throttle *throttle;

	(void)state;
	fake_mount_v1(&fake, false);
	assert_null(open_throttle(WP_THROTTLE_CGROUP, 1));
	assert_int_equal(error.exit_code, WP_EXIT_ENVIRONMENT);
	throttle = open_throttle(WP_THROTTLE_AUTO, 1);
	assert_non_null(throttle);
	assert_true(wp_throttle_wants_bucket(throttle));
	wp_throttle_finish(throttle, 0, 0, &figures);
	assert_string_equal(figures.method, "bucket");
	wp_throttle_close(throttle);
	throttle = open_throttle(WP_THROTTLE_CGROUP, 64000);
	assert_non_null(throttle);
	assert_true(wp_throttle_proven(throttle));
	wp_throttle_close(throttle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    OVER_TREE(test_wrong_device),	OVER_TREE(test_without_effect),
	    OVER_TREE(test_other_traffic),	OVER_TREE(test_slow_drive),
	    OVER_TREE(test_counter_in_the_run), OVER_TREE(test_above_the_limit),
	    OVER_TREE(test_credit_is_marked),	OVER_TREE(test_large_rates),
	    OVER_TREE(test_tiny_rates),		OVER_TREE(test_busy_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
