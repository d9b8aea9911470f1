/*
 * A trace in memory: flat arrays, one growth step for all of them, so that
 * 100,000 frames cost a handful of allocations. Reading and writing files is
 * trace_read.c and trace_write.c.
 */
#include "harness/trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 256u

static int grow(void **array, size_t count, size_t size)
{
	void *larger = reallocarray(*array, count, size);

	if (!larger)
		return -ENOMEM;
	*array = larger;
	return 0;
}

static int append_list(struct wp_block_lists *lists, uint32_t frame, const uint32_t *blocks,
		       uint32_t count)
{
	uint32_t begin = frame ? lists->first[frame] : 0;

	if (count > UINT32_MAX / 2 - begin)
		return -ENOMEM;
	if (frame + 2 > lists->first_room) {
		uint32_t room = lists->first_room ? 2 * lists->first_room : ROOM_FIRST;

		if (grow((void **)&lists->first, room, sizeof(*lists->first)) < 0)
			return -ENOMEM;
		lists->first_room = room;
	}
	/* Room even where every list is empty: no arithmetic on a null pointer. */
	if (!lists->blocks || begin + count > lists->blocks_room) {
		uint32_t room = 2 * (begin + count) + ROOM_FIRST;

		if (grow((void **)&lists->blocks, room, sizeof(*lists->blocks)) < 0)
			return -ENOMEM;
		lists->blocks_room = room;
	}
	if (count)
		memcpy(lists->blocks + begin, blocks, count * sizeof(*blocks));
	lists->first[frame] = begin;
	lists->first[frame + 1] = begin + count;
	return 0;
}

static void free_list(struct wp_block_lists *lists)
{
	free(lists->first);
	free(lists->blocks);
}

static int grow_frames(struct wp_trace *trace)
{
	uint32_t room = trace->room ? 2 * trace->room : ROOM_FIRST;

	if (grow((void **)&trace->poses, room, sizeof(*trace->poses)) < 0 ||
	    grow((void **)&trace->ends, room, sizeof(*trace->ends)) < 0 ||
	    grow((void **)&trace->compute_ns, room, sizeof(*trace->compute_ns)) < 0)
		return -ENOMEM;
	trace->room = room;
	return 0;
}

int wp_trace_append(struct wp_trace *trace, const struct wp_trace_frame *frame)
{
	uint32_t at = trace->frames;

	WP_CHECK(!frame->pose == !frame->end);
	WP_CHECK(at == 0 || trace->has_poses == (frame->pose != NULL));
	WP_CHECK(at < WP_BLOCKS_MAX);
	if (at == trace->room && grow_frames(trace) < 0)
		return -ENOMEM;
	if (append_list(&trace->retrieved, at, frame->retrieved, frame->retrieved_count) < 0 ||
	    append_list(&trace->hints, at, frame->hints, frame->hints_count) < 0)
		return -ENOMEM;
	trace->has_poses = frame->pose != NULL;
	trace->poses[at] = frame->pose ? *frame->pose : (struct wp_pose){0};
	trace->ends[at] = frame->end ? *frame->end : (struct wp_pose){0};
	trace->compute_ns[at] = frame->compute_ns;
	trace->has_hints = trace->has_hints || frame->has_hints;
	trace->frames++;
	return 0;
}

int wp_trace_set_k(struct wp_trace *trace, uint32_t k, struct wp_error *error)
{
	struct wp_block_lists sets = {0};
	struct wp_rule rule = trace->rule;
	struct wp_retrieval *retrieval;
	uint32_t blocks[WP_SET_BLOCKS_MAX];
	int result = 0;

	WP_CHECK(k >= 1 && k <= WP_SET_BLOCKS_MAX);
	if (k == trace->rule.k)
		return 0;
	if (!trace->has_poses)
		return wp_error_set(
		    error, WP_EXIT_USAGE,
		    "trace \"%s\" has no poses to choose sets of %u from (its own k "
		    "is %u)",
		    trace->name, k, trace->rule.k);
	rule.k = k;
	if (wp_retrieval_open(&retrieval, &rule, trace->frames) < 0)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "out of memory");
	for (uint32_t i = 0; i < trace->frames && result == 0; i++) {
		uint32_t count = wp_retrieval_choose(retrieval, i, &trace->poses[i], blocks);

		wp_retrieval_append(retrieval, &trace->poses[i]);
		result = append_list(&sets, i, blocks, count);
	}
	wp_retrieval_close(retrieval);
	if (result < 0) {
		free_list(&sets);
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "out of memory");
	}
	free_list(&trace->retrieved);
	trace->retrieved = sets;
	trace->rule = rule;
	return 0;
}

int wp_trace_check_rule(const struct wp_trace *trace, uint32_t *frames_equal)
{
	struct wp_retrieval *retrieval;
	uint32_t blocks[WP_SET_BLOCKS_MAX];
	const uint32_t *recorded;

	WP_CHECK(trace->has_poses);
	if (wp_retrieval_open(&retrieval, &trace->rule, trace->frames) < 0)
		return -ENOMEM;
	*frames_equal = 0;
	for (uint32_t i = 0; i < trace->frames; i++) {
		uint32_t chosen = wp_retrieval_choose(retrieval, i, &trace->poses[i], blocks);
		uint32_t count = wp_trace_retrieved(trace, i, &recorded);

		wp_retrieval_append(retrieval, &trace->poses[i]);
		if (count == chosen && !memcmp(blocks, recorded, count * sizeof(*blocks)))
			++*frames_equal;
	}
	wp_retrieval_close(retrieval);
	return 0;
}

void wp_trace_done(struct wp_trace *trace)
{
	free(trace->poses);
	free(trace->ends);
	free(trace->compute_ns);
	free_list(&trace->retrieved);
	free_list(&trace->hints);
	memset(trace, 0, sizeof(*trace));
}
