/*
 * One replay as figures: what was asked, what the machine was, and what every
 * frame took. replay fills it, result writes it; `frames` and `tier_frames`
 * are the run's own. Words are those of the README; units end the names.
 *
 * Strings are owned by whoever opened the run and outlive it.
 */
#ifndef WP_RUN_H
#define WP_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "harness/machine/machine.h"
#include "harness/replay/lower_bound.h"
#include "harness/throttle/throttle_figures.h"

/* One frame. Times are on the world's clock, whose zero is the session's start. */
struct wp_frame_figures {
	uint32_t frame;
	uint64_t needed_ns;  /* the previous frame's compute ended; its set is known */
	uint64_t ready_ns;   /* the last retrieved block has arrived and is verified */
	uint64_t stall_ns;   /* max(0, ready - needed) */
	uint64_t compute_ns; /* from the set being ready to the end of compute, decode included */
	uint64_t decode_ns;  /* first part of compute */
	uint64_t read_ns;    /* time with a read outstanding since the previous frame was ready */
	uint64_t verify_ns;  /* the same for verifications */
	uint64_t copy_ns;    /* the same for copies to the device */
	uint64_t write_stall_ns; /* back-pressure of write-through; not part of stall_ns */
	uint32_t blocks_gpu;	 /* of the retrieved set, by the tier each was found in */
	uint32_t blocks_dram;
	uint32_t blocks_nvme;
	uint64_t bytes_nvme; /* read from the store since the previous frame was ready */
	uint32_t hinted;     /* blocks staged on hints for this frame */
	uint32_t hit;	     /* retrieved blocks that a hint had named */
	uint32_t missed;     /* retrieved blocks that none had, and that were not resident */
	uint32_t wasted;     /* staged guesses dropped unused */
	uint32_t retries;    /* re-reads, short transfers, -EAGAIN */
};

struct wp_store_figures {
	const char *backend; /* "io_uring" "pread" "virtual" */
	char filesystem[24]; /* of the open file: "ext4", ...; "virtual" */
	bool direct_io;
	bool registered_buffers;
	bool registered_file;
	uint32_t alignment_bytes; /* of direct I/O, as statx reports it; 0: none */
	uint64_t record_bytes;	  /* block plus padding */
	char fallback[256];	  /* why anything less than asked is in use; empty otherwise */
};

struct wp_scale_figures {
	double asked;
	double effective;
	char text[32]; /* "1/16" as given */
};

/* A tiered session. Budgets and bytes are scaled, as everything else in a run. */
struct wp_session_figures {
	const char *tiers; /* "gpu+dram+nvme" "gpu+dram" */
	const char *eviction;
	uint64_t gpu_budget_bytes, host_budget_bytes; /* for blocks */
	uint64_t nvme_budget_bytes;		      /* the same; 0: none was asked for */
	uint64_t host_bytes;			      /* of which the process may take all */
	uint32_t gpu_slots, host_slots, nvme_slots;   /* nvme: 0 without a store */
	uint32_t first_frame;			      /* above 0: resumed there */
	double playback_fps, generated_fps;	      /* generated: without stalls */
	double frame_video_s;
	const char *wall;	   /* "host budget" "positions"; NULL: none was met */
	uint32_t blocks_stored;	   /* durable at the end, those of before a restart included */
	uint32_t blocks_forgotten; /* by a full store that may forget */
	uint32_t blocks_missing;   /* retrieved, and forgotten before: not among a frame's blocks */
	uint64_t bytes_written;
	uint64_t resident_bytes_max;	 /* of the process, slots standing in for a GPU included */
	uint64_t resident_allowed_bytes; /* host and GPU budgets and a little for the program */
};

/* Copies in each tier when a frame's block had been put. */
struct wp_tier_frame {
	uint64_t bytes_gpu, bytes_dram, bytes_nvme;
	uint64_t bytes_written; /* since the session's start */
	uint32_t unacknowledged;
};

#define WP_NOTES_MAX 16

struct wp_run {
	/* asked */
	int argc;
	char **argv;
	const char *world; /* "virtual" "model" "real" */
	const char *trace_name;
	const char *trace_origin; /* "reconstructed" "recorded" */
	char trace_digest[17];	  /* XXH3-64 of the trace file's bytes, hex */
	const char *trace_model;  /* the model the trace was made for */
	const char *model_name;
	const char *machine_name; /* profile, not host name */
	const char *drive_name;	  /* profile in virtual; "this machine" elsewhere */
	const char *arm;
	const char *hints;
	const char *residency;
	const char *codec;
	const char *positions;
	uint32_t k;
	uint32_t exclude_recent;
	uint32_t video_frames_per_frame;
	uint32_t staging_blocks;
	uint32_t warmup_frames;
	uint32_t read_bytes; /* one small read */
	uint32_t read_depth; /* small reads in flight at most */
	uint64_t seed;
	struct wp_scale_figures scale;
	uint64_t block_bytes;	     /* effective: after scaling */
	uint64_t block_full_bytes;   /* at scale 1 */
	uint64_t compute_target_ns;  /* profile compute after scaling */
	uint64_t copy_bytes_per_s;   /* 0: unlimited */
	uint64_t decode_bytes_per_s; /* 0: unlimited */
	/* measured */
	bool has_machine_facts; /* a drive of this machine was used */
	struct wp_machine_facts machine_facts;
	struct wp_throttle_figures throttle;
	struct wp_store_figures store;
	struct wp_frame_figures *frames;
	uint32_t frame_count;  /* frames finished */
	uint32_t frame_target; /* frames asked for */
	bool has_session;      /* tiered residency */
	struct wp_session_figures session;
	struct wp_tier_frame *tier_frames; /* as many as frames */
	bool out_of_space;		   /* `error` is a full store */
	bool has_lower_bound; /* forced-nvme at a known rate, the frames of the summary */
	struct wp_lower_bound lower_bound;
	uint64_t wall_ns;	      /* start of frame 0 to end of the last compute */
	bool copy_governed_by_memcpy; /* model world: the real copy was slower than the modelled */
	bool interrupted;
	bool valid;	 /* every proof held and no error */
	char error[768]; /* empty: none */
	uint32_t note_count;
	char notes[WP_NOTES_MAX][256];
};

/* A line for the reader of the result; those beyond the last place are dropped. */
void wp_run_note(struct wp_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What ended the run; the first one stays. */
void wp_run_fail(struct wp_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The exit code that a finished run asks for. */
enum wp_exit wp_run_exit(const struct wp_run *run);

void wp_run_done(struct wp_run *run);

#endif
