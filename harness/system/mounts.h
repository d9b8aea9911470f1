/* The mounts that this process sees, from /proc/self/mountinfo. */
#ifndef WP_MOUNTS_H
#define WP_MOUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/system/kernel.h"

/* Strings belong to the list; escapes are undone. */
struct wp_mount {
	uint64_t id;
	const char *root;  /* what of the file system is mounted */
	const char *point; /* where */
	const char *type;  /* "ext4", "overlay", "cgroup2", ... */
	const char *source;
	const char *options; /* those of the file system, by commas, still escaped */
};

struct wp_mounts {
	char *text;
	struct wp_mount *mounts; /* in the kernel's order: later ones cover earlier ones */
	size_t count;
};

/* 0 or -errno. wp_mounts_done accepts a list that could not be read. */
int wp_mounts_read(struct wp_mounts *list, const struct wp_kernel *kernel) WP_MUST_USE;
void wp_mounts_done(struct wp_mounts *list);

/* NULL if there is none. */
const struct wp_mount *wp_mounts_find(const struct wp_mounts *list, uint64_t id);

/*
 * The value of `key` among mount options: "upperdir=/u" -> "/u", escapes
 * undone. -ENOENT; -ENAMETOOLONG.
 */
int wp_mount_option(const struct wp_mount *mount, const char *key, char *value,
		    size_t size) WP_MUST_USE;

#endif
