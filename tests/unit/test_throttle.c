/*
 * Throttle: which means are taken on which kind of machine, what is written
 * into the kernel's files, and that everything is undone from wherever it
 * stopped. All over a tree of files; nothing here measures time.
 */
#include "tests/support/throttle_run.h"

#include <sys/wait.h>

static void check_v1(bool hybrid)
{
	struct wp_throttle_figures figures;
	struct wp_throttle *throttle;
	char path[600], text[64];

	fake_mount_v1(&fake, hybrid);
	throttle = open_throttle(WP_THROTTLE_AUTO, RATE);
	assert_non_null(throttle);
	own_group(path, sizeof(path), FAKE_V1 "/user");
	assert_string_equal(fake.group, path);
	strcat(path, LIMIT);
	assert_true(fake_text(&fake, path, text, sizeof(text)));
	assert_string_equal(text, "259:0 250000000\n");
	assert_true(wp_throttle_wants_bucket(throttle));
	assert_true(wp_throttle_proven(throttle));
	run(throttle, 64u << 20, RATE, &figures);
	assert_string_equal(figures.method, "cgroup+bucket");
	assert_string_equal(figures.asked, "auto");
	assert_string_equal(figures.cgroup, "v1");
	assert_string_equal(figures.device, "259:0");
	assert_int_equal(figures.read_back_bytes_per_s, RATE);
	assert_int_equal(figures.device_bytes, 64u << 20);
	assert_in_range(figures.probe_bytes_per_s, RATE / 100 * 99, RATE / 100 * 101);
	assert_in_range(figures.credit_bytes, RATE / 100 * 7, RATE / 100 * 12);
	assert_in_range(figures.unthrottled_bytes_per_s, 2990000000u, 3010000000u);
	assert_true(figures.credit_share == 0); /* the bucket hides it */
	assert_true(figures.valid);
	assert_string_equal(figures.reason, "");
	assert_int_equal(wp_throttle_undo(throttle), 0);
	assert_undone(FAKE_V1 "/user", FAKE_V1 "/user");
	assert_int_equal(wp_throttle_undo(throttle), 0);
	wp_throttle_close(throttle);
}

static void test_v1(void **state)
{
	(void)state;
	check_v1(false);
}

/* Both versions mounted: the one that holds the controller counts, not the newer. */
static void test_hybrid(void **state)
{
	(void)state;
	check_v1(true);
}

static void check_v2(const char *parent, const char *origin, enum wp_throttle_method asked)
{
	struct wp_throttle_figures figures;
	struct wp_throttle *throttle = open_throttle(asked, RATE);
	char path[600], text[128];

	assert_non_null(throttle);
	own_group(path, sizeof(path), parent);
	assert_string_equal(fake.group, path);
	strcat(path, "/io.max");
	assert_true(fake_text(&fake, path, text, sizeof(text)));
	assert_string_equal(text, "259:0 rbps=250000000 wbps=max riops=max wiops=max\n");
	run(throttle, 64u << 20, RATE, &figures);
	assert_string_equal(figures.cgroup, "v2");
	assert_int_equal(figures.read_back_bytes_per_s, RATE);
	assert_int_equal(figures.device_bytes, 64u << 20);
	assert_true(figures.valid);
	wp_throttle_close(throttle);
	assert_undone(parent, origin);
}

/* In a scope whose parent hands io down: a sibling, and nothing else changes. */
static void test_v2_beside(void **state)
{
	(void)state;
	fake_mount_v2(&fake, "/app/shell", "/app");
	check_v2(FAKE_V2 "/app", FAKE_V2 "/app/shell", WP_THROTTLE_CGROUP);
}

/* Nobody hands io down yet: root may tell the top to. */
static void test_v2_top(void **state)
{
	(void)state;
	fake_mount_v2(&fake, "/app/shell", NULL);
	check_v2(FAKE_V2, FAKE_V2 "/app/shell", WP_THROTTLE_AUTO);
}

/* Alone in a container's group: moves down and leaves it empty; back again afterwards. */
static void test_v2_leaf(void **state)
{
	(void)state;
	fake.container = true;
	fake_mount_v2(&fake, "", NULL);
	check_v2(FAKE_V2, FAKE_V2, WP_THROTTLE_CGROUP);
	assert_false(fake_has_word(&fake, FAKE_V2, "cgroup.subtree_control", "io"));
}

/* Not alone in it: the rule is named, not only the number of the error. */
static void test_v2_busy(void **state)
{
	struct wp_throttle_figures figures;
	struct wp_throttle *throttle;

	(void)state;
	fake.container = true;
	fake_mount_v2(&fake, "", NULL);
	fake_put(&fake, FAKE_V2 "/cgroup.procs", "1\n17\n");
	assert_null(open_throttle(WP_THROTTLE_CGROUP, RATE));
	assert_int_equal(error.exit_code, WP_EXIT_ENVIRONMENT);
	assert_non_null(strstr(error.text, "holds other processes"));
	assert_undone(FAKE_V2, FAKE_V2);
	throttle = open_throttle(WP_THROTTLE_AUTO, RATE);
	assert_non_null(throttle);
	run(throttle, 64u << 20, RATE, &figures);
	assert_string_equal(figures.method, "bucket");
	assert_null(figures.cgroup);
	assert_non_null(strstr(figures.notes[0], "holds other processes"));
	assert_true(figures.valid);
	wp_throttle_close(throttle);
}

/* No limit files at all: auto goes on with the bucket and says why, cgroup ends. */
static void test_no_controller(void **state)
{
	struct wp_throttle_figures figures;
	struct wp_throttle *throttle;
	char full[PATH_MAX];

	(void)state;
	fake_mount_v1(&fake, true);
	fake_path(&fake, full, sizeof(full), FAKE_V1 LIMIT);
	assert_int_equal(unlink(full), 0);
	fake_path(&fake, full, sizeof(full), FAKE_V1 "/user" LIMIT);
	assert_int_equal(unlink(full), 0);
	assert_null(open_throttle(WP_THROTTLE_CGROUP, RATE));
	assert_int_equal(error.exit_code, WP_EXIT_ENVIRONMENT);
	throttle = open_throttle(WP_THROTTLE_AUTO, RATE);
	assert_non_null(throttle);
	assert_true(wp_throttle_wants_bucket(throttle));
	run(throttle, 64u << 20, RATE, &figures);
	assert_string_equal(figures.method, "bucket");
	assert_int_equal(figures.note_count, 1);
	assert_non_null(strstr(figures.notes[0], "v1: no blkio.throttle"));
	assert_non_null(strstr(figures.notes[0], "v2: no io controller"));
	wp_throttle_close(throttle);
}

/* Whatever step is refused, with whatever error: explained, and nothing left. */
static void check_every_failure(const char *parent, const char *origin)
{
	static const int errors[] = {EACCES, EPERM, EBUSY, EROFS, ENODEV, EINVAL, ENOSPC};
	struct wp_throttle *throttle;

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		bool passed = false;

		for (uint32_t n = 1; !passed; n++) {
			assert_true(n < 20);
			fake.changes = 0;
			fake.fail_at = n;
			fake.fail_with = errors[i];
			throttle = open_throttle(WP_THROTTLE_CGROUP, RATE);
			passed = fake.changes < n;
			fake.fail_at = 0;
			if (!throttle) {
				assert_false(passed);
				assert_int_equal(error.exit_code, WP_EXIT_ENVIRONMENT);
				assert_true(strlen(error.text) > 20);
				if (n == 1 && errors[i] == EACCES)
					assert_non_null(strstr(error.text, "no right to"));
			}
			wp_throttle_close(throttle);
			assert_undone(parent, origin);
		}
	}
}

static void test_every_failure_v1(void **state)
{
	(void)state;
	fake_mount_v1(&fake, false);
	check_every_failure(FAKE_V1 "/user", FAKE_V1 "/user");
}

static void test_every_failure_v2(void **state)
{
	(void)state;
	fake_mount_v2(&fake, "/app/shell", "/app");
	check_every_failure(FAKE_V2 "/app", FAKE_V2 "/app/shell");
}

static void test_every_failure_v2_leaf(void **state)
{
	(void)state;
	fake.container = true;
	fake_mount_v2(&fake, "", NULL);
	check_every_failure(FAKE_V2, FAKE_V2);
}

/* "1M" is one byte a second to the kernel: what it lists is compared with what was asked. */
static void test_read_back_differs(void **state)
{
	(void)state;
	fake_mount_v1(&fake, false);
	fake.listed_instead = 1;
	assert_null(open_throttle(WP_THROTTLE_CGROUP, RATE));
	assert_int_equal(error.exit_code, WP_EXIT_ENVIRONMENT);
	assert_non_null(strstr(error.text, "lists 1 B/s"));
	assert_undone(FAKE_V1 "/user", FAKE_V1 "/user");
}

static void test_requests_limit_is_reset(void **state)
{
	struct wp_throttle_figures figures;
	struct wp_throttle *throttle;
	char path[600], text[64];

	(void)state;
	fake_mount_v1(&fake, false);
	fake.iops_of_groups = 100000;
	throttle = open_throttle(WP_THROTTLE_CGROUP, RATE);
	assert_non_null(throttle);
	own_group(path, sizeof(path), FAKE_V1 "/user");
	strcat(path, "/blkio.throttle.read_iops_device");
	assert_true(fake_text(&fake, path, text, sizeof(text)));
	assert_string_equal(text, "");
	run(throttle, 64u << 20, RATE, &figures);
	assert_non_null(strstr(figures.notes[0], "100000 requests/s"));
	wp_throttle_close(throttle);
}

static void test_leftovers(void **state)
{
	char dead[128], alive[128];
	struct wp_throttle *throttle;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	fake_mount_v1(&fake, false);
	snprintf(dead, sizeof(dead), FAKE_V1 "/user/worldpager-%ld", (long)child);
	snprintf(alive, sizeof(alive), FAKE_V1 "/user/worldpager-%ld", (long)getppid());
	fake_fill_group(&fake, dead);
	fake_fill_group(&fake, alive);
	fake_fill_group(&fake, FAKE_V1 "/user/worldpager-12x");
	throttle = open_throttle(WP_THROTTLE_CGROUP, RATE);
	assert_non_null(throttle);
	assert_false(wp_kernel_exists(&fake.kernel, dead));
	assert_true(wp_kernel_exists(&fake.kernel, alive));
	assert_true(wp_kernel_exists(&fake.kernel, FAKE_V1 "/user/worldpager-12x"));
	wp_throttle_close(throttle);
}

static void test_device_option(void **state)
{
	struct wp_throttle_request request = request_of(WP_THROTTLE_AUTO, RATE);
	struct wp_throttle_figures figures;
	struct wp_throttle *throttle;

	(void)state;
	fake_mount_v1(&fake, false);
	request.device = "259:3"; /* a partition: its disk is limited */
	assert_int_equal(wp_throttle_open(&throttle, &request, &error), 0);
	run(throttle, 64u << 20, RATE, &figures);
	assert_true(figures.valid);
	assert_string_equal(figures.device, "259:0");
	assert_non_null(strstr(figures.notes[0], "259:3 is a partition of 259:0"));
	wp_throttle_close(throttle);
	request.device = "259:9";
	assert_int_equal(wp_throttle_open(&throttle, &request, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_ENVIRONMENT);
	request.device = "nvme0n1";
	assert_int_equal(wp_throttle_open(&throttle, &request, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_USAGE);
}

static void test_method_names(void **state)
{
	static const char *const wrong[] = {"", "Auto", "token_bucket", "v1", "cgroup+bucket"};
	enum wp_throttle_method method;

	(void)state;
	assert_true(wp_throttle_method_find("auto", &method));
	assert_int_equal(method, WP_THROTTLE_AUTO);
	assert_true(wp_throttle_method_find("none", &method));
	assert_int_equal(method, WP_THROTTLE_NONE);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(wp_throttle_method_find(wrong[i], &method));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    OVER_TREE(test_v1),
	    OVER_TREE(test_hybrid),
	    OVER_TREE(test_v2_beside),
	    OVER_TREE(test_v2_top),
	    OVER_TREE(test_v2_leaf),
	    OVER_TREE(test_v2_busy),
	    OVER_TREE(test_no_controller),
	    OVER_TREE(test_every_failure_v1),
	    OVER_TREE(test_every_failure_v2),
	    OVER_TREE(test_every_failure_v2_leaf),
	    OVER_TREE(test_read_back_differs),
	    OVER_TREE(test_requests_limit_is_reset),
	    OVER_TREE(test_leftovers),
	    OVER_TREE(test_device_option),
	    cmocka_unit_test(test_method_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
