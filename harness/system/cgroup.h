/*
 * Control groups: where this process stands in a hierarchy, and a group of its
 * own below or beside that place for as long as a run lasts.
 *
 * Chosen by controller, not by mount: with both versions mounted a controller
 * belongs to exactly one of them, and /proc/self/cgroup says to which.
 */
#ifndef WP_CGROUP_H
#define WP_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/system/kernel.h"

#define WP_CGROUP_PATH_MAX 2048

struct wp_cgroup_place {
	char mount[WP_CGROUP_PATH_MAX];	    /* where the hierarchy is mounted */
	char directory[WP_CGROUP_PATH_MAX]; /* the process's group in it */
	bool top;	/* directory is the mount itself: nothing above can be reached */
	bool real_root; /* ... and it is the hierarchy's root, not that of a container */
};

/* The place in the v1 hierarchy of `controller`. 0; -ENOENT: not bound to v1, or not mounted. */
int wp_cgroup_find_v1(struct wp_cgroup_place *place, const struct wp_kernel *kernel,
		      const char *controller) WP_MUST_USE;
/* The place in v2. 0 or -ENOENT. */
int wp_cgroup_find_v2(struct wp_cgroup_place *place, const struct wp_kernel *kernel) WP_MUST_USE;

/* Directory above the place's; -ENOENT at the top. */
int wp_cgroup_parent(const struct wp_cgroup_place *place, char *parent, size_t size) WP_MUST_USE;

/* "DIRECTORY/FILE" through the table. -ENAMETOOLONG or the file's error. */
int wp_cgroup_read(const struct wp_kernel *kernel, const char *directory, const char *file,
		   char *text, size_t size) WP_MUST_USE;
int wp_cgroup_write(const struct wp_kernel *kernel, const char *directory, const char *file,
		    const char *text) WP_MUST_USE;
bool wp_cgroup_has(const struct wp_kernel *kernel, const char *directory, const char *file);

/*
 * Makes `parent`/worldpager-PID and writes its path; a leftover of that name is
 * replaced, those of processes that no longer live are removed (their number
 * is added to *removed). 0 or -errno.
 */
int wp_cgroup_make(const struct wp_kernel *kernel, const char *parent, char *path, size_t size,
		   uint32_t *removed) WP_MUST_USE;

/* Moves this process, all threads, into the group. */
int wp_cgroup_enter(const struct wp_kernel *kernel, const char *directory) WP_MUST_USE;

/*
 * Value of the row that begins with `key` in a table such as io.max or
 * blkio.throttle.io_service_bytes: what follows the key, up to the newline.
 * False if there is no such row.
 */
bool wp_cgroup_row(const char *table, const char *key, char *value, size_t size);

#endif
