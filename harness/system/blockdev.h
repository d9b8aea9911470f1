/*
 * From a file to the disk whose reads a limit must name.
 *
 *   file --st_dev--> partition --sysfs--> whole disk      limits name whole disks
 *   file --st_dev--> loop device                          stays: reads pass there first
 *   file on overlayfs --> the layer that holds it --> as above
 *   tmpfs, btrfs, zfs, network, ...                       refused with a reason
 */
#ifndef WP_BLOCKDEV_H
#define WP_BLOCKDEV_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "harness/system/kernel.h"

#define WP_BLOCKDEV_TEXT 24 /* "MAJ:MIN" */

struct wp_blockdev {
	uint32_t major; /* of the whole disk */
	uint32_t minor;
	bool partition; /* the file lies on a partition of it */
	char text[WP_BLOCKDEV_TEXT];
	char name[64];	     /* as sysfs calls it: "nvme0n1" */
	char filesystem[32]; /* of the file; empty when looked up by number */
	char resolved[256];  /* how, where it was not direct; empty otherwise */
};

/*
 * The disk behind an open file, or behind a path; a path that does not exist
 * yet is resolved through its nearest existing directory.
 * Error: exit code 3 with the reason and the remedy.
 */
int wp_blockdev_of_fd(struct wp_blockdev *device, const struct wp_kernel *kernel, int fd,
		      struct wp_error *error) WP_MUST_USE;
int wp_blockdev_of_path(struct wp_blockdev *device, const struct wp_kernel *kernel,
			const char *path, struct wp_error *error) WP_MUST_USE;

/* The whole disk of a device number; error 3 when the kernel knows no such block device. */
int wp_blockdev_of_number(struct wp_blockdev *device, const struct wp_kernel *kernel,
			  uint32_t major, uint32_t minor, struct wp_error *error) WP_MUST_USE;

/* Whether `text` is spelled "MAJ:MIN" in plain decimal; error 2 when not. Asks no kernel. */
int wp_blockdev_check(const char *text, struct wp_error *error) WP_MUST_USE;

/* --throttle-device: spelled as above, then looked up as above. */
int wp_blockdev_parse(struct wp_blockdev *device, const struct wp_kernel *kernel, const char *text,
		      struct wp_error *error) WP_MUST_USE;

/* Copies the longest existing prefix of `path` ("." when there is none). */
int wp_blockdev_existing(char *existing, size_t size, const char *path) WP_MUST_USE;

/* "ext4", "tmpfs", ... of a path or open file; "unknown (0x...)" otherwise. */
void wp_blockdev_filesystem(char *name, size_t size, int64_t magic);

#endif
