/*
 * A sweep: an experiment's points, each replayed by a process of its own, into
 * one folder (layout: index.h).
 *
 *   open   reads traces and profiles: bytes and minutes of every point
 *   run    makes the folder and the replays
 *   close
 *
 * Replays of the virtual world run two at a time where there are two cores;
 * those that use the drive run alone, for they would disturb each other.
 */
#ifndef WP_SWEEP_H
#define WP_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "harness/experiments/experiment.h"

struct wp_sweep_trace {
	char name[64]; /* in the trace's header */
	bool shipped;  /* given by name: a trajectory of that name makes it for another k */
	uint32_t k;
	uint32_t frames; /* that will be played */
};

struct wp_sweep {
	const struct wp_experiment *experiment; /* the caller's */
	const char *folder;
	const char *store; /* NULL: FOLDER/store, outside the virtual world */
	bool resume;	   /* keep documents that the same command line left */
	bool begun;	   /* the folder is there, with an index */
	struct wp_sweep_trace traces[WP_EXPERIMENT_ITEMS_MAX];
	struct wp_point *points; /* in order */
	uint32_t count;
	uint64_t estimate_ns; /* of the whole, wall-clock; without preparing a store */
	uint64_t read_bytes;  /* from the store */
	uint64_t store_bytes; /* of prepared stores, should none be there */
};

/* 0, or -1 (exit 2 or 4), also for what a replay would refuse. Touches nothing. Close after 0
 * only. */
int wp_sweep_open(struct wp_sweep *sweep, const struct wp_experiment *experiment,
		  const char *folder, const char *store, struct wp_error *error) WP_MUST_USE;

/*
 * Makes what is missing. Refuses a folder with anything in it but results, and
 * one with replays of another experiment: of another name or world, or of points
 * that this one does not have (exit 2). A point that fails is recorded in the
 * index and the next one made; options that the replay refuses (exit 2) end the
 * sweep. After a signal the folder is complete as far as it goes. 0 when every
 * point has its document; -1 with the first failure, WP_EXIT_INTERRUPTED after a
 * signal.
 */
int wp_sweep_run(struct wp_sweep *sweep, struct wp_error *error) WP_MUST_USE;

void wp_sweep_close(struct wp_sweep *sweep);

/* sweep_check.c: what a replay would refuse (exit 2), naming the experiment's file and key, or
 * the option that stands in for it. */
int wp_sweep_check(const struct wp_sweep *sweep, struct wp_error *error) WP_MUST_USE;

/*
 * The command line of one point's replay. `words` get their own copies in `room`.
 */
#define WP_SWEEP_WORDS_MAX 56
struct wp_sweep_command {
	char *words[WP_SWEEP_WORDS_MAX]; /* NULL-terminated */
	char room[24576];
	size_t used;
	int count;
};
void wp_sweep_command(const struct wp_sweep *sweep, const struct wp_point *point,
		      struct wp_sweep_command *command);

/* The trace file that the point replays: the experiment's word, or one in FOLDER/traces. */
void wp_sweep_trace_path(const struct wp_sweep *sweep, const struct wp_point *point, char *path,
			 size_t size);
/* Whether that trace has to be made for a k of its own. */
bool wp_sweep_trace_is_made(const struct wp_sweep *sweep, const struct wp_point *point);

#endif
