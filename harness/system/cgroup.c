/*
 * Control groups of either version: finding the process's own, making one for
 * a run, moving in and out. What is written into a group's control files is
 * the business of whoever limits something.
 */
#include "harness/system/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/system/mounts.h"

#define GROUP_PREFIX "worldpager-"

/*
 * The path in the line of /proc/self/cgroup ("7:blkio:/a", "0::/a") that names
 * `controller`, or that of v2 when it is NULL. A path may hold colons.
 */
static int own_path(const struct wp_kernel *kernel, const char *controller, char *path, size_t size)
{
	char *text, *rest;
	int error = wp_kernel_read_all(kernel, "/proc/self/cgroup", &text);

	if (error)
		return error;
	error = -ENOENT;
	rest = text;
	for (char *line = strsep(&rest, "\n"); line && error == -ENOENT;
	     line = strsep(&rest, "\n")) {
		char *number = strsep(&line, ":");
		char *controllers = strsep(&line, ":");

		if (!controllers || !line)
			continue;
		if (controller ? !wp_kernel_list_has(controllers, ",", controller)
			       : strcmp(number, "0") != 0 || *controllers)
			continue;
		error = snprintf(path, size, "%s", line) < (int)size ? 0 : -ENAMETOOLONG;
	}
	free(text);
	return error;
}

/*
 * Lays the process's path over what of the hierarchy is mounted. In a
 * container the mount's root is deeper than the hierarchy's, or, with a
 * namespace of its own, the path is outside of what can be seen ("/../x"): the
 * mount is then the best that is known.
 */
static int lay(struct wp_cgroup_place *place, const struct wp_mount *mount, const char *path)
{
	size_t root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
	const char *below = path + root;
	int mounted, written;

	if (strncmp(path, mount->root, root) != 0 || (*below && *below != '/') ||
	    strncmp(path, "/..", 3) == 0 || strcmp(below, "/") == 0)
		below = "";
	mounted = snprintf(place->mount, sizeof(place->mount), "%s", mount->point);
	written = snprintf(place->directory, sizeof(place->directory), "%s%s", mount->point, below);
	if (mounted >= (int)sizeof(place->mount) || written >= (int)sizeof(place->directory))
		return -ENAMETOOLONG;
	place->top = *below == '\0';
	return 0;
}

static int find(struct wp_cgroup_place *place, const struct wp_kernel *kernel, const char *type,
		const char *controller)
{
	char path[WP_CGROUP_PATH_MAX];
	struct wp_mounts list;
	int error = own_path(kernel, controller, path, sizeof(path));

	memset(place, 0, sizeof(*place));
	if (error)
		return error;
	error = wp_mounts_read(&list, kernel);
	if (error)
		return error;
	error = -ENOENT;
	for (size_t i = 0; i < list.count && error; i++) {
		const struct wp_mount *mount = &list.mounts[i];

		if (strcmp(mount->type, type) != 0 ||
		    (controller && !wp_kernel_list_has(mount->options, ",", controller)))
			continue;
		error = lay(place, mount, path);
		if (!error && !wp_kernel_exists(kernel, place->directory))
			error = -ENOENT;
	}
	wp_mounts_done(&list);
	/* Only the root of the whole hierarchy lacks this file. */
	if (!error && place->top && !controller)
		place->real_root = !wp_cgroup_has(kernel, place->directory, "cgroup.type");
	return error;
}

int wp_cgroup_find_v1(struct wp_cgroup_place *place, const struct wp_kernel *kernel,
		      const char *controller)
{
	return find(place, kernel, "cgroup", controller);
}

int wp_cgroup_find_v2(struct wp_cgroup_place *place, const struct wp_kernel *kernel)
{
	return find(place, kernel, "cgroup2", NULL);
}

int wp_cgroup_parent(const struct wp_cgroup_place *place, char *parent, size_t size)
{
	const char *slash = strrchr(place->directory, '/');

	if (place->top || !slash)
		return -ENOENT;
	if ((size_t)(slash - place->directory) >= size)
		return -ENAMETOOLONG;
	memcpy(parent, place->directory, (size_t)(slash - place->directory));
	parent[slash - place->directory] = '\0';
	return 0;
}

static int join(char *path, size_t size, const char *directory, const char *file)
{
	int length = snprintf(path, size, "%s/%s", directory, file);

	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

int wp_cgroup_read(const struct wp_kernel *kernel, const char *directory, const char *file,
		   char *text, size_t size)
{
	char path[WP_CGROUP_PATH_MAX];
	int error = join(path, sizeof(path), directory, file);

	return error ? error : wp_kernel_read(kernel, path, text, size);
}

int wp_cgroup_write(const struct wp_kernel *kernel, const char *directory, const char *file,
		    const char *text)
{
	char path[WP_CGROUP_PATH_MAX];
	int error = join(path, sizeof(path), directory, file);

	return error ? error : wp_kernel_write(kernel, path, text);
}

bool wp_cgroup_has(const struct wp_kernel *kernel, const char *directory, const char *file)
{
	char path[WP_CGROUP_PATH_MAX];

	return !join(path, sizeof(path), directory, file) && wp_kernel_exists(kernel, path);
}

/* The process number in "worldpager-123"; 0 for any other name. */
static pid_t owner_of(const char *name)
{
	size_t prefix = strlen(GROUP_PREFIX);
	unsigned long number;
	char *end;

	if (strncmp(name, GROUP_PREFIX, prefix) != 0 || name[prefix] < '1' || name[prefix] > '9')
		return 0;
	number = strtoul(name + prefix, &end, 10);
	return *end || number > INT32_MAX ? 0 : (pid_t)number;
}

/*
 * Groups of runs that were killed. A group that still holds a process cannot be
 * removed, so a number that was given to somebody else does no harm either way.
 */
static uint32_t remove_leftovers(const struct wp_kernel *kernel, const char *parent)
{
	char path[WP_CGROUP_PATH_MAX], full[WP_KERNEL_PATH_MAX];
	struct dirent *entry;
	uint32_t removed = 0;
	DIR *directory;

	if (wp_kernel_path(kernel, full, sizeof(full), parent))
		return 0;
	directory = opendir(full);
	if (!directory)
		return 0;
	while ((entry = readdir(directory))) {
		pid_t owner = owner_of(entry->d_name);

		if (owner == 0 || (owner != getpid() && (!kill(owner, 0) || errno != ESRCH)))
			continue;
		if (!join(path, sizeof(path), parent, entry->d_name) &&
		    !wp_kernel_remove(kernel, path))
			removed++;
	}
	closedir(directory);
	return removed;
}

int wp_cgroup_make(const struct wp_kernel *kernel, const char *parent, char *path, size_t size,
		   uint32_t *removed)
{
	char name[64];
	int error;

	*removed += remove_leftovers(kernel, parent);
	snprintf(name, sizeof(name), GROUP_PREFIX "%ld", (long)getpid());
	error = join(path, size, parent, name);
	return error ? error : wp_kernel_make(kernel, path);
}

int wp_cgroup_enter(const struct wp_kernel *kernel, const char *directory)
{
	/* 0 is the writer itself, in whatever process namespace. */
	return wp_cgroup_write(kernel, directory, "cgroup.procs", "0");
}

bool wp_cgroup_row(const char *table, const char *key, char *value, size_t size)
{
	size_t key_length = strlen(key);

	WP_CHECK(size > 0);
	for (const char *row = table; *row;) {
		size_t length = strcspn(row, "\n");

		if (length > key_length && !memcmp(row, key, key_length) &&
		    row[key_length] == ' ') {
			length -= key_length + 1;
			if (length >= size)
				return false;
			memcpy(value, row + key_length + 1, length);
			value[length] = '\0';
			return true;
		}
		row += length + (row[length] == '\n');
	}
	return false;
}
