/*
 * What both versions of control groups share: choosing one, entering a group
 * of its own, setting a limit and reading it back, and undoing all of it in
 * the right order from whatever point was reached.
 */
#include "harness/throttle/throttle_cgroup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A group can stay busy for a moment after its last process has left. */
#define REMOVE_TRIES   20
#define REMOVE_WAIT_NS 5000000

static const struct wp_throttle_kind *const kinds[] = {
    &wp_throttle_kind_v2,
    &wp_throttle_kind_v1,
};

const struct wp_throttle_kind *wp_throttle_kind_find(struct wp_cgroup_place *place,
						     const struct wp_kernel *kernel, char *why)
{
	char reasons[WP_THROTTLE_WHY] = "";

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t length = strlen(reasons);

		if (!kinds[i]->find(place, kernel, why))
			return kinds[i];
		snprintf(reasons + length, sizeof(reasons) - length, "%s%s: %s", i ? "; " : "",
			 kinds[i]->name, why);
	}
	memcpy(why, reasons, sizeof(reasons));
	return NULL;
}

static void explain(char *why, const char *what, const char *path, int error)
{
	if (error == -EACCES || error == -EPERM || error == -EROFS)
		snprintf(why, WP_THROTTLE_WHY,
			 "no right to %s %.120s (%s): run as root or have the group delegated",
			 what, path, strerror(-error));
	else
		snprintf(why, WP_THROTTLE_WHY, "cannot %s %.160s: %s", what, path,
			 strerror(-error));
}

int wp_throttle_group_enter(struct wp_throttle_group *group, const char *parent, char *why)
{
	int error = wp_cgroup_make(group->kernel, parent, group->path, sizeof(group->path),
				   &group->leftovers);

	if (error) {
		explain(why, "make a control group in", parent, error);
		return error;
	}
	group->made = true;
	error = wp_cgroup_enter(group->kernel, group->path);
	if (error) {
		explain(why, "enter the control group", group->path, error);
		wp_throttle_group_undo(group);
		return error;
	}
	group->entered = true;
	return 0;
}

int wp_throttle_group_undo(struct wp_throttle_group *group)
{
	const struct timespec wait = {.tv_nsec = REMOVE_WAIT_NS};
	int first = 0;

	/* Before the process can go back to a v2 group, that must not hand controllers down. */
	if (group->handed_down) {
		first =
		    wp_cgroup_write(group->kernel, group->origin, "cgroup.subtree_control", "-io");
		group->handed_down = false;
	}
	if (group->entered) {
		int error = wp_cgroup_enter(group->kernel, group->origin);

		if (error)
			return first ? first : error;
		group->entered = false;
	}
	if (group->made) {
		int error = wp_kernel_remove(group->kernel, group->path);

		for (int i = 0; i < REMOVE_TRIES && error == -EBUSY; i++) {
			nanosleep(&wait, NULL);
			error = wp_kernel_remove(group->kernel, group->path);
		}
		if (error)
			return first ? first : error;
		group->made = false;
	}
	return first;
}

static int set_and_read_back(struct wp_throttle_group *group, uint64_t bytes_per_s,
			     uint64_t *read_back_bytes_per_s, char *why)
{
	int error = group->kind->set(group, bytes_per_s);

	if (error == -ENODEV || error == -ENXIO) {
		snprintf(why, WP_THROTTLE_WHY,
			 "the kernel takes no limit for device %s: only whole disks can be limited",
			 group->device);
		return error;
	}
	if (error) {
		explain(why, "set a read limit in", group->path, error);
		return error;
	}
	error = group->kind->read_back(group, read_back_bytes_per_s);
	if (error) {
		snprintf(why, WP_THROTTLE_WHY, "the limit cannot be read back: %s",
			 error == -ENODATA ? "none is listed for the device" : strerror(-error));
		return error;
	}
	if (*read_back_bytes_per_s != bytes_per_s) {
		snprintf(why, WP_THROTTLE_WHY,
			 "asked for %" PRIu64 " B/s, but the kernel lists %" PRIu64 " B/s",
			 bytes_per_s, *read_back_bytes_per_s);
		return -EIO;
	}
	return 0;
}

int wp_throttle_group_open(struct wp_throttle_group *group, const struct wp_kernel *kernel,
			   const struct wp_blockdev *device, uint64_t bytes_per_s,
			   uint64_t *read_back_bytes_per_s, char *why)
{
	const struct wp_throttle_kind *kind;
	struct wp_cgroup_place place;
	int error;

	/* v1 takes 0 as no limit at all. */
	WP_CHECK(bytes_per_s > 0);
	memset(group, 0, sizeof(*group));
	*read_back_bytes_per_s = 0;
	kind = wp_throttle_kind_find(&place, kernel, why);
	if (!kind)
		return -ENOENT;
	group->kind = kind;
	group->kernel = kernel;
	memcpy(group->device, device->text, sizeof(group->device));
	memcpy(group->origin, place.directory, sizeof(group->origin));
	error = kind->enter(group, &place, why);
	if (!error)
		error = set_and_read_back(group, bytes_per_s, read_back_bytes_per_s, why);
	if (error) {
		wp_throttle_group_undo(group);
		group->kind = NULL;
		*read_back_bytes_per_s = 0;
	}
	return error;
}
