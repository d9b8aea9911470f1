/* Probes whose reads do not come back: the caller does, and nothing is freed too early. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/throttle/probe.h"

#define UNIT 4096u

/* Reads come back at once, but for one, which waits for a byte in a pipe. */
struct odd_source {
	struct wp_probe_source source;
	_Atomic uint64_t now_ns; /* moves on with every look at it */
	uint32_t reads, stuck_at;
	int pipe[2];
	bool *closed;
};

static int odd_read(struct wp_probe_source *source, uint32_t bytes)
{
	struct odd_source *odd = (struct odd_source *)source;
	char byte;

	(void)bytes;
	atomic_store(&source->offset, (uint64_t)odd->reads * UNIT);
	if (odd->reads++ != odd->stuck_at)
		return 0;
	return read(odd->pipe[0], &byte, 1) == 1 ? 0 : -EIO;
}

static uint64_t odd_now_ns(struct wp_probe_source *source)
{
	return atomic_fetch_add(&((struct odd_source *)source)->now_ns, 40000000u) + 40000000u;
}

static void odd_close(struct wp_probe_source *source)
{
	struct odd_source *odd = (struct odd_source *)source;

	*odd->closed = true;
	close(odd->pipe[0]);
	close(odd->pipe[1]);
	free(odd);
}

static struct odd_source *open_odd(uint32_t stuck_at, bool *closed)
{
	struct odd_source *odd = calloc(1, sizeof(*odd));

	assert_non_null(odd);
	*closed = false;
	odd->closed = closed;
	odd->stuck_at = stuck_at;
	assert_int_equal(pipe(odd->pipe), 0);
	odd->source.read = odd_read;
	odd->source.now_ns = odd_now_ns;
	odd->source.close = odd_close;
	odd->source.unit_bytes = UNIT;
	odd->source.deadline_ns = 50000000; /* two looks at the clock */
	return odd;
}

static const struct wp_probe_plan ten_reads = {.bytes = 10 * UNIT, .piece_bytes = UNIT};

static void test_a_watched_run_reads_all(void **state)
{
	struct wp_probe_figures figures;
	bool closed;
	struct odd_source *odd = open_odd(UINT32_MAX, &closed);

	(void)state;
	assert_int_equal(wp_probe_run(&odd->source, &ten_reads, &figures), 0);
	assert_int_equal(figures.bytes, 10 * UNIT);
	assert_int_equal(odd->reads, 10);
	wp_probe_close(&odd->source);
	assert_true(closed);
}

static void test_a_read_that_does_not_come_back(void **state)
{
	struct wp_probe_figures figures;
	bool closed;
	struct odd_source *odd = open_odd(7, &closed);

	(void)state;
	assert_int_equal(wp_probe_run(&odd->source, &ten_reads, &figures), -ETIMEDOUT);
	assert_int_equal(atomic_load(&odd->source.offset), 7 * UNIT);
	/* What held it up is gone: then all is freed. */
	assert_int_equal(write(odd->pipe[1], "", 1), 1);
	wp_probe_close(&odd->source);
	assert_true(closed);
}

static void test_giving_up_early(void **state)
{
	static volatile sig_atomic_t stop = 1;
	struct wp_probe_figures figures;
	bool closed;
	struct odd_source *odd = open_odd(0, &closed);

	(void)state;
	odd->source.deadline_ns = UINT64_MAX / 2;
	odd->source.stop = &stop;
	assert_int_equal(wp_probe_run(&odd->source, &ten_reads, &figures), -EINTR);
	assert_int_equal(write(odd->pipe[1], "", 1), 1);
	wp_probe_close(&odd->source);
	assert_true(closed);
}

static void test_a_read_that_never_comes_back(void **state)
{
	struct wp_probe_figures figures;
	bool closed;
	struct odd_source *odd = open_odd(3, &closed);

	(void)state;
	assert_int_equal(wp_probe_run(&odd->source, &ten_reads, &figures), -ETIMEDOUT);
	wp_probe_close(&odd->source);
	/* The thread may still need it. */
	assert_false(closed);
	/* For this test's own tidiness. */
	assert_int_equal(write(odd->pipe[1], "", 1), 1);
	wp_probe_close(&odd->source);
	assert_true(closed);
}

static void test_an_error_is_handed_on(void **state)
{
	struct wp_probe_figures figures;
	bool closed;
	struct odd_source *odd = open_odd(5, &closed);

	(void)state;
	close(odd->pipe[1]);
	odd->pipe[1] = -1;
	assert_int_equal(wp_probe_run(&odd->source, &ten_reads, &figures), -EIO);
	wp_probe_close(&odd->source);
	assert_true(closed);
}

static void test_nothing_to_read(void **state)
{
	const struct wp_probe_extent extents[] = {{0, 0}, {0, UNIT - 1}};
	struct wp_probe_source *source = NULL;

	(void)state;
	assert_int_equal(wp_probe_files_open(&source, extents, 0, UNIT), -ENODATA);
	assert_int_equal(wp_probe_files_open(&source, extents, 2, UNIT), -ENODATA);
	assert_null(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_watched_run_reads_all),
	    cmocka_unit_test(test_a_read_that_does_not_come_back),
	    cmocka_unit_test(test_giving_up_early),
	    cmocka_unit_test(test_a_read_that_never_comes_back),
	    cmocka_unit_test(test_an_error_is_handed_on),
	    cmocka_unit_test(test_nothing_to_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
