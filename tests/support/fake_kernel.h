/*
 * A kernel of text files for tests: a temporary tree with /proc, /sys and
 * control groups that behaves as the real one where it matters. Making a group
 * gives it files, a limit that is written can be read back as the kernel would
 * list it, a v2 group with processes refuses to hand controllers down, and the
 * n-th change can be made to fail.
 *
 * On top of it a drive behind a limiter, with a clock of its own: a probe
 * source whose reads move the counters of the group the process stands in.
 */
#ifndef WP_TESTS_FAKE_KERNEL_H
#define WP_TESTS_FAKE_KERNEL_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/system/kernel.h"
#include "harness/throttle/probe.h"

#define FAKE_V1		 "/sys/fs/cgroup/blkio"
#define FAKE_V2		 "/sys/fs/cgroup/unified"

#define BUSY_BYTES_PER_S 100000000u

struct fake_kernel {
	struct wp_kernel kernel; /* first */
	char root[64];
	char group[512];  /* where the process stands; "" for none of these */
	bool container;	  /* the v2 mount is the root of a container, not of the hierarchy */
	uint32_t changes; /* made so far */
	uint32_t fail_at; /* the change that fails; 0: none */
	int fail_with;
	uint64_t listed_instead; /* the limit the kernel lists, whatever was asked; 0: as asked */
	uint64_t iops_of_groups; /* a fresh v1 group has this limit on requests; 0: none */
	/* the drive */
	struct wp_probe_source source;
	uint64_t now_ns;
	uint64_t drive_bytes_per_s;
	uint64_t limit_bytes_per_s; /* in effect; 0: none */
	bool limit_without_effect;
	uint64_t slowed_to; /* rate under the limit by other traffic; 0: none */
	/* Until then a busy moment: slow without a limit, and under one all that it held up at once
	 */
	uint64_t busy_until_ns;
	const char *disk;    /* the disk that reads really go to */
	uint64_t disk_bytes; /* read from it within the group */
	uint64_t process_bytes;
	uint64_t slice_start_ns, slice_bytes, idle_since_ns;
};

/* snprintf that takes a text that does not fit for a mistake of the test. */
__attribute__((format(printf, 3, 4))) static inline void fake_print(char *text, size_t size,
								    const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, size, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= size)
		abort();
}

static inline void fake_path(const struct fake_kernel *fake, char *full, size_t size,
			     const char *path)
{
	fake_print(full, size, "%s%s", fake->root, path);
}

/* Writes a file, with the directories on its way. */
static inline void fake_put(const struct fake_kernel *fake, const char *path, const char *text)
{
	char full[PATH_MAX];
	FILE *file;

	fake_path(fake, full, sizeof(full), path);
	for (char *at = strchr(full + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(full, 0755);
		*at = '/';
	}
	file = fopen(full, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

static inline bool fake_text(const struct fake_kernel *fake, const char *path, char *text,
			     size_t size)
{
	return wp_kernel_read(&fake->kernel, path, text, size) == 0;
}

static inline const char *fake_inside(const struct fake_kernel *fake, const char *full)
{
	return full + strlen(fake->root);
}

static inline bool fake_has_word(const struct fake_kernel *fake, const char *group,
				 const char *file, const char *word)
{
	char path[PATH_MAX], text[1024];

	fake_print(path, sizeof(path), "%s/%s", group, file);
	return fake_text(fake, path, text, sizeof(text)) && wp_kernel_list_has(text, " \n", word);
}

static inline void fake_fill_group(struct fake_kernel *fake, const char *group)
{
	char path[PATH_MAX], above[PATH_MAX], iops[64] = "";
	bool v1 = strncmp(group, FAKE_V1, strlen(FAKE_V1)) == 0;
	static const char *const v1_files[] = {"cgroup.procs", "blkio.throttle.read_bps_device",
					       "blkio.throttle.io_service_bytes"};
	static const char *const v2_files[] = {"cgroup.procs", "cgroup.subtree_control"};

	for (size_t i = 0; v1 && i < 3; i++) {
		fake_print(path, sizeof(path), "%s/%s", group, v1_files[i]);
		fake_put(fake, path, "");
	}
	if (v1) {
		if (fake->iops_of_groups)
			fake_print(iops, sizeof(iops), "%s %" PRIu64 "\n", fake->disk,
				   fake->iops_of_groups);
		fake_print(path, sizeof(path), "%s/blkio.throttle.read_iops_device", group);
		fake_put(fake, path, iops);
		return;
	}
	for (size_t i = 0; i < 2; i++) {
		fake_print(path, sizeof(path), "%s/%s", group, v2_files[i]);
		fake_put(fake, path, "");
	}
	fake_print(path, sizeof(path), "%s/cgroup.type", group);
	fake_put(fake, path, "domain\n");
	fake_print(above, sizeof(above), "%s", group);
	*strrchr(above, '/') = '\0';
	if (fake_has_word(fake, above, "cgroup.subtree_control", "io")) {
		fake_print(path, sizeof(path), "%s/io.max", group);
		fake_put(fake, path, "");
		fake_print(path, sizeof(path), "%s/io.stat", group);
		fake_put(fake, path, "");
	}
}

static inline bool fake_fails(struct fake_kernel *fake)
{
	return ++fake->changes == fake->fail_at;
}

static inline int fake_make(const struct wp_kernel *kernel, const char *full)
{
	struct fake_kernel *fake = (struct fake_kernel *)kernel;

	if (fake_fails(fake))
		return -fake->fail_with;
	if (mkdir(full, 0755))
		return -errno;
	fake->disk_bytes = 0;
	fake->limit_bytes_per_s = 0;
	fake_fill_group(fake, fake_inside(fake, full));
	return 0;
}

static inline int fake_remove(const struct wp_kernel *kernel, const char *full)
{
	struct fake_kernel *fake = (struct fake_kernel *)kernel;
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *directory;

	if (strcmp(fake->group, fake_inside(fake, full)) == 0)
		return -EBUSY;
	directory = opendir(full);
	if (!directory)
		return -errno;
	while ((entry = readdir(directory))) {
		fake_print(path, sizeof(path), "%s/%s", full, entry->d_name);
		(void)unlink(path);
	}
	closedir(directory);
	return rmdir(full) ? -errno : 0;
}

static inline int fake_hand_down(struct fake_kernel *fake, const char *group, const char *text)
{
	char path[PATH_MAX], below[PATH_MAX];
	bool real_root = strcmp(group, FAKE_V2) == 0 && !fake->container;

	if (strcmp(text, "+io") == 0 && !real_root && strcmp(fake->group, group) == 0)
		return -EBUSY;
	fake_print(path, sizeof(path), "%s/cgroup.subtree_control", group);
	fake_put(fake, path, strcmp(text, "+io") == 0 ? "io\n" : "");
	/* The groups below get their files at once. */
	fake_print(below, sizeof(below), "%s/worldpager-%ld", group, (long)getpid());
	if (wp_kernel_exists(&fake->kernel, below))
		fake_fill_group(fake, below);
	return 0;
}

static inline int fake_enter(struct fake_kernel *fake, const char *group)
{
	if (fake_has_word(fake, group, "cgroup.subtree_control", "io") &&
	    (strcmp(group, FAKE_V2) != 0 || fake->container))
		return -EBUSY;
	fake_print(fake->group, sizeof(fake->group), "%s", group);
	return 0;
}

/* The limit as the kernel understands it, and lists it afterwards. */
static inline void fake_limit(struct fake_kernel *fake, const char *path, const char *text, bool v2)
{
	char device[64], listed[256];
	uint64_t rate = 0;

	if (sscanf(text, v2 ? "%63s rbps=%" SCNu64 : "%63s %" SCNu64, device, &rate) != 2)
		abort();
	if (fake->listed_instead)
		rate = fake->listed_instead;
	fake_print(listed, sizeof(listed),
		   v2 ? "%s rbps=%" PRIu64 " wbps=max riops=max wiops=max\n" : "%s %" PRIu64 "\n",
		   device, rate);
	fake_put(fake, path, rate ? listed : "");
	if (strcmp(device, fake->disk) == 0)
		fake->limit_bytes_per_s = rate;
}

static inline int fake_write(const struct wp_kernel *kernel, const char *full, const char *text)
{
	struct fake_kernel *fake = (struct fake_kernel *)kernel;
	const char *path = fake_inside(fake, full);
	const char *name = strrchr(path, '/') + 1;
	char group[PATH_MAX];

	if (access(full, F_OK))
		return -ENOENT;
	if (fake_fails(fake))
		return -fake->fail_with;
	fake_print(group, sizeof(group), "%.*s", (int)(name - path - 1), path);
	if (strcmp(name, "cgroup.procs") == 0)
		return fake_enter(fake, group);
	if (strcmp(name, "cgroup.subtree_control") == 0)
		return fake_hand_down(fake, group, text);
	if (strcmp(name, "io.max") == 0 || strcmp(name, "blkio.throttle.read_bps_device") == 0) {
		fake_limit(fake, path, text, *name == 'i');
		return 0;
	}
	if (strcmp(name, "blkio.throttle.read_iops_device") == 0) {
		fake_put(fake, path, "");
		return 0;
	}
	return -EINVAL;
}

static inline void fake_count(struct fake_kernel *fake, uint32_t bytes)
{
	char path[PATH_MAX], table[256];
	bool v1 = strncmp(fake->group, FAKE_V1, strlen(FAKE_V1)) == 0;

	fake->process_bytes += bytes;
	fake_print(table, sizeof(table), "rchar: 1\nread_bytes: %" PRIu64 "\nwrite_bytes: 7\n",
		   fake->process_bytes);
	fake_put(fake, "/proc/self/io", table);
	if (!strstr(fake->group, "worldpager-"))
		return;
	fake->disk_bytes += bytes;
	fake_print(path, sizeof(path), "%s/%s", fake->group,
		   v1 ? "blkio.throttle.io_service_bytes" : "io.stat");
	fake_print(table, sizeof(table),
		   v1 ? "8:16 Read 99\n%s Read %" PRIu64 "\n%s Write 5\nTotal 1\n"
		      : "8:16 rbytes=99 wbytes=1\n%s rbytes=%" PRIu64 " wbytes=2 dbytes=0\n",
		   fake->disk, fake->disk_bytes, fake->disk);
	fake_put(fake, path, table);
}

/* A limiter with a tenth of a second of credit after an idle gap, as the kernel's. */
static inline int fake_read(struct wp_probe_source *source, uint32_t bytes)
{
	struct fake_kernel *fake =
	    (struct fake_kernel *)((char *)source - offsetof(struct fake_kernel, source));
	uint64_t rate =
	    fake->slowed_to && fake->limit_bytes_per_s ? fake->slowed_to : fake->limit_bytes_per_s;
	bool in_group = strstr(fake->group, "worldpager-") && rate;
	bool busy = fake->now_ns < fake->busy_until_ns;
	bool limited = in_group && !fake->limit_without_effect && !busy;
	uint64_t drive = busy && !in_group ? BUSY_BYTES_PER_S : fake->drive_bytes_per_s;

	if (fake->now_ns - fake->idle_since_ns > 20000000 || !limited) {
		fake->slice_start_ns = fake->now_ns;
		fake->slice_bytes = 0;
	}
	fake->now_ns += (uint64_t)((__uint128_t)bytes * 1000000000u / drive);
	fake->slice_bytes += bytes;
	if (limited && fake->slice_bytes > rate / 10) {
		uint64_t due = fake->slice_start_ns +
			       (uint64_t)((__uint128_t)fake->slice_bytes * 1000000000u / rate);

		if (due > fake->now_ns)
			fake->now_ns = due;
	}
	fake->idle_since_ns = fake->now_ns;
	fake_count(fake, bytes);
	return 0;
}

static inline uint64_t fake_now_ns(struct wp_probe_source *source)
{
	return ((struct fake_kernel *)((char *)source - offsetof(struct fake_kernel, source)))
	    ->now_ns;
}

static inline void fake_rest(struct wp_probe_source *source, uint64_t duration_ns)
{
	((struct fake_kernel *)((char *)source - offsetof(struct fake_kernel, source)))->now_ns +=
	    duration_ns;
}

static inline void fake_source_close(struct wp_probe_source *source)
{
	(void)source;
}

static inline void fake_link(const struct fake_kernel *fake, const char *path, const char *target)
{
	char full[PATH_MAX];

	fake_path(fake, full, sizeof(full), path);
	if (symlink(target, full))
		abort();
}

/* A disk 259:0 with a partition 259:3, and a loop device 7:0. */
static inline void fake_put_disks(const struct fake_kernel *fake)
{
	fake_put(fake, "/sys/devices/pci0/nvme/nvme0n1/dev", "259:0\n");
	fake_put(fake, "/sys/devices/pci0/nvme/nvme0n1/nvme0n1p3/dev", "259:3\n");
	fake_put(fake, "/sys/devices/pci0/nvme/nvme0n1/nvme0n1p3/partition", "3\n");
	fake_put(fake, "/sys/devices/virtual/block/loop0/dev", "7:0\n");
	fake_put(fake, "/sys/dev/block/.keep", "");
	fake_link(fake, "/sys/dev/block/259:0", "../../devices/pci0/nvme/nvme0n1");
	fake_link(fake, "/sys/dev/block/259:3", "../../devices/pci0/nvme/nvme0n1/nvme0n1p3");
	fake_link(fake, "/sys/dev/block/7:0", "../../devices/virtual/block/loop0");
}

static inline void fake_open(struct fake_kernel *fake)
{
	static const struct wp_kernel_ops ops = {fake_make, fake_remove, fake_write};
	const char *folder = getenv("TMPDIR");

	memset(fake, 0, sizeof(*fake));
	fake_print(fake->root, sizeof(fake->root), "%s/wp-kernel-XXXXXX",
		   folder && strlen(folder) < 40 ? folder : "/tmp");
	if (!mkdtemp(fake->root))
		abort();
	fake->kernel.ops = &ops;
	fake->kernel.root = fake->root;
	fake->disk = "259:0";
	fake->drive_bytes_per_s = 3000000000u;
	fake->source = (struct wp_probe_source){.read = fake_read,
						.now_ns = fake_now_ns,
						.rest = fake_rest,
						.close = fake_source_close,
						.unit_bytes = 4096};
	fake_put_disks(fake);
	fake_put(fake, "/proc/self/io", "read_bytes: 0\n");
}

/* v1 alone, or with the v2 that many systems mount beside it, without io. */
static inline void fake_mount_v1(struct fake_kernel *fake, bool hybrid)
{
	fake_put(fake, "/proc/self/cgroup",
		 hybrid ? "9:name=systemd:/\n7:blkio:/user\n0::/user\n"
			: "9:name=systemd:/\n7:cpu,blkio:/user\n");
	fake_put(fake, "/proc/self/mountinfo",
		 hybrid ? "36 30 0:27 / " FAKE_V2 " rw shared:1 - cgroup2 cgroup2 rw\n"
			  "37 30 0:33 / " FAKE_V1 " rw - cgroup cgroup rw,blkio\n"
			: "37 30 0:33 / " FAKE_V1 " rw - cgroup cgroup rw,cpu,blkio\n");
	fake_fill_group(fake, FAKE_V1);
	fake_fill_group(fake, FAKE_V1 "/user");
	fake_print(fake->group, sizeof(fake->group), FAKE_V1 "/user");
	if (hybrid) {
		fake_put(fake, FAKE_V2 "/cgroup.controllers", "hugetlb\n");
		fake_put(fake, FAKE_V2 "/user/cgroup.controllers", "hugetlb\n");
	}
}

/* v2 alone: the process stands in `own` ("" for the top); `handing` hands io down. */
static inline void fake_mount_v2(struct fake_kernel *fake, const char *own, const char *handing)
{
	char path[PATH_MAX], text[256];

	fake_print(text, sizeof(text), "0::%s\n", *own ? own : "/");
	fake_put(fake, "/proc/self/cgroup", text);
	fake_put(fake, "/proc/self/mountinfo",
		 "36 30 0:27 / " FAKE_V2 " rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
	fake_put(fake, FAKE_V2 "/cgroup.controllers", "cpuset cpu io memory\n");
	fake_put(fake, FAKE_V2 "/cgroup.subtree_control", "");
	fake_put(fake, FAKE_V2 "/cgroup.procs", "");
	if (fake->container)
		fake_put(fake, FAKE_V2 "/cgroup.type", "domain\n");
	if (handing) {
		fake_print(path, sizeof(path), FAKE_V2 "%s/cgroup.subtree_control", handing);
		fake_put(fake, path, "cpu io\n");
	}
	if (*own) {
		fake_print(path, sizeof(path), FAKE_V2 "%s", own);
		fake_put(fake, strcat(path, "/.made"), "");
		*strrchr(path, '/') = '\0';
		fake_fill_group(fake, path);
		fake_print(path, sizeof(path), FAKE_V2 "%s/cgroup.controllers", own);
		fake_put(fake, path, handing ? "cpu io\n" : "cpu\n");
	}
	fake_print(fake->group, sizeof(fake->group), FAKE_V2 "%s", own);
	/* Alone in its group, as far as the file tells. */
	fake_print(path, sizeof(path), FAKE_V2 "%s/cgroup.procs", own);
	fake_print(text, sizeof(text), "%ld\n", (long)getpid());
	fake_put(fake, path, text);
}

static inline int fake_drop(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void)info;
	(void)kind;
	(void)walk;
	return remove(path);
}

static inline void fake_close(struct fake_kernel *fake)
{
	if (!strstr(fake->root, "wp-kernel-") ||
	    nftw(fake->root, fake_drop, 16, FTW_DEPTH | FTW_PHYS))
		abort();
}

#endif
