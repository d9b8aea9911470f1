/*
 * What the doctor says of storage: io_uring, direct I/O at the place of the
 * store, the disk behind it, room, and the kernel's read limit. Tries things
 * with a file that never has a name, and in a control group that is gone again
 * at once.
 */
#include "harness/machine/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/system/blockdev.h"
#include "harness/system/interrupt.h"
#include "harness/throttle/throttle_cgroup.h"
#include "harness/units.h"

/* A store for the paper's traces: 160 blocks of 129,254,400 bytes, at scale 1/16 and at 1. */
#define STORE_FULL_BYTES (160ull * 129254400u)
#define STORE_BYTES	 (STORE_FULL_BYTES / 16)

#define TRIAL_BYTES	 (1u << 20)
/* So high that nobody is slowed down by trying it. */
#define TRIAL_RATE	 1000000000000u

static void look_at_uring(struct wp_doctor *doctor)
{
	struct io_uring_params parameters = {0};
	long fd = syscall(SYS_io_uring_setup, 8, &parameters);
	int error = fd < 0 ? errno : 0;
	struct wp_doctor_line *line;
	char setting[128] = "";
	uint64_t disabled;

	if (!wp_kernel_read_number(doctor->kernel, "/proc/sys/kernel/io_uring_disabled", &disabled))
		snprintf(setting, sizeof(setting), " (kernel.io_uring_disabled = %" PRIu64 ")",
			 disabled);
	if (fd >= 0) {
		close((int)fd);
		wp_doctor_add(doctor, "io_uring", WP_DOCTOR_OK, "allowed%s", setting);
		return;
	}
	line = wp_doctor_add(doctor, "io_uring", WP_DOCTOR_LESSER,
			     "refused: %s%s; reads go through pread threads", strerror(error),
			     setting);
	if (error == ENOSYS)
		wp_doctor_remedy(line, "a kernel of 5.6 or later with CONFIG_IO_URING");
	else if (error == EPERM)
		wp_doctor_remedy(line, "sysctl kernel.io_uring_disabled=0, or a seccomp profile "
				       "(of the container) that lets io_uring_setup pass");
	else if (error == ENOMEM)
		wp_doctor_remedy(line, "raise the memlock limit or free memory");
}

static void look_at_device(struct wp_doctor *doctor, struct wp_blockdev *device, bool *found)
{
	const struct wp_machine_facts *machine = &doctor->machine;
	char size[WP_UNITS_TEXT];
	struct wp_error error;

	*found = !wp_blockdev_of_path(device, doctor->kernel, doctor->directory, &error);
	if (!*found) {
		wp_doctor_remedy(
		    wp_doctor_add(doctor, "device", WP_DOCTOR_NO, "%.300s", error.text),
		    "--store DIR on a file system of the drive to be measured");
		return;
	}
	wp_doctor_add(doctor, "device", WP_DOCTOR_OK, "%s %s%s%s, %s%s%s", device->text,
		      device->name, machine->disk_model[0] ? " " : "", machine->disk_model,
		      wp_units_bytes(size, machine->disk_bytes), device->resolved[0] ? "; " : "",
		      device->resolved);
	wp_doctor_add(doctor, "filesystem", WP_DOCTOR_OK, "%s", device->filesystem);
}

/* Writes and reads through direct I/O; 0 or -errno, with the alignment statx tells. */
static int try_direct(int fd, uint32_t *alignment_bytes)
{
	struct statx info;
	void *buffer;
	ssize_t done;
	int error = 0;

	*alignment_bytes = 0;
#ifdef STATX_DIOALIGN
	if (!statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) &&
	    (info.stx_mask & STATX_DIOALIGN))
		*alignment_bytes = info.stx_dio_offset_align > info.stx_dio_mem_align
				       ? info.stx_dio_offset_align
				       : info.stx_dio_mem_align;
#else
	(void)info;
#endif
	if (posix_memalign(&buffer, 4096, TRIAL_BYTES))
		return -ENOMEM;
	memset(buffer, 0x5a, TRIAL_BYTES);
	done = pwrite(fd, buffer, TRIAL_BYTES, 0);
	if (done == (ssize_t)TRIAL_BYTES)
		done = pread(fd, buffer, TRIAL_BYTES, 0);
	if (done != (ssize_t)TRIAL_BYTES)
		error = done < 0 ? -errno : -EIO;
	free(buffer);
	return error;
}

/* A file without a name where the file system can, else one that loses it at once. */
static int open_trial(const char *directory)
{
	char path[WP_KERNEL_PATH_MAX];
	sigset_t before;
	int fd = open(directory, O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600);
	int length;

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd < 0 ? -errno : fd;
	length = snprintf(path, sizeof(path), "%s/.worldpager-doctor-XXXXXX", directory);
	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENAMETOOLONG;
	wp_interrupt_hold(&before);
	fd = mkostemp(path, O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	else
		unlink(path);
	wp_interrupt_release(&before);
	return fd;
}

static void look_at_direct(struct wp_doctor *doctor)
{
	struct wp_doctor_line *line;
	uint32_t alignment_bytes;
	int fd = open_trial(doctor->directory);
	int error = fd < 0 ? fd : try_direct(fd, &alignment_bytes);

	if (fd >= 0)
		close(fd);
	if (!error && alignment_bytes) {
		wp_doctor_add(doctor, "direct_io", WP_DOCTOR_OK, "alignment %" PRIu32 " bytes",
			      alignment_bytes);
	} else if (!error) {
		wp_doctor_add(doctor, "direct_io", WP_DOCTOR_OK,
			      "works, alignment not told (a kernel before 6.1, or a file system "
			      "that keeps it to itself)");
	} else {
		line = wp_doctor_add(doctor, "direct_io", WP_DOCTOR_NO, "%.200s: %s",
				     doctor->directory, strerror(-error));
		if (error == -EACCES || error == -EPERM || error == -EROFS)
			wp_doctor_remedy(line, "--store DIR that this user may write to");
		else if (error == -ENOTDIR)
			wp_doctor_remedy(line, "--store must be a directory, or not exist yet");
		else if (error == -ENOSPC || error == -EDQUOT)
			wp_doctor_remedy(line, "free some room there");
		else
			wp_doctor_remedy(line, "--store DIR on ext4 or xfs");
	}
}

static void look_at_space(struct wp_doctor *doctor)
{
	char free_text[WP_UNITS_TEXT], small[WP_UNITS_TEXT], full[WP_UNITS_TEXT];
	struct wp_doctor_line *line;
	struct statvfs info;
	uint64_t bytes;

	if (statvfs(doctor->directory, &info)) {
		wp_doctor_add(doctor, "space", WP_DOCTOR_NO, "%.200s: %s", doctor->directory,
			      strerror(errno));
		return;
	}
	bytes = (uint64_t)info.f_bavail * info.f_frsize;
	line = wp_doctor_add(doctor, "space", bytes < STORE_BYTES ? WP_DOCTOR_NO : WP_DOCTOR_OK,
			     "%s free; a store takes %s at scale 1/16, %s at 1",
			     wp_units_bytes(free_text, bytes), wp_units_bytes(small, STORE_BYTES),
			     wp_units_bytes(full, STORE_FULL_BYTES));
	if (bytes < STORE_BYTES)
		wp_doctor_remedy(line, "--store DIR with more room, or a smaller --scale");
}

/* Sets a limit for a moment: whether files exist says little about the right to use them. */
static void look_at_limiter(struct wp_doctor *doctor, const struct wp_blockdev *device)
{
	struct wp_throttle_group group;
	struct wp_doctor_line *line;
	char why[WP_THROTTLE_WHY];
	uint64_t read_back;
	int error =
	    wp_throttle_group_open(&group, doctor->kernel, device, TRIAL_RATE, &read_back, why);

	if (error) {
		line = wp_doctor_add(doctor, "kernel_limit", WP_DOCTOR_LESSER,
				     "%s; --throttle auto takes the bucket alone", why);
		wp_doctor_remedy(line, "run as root on a kernel with CONFIG_BLK_DEV_THROTTLING, or "
				       "have the io controller delegated (systemd: Delegate=io)");
		return;
	}
	line = wp_doctor_add(doctor, "kernel_limit", WP_DOCTOR_OK,
			     "control groups %s, set and read back for %s", group.kind->name,
			     device->text);
	if (group.leftovers)
		wp_doctor_add(doctor, "leftover_groups", WP_DOCTOR_OK,
			      "%" PRIu32 " of killed runs removed", group.leftovers);
	error = wp_throttle_group_undo(&group);
	if (error) {
		line->state = WP_DOCTOR_LESSER;
		wp_doctor_remedy(line, "the group %.150s could not be removed (%s): rmdir it",
				 group.path, strerror(-error));
	}
}

void wp_doctor_storage(struct wp_doctor *doctor)
{
	struct wp_blockdev device;
	sigset_t before;
	bool found;

	look_at_device(doctor, &device, &found);
	look_at_space(doctor);
	look_at_direct(doctor);
	look_at_uring(doctor);
	if (found) {
		wp_interrupt_hold(&before); /* a group must not stay behind */
		look_at_limiter(doctor, &device);
		wp_interrupt_release(&before);
	} else {
		wp_doctor_add(doctor, "kernel_limit", WP_DOCTOR_LESSER,
			      "not tried: there is no disk to limit");
	}
}
