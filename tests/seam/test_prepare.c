/* Preparing stores: complete or not there, reused when it fits, refused when not. */
#include "tests/seam/store_fixture.h"

#include "harness/replay/prepare.h"

#define BLOCK_BYTES (5 * WP_CHUNK_BYTES + 4321u)
#define BLOCKS	    9u

struct seen {
	uint64_t calls, done_bytes, total_bytes;
	volatile sig_atomic_t stop;
	bool stop_early;
};

static void see_progress(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
	struct seen *seen = context;

	assert_true(done_bytes >= seen->done_bytes && done_bytes <= total_bytes);
	seen->calls++;
	seen->done_bytes = done_bytes;
	seen->total_bytes = total_bytes;
	if (seen->stop_early)
		seen->stop = 1;
}

static struct wp_prepare_config config_of(struct fixture *fixture, struct seen *seen)
{
	return (struct wp_prepare_config){
	    .directory = fixture->directory,
	    .identity = fixture->identity,
	    .block_count = BLOCKS,
	    .backend = fixture->config.backend,
	    .allow_unproven = true,
	    .progress = see_progress,
	    .context = seen,
	    .stop = &seen->stop,
	};
}

static void prepare(const struct wp_prepare_config *config)
{
	struct wp_error error;

	if (wp_prepare(config, &error) != 0)
		fail_msg("prepare: %s", error.text);
}

static void test_store_is_prepared_and_reused(void **state)
{
	enum wp_store_backend backend = *(enum wp_store_backend *)*state;
	struct fixture *fixture = fixture_open(BLOCK_BYTES, backend);
	struct seen seen = {0};
	struct wp_prepare_config config = config_of(fixture, &seen);
	struct wp_prepare_plan plan;
	struct wp_error error;

	assert_int_equal(wp_prepare_plan(&config, &plan, &error), 0);
	assert_false(plan.reusable);
	assert_int_equal(plan.write_bytes, wp_store_host_bytes(BLOCK_BYTES, BLOCKS));
	assert_true(plan.free_bytes > 0);
	assert_int_equal(access(fixture->directory, F_OK), -1);
	prepare(&config);
	assert_true(seen.calls > 0);
	assert_int_equal(seen.done_bytes, (uint64_t)BLOCK_BYTES * BLOCKS);

	fixture->identity.kind = WP_STORE_PREPARED;
	fixture->config.writable = false;
	open_store(fixture);
	assert_int_equal(fixture->report.stored_blocks, BLOCKS);
	for (uint32_t block = 0; block < BLOCKS; block++)
		assert_int_equal(fetch_block(fixture, block), 0);

	seen.calls = 0;
	prepare(&config); /* also while somebody reads */
	config.block_count = BLOCKS - 3;
	prepare(&config);
	assert_int_equal(seen.calls, 0);
	assert_int_equal(wp_prepare_plan(&config, &plan, &error), 0);
	assert_true(plan.reusable);
	assert_int_equal(plan.write_bytes, 0);
	fixture_close(fixture);
}

static void assert_differs(const struct wp_prepare_config *config, const char *word)
{
	struct wp_prepare_plan plan;
	struct wp_error error;

	assert_int_equal(wp_prepare_plan(config, &plan, &error), 0);
	assert_false(plan.reusable);
	assert_non_null(strstr(plan.difference, word));
	assert_int_equal(wp_prepare(config, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_CONTENT);
	assert_non_null(strstr(error.text, word));
}

static void test_difference_is_named(void **state)
{
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_AUTO);
	struct seen seen = {0};
	struct wp_prepare_config right = config_of(fixture, &seen), other;

	(void)state;
	prepare(&right);
	other = right;
	other.identity.seed = 8;
	assert_differs(&other, "seed");
	other = right;
	other.identity.block_bytes++;
	assert_differs(&other, "blocks have");
	other = right;
	other.identity.geometry_hash++;
	assert_differs(&other, "geometry");
	other = right;
	other.identity.codec[0] = 'b';
	assert_differs(&other, "codec");
	prepare(&right); /* nothing of this touched the store */
	other.replace = true;
	prepare(&other);
	right = other;
	right.replace = false;
	prepare(&right);
	flip_byte(fixture, "header", 100);
	assert_differs(&right, "damaged");
	fixture_close(fixture);
}

static void test_longer_run_gets_a_longer_store(void **state)
{
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_AUTO);
	struct seen seen = {0};
	struct wp_prepare_config config = config_of(fixture, &seen);
	struct wp_prepare_plan plan;
	struct wp_error error;

	(void)state;
	prepare(&config);
	config.block_count = BLOCKS + 4;
	assert_int_equal(wp_prepare_plan(&config, &plan, &error), 0);
	assert_false(plan.reusable);
	assert_true(plan.too_short);
	assert_non_null(strstr(plan.difference, "has 9 blocks, wanted 13"));
	assert_int_equal(plan.write_bytes, wp_store_host_bytes(BLOCK_BYTES, BLOCKS + 4));
	seen = (struct seen){0};
	prepare(&config);
	assert_int_equal(seen.done_bytes, (uint64_t)BLOCK_BYTES * (BLOCKS + 4));
	seen = (struct seen){0};
	prepare(&config);
	config.block_count = BLOCKS;
	prepare(&config);
	assert_int_equal(seen.calls, 0);
	fixture_close(fixture);
}

static void test_interrupted_leaves_nothing(void **state)
{
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_AUTO);
	struct seen seen = {.stop = 1};
	struct wp_prepare_config config = config_of(fixture, &seen);
	struct wp_error error;

	(void)state;
	assert_int_equal(wp_prepare(&config, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_INTERRUPTED);
	assert_int_equal(access(fixture->directory, F_OK), -1);
	/* In the midst of it. */
	seen = (struct seen){.stop_early = true};
	config.block_count = 30;
	assert_int_equal(wp_prepare(&config, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_INTERRUPTED);
	assert_true(seen.done_bytes > 0 && seen.done_bytes < seen.total_bytes);
	assert_int_equal(access(fixture->directory, F_OK), -1);
	fixture_close(fixture);
}

static void test_what_cannot_be(void **state)
{
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_AUTO);
	struct seen seen = {0};
	struct wp_prepare_config config = config_of(fixture, &seen);
	struct wp_error error;
	char path[400];

	(void)state;
	snprintf(path, sizeof(path), "%s/no/such/place", fixture->root);
	config.directory = path;
	assert_int_equal(wp_prepare(&config, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_CONTENT);
	config.directory = "/proc/self/exe"; /* a file */
	assert_int_equal(wp_prepare(&config, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_CONTENT);
	config.directory = fixture->directory;
	config.identity.block_bytes = 1ull << 36;
	config.block_count = 4096;
	assert_int_equal(wp_prepare(&config, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_ENVIRONMENT);
	assert_non_null(strstr(error.text, "needs"));
	fixture_close(fixture);
}

int main(void)
{
	static enum wp_store_backend io_uring = WP_STORE_BACKEND_AUTO;
	static enum wp_store_backend pread = WP_STORE_BACKEND_PREAD;
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_prestate(test_store_is_prepared_and_reused, &io_uring),
	    cmocka_unit_test_prestate(test_store_is_prepared_and_reused, &pread),
	    cmocka_unit_test(test_difference_is_named),
	    cmocka_unit_test(test_longer_run_gets_a_longer_store),
	    cmocka_unit_test(test_interrupted_leaves_nothing),
	    cmocka_unit_test(test_what_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
