/*
 * The throttle against the running kernel: a limit is really set, read back
 * and counted, a killed run's group is removed by the next, and files on loop
 * devices and overlayfs lead to the right disk. Needs root and a kernel with
 * block throttling; skipped with the reason otherwise. No rate is judged here
 * (scripts/throttle-check does).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <linux/loop.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/throttle/probe.h"
#include "harness/throttle/throttle_cgroup.h"

#define FILE_BYTES (8u << 20)
/* Far above what any drive does: the limit must not slow the test down. */
#define RATE	   1000000000000u

static char folder[128];

static void in_folder(char *path, size_t size, const char *name)
{
	int length = snprintf(path, size, "%s/%s", folder, name);

	assert_true(length > 0 && (size_t)length < size);
}

/* A file whose bytes are really on the disk, opened for direct reads. */
static int make_file(const char *name)
{
	static unsigned char bytes[1u << 20];
	char path[256];
	int fd;

	in_folder(path, sizeof(path), name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	for (uint32_t done = 0; done < FILE_BYTES; done += sizeof(bytes)) {
		memset(bytes, (int)(done >> 20) + 1, sizeof(bytes));
		assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	}
	assert_int_equal(fsync(fd), 0);
	close(fd);
	return open(path, O_RDONLY | O_DIRECT);
}

static void read_file(int fd)
{
	const struct wp_probe_extent extent = {fd, FILE_BYTES};
	const struct wp_probe_plan plan = {.bytes = FILE_BYTES, .piece_bytes = 1u << 20};
	struct wp_probe_source *source;
	struct wp_probe_figures figures;

	assert_int_equal(wp_probe_files_open(&source, &extent, 1, 4096), 0);
	assert_int_equal(wp_probe_run(source, &plan, &figures), 0);
	assert_int_equal(figures.bytes, FILE_BYTES);
	wp_probe_close(source);
}

/* Opens a group with a limit on the disk behind `fd`; skips where that cannot be. */
static void open_group(struct wp_throttle_group *group, int fd)
{
	char why[WP_THROTTLE_WHY];
	struct wp_blockdev device;
	struct wp_error error;
	uint64_t read_back;

	if (wp_blockdev_of_fd(&device, &wp_kernel_host, fd, &error)) {
		print_message("skipped: %s\n", error.text);
		skip();
	}
	if (wp_throttle_group_open(group, &wp_kernel_host, &device, RATE, &read_back, why)) {
		print_message("skipped: %s\n", why);
		skip();
	}
	assert_int_equal(read_back, RATE);
}

static void test_limit_and_counter(void **state)
{
	struct wp_throttle_group group;
	char before[4096], within[4096], after[4096];
	uint64_t start, end, read_back;
	int fd = make_file("data");

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(
	    wp_kernel_read(&wp_kernel_host, "/proc/self/cgroup", before, sizeof(before)), 0);
	open_group(&group, fd);
	assert_int_equal(
	    wp_kernel_read(&wp_kernel_host, "/proc/self/cgroup", within, sizeof(within)), 0);
	assert_non_null(strstr(within, "worldpager-"));
	assert_int_equal(group.kind->read_bytes(&group, &start), 0);
	read_file(fd);
	assert_int_equal(group.kind->read_bytes(&group, &end), 0);
	assert_in_range(end - start, FILE_BYTES, FILE_BYTES + (1u << 20));
	assert_int_equal(group.kind->set(&group, 5000000001u), 0);
	assert_int_equal(group.kind->read_back(&group, &read_back), 0);
	assert_int_equal(read_back, 5000000001u);
	assert_int_equal(wp_throttle_group_undo(&group), 0);
	assert_int_equal(wp_throttle_group_undo(&group), 0);
	assert_false(wp_kernel_exists(&wp_kernel_host, group.path));
	assert_int_equal(wp_kernel_read(&wp_kernel_host, "/proc/self/cgroup", after, sizeof(after)),
			 0);
	assert_string_equal(before, after);
	close(fd);
}

/* A run that is killed leaves its group; the next one clears it away. */
static void test_killed_run(void **state)
{
	struct wp_throttle_group group;
	char left[WP_CGROUP_PATH_MAX];
	int fd = make_file("data");
	int status;
	pid_t child;

	(void)state;
	if (fd < 0)
		skip();
	open_group(&group, fd);
	memcpy(left, group.path, sizeof(left));
	assert_int_equal(wp_throttle_group_undo(&group), 0);
	child = fork();
	if (child == 0) {
		open_group(&group, fd);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	snprintf(strrchr(left, '-'), 16, "-%ld", (long)child);
	assert_true(wp_kernel_exists(&wp_kernel_host, left));
	open_group(&group, fd);
	assert_true(group.leftovers >= 1);
	assert_false(wp_kernel_exists(&wp_kernel_host, left));
	assert_int_equal(wp_throttle_group_undo(&group), 0);
	close(fd);
}

/* ext4 on a loop device at folder/NAME, gone with the mount namespace. -1: not here. */
static int mount_loop(const char *name, uint32_t *minor_number)
{
	const struct loop_info64 info = {.lo_flags = LO_FLAGS_AUTOCLEAR};
	char image[256], point[256], loop[32];
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int number = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
	int backing, device, status = -1;
	pid_t child;

	in_folder(image, sizeof(image), "image");
	in_folder(point, sizeof(point), name);
	snprintf(loop, sizeof(loop), "/dev/loop%d", number);
	backing = open(image, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	device = number < 0 ? -1 : open(loop, O_RDWR | O_CLOEXEC);
	if (control >= 0)
		close(control);
	if (backing < 0 || device < 0 || ftruncate(backing, 32 << 20))
		return -1;
	child = fork();
	if (child == 0) {
		execlp("mkfs.ext4", "mkfs.ext4", "-q", "-F", image, (char *)NULL);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child || status != 0 ||
	    ioctl(device, LOOP_SET_FD, backing) || ioctl(device, LOOP_SET_STATUS64, &info) ||
	    mkdir(point, 0700) || mount(loop, point, "ext4", 0, NULL))
		return -1;
	close(device);
	close(backing);
	*minor_number = (uint32_t)number;
	return 0;
}

/* Mounts of this process alone, so that nothing is left however the test ends. */
static void need_own_mounts(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		print_message("skipped: no right to mount\n");
		skip();
	}
}

static void test_loop_device(void **state)
{
	struct wp_blockdev device;
	struct wp_error error;
	char path[256], expected[32];
	uint32_t minor_number;

	(void)state;
	need_own_mounts();
	if (mount_loop("loop", &minor_number)) {
		print_message("skipped: no loop device, or no mkfs.ext4\n");
		skip();
	}
	in_folder(path, sizeof(path), "loop/store/to/come");
	assert_int_equal(wp_blockdev_of_path(&device, &wp_kernel_host, path, &error), 0);
	snprintf(expected, sizeof(expected), "7:%u", minor_number);
	assert_string_equal(device.text, expected);
	assert_string_equal(device.filesystem, "ext4");
	in_folder(path, sizeof(path), "loop");
	assert_int_equal(umount2(path, MNT_DETACH), 0);
}

static void check_overlay(const char *name, const char *expected)
{
	struct wp_blockdev device;
	struct wp_error error;
	char path[256];

	in_folder(path, sizeof(path), name);
	if (wp_blockdev_of_path(&device, &wp_kernel_host, path, &error))
		fail_msg("%s: %s", name, error.text);
	assert_string_equal(device.text, expected);
	assert_string_equal(device.filesystem, "overlay");
	assert_non_null(strstr(device.resolved, "overlayfs"));
}

/* Lower layer on the disk, upper layer on a loop device: each file where it really lies. */
static void test_overlay(void **state)
{
	static const char *const names[] = {"l", "l/old", "up/u", "up/w", "m"};
	struct wp_blockdev below;
	struct wp_error error;
	char path[256], options[1024], expected[32];
	uint32_t minor_number;

	(void)state;
	need_own_mounts();
	if (wp_blockdev_of_path(&below, &wp_kernel_host, folder, &error) ||
	    mount_loop("up", &minor_number)) {
		print_message("skipped: no disk, no loop device, or no mkfs.ext4\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		in_folder(path, sizeof(path), names[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	close(make_file("l/old/data"));
	snprintf(options, sizeof(options), "lowerdir=%s/l,upperdir=%s/up/u,workdir=%s/up/w", folder,
		 folder, folder);
	in_folder(path, sizeof(path), "m");
	if (mount("overlay", path, "overlay", 0, options)) {
		print_message("skipped: no overlayfs\n");
		skip();
	}
	snprintf(expected, sizeof(expected), "7:%u", minor_number);
	close(make_file("m/new"));
	check_overlay("m/new", expected);
	check_overlay("m/to/come", expected);
	check_overlay("m/old/data", below.text);
	assert_int_equal(umount2(path, MNT_DETACH), 0);
	in_folder(path, sizeof(path), "up");
	assert_int_equal(umount2(path, MNT_DETACH), 0);
}

static int drop(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void)info;
	(void)kind;
	(void)walk;
	return remove(path);
}

static int setup(void **state)
{
	const char *top = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof(folder), "%s/wp-limit-XXXXXX",
		 top && strlen(top) < 90 ? top : "/var/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return nftw(folder, drop, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) ? -1 : 0;
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_FOLDER(test_limit_and_counter),
	    IN_FOLDER(test_killed_run),
	    IN_FOLDER(test_loop_device),
	    IN_FOLDER(test_overlay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
