/*
 * From a file to the disk whose reads a limit must name. Looks at what the
 * open file says (st_dev, mount id), never at names or options. Does not
 * follow a stack of devices downwards: the kernel charges a read to the device
 * the file system submits it to, and that is the one to limit; only a
 * partition is replaced by its disk, because limits refuse partitions.
 */
#include "harness/system/blockdev.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "harness/system/mounts.h"

/* A layer of overlayfs may lie on overlayfs. */
#define LAYERS_MAX 4

#define MAGIC_ZFS  0x2fc12fc1
#define MAGIC_XFS  0x58465342
#define MAGIC_NTFS 0x5346544e
#define MAGIC_9P   0x01021997

#define IN_MEMORY  "keeps its files in memory: put the store on the drive to be measured"
#define ELSEWHERE  "reads through another program or machine: put the store on a local drive"
#define SPREADS                                                                                    \
	"spreads files over disks of its own choice: put the store on ext4 or xfs, or name the "   \
	"disk with --throttle-device"

static const struct {
	int64_t magic;
	const char *name;
	const char *refusal; /* NULL: lies on a block device */
} filesystems[] = {
    {EXT4_SUPER_MAGIC, "ext4", NULL},
    {MAGIC_XFS, "xfs", NULL},
    {F2FS_SUPER_MAGIC, "f2fs", NULL},
    {MSDOS_SUPER_MAGIC, "vfat", NULL},
    {0x2011bab0, "exfat", NULL},
    {MAGIC_NTFS, "ntfs", NULL},
    {EROFS_SUPER_MAGIC_V1, "erofs", NULL},
    {SQUASHFS_MAGIC, "squashfs", NULL},
    {OVERLAYFS_SUPER_MAGIC, "overlay", NULL},
    {TMPFS_MAGIC, "tmpfs", IN_MEMORY},
    {RAMFS_MAGIC, "ramfs", IN_MEMORY},
    {HUGETLBFS_MAGIC, "hugetlbfs", IN_MEMORY},
    {BTRFS_SUPER_MAGIC, "btrfs", SPREADS},
    {MAGIC_ZFS, "zfs", SPREADS},
    {NFS_SUPER_MAGIC, "nfs", ELSEWHERE},
    {CIFS_SUPER_MAGIC, "cifs", ELSEWHERE},
    {SMB2_SUPER_MAGIC, "smb2", ELSEWHERE},
    {CEPH_SUPER_MAGIC, "ceph", ELSEWHERE},
    {MAGIC_9P, "9p", ELSEWHERE},
    {FUSE_SUPER_MAGIC, "fuse", ELSEWHERE},
};

void wp_blockdev_filesystem(char *name, size_t size, int64_t magic)
{
	for (size_t i = 0; i < sizeof(filesystems) / sizeof(filesystems[0]); i++) {
		if (filesystems[i].magic == magic) {
			snprintf(name, size, "%s", filesystems[i].name);
			return;
		}
	}
	snprintf(name, size, "unknown (0x%" PRIx64 ")", (uint64_t)magic);
}

static const char *refusal_of(int64_t magic)
{
	for (size_t i = 0; i < sizeof(filesystems) / sizeof(filesystems[0]); i++)
		if (filesystems[i].magic == magic)
			return filesystems[i].refusal;
	return NULL;
}

/* "254:0" and nothing else: other spellings mean other things to the kernel. */
static bool parse_number(const char *text, uint32_t *major_number, uint32_t *minor_number)
{
	uint32_t parts[2] = {0, 0};

	for (int i = 0; i < 2; i++) {
		size_t digits = strspn(text, "0123456789");

		if (digits == 0 || digits > 8)
			return false;
		parts[i] = (uint32_t)strtoul(text, NULL, 10);
		text += digits;
		if (*text++ != (i == 0 ? ':' : '\0'))
			return false;
	}
	*major_number = parts[0];
	*minor_number = parts[1];
	return true;
}

/* The name sysfs gives the device: last part of where /sys/dev/block/M:m leads. */
static void read_name(struct wp_blockdev *device, const struct wp_kernel *kernel)
{
	char path[96], full[WP_KERNEL_PATH_MAX], target[WP_KERNEL_PATH_MAX];
	const char *slash;
	ssize_t length;

	snprintf(path, sizeof(path), "/sys/dev/block/%s", device->text);
	device->name[0] = '\0';
	if (wp_kernel_path(kernel, full, sizeof(full), path))
		return;
	length = readlink(full, target, sizeof(target) - 1);
	if (length <= 0)
		return;
	target[length] = '\0';
	slash = strrchr(target, '/');
	snprintf(device->name, sizeof(device->name), "%.63s", slash ? slash + 1 : target);
}

static void set_number(struct wp_blockdev *device, uint32_t major_number, uint32_t minor_number)
{
	device->major = major_number;
	device->minor = minor_number;
	snprintf(device->text, sizeof(device->text), "%" PRIu32 ":%" PRIu32, major_number,
		 minor_number);
}

int wp_blockdev_of_number(struct wp_blockdev *device, const struct wp_kernel *kernel,
			  uint32_t major_number, uint32_t minor_number, struct wp_error *error)
{
	char path[128], number[32], part[WP_BLOCKDEV_TEXT];

	memset(device, 0, sizeof(*device));
	set_number(device, major_number, minor_number);
	snprintf(path, sizeof(path), "/sys/dev/block/%s", device->text);
	if (!wp_kernel_exists(kernel, path))
		return wp_error_set(error, WP_EXIT_ENVIRONMENT,
				    "the kernel knows no block device %s (/sys/dev/block)",
				    device->text);
	snprintf(path, sizeof(path), "/sys/dev/block/%s/partition", device->text);
	if (wp_kernel_exists(kernel, path)) {
		memcpy(part, device->text, sizeof(part));
		/* Through the link: the directory of a partition lies in that of its disk. */
		snprintf(path, sizeof(path), "/sys/dev/block/%s/../dev", part);
		if (wp_kernel_read_line(kernel, path, number, sizeof(number)) ||
		    !parse_number(number, &major_number, &minor_number))
			return wp_error_set(
			    error, WP_EXIT_ENVIRONMENT,
			    "%s is a partition, but its disk cannot be read from %s", part, path);
		set_number(device, major_number, minor_number);
		device->partition = true;
		snprintf(device->resolved, sizeof(device->resolved), "%s is a partition of %s",
			 part, device->text);
	}
	read_name(device, kernel);
	return 0;
}

static int refuse_spelling(const char *text, struct wp_error *error)
{
	return wp_error_set(error, WP_EXIT_USAGE,
			    "'%s' is no device number; expected MAJ:MIN such as 259:0 "
			    "(lsblk shows them)",
			    text);
}

int wp_blockdev_check(const char *text, struct wp_error *error)
{
	uint32_t major_number, minor_number;

	return parse_number(text, &major_number, &minor_number) ? 0 : refuse_spelling(text, error);
}

int wp_blockdev_parse(struct wp_blockdev *device, const struct wp_kernel *kernel, const char *text,
		      struct wp_error *error)
{
	uint32_t major_number, minor_number;

	if (!parse_number(text, &major_number, &minor_number))
		return refuse_spelling(text, error);
	return wp_blockdev_of_number(device, kernel, major_number, minor_number, error);
}

int wp_blockdev_existing(char *existing, size_t size, const char *path)
{
	size_t length = strlen(path);

	WP_CHECK(size > 1);
	if (length >= size)
		return -ENAMETOOLONG;
	memcpy(existing, path, length + 1);
	while (access(existing, F_OK)) {
		if (errno != ENOENT && errno != ENOTDIR)
			return -errno;
		while (length > 0 && existing[length - 1] == '/')
			length--;
		while (length > 0 && existing[length - 1] != '/')
			length--;
		/* "a" stands in ".", "/a" in "/". */
		if (length == 0)
			strcpy(existing, ".");
		else
			existing[length == 1 ? 1 : length - 1] = '\0';
		length = strlen(existing);
	}
	return 0;
}

static int device_of(struct wp_blockdev *device, const struct wp_kernel *kernel, int fd,
		     unsigned layers, struct wp_error *error);

/* Looks `relative` up in a layer: the file itself, or with `nearest` what exists of its way. */
static int open_in_layer(const char *layer, const char *relative, bool nearest)
{
	char path[WP_KERNEL_PATH_MAX], existing[WP_KERNEL_PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s%s", layer, relative);

	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENAMETOOLONG;
	if (nearest && !wp_blockdev_existing(existing, sizeof(existing), path))
		memcpy(path, existing, sizeof(path));
	int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The layer of `mount` that holds `relative`: upper first, then each lower one. */
static int open_layer(const struct wp_mount *mount, const char *relative)
{
	char upper[WP_KERNEL_PATH_MAX], lower[WP_KERNEL_PATH_MAX];
	int fd = -ENOENT;
	bool writable = !wp_mount_option(mount, "upperdir", upper, sizeof(upper));

	if (writable)
		fd = open_in_layer(upper, relative, false);
	if (fd >= 0 || wp_mount_option(mount, "lowerdir", lower, sizeof(lower)))
		return fd;
	for (char *rest = lower, *layer = strsep(&rest, ":"); layer && fd < 0;
	     layer = strsep(&rest, ":"))
		if (*layer == '/')
			fd = open_in_layer(layer, relative, false);
	/* Nowhere: it will be made, and new files are made in the upper layer. */
	if (fd < 0 && writable && *upper == '/')
		fd = open_in_layer(upper, relative, true);
	return fd;
}

static const struct wp_mount *mount_of(const struct wp_mounts *list, int fd)
{
	struct statx info;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &info) || !(info.stx_mask & STATX_MNT_ID))
		return NULL;
	return wp_mounts_find(list, info.stx_mnt_id);
}

/* The path of an open file below its mount point: "" or "/...". */
static int path_below(const struct wp_mount *mount, int fd, char *relative, size_t size)
{
	char link[64], path[WP_KERNEL_PATH_MAX];
	size_t point = strcmp(mount->point, "/") == 0 ? 0 : strlen(mount->point);
	const char *root = strcmp(mount->root, "/") == 0 ? "" : mount->root;
	ssize_t length;
	int written;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return -errno;
	path[length] = '\0';
	if (path[0] != '/' || strncmp(path, mount->point, point) != 0)
		return -ENOENT;
	written = snprintf(relative, size, "%s%s", root, path + point);
	return written < 0 || (size_t)written >= size ? -ENAMETOOLONG : 0;
}

static int device_of_overlay(struct wp_blockdev *device, const struct wp_kernel *kernel, int fd,
			     unsigned layers, struct wp_error *error)
{
	char relative[WP_KERNEL_PATH_MAX], below[128];
	struct wp_mounts list;
	const struct wp_mount *mount;
	int layer = -ENOENT;
	int result = -1;

	if (!wp_mounts_read(&list, kernel)) {
		mount = mount_of(&list, fd);
		if (mount && !path_below(mount, fd, relative, sizeof(relative)))
			layer = open_layer(mount, relative);
	}
	wp_mounts_done(&list);
	if (layers >= LAYERS_MAX || layer < 0) {
		wp_error_set(error, WP_EXIT_ENVIRONMENT,
			     "the file system is overlayfs and the layer below cannot be seen from "
			     "here (%s): put the store on a volume of its own, or name its disk "
			     "with --throttle-device",
			     strerror(layer < 0 ? -layer : ELOOP));
	} else {
		result = device_of(device, kernel, layer, layers + 1, error);
	}
	if (layer >= 0)
		close(layer);
	if (!result) {
		memcpy(below, device->filesystem, sizeof(device->filesystem));
		snprintf(device->resolved, sizeof(device->resolved),
			 "overlayfs, its layer lies on %s on %s%s", below, device->text,
			 device->partition ? " (a partition of it)" : "");
		snprintf(device->filesystem, sizeof(device->filesystem), "overlay");
	}
	return result;
}

static int device_of(struct wp_blockdev *device, const struct wp_kernel *kernel, int fd,
		     unsigned layers, struct wp_error *error)
{
	char filesystem[32];
	struct statfs fs;
	struct stat file;
	const char *refusal;

	if (fstat(fd, &file) || fstatfs(fd, &fs))
		return wp_error_set(error, WP_EXIT_ENVIRONMENT,
				    "cannot tell which device the store is on: %s",
				    strerror(errno));
	if (fs.f_type == OVERLAYFS_SUPER_MAGIC)
		return device_of_overlay(device, kernel, fd, layers, error);
	wp_blockdev_filesystem(filesystem, sizeof(filesystem), fs.f_type);
	refusal = refusal_of(fs.f_type);
	/* Number 0 as major: made up by the file system, no device stands behind it. */
	if (!refusal && major(file.st_dev) == 0)
		refusal =
		    "shows no disk of its own: put the store on ext4 or xfs, or name the disk "
		    "with --throttle-device";
	if (refusal)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT,
				    "no disk to limit: the file system is %s, which %s", filesystem,
				    refusal);
	if (wp_blockdev_of_number(device, kernel, major(file.st_dev), minor(file.st_dev), error))
		return -1;
	memcpy(device->filesystem, filesystem, sizeof(filesystem));
	return 0;
}

int wp_blockdev_of_fd(struct wp_blockdev *device, const struct wp_kernel *kernel, int fd,
		      struct wp_error *error)
{
	return device_of(device, kernel, fd, 0, error);
}

int wp_blockdev_of_path(struct wp_blockdev *device, const struct wp_kernel *kernel,
			const char *path, struct wp_error *error)
{
	char existing[WP_KERNEL_PATH_MAX];
	int code = wp_blockdev_existing(existing, sizeof(existing), path);
	int fd = code ? code : open(existing, O_PATH | O_CLOEXEC);
	int result;

	if (fd < 0)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "%s: %s", path,
				    strerror(code ? -code : errno));
	result = device_of(device, kernel, fd, 0, error);
	close(fd);
	return result;
}
