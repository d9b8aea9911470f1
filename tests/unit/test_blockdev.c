/*
 * Block devices: numbers to whole disks over a tree of sysfs, the spelling of
 * --throttle-device, mount tables with awkward names, and paths that do not
 * exist yet.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/magic.h>
#include <sys/statfs.h>

#include "harness/system/blockdev.h"
#include "harness/system/cgroup.h"
#include "harness/system/mounts.h"
#include "tests/support/fake_kernel.h"

static struct fake_kernel fake;
static struct wp_error error;

static int setup(void **state)
{
	(void)state;
	fake_open(&fake);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_close(&fake);
	return 0;
}

static void test_whole_disk(void **state)
{
	struct wp_blockdev device;

	(void)state;
	assert_int_equal(wp_blockdev_of_number(&device, &fake.kernel, 259, 0, &error), 0);
	assert_string_equal(device.text, "259:0");
	assert_string_equal(device.name, "nvme0n1");
	assert_false(device.partition);
	assert_string_equal(device.resolved, "");
}

static void test_partition(void **state)
{
	struct wp_blockdev device;

	(void)state;
	assert_int_equal(wp_blockdev_of_number(&device, &fake.kernel, 259, 3, &error), 0);
	assert_string_equal(device.text, "259:0");
	assert_string_equal(device.name, "nvme0n1");
	assert_int_equal(device.major, 259);
	assert_int_equal(device.minor, 0);
	assert_true(device.partition);
	assert_string_equal(device.resolved, "259:3 is a partition of 259:0");
}

/* Reads of a file on a loop device pass there first: that one is limited, not its backing disk. */
static void test_loop_stays(void **state)
{
	struct wp_blockdev device;

	(void)state;
	assert_int_equal(wp_blockdev_of_number(&device, &fake.kernel, 7, 0, &error), 0);
	assert_string_equal(device.text, "7:0");
	assert_string_equal(device.name, "loop0");
}

static void test_partition_without_disk(void **state)
{
	struct wp_blockdev device;

	(void)state;
	fake_put(&fake, "/sys/devices/pci0/nvme/nvme0n1/dev", "rubbish\n");
	assert_int_equal(wp_blockdev_of_number(&device, &fake.kernel, 259, 3, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_ENVIRONMENT);
}

static void test_spelling(void **state)
{
	static const char *const wrong[] = {
	    "",	       "259",  "259:",	 ":0",	    "259:0:1", " 259:0", "259:0 ", "259:0\n",
	    "0x103:0", "-1:0", "259:-0", "259.0:0", "nvme0n1", "1M:0",	 "259:+0", "9999999999:0"};
	struct wp_blockdev device;

	(void)state;
	assert_int_equal(wp_blockdev_parse(&device, &fake.kernel, "259:3", &error), 0);
	assert_string_equal(device.text, "259:0");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(wp_blockdev_parse(&device, &fake.kernel, wrong[i], &error), -1);
		assert_int_equal(error.exit_code, WP_EXIT_USAGE);
	}
	assert_int_equal(wp_blockdev_parse(&device, &fake.kernel, "8:0", &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_ENVIRONMENT);
}

static void test_nearest_directory(void **state)
{
	static const char *const missing[] = {"/new", "/new/", "/new/store", "/a//b/../c",
					      "/file/x"};
	char path[PATH_MAX], existing[PATH_MAX];

	(void)state;
	fake_put(&fake, "/file", "");
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		fake_path(&fake, path, sizeof(path), missing[i]);
		assert_int_equal(wp_blockdev_existing(existing, sizeof(existing), path), 0);
		if (i < 4)
			assert_string_equal(existing, fake.root);
		else
			assert_true(strstr(existing, "/file") != NULL);
	}
	assert_int_equal(wp_blockdev_existing(existing, sizeof(existing), "no-such-name"), 0);
	assert_string_equal(existing, ".");
	assert_int_equal(wp_blockdev_existing(existing, sizeof(existing), "/no-such-name/x"), 0);
	assert_string_equal(existing, "/");
	assert_int_equal(wp_blockdev_existing(existing, 4, "/no-such-name"), -ENAMETOOLONG);
}

/* Memory and made-up devices are refused, for a path that exists and for one to come. */
static void test_no_disk(void **state)
{
	struct wp_blockdev device;
	struct statfs fs;

	(void)state;
	assert_int_equal(wp_blockdev_of_path(&device, &wp_kernel_host, "/proc/self", &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_ENVIRONMENT);
	if (statfs("/dev/shm", &fs) || fs.f_type != TMPFS_MAGIC)
		skip();
	assert_int_equal(wp_blockdev_of_path(&device, &wp_kernel_host, "/dev/shm/no/store", &error),
			 -1);
	assert_int_equal(error.exit_code, WP_EXIT_ENVIRONMENT);
	assert_non_null(strstr(error.text, "tmpfs"));
	assert_non_null(strstr(error.text, "memory"));
}

static void test_filesystem_names(void **state)
{
	char name[32];

	(void)state;
	wp_blockdev_filesystem(name, sizeof(name), EXT4_SUPER_MAGIC);
	assert_string_equal(name, "ext4");
	wp_blockdev_filesystem(name, sizeof(name), 0x1234);
	assert_string_equal(name, "unknown (0x1234)");
}

static void test_mounts(void **state)
{
	struct wp_mounts list;
	const struct wp_mount *mount;
	char value[64];

	(void)state;
	fake_put(&fake, "/proc/self/mountinfo",
		 "26 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
		 "broken line\n"
		 "40 26 0:39 /sub /a\\040b\\134c rw shared:2 master:1 - overlay none "
		 "rw,lowerdir=/l1:/l2,upperdir=/u\\054x\\040y,workdir=/w\n"
		 "41 26 0:40 / /last ro - tmpfs tmpfs\n");
	assert_int_equal(wp_mounts_read(&list, &fake.kernel), 0);
	assert_int_equal(list.count, 3);
	mount = wp_mounts_find(&list, 40);
	assert_non_null(mount);
	assert_string_equal(mount->point, "/a b\\c");
	assert_string_equal(mount->root, "/sub");
	assert_string_equal(mount->type, "overlay");
	assert_int_equal(wp_mount_option(mount, "upperdir", value, sizeof(value)), 0);
	assert_string_equal(value, "/u,x y");
	assert_int_equal(wp_mount_option(mount, "lowerdir", value, sizeof(value)), 0);
	assert_string_equal(value, "/l1:/l2");
	assert_int_equal(wp_mount_option(mount, "upper", value, sizeof(value)), -ENOENT);
	assert_int_equal(wp_mount_option(mount, "workdir", value, 2), -ENAMETOOLONG);
	assert_string_equal(wp_mounts_find(&list, 41)->options, "");
	assert_null(wp_mounts_find(&list, 42));
	wp_mounts_done(&list);
	wp_mounts_done(&list);
}

/* A process in a container sees its group as the root, or its path as outside. */
static void check_place(const char *line, const char *root, const char *directory, bool top)
{
	struct wp_cgroup_place place;
	char text[256];

	fake_put(&fake, "/proc/self/cgroup", line);
	fake_print(text, sizeof(text), "36 30 0:27 %s " FAKE_V2 " rw - cgroup2 cgroup2 rw\n", root);
	fake_put(&fake, "/proc/self/mountinfo", text);
	assert_int_equal(wp_cgroup_find_v2(&place, &fake.kernel), 0);
	assert_string_equal(place.directory, directory);
	assert_string_equal(place.mount, FAKE_V2);
	assert_int_equal(place.top, top);
}

static void test_cgroup_places(void **state)
{
	struct wp_cgroup_place place;

	(void)state;
	assert_int_equal(wp_cgroup_find_v2(&place, &fake.kernel), -ENOENT);
	fake_put(&fake, FAKE_V2 "/a:b/c/cgroup.procs", "");
	check_place("0::/a:b/c\n", "/", FAKE_V2 "/a:b/c", false);
	check_place("4:memory:/x\n0::/\n", "/", FAKE_V2, true);
	check_place("0::/docker/1/a:b/c\n", "/docker/1", FAKE_V2 "/a:b/c", false);
	check_place("0::/docker/1\n", "/docker/1", FAKE_V2, true);
	check_place("0::/docker/12/a:b\n", "/docker/1", FAKE_V2, true);
	check_place("0::/../other\n", "/", FAKE_V2, true);
	assert_int_equal(wp_cgroup_find_v1(&place, &fake.kernel, "blkio"), -ENOENT);
}

#define OVER_TREE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    OVER_TREE(test_whole_disk),	    OVER_TREE(test_partition),
	    OVER_TREE(test_loop_stays),	    OVER_TREE(test_partition_without_disk),
	    OVER_TREE(test_spelling),	    OVER_TREE(test_nearest_directory),
	    cmocka_unit_test(test_no_disk), cmocka_unit_test(test_filesystem_names),
	    OVER_TREE(test_mounts),	    OVER_TREE(test_cgroup_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
