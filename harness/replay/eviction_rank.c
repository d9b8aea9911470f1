/* Ranks of blocks; see eviction_rank.h. */
#include "harness/replay/eviction_rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/trace/retrieval.h"

#define RANK_UNIT 1e9 /* of a distance of 1 */

struct wp_eviction_rank {
	const struct wp_trace *trace;
	bool by_use;
	uint32_t frame;
	double span; /* the largest squared translation between two poses of the trace, at most */
	/* frames that retrieve block b, ascending: uses[first[b] .. first[b + 1]) */
	uint32_t *first;
	uint32_t *uses;
	uint32_t *next; /* by block: the first of its uses that is not over */
};

static double square(double value)
{
	return value * value;
}

/* The squared diagonal of the box that holds all poses. */
static double trace_span(const struct wp_trace *trace)
{
	struct wp_pose low = trace->poses[0], high = trace->poses[0];

	for (uint32_t i = 1; i < trace->frames; i++) {
		const struct wp_pose *pose = &trace->poses[i];

		low.x = pose->x < low.x ? pose->x : low.x;
		low.y = pose->y < low.y ? pose->y : low.y;
		low.z = pose->z < low.z ? pose->z : low.z;
		high.x = pose->x > high.x ? pose->x : high.x;
		high.y = pose->y > high.y ? pose->y : high.y;
		high.z = pose->z > high.z ? pose->z : high.z;
	}
	return square(high.x - low.x) + square(high.y - low.y) + square(high.z - low.z);
}

/* Counting sort of (block, frame). -ENOMEM. */
static int list_uses(struct wp_eviction_rank *rank)
{
	const struct wp_trace *trace = rank->trace;
	uint32_t total = trace->retrieved.first[trace->frames];
	const uint32_t *set;

	rank->first = calloc(trace->frames + 2u, sizeof(*rank->first));
	rank->next = calloc(trace->frames + 1u, sizeof(*rank->next));
	rank->uses = calloc(total + 1u, sizeof(*rank->uses));
	if (!rank->first || !rank->next || !rank->uses)
		return -ENOMEM;
	for (uint32_t i = 0; i < total; i++)
		rank->first[trace->retrieved.blocks[i] + 1]++;
	for (uint32_t block = 0; block < trace->frames; block++) {
		rank->first[block + 1] += rank->first[block];
		rank->next[block] = rank->first[block];
	}
	for (uint32_t frame = 0; frame < trace->frames; frame++) {
		uint32_t count = wp_trace_retrieved(trace, frame, &set);

		for (uint32_t i = 0; i < count; i++)
			rank->uses[rank->next[set[i]]++] = frame;
	}
	memcpy(rank->next, rank->first, trace->frames * sizeof(*rank->next));
	return 0;
}

int wp_eviction_rank_open(struct wp_eviction_rank **opened, const char *policy,
			  const struct wp_trace *trace, struct wp_error *error)
{
	struct wp_eviction_rank *rank;
	int result = 0;

	if (strcmp(policy, "farthest") == 0 && !trace->has_poses)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--eviction farthest: the trace has no poses; take lru");
	rank = calloc(1, sizeof(*rank));
	if (!rank)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "eviction: %s", strerror(ENOMEM));
	rank->trace = trace;
	rank->by_use = strcmp(policy, "next_use") == 0;
	if (rank->by_use)
		result = list_uses(rank);
	else if (trace->has_poses && trace->frames)
		rank->span = trace_span(trace);
	if (result < 0) {
		wp_eviction_rank_close(rank);
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "eviction: %s", strerror(-result));
	}
	*opened = rank;
	return 0;
}

void wp_eviction_rank_close(struct wp_eviction_rank *rank)
{
	if (!rank)
		return;
	free(rank->uses);
	free(rank->next);
	free(rank->first);
	free(rank);
}

void wp_eviction_rank_advance(struct wp_eviction_rank *rank, uint32_t frame)
{
	rank->frame = frame;
}

/* Frames until the next use; never: the largest. */
static uint64_t next_use(struct wp_eviction_rank *rank, uint32_t block)
{
	uint32_t *next = &rank->next[block];

	while (*next < rank->first[block + 1] && rank->uses[*next] < rank->frame)
		(*next)++;
	return *next < rank->first[block + 1] ? rank->uses[*next] - rank->frame : UINT64_MAX;
}

/* Translation as a share of the trace's extent and rotation of half a turn, weighted as in
 * the trace's rule. */
static uint64_t distance(const struct wp_eviction_rank *rank, uint32_t block)
{
	const struct wp_pose *here = &rank->trace->poses[rank->frame];
	const struct wp_pose *there = &rank->trace->poses[block];
	double squared =
	    square(here->x - there->x) + square(here->y - there->y) + square(here->z - there->z);
	double translation = rank->span > 0 ? squared / rank->span : 0;
	double rotation = wp_pose_angle(here, there) / 180;

	return (uint64_t)((rank->trace->rule.translation_weight * translation +
			   rank->trace->rule.rotation_weight * rotation) *
			  RANK_UNIT);
}

uint64_t wp_eviction_rank_of(void *context, uint32_t block)
{
	struct wp_eviction_rank *rank = context;

	return rank->by_use ? next_use(rank, block) : distance(rank, block);
}
