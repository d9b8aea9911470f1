/*
 * A plan: what a model on a machine can hold, what it needs of a drive and what
 * it does to one, computed from profiles without running anything.
 *
 *   blocks of a tier    floor(budget / stored bytes of a block); payload, no padding
 *   seconds of video    blocks x video frames a frame / playback fps
 *   read rate           k x block bytes / compute time: a set is read while the
 *                       frame before it computes
 *   write rate          block bytes / compute time: every frame leaves a block
 *   bytes an hour       of generation without stalls: frames an hour x block bytes
 */
#ifndef WP_PLAN_H
#define WP_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/error.h"
#include "harness/profile/profile.h"
#include "harness/trace/trace.h"

#define WP_PLAN_CODECS_MAX 8
#define WP_PLAN_WALLS_MAX  (WP_PLAN_CODECS_MAX + 2)

/* One stored form of the blocks. */
struct wp_plan_codec {
	const char *name;
	double bits_per_element;
	uint64_t block_bytes;
	uint64_t gpu_blocks, host_blocks;
	double gpu_video_s, host_video_s;
	bool fits; /* both budgets hold the set in use and the one on its way */
	uint64_t read_bytes_per_s;
	uint64_t write_bytes_per_s;
	uint64_t written_bytes_per_hour;
	uint64_t session_bytes; /* written by `frames` frames */
};

/* Something that ends a session unless the full system gets past it. */
struct wp_plan_wall {
	char what[64];
	uint64_t blocks;
	double video_s;
};

/* Rates at which an arm's stalls on a trace are zero, on a drive without latency. */
struct wp_plan_arm {
	const char *arm;
	const char *hints;
	uint32_t frames;	     /* after warm-up, with a set */
	uint32_t frames_missed;	     /* with a block that no hint names: these stall at any rate */
	uint64_t median_bytes_per_s; /* 0: at no rate */
	uint64_t max_bytes_per_s;    /* 0: at no rate */
};

struct wp_plan {
	const struct wp_model *model;
	const struct wp_machine *machine;
	uint32_t k;
	uint32_t frames;
	uint64_t elements; /* of a block */
	double generated_fps;
	double frame_video_s;	 /* playing time of one frame */
	uint32_t set_blocks_max; /* k that managed positions have room for */
	uint32_t codec_count;
	struct wp_plan_codec codecs[WP_PLAN_CODECS_MAX];
	const struct wp_plan_codec *codec; /* the chosen one */
	uint32_t wall_count;
	struct wp_plan_wall walls[WP_PLAN_WALLS_MAX]; /* the first comes first */
	const char *trace_name;			      /* NULL: without a trace */
	struct wp_plan_arm arms[2];
	uint32_t arm_count;
	uint64_t rated_bytes_written; /* 0: not known */
};

/* Error (exit 2): no such codec, or budgets that hold less than two sets of it,
 * with the least that works. */
int wp_plan_make(struct wp_plan *plan, const struct wp_model *model,
		 const struct wp_machine *machine, const char *codec, uint32_t k, uint32_t frames,
		 struct wp_error *error) WP_MUST_USE;

/* Adds what the arms need on a trace. */
int wp_plan_add_trace(struct wp_plan *plan, const struct wp_trace *trace,
		      struct wp_error *error) WP_MUST_USE;

void wp_plan_print(FILE *stream, const struct wp_plan *plan);

/* plan_json.c: one JSON document; errors are those of the stream. */
void wp_plan_write(FILE *stream, const struct wp_plan *plan);

#endif
