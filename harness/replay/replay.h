/*
 * One replay: a trace driven through the pager in one of the worlds.
 *
 *   settings  what was asked (cmd_replay reads them from the command line)
 *   plan      what that means: profiles, sizes, memory, bytes on disk
 *   run       what happened (run.h)
 *
 * Opening a plan reads files and allocates nothing large; running it takes
 * memory and store, plays the frames and gives everything back.
 */
#ifndef WP_REPLAY_H
#define WP_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "harness/profile/profile.h"
#include "harness/replay/arm.h"
#include "harness/replay/run.h"
#include "harness/replay/session.h"
#include "harness/throttle/throttle.h"
#include "harness/trace/hints.h"
#include "harness/trace/iolog.h"
#include "harness/trace/trace.h"
#include "pager/codec.h"
#include "pager/device.h"
#include "pager/fault_plan.h"
#include "pager/pager.h"

enum wp_world_kind {
	WP_WORLD_VIRTUAL,
	WP_WORLD_MODEL,
	WP_WORLD_REAL,
};

/* What was asked. Strings stay the caller's; NULL where a default is derived. */
struct wp_replay_settings {
	const char *trace;
	const char *arm;
	const char *hints; /* NULL: the arm's */
	const char *world;
	const char *scale; /* NULL: 1 in virtual, 1/16 elsewhere */
	const char *codec;
	const char *residency;
	const char *positions;
	const char *copy_rate; /* NULL: the machine profile's; "unlimited" */
	const char *store;     /* directory; needed outside virtual */
	const char *throttle;
	const char *throttle_device; /* NULL: detected */
	const char *model;
	const char *machine;
	const char *drive;
	uint64_t bandwidth_bytes_per_s; /* 0: no limit */
	uint64_t seed;
	uint32_t staging_blocks; /* if has_staging */
	bool has_staging;
	uint32_t frames; /* 0: all of the trace */
	uint32_t warmup_frames;
	uint64_t read_bytes; /* one small read; 0: derived from the block */
	uint32_t read_depth;
	uint32_t read_deadline_s;	    /* 0: derived */
	const char *faults;		    /* a plan as in pager/fault_plan.h; NULL: none */
	struct wp_session_settings session; /* residency tiered */
	bool allow_unproven; /* page cache, tmpfs, holes: runs, but the result is not valid */
};

/* What a replay does where nothing is asked; the trace is always asked for. */
void wp_replay_settings_init(struct wp_replay_settings *settings);

struct wp_replay_plan {
	const struct wp_replay_settings *settings;
	enum wp_world_kind world;
	const struct wp_arm *arm;
	const struct wp_order *order;
	const struct wp_codec *codec;
	enum wp_throttle_method throttle;
	struct wp_trace trace;
	struct wp_hints *hints;
	const char *hints_name;
	struct wp_model model;
	struct wp_machine machine;
	struct wp_drive_profile drive;
	struct wp_scale scale;
	struct wp_geometry geometry;
	struct wp_device_rates rates;
	uint64_t block_full_bytes; /* at scale 1 */
	uint64_t compute_ns;	   /* of a frame, scaled; a trace may say otherwise a frame */
	uint32_t set_blocks_max;
	uint32_t staging_blocks;
	uint32_t frames;
	bool tiered;
	struct wp_session_plan session;	     /* if tiered; `positions` also if real */
	struct wp_pager_config pager;	     /* without memory and callbacks */
	uint64_t read_deadline_ns;	     /* for the store to answer one read */
	struct wp_fault_plan faults;	     /* what the store is made to do wrong */
	uint32_t store_blocks;		     /* blocks that a prepared store must hold */
	char store_path[WP_KERNEL_PATH_MAX]; /* the folder within settings->store */
	uint64_t host_memory_bytes;	     /* slots on both sides; real: of the host */
	uint64_t gpu_memory_bytes;	     /* real: slots and a set decoded; 0 elsewhere */
	uint64_t read_total_bytes_max;	     /* the whole run, hints and misses all read */
	struct wp_iolog *iolog; /* notes what is read; the caller's; NULL: nothing does */
};

/* Resolves the settings. Errors 2 (options, configs) and 4 (trace). */
int wp_replay_plan_open(struct wp_replay_plan *plan, const struct wp_replay_settings *settings,
			struct wp_error *error) WP_MUST_USE;
void wp_replay_plan_close(struct wp_replay_plan *plan);

/* A block as the model reads it, and the bytes it takes then, up to a multiple of 4096. */
struct wp_block_shape wp_replay_shape(const struct wp_replay_plan *plan);
uint64_t wp_replay_elements_bytes(const struct wp_replay_plan *plan);

/* The part of the run that is known beforehand. Strings stay the plan's. */
void wp_replay_describe(const struct wp_replay_plan *plan, struct wp_run *run);

/*
 * Plays the plan. 0: `run` holds a result, valid or not (its `error`,
 * `interrupted` and `valid` say). -1: nothing worth a result, with `error`.
 * run->frames is allocated here; wp_run_done frees it.
 */
int wp_replay_run(struct wp_replay_plan *plan, struct wp_run *run,
		  struct wp_error *error) WP_MUST_USE;

/* replay_judge.c: notes and `valid`, from what the finished run came to: the last step of a run. */
void wp_replay_judge(const struct wp_replay_plan *plan, struct wp_run *run);

#endif
