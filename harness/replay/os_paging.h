/*
 * The arm os_paging: what one would do without a pager. The store's files are
 * mapped, the kernel's page cache keeps what fits under a memory limit, a
 * needed block is copied from the mapping and faults as it goes, and a hint is
 * madvise(MADV_WILLNEED).
 *
 *   same trace, hints, compute and read limit as the other arms, and as much
 *   memory as their slots; blocks are dropped from the cache after their
 *   frame, as nothing is reused under forced-nvme
 *
 * The bucket cannot stand in front of the page cache, so the kernel's limit
 * holds alone, with its free credit. Bytes are not verified on the way; the
 * device side is compared with the content as for every arm.
 *
 * Model world, forced-nvme. Needs the right to limit memory and reads.
 */
#ifndef WP_OS_PAGING_H
#define WP_OS_PAGING_H

#include "harness/replay/replay.h"

/* Fits the plan to this arm: 0, or -1 with exit 2 in `error` where it cannot be played. */
int wp_os_paging_plan(struct wp_replay_plan *plan, struct wp_error *error) WP_MUST_USE;

/* As wp_replay_run, whose part it takes; run->frames is there already. */
int wp_os_paging_run(struct wp_replay_plan *plan, struct wp_run *run,
		     struct wp_error *error) WP_MUST_USE;

#endif
