/*
 * The overlap experiment (claim P4): how long a frame waits for its blocks when
 * nothing but the copy to the device stands between, and how much of the copy
 * the frame before it hides.
 *
 *   double   |--- compute c ---|--- compute c+1 ---|     two buffers: the blocks of c+1
 *            |copy c+1|        |copy c+2|                arrive while c is computed
 *
 *   single   |--- compute c ---|copy c+1|--- compute     one buffer: it is free only
 *                              |<stall->|                when c has been computed
 *
 * A frame's volume is copied in pieces of at most WP_COPY_BYTES_MAX, several on
 * their way at once, through a ring of slots that is used again and again, so
 * that volumes beyond the memory can be measured, too. No pager and no store:
 * clock and device alone, in any world.
 */
#ifndef WP_OVERLAP_H
#define WP_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "harness/profile/profile.h"
#include "harness/replay/replay.h"
#include "harness/stats.h"
#include "harness/system/memory.h"
#include "pager/clock.h"
#include "pager/port.h"

#define WP_OVERLAP_POINTS_MAX 64u
#define WP_OVERLAP_DEPTH      8u /* pieces on their way at once */

/* Volume and buffering, and what they came to. Times as measured, at the run's scale. */
struct wp_overlap_point {
	uint64_t bytes;	     /* a frame */
	uint64_t bytes_full; /* the same at scale 1 */
	uint32_t buffers;    /* 1, 2 */
	struct wp_stats stall;
	struct wp_stats copy; /* from a transfer's first submission to its last completion */
};

/* One run of the experiment: also what its document holds. */
struct wp_overlap {
	char world[16];
	char machine[64];
	char model[64];
	char gpu[128]; /* empty outside `real` */
	char scale_text[32];
	double scale; /* effective */
	uint64_t compute_ns;
	uint64_t compute_full_ns;
	uint64_t copy_bytes_per_s; /* of the profile; 0: unlimited, or measured in `real` */
	uint64_t memory_bytes;	   /* slots a side */
	uint32_t frames;	   /* a point */
	uint32_t warmup_frames;
	bool memcpy_governed; /* model: the host's memcpy was slower than the modelled rate */
	uint32_t count;
	struct wp_overlap_point points[WP_OVERLAP_POINTS_MAX];
};

/* Where it runs: overlap_world.c. */
struct wp_overlap_world {
	enum wp_world_kind kind;
	struct wp_clock *clock;
	struct wp_port *device;
	struct wp_events *events;      /* virtual only */
	struct wp_arena host;	       /* slots, then as many again to fetch into */
	struct wp_arena device_memory; /* of model and virtual */
	void *device_slots;
	uint32_t slot_bytes; /* moved a piece; timed are WP_COPY_BYTES_MAX */
	uint32_t slots;
};

struct wp_overlap_world_config {
	enum wp_world_kind kind;
	struct wp_device_rates rates;
	uint64_t memory_bytes; /* slots a side */
	uint64_t seed;	       /* of what is copied */
	bool products;	       /* real: matrix products instead of arithmetic in registers */
};

/* Exit 3: no memory, no GPU. `overlap->gpu` is filled in `real`. */
int wp_overlap_world_open(struct wp_overlap_world *world,
			  const struct wp_overlap_world_config *config, struct wp_overlap *overlap,
			  struct wp_error *error) WP_MUST_USE;
void wp_overlap_world_close(struct wp_overlap_world *world);

/*
 * Plays the frames of one point (bytes, buffers given) and compares every byte
 * that lies in the device's slots afterwards. 0 or -1: exit 4 for a failed or
 * wrong copy, WP_EXIT_INTERRUPTED.
 */
int wp_overlap_measure(struct wp_overlap_world *world, const struct wp_overlap *overlap,
		       struct wp_overlap_point *point, struct wp_error *error) WP_MUST_USE;

/* `ns` as it would be at scale 1. */
uint64_t wp_overlap_full_ns(const struct wp_overlap *overlap, uint64_t ns);

/* overlap_json.c: FOLDER/overlap_WORLD.json. Exit 4. */
int wp_overlap_write(const struct wp_overlap *overlap, const char *path,
		     struct wp_error *error) WP_MUST_USE;

#define WP_OVERLAPS_MAX 12u

struct wp_overlaps {
	uint32_t count;
	struct wp_overlap runs[WP_OVERLAPS_MAX];
};

/* Adds what documents FOLDER holds, `virtual` first; none is no fault. Exit 4. */
int wp_overlaps_load(struct wp_overlaps *overlaps, const char *folder,
		     struct wp_error *error) WP_MUST_USE;

#endif
