/*
 * The kernel's read limit for one process and one disk, of either version of
 * control groups. One file and one table row each; throttle.c decides when.
 */
#ifndef WP_THROTTLE_CGROUP_H
#define WP_THROTTLE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/system/blockdev.h"
#include "harness/system/cgroup.h"
#include "harness/system/kernel.h"

#define WP_THROTTLE_WHY 256 /* room for a reason or a note */

struct wp_throttle_kind;

struct wp_throttle_group {
	const struct wp_throttle_kind *kind; /* NULL: no group */
	const struct wp_kernel *kernel;
	char device[WP_BLOCKDEV_TEXT];
	char origin[WP_CGROUP_PATH_MAX]; /* where the process came from */
	char path[WP_CGROUP_PATH_MAX];
	bool made;
	bool entered;
	bool handed_down;	    /* v2: the controller was enabled in `origin` for this group */
	uint32_t leftovers;	    /* groups of killed runs that were removed */
	char note[WP_THROTTLE_WHY]; /* what a reader must know; empty otherwise */
};

/* All return 0 or -errno; `why` gets a sentence for the user where there is one. */
struct wp_throttle_kind {
	const char *name; /* "v1" "v2" */
	/* Whether this version holds the controller for this process; where. */
	int (*find)(struct wp_cgroup_place *place, const struct wp_kernel *kernel, char *why);
	/* Makes a group with a limit file and enters it; on failure nothing is left. */
	int (*enter)(struct wp_throttle_group *group, const struct wp_cgroup_place *place,
		     char *why);
	int (*set)(struct wp_throttle_group *group, uint64_t bytes_per_s);
	/* What the kernel says it enforces; -ENODATA: nothing. */
	int (*read_back)(const struct wp_throttle_group *group, uint64_t *bytes_per_s);
	/* Bytes the group has read from the limited disk; 0 when it lists none. */
	int (*read_bytes)(const struct wp_throttle_group *group, uint64_t *bytes);
};

extern const struct wp_throttle_kind wp_throttle_kind_v1;
extern const struct wp_throttle_kind wp_throttle_kind_v2;

/*
 * Chooses the version that holds the controller: kind, place; otherwise NULL
 * with the reasons in `why`. Changes nothing.
 */
const struct wp_throttle_kind *wp_throttle_kind_find(struct wp_cgroup_place *place,
						     const struct wp_kernel *kernel, char *why);

/* Makes, enters, sets, reads back. 0 or -errno with `why`; nothing is left on failure. */
int wp_throttle_group_open(struct wp_throttle_group *group, const struct wp_kernel *kernel,
			   const struct wp_blockdev *device, uint64_t bytes_per_s,
			   uint64_t *read_back_bytes_per_s, char *why) WP_MUST_USE;

/* Moves back and removes; again is harmless. 0 or -errno of the first step that failed. */
int wp_throttle_group_undo(struct wp_throttle_group *group);

/* For the kinds: make and enter `parent`/worldpager-PID. */
int wp_throttle_group_enter(struct wp_throttle_group *group, const char *parent,
			    char *why) WP_MUST_USE;

#endif
