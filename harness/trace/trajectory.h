/*
 * A trajectory: an action script that is walked, frame by frame, into a trace.
 * Config format: configs/trajectories, described in traces/README.md.
 */
#ifndef WP_TRAJECTORY_H
#define WP_TRAJECTORY_H

#include <stdint.h>

#include "harness/trace/trace.h"

#define WP_TRAJECTORY_STEPS_MAX 4096

struct wp_progress;

struct wp_trajectory_step {
	unsigned actions; /* WP_ACTION_* or-ed; 0: hold */
	uint32_t video_frames;
};

struct wp_trajectory {
	char name[64];
	char model[64];
	char origin[32];
	uint32_t frames;
	struct wp_motion motion;
	struct wp_rule rule;
	struct wp_trajectory_step *steps; /* repeated until the frames are filled */
	uint32_t step_count;
};

/* Name or path; faults of the file are exit 2. */
int wp_trajectory_load(struct wp_trajectory *trajectory, const char *name_or_path,
		       struct wp_error *error) WP_MUST_USE;
void wp_trajectory_done(struct wp_trajectory *trajectory);

/* Walks it. -ENOMEM; -EINTR once a signal has set the flag of interrupt.h. */
int wp_trajectory_walk(const struct wp_trajectory *trajectory, struct wp_trace *trace) WP_MUST_USE;

/* The same; `progress` has begun and is told how much of the work, not of the frames, is done. */
int wp_trajectory_walk_shown(const struct wp_trajectory *trajectory, struct wp_trace *trace,
			     struct wp_progress *progress) WP_MUST_USE;

#endif
