/*
 * Read limits of control groups v1: blkio.throttle.*, one row a disk, plain
 * numbers only: "1M" would be taken as one byte a second, 0 as no limit. A
 * group stands below the process's own; v1 lets any group hold processes.
 */
#include "harness/throttle/throttle_cgroup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_FILE  "blkio.throttle.read_bps_device"
#define IOPS_FILE   "blkio.throttle.read_iops_device"
#define BYTES_FILE  "blkio.throttle.io_service_bytes"

/* The tables list every disk with traffic; this is room for hundreds. */
#define TABLE_BYTES 32768

static int v1_find(struct wp_cgroup_place *place, const struct wp_kernel *kernel, char *why)
{
	int error = wp_cgroup_find_v1(place, kernel, "blkio");

	if (error) {
		snprintf(why, WP_THROTTLE_WHY, "no blkio controller");
		return error;
	}
	if (!wp_cgroup_has(kernel, place->directory, LIMIT_FILE) &&
	    !wp_cgroup_has(kernel, place->mount, LIMIT_FILE)) {
		snprintf(why, WP_THROTTLE_WHY,
			 "no %s in %.120s (a kernel without block throttling, or hidden)",
			 LIMIT_FILE, place->directory);
		return -ENOENT;
	}
	return 0;
}

static int v1_enter(struct wp_throttle_group *group, const struct wp_cgroup_place *place, char *why)
{
	return wp_throttle_group_enter(group, place->directory, why);
}

static int read_row(const struct wp_throttle_group *group, const char *file, const char *kind,
		    uint64_t *number)
{
	char table[TABLE_BYTES], key[64], value[64];
	char *end;
	int error = wp_cgroup_read(group->kernel, group->path, file, table, sizeof(table));

	if (error)
		return error;
	snprintf(key, sizeof(key), "%s%s%s", group->device, *kind ? " " : "", kind);
	if (!wp_cgroup_row(table, key, value, sizeof(value)))
		return -ENODATA;
	errno = 0;
	*number = strtoull(value, &end, 10);
	return errno || end == value || *end ? -EBADMSG : 0;
}

static int v1_set(struct wp_throttle_group *group, uint64_t bytes_per_s)
{
	char text[64];
	uint64_t requests_per_s;
	int error;

	snprintf(text, sizeof(text), "%s %" PRIu64, group->device, bytes_per_s);
	error = wp_cgroup_write(group->kernel, group->path, LIMIT_FILE, text);
	if (error)
		return error;
	/* The two kinds of limit together behave otherwise than each alone. */
	if (read_row(group, IOPS_FILE, "", &requests_per_s) || requests_per_s == 0)
		return 0;
	snprintf(group->note, sizeof(group->note),
		 "a limit of %" PRIu64 " requests/s on %s was removed from the group",
		 requests_per_s, group->device);
	snprintf(text, sizeof(text), "%s 0", group->device);
	return wp_cgroup_write(group->kernel, group->path, IOPS_FILE, text);
}

static int v1_read_back(const struct wp_throttle_group *group, uint64_t *bytes_per_s)
{
	return read_row(group, LIMIT_FILE, "", bytes_per_s);
}

static int v1_read_bytes(const struct wp_throttle_group *group, uint64_t *bytes)
{
	int error = read_row(group, BYTES_FILE, "Read", bytes);

	if (error == -ENODATA) {
		*bytes = 0;
		error = 0;
	}
	return error;
}

const struct wp_throttle_kind wp_throttle_kind_v1 = {
    .name = "v1",
    .find = v1_find,
    .enter = v1_enter,
    .set = v1_set,
    .read_back = v1_read_back,
    .read_bytes = v1_read_bytes,
};
