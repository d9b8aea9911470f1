/*
 * Read limits of control groups v2: io.max. A group has that file only when
 * its parent hands the io controller down, and a group that holds processes
 * may not do so (the root of the hierarchy excepted). Hence the places tried:
 *
 *        top                  3. below the top, told to hand io down
 *         |
 *        above                1. beside the own group, if `above` (or one
 *       /     \                  further up) hands io down already
 *     own      worldpager-PID
 *      |
 *     worldpager-PID          2. below the own group, once this process has
 *                                left it empty by moving down
 */
#include "harness/throttle/throttle_cgroup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TABLE_BYTES 32768

static bool lists_io(const struct wp_kernel *kernel, const char *directory, const char *file)
{
	char text[1024];

	return !wp_cgroup_read(kernel, directory, file, text, sizeof(text)) &&
	       wp_kernel_list_has(text, " \n", "io");
}

static int v2_find(struct wp_cgroup_place *place, const struct wp_kernel *kernel, char *why)
{
	int error = wp_cgroup_find_v2(place, kernel);

	if (error) {
		snprintf(why, WP_THROTTLE_WHY, "not mounted");
		return error;
	}
	if (!lists_io(kernel, place->directory, "cgroup.controllers") &&
	    !lists_io(kernel, place->mount, "cgroup.controllers")) {
		snprintf(why, WP_THROTTLE_WHY, "no io controller in %.160s", place->mount);
		return -ENOENT;
	}
	return 0;
}

static int check_limit_file(struct wp_throttle_group *group, char *why)
{
	if (wp_cgroup_has(group->kernel, group->path, "io.max"))
		return 0;
	snprintf(why, WP_THROTTLE_WHY,
		 "no io.max in %.140s (a kernel without block throttling, or hidden)", group->path);
	wp_throttle_group_undo(group);
	return -ENOENT;
}

static int enter_below(struct wp_throttle_group *group, const char *parent, char *why)
{
	int error = wp_throttle_group_enter(group, parent, why);

	return error ? error : check_limit_file(group, why);
}

/* 1: the nearest group above that hands io down. -ENOENT if none does. */
static int enter_beside(struct wp_throttle_group *group, const struct wp_cgroup_place *place,
			char *why)
{
	struct wp_cgroup_place at = *place;
	char above[WP_CGROUP_PATH_MAX];
	int error = -ENOENT;

	while (error && !wp_cgroup_parent(&at, above, sizeof(above))) {
		memcpy(at.directory, above, sizeof(above));
		at.top = strcmp(above, place->mount) == 0;
		if (lists_io(group->kernel, above, "cgroup.subtree_control"))
			error = enter_below(group, above, why);
	}
	return error;
}

/* Whether this process is the only one in the group. */
static bool is_alone(const struct wp_kernel *kernel, const char *directory)
{
	char text[256];
	char *end;
	unsigned long process;

	if (wp_cgroup_read(kernel, directory, "cgroup.procs", text, sizeof(text)))
		return false;
	process = strtoul(text, &end, 10);
	return process == (unsigned long)getpid() && (*end == '\0' || strcmp(end, "\n") == 0);
}

/* 2 */
static int enter_leaf(struct wp_throttle_group *group, const char *own, char *why)
{
	int error;

	if (!is_alone(group->kernel, own)) {
		snprintf(why, WP_THROTTLE_WHY,
			 "%.90s holds other processes, and such a group may not hand the io "
			 "controller down: start in a scope of its own (systemd-run --scope)",
			 own);
		return -EBUSY;
	}
	error = wp_throttle_group_enter(group, own, why);
	if (error)
		return error;
	error = wp_cgroup_write(group->kernel, own, "cgroup.subtree_control", "+io");
	if (error) {
		snprintf(why, WP_THROTTLE_WHY,
			 "the io controller cannot be handed down in %.120s: %s", own,
			 strerror(-error));
		wp_throttle_group_undo(group);
		return error;
	}
	group->handed_down = true;
	return check_limit_file(group, why);
}

/* 3 */
static int enter_top(struct wp_throttle_group *group, const struct wp_cgroup_place *place,
		     char *why)
{
	int error;

	if (!lists_io(group->kernel, place->mount, "cgroup.controllers"))
		return -ENOENT;
	/*
	 * Stays so afterwards: it limits nothing, and taking it away would take
	 * away the limits that others have set since.
	 */
	if (!lists_io(group->kernel, place->mount, "cgroup.subtree_control")) {
		error =
		    wp_cgroup_write(group->kernel, place->mount, "cgroup.subtree_control", "+io");
		if (error) {
			if (error == -EBUSY)
				snprintf(
				    why, WP_THROTTLE_WHY,
				    "%.110s holds processes, and such a group may not hand the "
				    "io controller down: start in a group of its own",
				    place->mount);
			else
				snprintf(
				    why, WP_THROTTLE_WHY,
				    "no right to hand the io controller down in %.80s (%s): run "
				    "as root or have the io controller delegated",
				    place->mount, strerror(-error));
			return error;
		}
	}
	return enter_below(group, place->mount, why);
}

static int v2_enter(struct wp_throttle_group *group, const struct wp_cgroup_place *place, char *why)
{
	char first[WP_THROTTLE_WHY] = "";
	int error = enter_beside(group, place, why);
	int first_error = error;

	if (!error) {
		snprintf(
		    group->note, sizeof(group->note),
		    "the run left the control group %.150s, whose limits did not hold meanwhile",
		    place->directory);
		return 0;
	}
	if (error != -ENOENT)
		memcpy(first, why, sizeof(first));
	if (!place->real_root && lists_io(group->kernel, place->directory, "cgroup.controllers"))
		error = enter_leaf(group, place->directory, why);
	if (error && (!place->top || place->real_root))
		error = enter_top(group, place, why);
	/* The nearest place says best what to change. */
	if (error && *first) {
		memcpy(why, first, sizeof(first));
		return first_error;
	}
	return error;
}

/* "rbps=250000000" in the row of the device; "max" is none. */
static int read_key(const struct wp_throttle_group *group, const char *file, const char *key,
		    uint64_t *number)
{
	char table[TABLE_BYTES], row[512];
	size_t length = strlen(key);
	int error = wp_cgroup_read(group->kernel, group->path, file, table, sizeof(table));

	if (error)
		return error;
	if (!wp_cgroup_row(table, group->device, row, sizeof(row)))
		return -ENODATA;
	for (char *rest = row, *word = strsep(&rest, " "); word; word = strsep(&rest, " ")) {
		char *end;

		if (strncmp(word, key, length) != 0)
			continue;
		if (strcmp(word + length, "max") == 0)
			return -ENODATA;
		errno = 0;
		*number = strtoull(word + length, &end, 10);
		return errno || end == word + length || *end ? -EBADMSG : 0;
	}
	return -ENODATA;
}

static int v2_set(struct wp_throttle_group *group, uint64_t bytes_per_s)
{
	char text[128];

	snprintf(text, sizeof(text), "%s rbps=%" PRIu64 " wbps=max riops=max wiops=max",
		 group->device, bytes_per_s);
	return wp_cgroup_write(group->kernel, group->path, "io.max", text);
}

static int v2_read_back(const struct wp_throttle_group *group, uint64_t *bytes_per_s)
{
	return read_key(group, "io.max", "rbps=", bytes_per_s);
}

static int v2_read_bytes(const struct wp_throttle_group *group, uint64_t *bytes)
{
	int error = read_key(group, "io.stat", "rbytes=", bytes);

	if (error == -ENODATA) {
		*bytes = 0;
		error = 0;
	}
	return error;
}

const struct wp_throttle_kind wp_throttle_kind_v2 = {
    .name = "v2",
    .find = v2_find,
    .enter = v2_enter,
    .set = v2_set,
    .read_back = v2_read_back,
    .read_bytes = v2_read_bytes,
};
