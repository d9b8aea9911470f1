/*
 * Questions to the file system beneath a store, and whole-range reads and
 * writes for its small files. Decides nothing and keeps nothing.
 */
#include "pager/store_filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Not in linux/magic.h. */
#define MAGIC_XFS   0x58465342u
#define MAGIC_ZFS   0x2fc12fc1u
#define MAGIC_NTFS3 0x7366746eu
#define MAGIC_CIFS  0xff534d42u

#define ZERO_BYTES  (1024u * 1024u)
#define PIECE_MAX   (1024u * 1024u * 1024u) /* the kernel moves less than 2 GiB at once */

static const struct {
	uint32_t magic;
	const char *name;
	bool in_memory;
} filesystems[] = {
    {EXT4_SUPER_MAGIC, "ext4", false},
    {MAGIC_XFS, "xfs", false},
    {BTRFS_SUPER_MAGIC, "btrfs", false},
    {F2FS_SUPER_MAGIC, "f2fs", false},
    {OVERLAYFS_SUPER_MAGIC, "overlayfs", false},
    {MAGIC_ZFS, "zfs", false},
    {NFS_SUPER_MAGIC, "nfs", false},
    {MAGIC_CIFS, "cifs", false},
    {SMB2_SUPER_MAGIC, "smb2", false},
    {FUSE_SUPER_MAGIC, "fuse", false},
    {MSDOS_SUPER_MAGIC, "vfat", false},
    {EXFAT_SUPER_MAGIC, "exfat", false},
    {MAGIC_NTFS3, "ntfs3", false},
    {TMPFS_MAGIC, "tmpfs", true},
    {RAMFS_MAGIC, "ramfs", true},
    {HUGETLBFS_MAGIC, "hugetlbfs", true},
};

#define FILESYSTEM_COUNT (sizeof(filesystems) / sizeof(filesystems[0]))

int wp_filesystem_name(int fd, char *name, size_t size)
{
	struct statfs about;
	uint32_t magic;

	if (fstatfs(fd, &about) != 0)
		return -errno;
	magic = (uint32_t)about.f_type;
	for (size_t i = 0; i < FILESYSTEM_COUNT; i++) {
		if (filesystems[i].magic == magic) {
			snprintf(name, size, "%s", filesystems[i].name);
			return 0;
		}
	}
	snprintf(name, size, "0x%08x", magic);
	return 0;
}

bool wp_filesystem_in_memory(const char *name)
{
	for (size_t i = 0; i < FILESYSTEM_COUNT; i++) {
		if (strcmp(filesystems[i].name, name) == 0)
			return filesystems[i].in_memory;
	}
	return false;
}

int wp_filesystem_alignment(int fd, uint32_t *bytes)
{
	struct statx about;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &about) != 0)
		return -errno;
	if (!(about.stx_mask & STATX_DIOALIGN))
		return -ENODATA;
	*bytes = about.stx_dio_offset_align > about.stx_dio_mem_align ? about.stx_dio_offset_align
								      : about.stx_dio_mem_align;
	if (about.stx_dio_offset_align == 0)
		*bytes = 0;
	return 0;
}

int wp_filesystem_free_bytes(int fd, uint64_t *bytes)
{
	struct statvfs about;

	if (fstatvfs(fd, &about) != 0)
		return -errno;
	*bytes = (uint64_t)about.f_bavail * about.f_frsize;
	return 0;
}

#define EXTENTS_AT_ONCE 64
#define EXTENT_NOT_PLAIN                                                                           \
	(FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_ENCODED |                  \
	 FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_UNWRITTEN)

union extents {
	struct fiemap map;
	unsigned char room[sizeof(struct fiemap) + EXTENTS_AT_ONCE * sizeof(struct fiemap_extent)];
};

int wp_filesystem_unwritten(int fd, uint64_t from, uint64_t to, uint64_t *offset)
{
	union extents extents;

	while (from < to) {
		memset(&extents.map, 0, sizeof(extents.map));
		extents.map.fm_start = from;
		extents.map.fm_length = to - from;
		extents.map.fm_flags = FIEMAP_FLAG_SYNC;
		extents.map.fm_extent_count = EXTENTS_AT_ONCE;
		if (ioctl(fd, FS_IOC_FIEMAP, &extents.map) != 0)
			return errno == ENOTTY || errno == EBADR ? -EOPNOTSUPP : -errno;
		*offset = from;
		if (extents.map.fm_mapped_extents == 0)
			return 1;
		for (uint32_t i = 0; i < extents.map.fm_mapped_extents && from < to; i++) {
			const struct fiemap_extent *extent = &extents.map.fm_extents[i];

			*offset = from;
			if (extent->fe_logical > from || (extent->fe_flags & EXTENT_NOT_PLAIN))
				return 1;
			from = extent->fe_logical + extent->fe_length;
		}
	}
	return 0;
}

static int write_zeros_to(int fd, uint64_t bytes)
{
	void *zeros = aligned_alloc(4096, ZERO_BYTES);
	int error = 0;

	if (!zeros)
		return -ENOMEM;
	memset(zeros, 0, ZERO_BYTES);
	for (uint64_t at = 0; at < bytes && !error; at += ZERO_BYTES) {
		uint64_t left = bytes - at;

		error = wp_filesystem_write(fd, zeros, left < ZERO_BYTES ? left : ZERO_BYTES, at);
	}
	free(zeros);
	return error;
}

int wp_filesystem_allocate(int fd, uint64_t bytes, bool write_zeros)
{
	int result;

	do {
		result = fallocate(fd, 0, 0, (off_t)bytes);
	} while (result != 0 && errno == EINTR);
	if (result == 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return -errno;
	return write_zeros ? write_zeros_to(fd, bytes) : 0;
}

int wp_filesystem_read(int fd, void *buffer, uint64_t bytes, uint64_t offset)
{
	unsigned char *at = buffer;

	while (bytes > 0) {
		ssize_t moved = pread(fd, at, bytes < PIECE_MAX ? bytes : PIECE_MAX, (off_t)offset);

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved <= 0)
			return moved < 0 ? -errno : -EIO;
		at += moved;
		offset += (uint64_t)moved;
		bytes -= (uint64_t)moved;
	}
	return 0;
}

int wp_filesystem_write(int fd, const void *buffer, uint64_t bytes, uint64_t offset)
{
	const unsigned char *at = buffer;

	while (bytes > 0) {
		ssize_t moved =
		    pwrite(fd, at, bytes < PIECE_MAX ? bytes : PIECE_MAX, (off_t)offset);

		if (moved < 0 && errno == EINTR)
			continue;
		if (moved <= 0)
			return moved < 0 ? -errno : -EIO;
		at += moved;
		offset += (uint64_t)moved;
		bytes -= (uint64_t)moved;
	}
	return 0;
}
