/*
 * A trace: which past blocks every frame retrieves, and usually from where.
 * Format: traces/README.md. Everything of a loaded trace has been checked.
 */
#ifndef WP_TRACE_H
#define WP_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "harness/trace/motion.h"
#include "harness/trace/retrieval.h"

#define WP_TRACE_FORMAT	 "worldpager-trace"
#define WP_TRACE_VERSION 1

/* One list of blocks a frame, end to end: those of frame c are
 * blocks[first[c]] .. blocks[first[c + 1] - 1]. */
struct wp_block_lists {
	uint32_t *first; /* frames + 1 */
	uint32_t *blocks;
	uint32_t first_room, blocks_room;
};

struct wp_trace {
	char file[256]; /* what it was loaded from; empty: made in memory */
	char name[64];
	char model[64];
	char origin[32]; /* "reconstructed" "recorded" "synthetic" "imported" */
	char made_by[1024];
	struct wp_rule rule; /* k, exclude_recent, weights */
	bool has_rule;	     /* the header names the rule and its weights */
	bool has_motion;     /* the header gives the motion constants */
	struct wp_motion motion;
	uint32_t frames;
	bool has_poses;	       /* all frames or none */
	struct wp_pose *poses; /* frames, or NULL */
	struct wp_pose *ends;
	uint64_t *compute_ns;		 /* 0: the profile's; NULL: of all frames */
	struct wp_block_lists retrieved; /* nearest first, at most k a frame */
	bool has_hints;
	struct wp_block_lists hints; /* the trace's own, best first; empty unless has_hints */
	char digest[17];	     /* XXH3-64 of the file's bytes, hex; empty: made in memory */
	/* growth, for whoever appends */
	uint32_t room;
};

/*
 * Loads and checks the whole of a trace; then keeps its first `frames_max`
 * frames (0: all). Asking for more than there are is an error (exit 2); faults of
 * the file are exit 4, with line and, for syntax, column.
 */
int wp_trace_load(struct wp_trace *trace, const char *name_or_path, uint32_t frames_max,
		  struct wp_error *error) WP_MUST_USE;

/* Frees what a trace holds; an all-zero trace is allowed. */
void wp_trace_done(struct wp_trace *trace);

/*
 * Another k than the trace's: all sets anew, by the rule from the poses. Nothing
 * happens where k is the trace's own. Errors (exit 2): no poses to choose from.
 */
int wp_trace_set_k(struct wp_trace *trace, uint32_t k, struct wp_error *error) WP_MUST_USE;

/* Frames whose recorded set is the one that the rule chooses; poses are needed.
 * -ENOMEM. */
int wp_trace_check_rule(const struct wp_trace *trace, uint32_t *frames_equal) WP_MUST_USE;

/* The retrieved set of a frame; `*blocks` stays the trace's. */
static inline uint32_t wp_trace_retrieved(const struct wp_trace *trace, uint32_t frame,
					  const uint32_t **blocks)
{
	*blocks = trace->retrieved.blocks + trace->retrieved.first[frame];
	return trace->retrieved.first[frame + 1] - trace->retrieved.first[frame];
}

/* The trace's own hints for a frame; 0 if it has none. */
static inline uint32_t wp_trace_hints(const struct wp_trace *trace, uint32_t frame,
				      const uint32_t **blocks)
{
	if (!trace->has_hints) {
		*blocks = NULL;
		return 0;
	}
	*blocks = trace->hints.blocks + trace->hints.first[frame];
	return trace->hints.first[frame + 1] - trace->hints.first[frame];
}

/* What the trace says about a frame's compute; 0: nothing. */
static inline uint64_t wp_trace_compute_ns(const struct wp_trace *trace, uint32_t frame)
{
	return trace->compute_ns ? trace->compute_ns[frame] : 0;
}

/* One more frame of a trace in the making. */
struct wp_trace_frame {
	const struct wp_pose *pose, *end; /* both or neither */
	const uint32_t *retrieved, *hints;
	uint32_t retrieved_count, hints_count;
	bool has_hints;
	uint64_t compute_ns;
};

/* -ENOMEM. The caller has checked the contents. */
int wp_trace_append(struct wp_trace *trace, const struct wp_trace_frame *frame) WP_MUST_USE;

/* Writes the trace to `stream`; errors are those of the stream. Stops where a signal has set
 * the flag of interrupt.h: whoever has installed that looks at it before using the file. */
void wp_trace_write(FILE *stream, const struct wp_trace *trace);

#endif
