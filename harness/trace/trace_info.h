/*
 * What a trace asks of a pager, in figures: for `trace info` and for tests.
 */
#ifndef WP_TRACE_INFO_H
#define WP_TRACE_INFO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/trace/trace.h"

/* Hints and rule are tried up to this many frames: the work grows with their square. */
#define WP_TRACE_INFO_FRAMES_MAX 10000u

/* Frames that replays leave out of their summaries unless told otherwise. */
#define WP_TRACE_INFO_WARMUP	 20u

struct wp_hint_quality {
	bool known;
	uint32_t frames;	/* counted: after warm-up, with a set */
	uint32_t frames_missed; /* of these, with a block that no hint named */
	uint32_t blocks_missed;
	uint32_t list_blocks_max; /* longest list of any frame */
};

struct wp_trace_info {
	uint32_t frames_with_set;
	uint64_t blocks_retrieved;
	uint32_t blocks_distinct;
	uint32_t gap_frames_max; /* between a block and the frame that retrieves it */
	uint64_t blocks_new;	 /* not in the set of the frame before */
	uint64_t video_frames;
	bool rule_known;
	uint32_t rule_frames_equal; /* whose set is the one that the rule chooses */
	struct wp_hint_quality hold_last;
	struct wp_hint_quality alternatives;
};

/* -ENOMEM. */
int wp_trace_info_make(const struct wp_trace *trace, struct wp_trace_info *info) WP_MUST_USE;

void wp_trace_info_print(FILE *stream, const struct wp_trace *trace,
			 const struct wp_trace_info *info);

/* One JSON document; errors are those of the stream. */
void wp_trace_info_write(FILE *stream, const struct wp_trace *trace,
			 const struct wp_trace_info *info);

#endif
