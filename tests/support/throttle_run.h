/*
 * What the tests of the throttle share: a machine of files, a throttle opened
 * on it with a drive behind a limiter, a run, and that nothing is left of one.
 */
#ifndef WP_TESTS_THROTTLE_RUN_H
#define WP_TESTS_THROTTLE_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "harness/throttle/throttle.h"
#include "tests/support/fake_kernel.h"

#define RATE  250000000u
#define LIMIT "/blkio.throttle.read_bps_device"
#define FRAME (1u << 30)

static struct fake_kernel fake;
static struct wp_error error;

static inline int setup(void **state)
{
	(void)state;
	fake_open(&fake);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	fake_close(&fake);
	return 0;
}

static inline struct wp_throttle_request request_of(enum wp_throttle_method asked, uint64_t rate)
{
	return (struct wp_throttle_request){.kernel = &fake.kernel,
					    .asked = asked,
					    .bytes_per_s = rate,
					    .device = "259:0",
					    .frame_bytes = FRAME,
					    .alignment_bytes = 4096,
					    .probe = &fake.source};
}

static inline struct wp_throttle *open_throttle(enum wp_throttle_method asked, uint64_t rate)
{
	struct wp_throttle_request request = request_of(asked, rate);
	struct wp_throttle *throttle;

	if (wp_throttle_open(&throttle, &request, &error)) {
		assert_null(throttle);
		return NULL;
	}
	return throttle;
}

/* Reads through the limiter as a run would, `bucket` slowing it to the rate. */
static inline void run(struct wp_throttle *throttle, uint64_t bytes, uint64_t achieved,
		       struct wp_throttle_figures *figures)
{
	assert_int_equal(wp_throttle_start(throttle), 0);
	for (uint64_t done = 0; done < bytes; done += 1u << 20)
		assert_int_equal(fake.source.read(&fake.source, 1u << 20), 0);
	wp_throttle_finish(throttle, bytes, achieved, figures);
}

static inline void own_group(char *path, size_t size, const char *parent)
{
	snprintf(path, size, "%s/worldpager-%ld", parent, (long)getpid());
}

/* Nothing of a run is left: no group, and the process where it was. */
static inline void assert_undone(const char *parent, const char *origin)
{
	char path[512];

	own_group(path, sizeof(path), parent);
	assert_false(wp_kernel_exists(&fake.kernel, path));
	assert_string_equal(fake.group, origin);
}

#define OVER_TREE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
