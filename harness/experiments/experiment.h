/*
 * An experiment: which replays to make, as configs/experiments describes them,
 * and the points it consists of.
 *
 *   {"name": "smoke", "world": "virtual", "traces": ["a_yaw"], "arms": ["on_demand", "prefetch"],
 *    "bandwidths": ["0.2GB/s", "0.25GB/s"]}
 *
 * Optional: what (one sentence), codecs ["int4"], k [of the trace], repeats 1, shuffle_seed 1,
 * scale, frames, warmup, seed, staging_blocks, residency, positions, hints, copy_rate, throttle,
 * throttle_device, model, machine, drive: as the options of `replay`, which sees them only when
 * given.
 *
 * A point is one replay. Points that differ only in their arm are neighbours,
 * so that a machine's drift meets all arms alike; which arm goes first rotates,
 * and groups are shuffled anew for every repeat.
 */
#ifndef WP_EXPERIMENT_H
#define WP_EXPERIMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"

#define WP_EXPERIMENT_ITEMS_MAX	 32   /* traces, arms, bandwidths, codecs, k: of each */
#define WP_EXPERIMENT_POINTS_MAX 4096 /* repeats included */

/* Options handed on to every replay. */
enum wp_passed {
	WP_PASSED_SCALE,
	WP_PASSED_FRAMES,
	WP_PASSED_WARMUP,
	WP_PASSED_SEED,
	WP_PASSED_STAGING_BLOCKS,
	WP_PASSED_RESIDENCY,
	WP_PASSED_POSITIONS,
	WP_PASSED_HINTS,
	WP_PASSED_COPY_RATE,
	WP_PASSED_THROTTLE,
	WP_PASSED_THROTTLE_DEVICE,
	WP_PASSED_MODEL,
	WP_PASSED_MACHINE,
	WP_PASSED_DRIVE,
	WP_PASSED_COUNT
};

#define WP_EXPERIMENT_TEXT 256

struct wp_experiment {
	char file[256]; /* it was read from, for messages */
	char name[64];
	char what[WP_EXPERIMENT_TEXT];
	char world[16];
	uint32_t trace_count, arm_count, bandwidth_count, codec_count, k_count;
	char traces[WP_EXPERIMENT_ITEMS_MAX][WP_EXPERIMENT_TEXT];
	char arms[WP_EXPERIMENT_ITEMS_MAX][32];
	char bandwidths[WP_EXPERIMENT_ITEMS_MAX][32]; /* as written */
	uint64_t bandwidth_bytes_per_s[WP_EXPERIMENT_ITEMS_MAX];
	char codecs[WP_EXPERIMENT_ITEMS_MAX][32];
	uint32_t k[WP_EXPERIMENT_ITEMS_MAX]; /* 0: the trace's */
	uint32_t repeats;
	uint64_t shuffle_seed;
	char passed[WP_PASSED_COUNT][WP_EXPERIMENT_TEXT]; /* empty: not given */
	bool overridden[WP_PASSED_COUNT]; /* by an option of `sweep`, which is then at fault */
};

/* Name or path; all faults are exit 2 with file, line and key. */
int wp_experiment_load(struct wp_experiment *experiment, const char *name_or_path,
		       struct wp_error *error) WP_MUST_USE;

/* The option of `replay` that takes passed[which]: "--scale"; and its key in the file. */
const char *wp_experiment_option(enum wp_passed which);
const char *wp_experiment_key(enum wp_passed which);

enum wp_point_state {
	WP_POINT_WAITING,
	WP_POINT_RUNNING,
	WP_POINT_DONE,	 /* the replay ended with 0 */
	WP_POINT_FAILED, /* it did not; `document` tells whether it left a document */
};

struct wp_point {
	char name[160]; /* unique, safe as a file name; document: replays/NAME.json */
	uint32_t trace, arm, bandwidth, codec, k, repeat; /* indices; repeat from 0 */
	enum wp_point_state state;
	bool document; /* replays/NAME.json exists */
	int exit_code;
	char error[512];
	uint64_t estimate_ns; /* of its wall-clock time */
	uint64_t read_bytes;  /* from the store, planned */
};

/* All points in the order they are to be made; free(). `*count` > 0. */
struct wp_point *wp_experiment_points(const struct wp_experiment *experiment, uint32_t *count);

#endif
