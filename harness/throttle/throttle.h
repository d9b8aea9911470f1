/*
 * The read limit of a run, and its proof.
 *
 * Two means: the kernel (a control group that the process enters) and the
 * bucket inside the store (pager/store.h). `auto` takes both: the kernel
 * enforces from outside, the bucket hides the kernel's free credit. Where the
 * kernel limit may not be set `auto` takes the bucket alone and says why.
 *
 *   open     chooses, probes without a limit, makes a group of its own, enters
 *            it, sets the limit, reads it back, probes under it alone
 *   [open the store's ring now, never before: a request is charged to the
 *    group in which its ring's process stood when it was submitted, and worker
 *    threads stay where they were made]
 *   start    notes the byte counter
 *   ...      the run
 *   finish   compares the counter with the bytes read; fills the figures
 *   undo     leaves the group, removes it; again is harmless
 *   close    undo, and frees
 *
 * A limit that was accepted can be without effect (wrong device, buffered
 * reads, memory file systems, holes): without proof the figures say
 * valid = false with a reason, and the run ends with exit code 3.
 */
#ifndef WP_THROTTLE_H
#define WP_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "harness/system/blockdev.h"
#include "harness/system/kernel.h"
#include "harness/throttle/probe.h"
#include "harness/throttle/throttle_figures.h"

struct wp_throttle;

enum wp_throttle_method {
	WP_THROTTLE_NONE,
	WP_THROTTLE_BUCKET,
	WP_THROTTLE_CGROUP,
	WP_THROTTLE_AUTO,
};

/* The option's words: none bucket cgroup auto. False for any other. */
bool wp_throttle_method_find(const char *name, enum wp_throttle_method *method);

struct wp_throttle_request {
	const struct wp_kernel *kernel; /* &wp_kernel_host */
	enum wp_throttle_method asked;
	uint64_t bytes_per_s; /* more than 0, except with WP_THROTTLE_NONE */
	const char *device;   /* --throttle-device; NULL: the disk behind the extents */
	uint64_t frame_bytes; /* what one frame reads: tells whether the credit matters */
	/* The store's data files, opened O_DIRECT; needed until open returns. */
	const struct wp_probe_extent *extents;
	uint32_t extent_count;
	uint32_t alignment_bytes;	   /* of direct I/O on them */
	uint64_t read_deadline_ns;	   /* for one read of the probe over the extents */
	const volatile sig_atomic_t *stop; /* nonzero: give the probe up; may be NULL */
	struct wp_probe_source *probe;	   /* NULL: over the extents; else stays the caller's */
};

/*
 * 0, or -1 with `error`: 2 for the spelling of the device, 3 where a kernel
 * limit was demanded and cannot be had, 4 where the store cannot be read or does
 * not answer, 130 after `stop`.
 * Nothing is left behind on failure. An unproven limit is no failure of open:
 * see wp_throttle_proven.
 */
int wp_throttle_open(struct wp_throttle **throttle, const struct wp_throttle_request *request,
		     struct wp_error *error) WP_MUST_USE;

/* The store needs the bucket in front of it at the asked rate. */
bool wp_throttle_wants_bucket(const struct wp_throttle *throttle);

/*
 * False when the probe contradicts the limit; frames are then not worth
 * running: call finish with 0 bytes for figures with the reason, write them as
 * an invalid result, end with exit code 3.
 */
bool wp_throttle_proven(const struct wp_throttle *throttle);

/* 0 or -errno when the counter cannot be read (finish will say so as well). */
int wp_throttle_start(struct wp_throttle *throttle);

/* Bytes read since start: of the limited device by the group, or by the process. 0 or -errno. */
int wp_throttle_read_bytes(const struct wp_throttle *throttle, uint64_t *bytes) WP_MUST_USE;

/*
 * `bytes_read`: what the store asked of its files since start, padding
 * included. `achieved_bytes_per_s`: bytes / time with at least one read
 * outstanding. Fills everything but lost_credit_bytes. Call before undo.
 */
void wp_throttle_finish(struct wp_throttle *throttle, uint64_t bytes_read,
			uint64_t achieved_bytes_per_s, struct wp_throttle_figures *figures);

/* Back to the group the process came from, and the own group removed. 0 or -errno. */
int wp_throttle_undo(struct wp_throttle *throttle);
void wp_throttle_close(struct wp_throttle *throttle);

#endif
