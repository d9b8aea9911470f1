/*
 * Measures what a read path yields, before and under a limit: reads one piece
 * after another and looks at the clock after each. What it reads from is a
 * small table, so that the judgement can be tested without a drive. A read that
 * never comes back holds a thread of its own, not its caller.
 */
#ifndef WP_PROBE_H
#define WP_PROBE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

#include "pager/check.h"

/* One data file, opened with O_DIRECT; `bytes` of it are written and may be read. */
struct wp_probe_extent {
	int fd;
	uint64_t bytes;
};

struct wp_probe_source {
	/* Reads `bytes` from somewhere not read a moment ago. 0 or -errno. */
	int (*read)(struct wp_probe_source *source, uint32_t bytes);
	uint64_t (*now_ns)(struct wp_probe_source *source);
	void (*rest)(struct wp_probe_source *source, uint64_t duration_ns);
	void (*close)(struct wp_probe_source *source);
	uint32_t unit_bytes; /* a piece is a multiple of this */
	/* 0: reads are made by the caller of wp_probe_run and trusted to come back. */
	uint64_t deadline_ns;
	const volatile sig_atomic_t *stop; /* nonzero: give up; NULL: never. With a deadline only */
	_Atomic uint64_t offset;	   /* in its file of the read that was begun last */
	struct wp_probe_thread *stuck;	   /* of a run that was given up */
};

struct wp_probe_plan {
	uint64_t bytes_per_s; /* the limit; 0: none, then credit and skip are not computed */
	uint64_t bytes;	      /* read at least so many, in all */
	uint64_t skip_bytes;  /* the rate counts from here on */
	uint64_t time_ns_max; /* stop after this even with fewer bytes; 0: no bound */
	uint32_t piece_bytes; /* one read; rounded down to a unit, at least one */
};

struct wp_probe_figures {
	uint64_t bytes; /* read in all */
	uint64_t elapsed_ns;
	uint64_t bytes_per_s; /* after the first skip_bytes */
	/* Most by which the bytes read were ever ahead of bytes_per_s x elapsed. */
	uint64_t credit_bytes;
};

/*
 * 0 or -errno of a read; with a deadline also -ETIMEDOUT (source->offset names the
 * read) and -EINTR (stop). After these two a read may still be under way: undo what
 * holds it up before closing the source, and run nothing more.
 */
int wp_probe_run(struct wp_probe_source *source, const struct wp_probe_plan *plan,
		 struct wp_probe_figures *figures) WP_MUST_USE;

/*
 * Reads the extents in turn, from the start again at the end. `unit_bytes` is
 * the alignment of direct I/O. The descriptors stay the caller's. -ENODATA if
 * no extent holds a unit.
 */
int wp_probe_files_open(struct wp_probe_source **source, const struct wp_probe_extent *extents,
			uint32_t extent_count, uint32_t unit_bytes) WP_MUST_USE;

/* Waits a second for a read that is under way; left behind with what it needs if it does not
 * come back. */
void wp_probe_close(struct wp_probe_source *source);

#endif
