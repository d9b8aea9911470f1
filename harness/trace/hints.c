/*
 * Hints: the rule run from guessed poses. Knows nothing of staging or of
 * whether a guess came true. The one idea: a kind is a row of guesses, so
 * `alternatives` is a row of seven and a new kind is a new row.
 */
#include "harness/trace/hints.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Where frame c-1 began and ended, and its pose: all that a guess may use. */
struct seen {
	struct wp_pose begin, pose, end;
	const struct wp_motion *motion;
};

/* The motion once more: seen from where frame c-1 began, applied where it ended. */
static struct wp_pose guess_hold_last(const struct seen *seen, unsigned actions)
{
	double turn = (seen->end.yaw - seen->begin.yaw) * M_PI / 180;
	double x = seen->pose.x - seen->begin.x, z = seen->pose.z - seen->begin.z;

	(void)actions;
	return (struct wp_pose){
	    .x = seen->end.x + x * cos(turn) + z * sin(turn),
	    .y = seen->end.y + seen->pose.y - seen->begin.y,
	    .z = seen->end.z - x * sin(turn) + z * cos(turn),
	    .yaw = seen->end.yaw + seen->pose.yaw - seen->begin.yaw,
	    .pitch = seen->end.pitch + seen->pose.pitch - seen->begin.pitch,
	};
}

/* Poses are taken after each step, so the way back is shifted by one of them. */
static struct wp_pose guess_reverse(const struct seen *seen, unsigned actions)
{
	double steps = seen->motion->video_frames_per_frame;

	(void)actions;
	return (struct wp_pose){
	    .x = seen->pose.x + (seen->begin.x - seen->end.x) / steps,
	    .y = seen->pose.y + (seen->begin.y - seen->end.y) / steps,
	    .z = seen->pose.z + (seen->begin.z - seen->end.z) / steps,
	    .yaw = seen->pose.yaw + (seen->begin.yaw - seen->end.yaw) / steps,
	    .pitch = seen->pose.pitch + (seen->begin.pitch - seen->end.pitch) / steps,
	};
}

static struct wp_pose guess_action(const struct seen *seen, unsigned actions)
{
	return wp_motion_frame(seen->motion, actions, &seen->end);
}

static struct wp_pose guess_still(const struct seen *seen, unsigned actions)
{
	(void)actions;
	return seen->end;
}

struct guess {
	struct wp_pose (*pose)(const struct seen *seen, unsigned actions);
	unsigned actions;
};

#define HOLD_LAST                                                                                  \
	{                                                                                          \
		guess_hold_last, 0                                                                 \
	}
#define REVERSE                                                                                    \
	{                                                                                          \
		guess_reverse, 0                                                                   \
	}
#define STILL                                                                                      \
	{                                                                                          \
		guess_still, 0                                                                     \
	}
#define W                                                                                          \
	{                                                                                          \
		guess_action, WP_ACTION_W                                                          \
	}
#define S                                                                                          \
	{                                                                                          \
		guess_action, WP_ACTION_S                                                          \
	}
#define LEFT                                                                                       \
	{                                                                                          \
		guess_action, WP_ACTION_LEFT                                                       \
	}
#define RIGHT                                                                                      \
	{                                                                                          \
		guess_action, WP_ACTION_RIGHT                                                      \
	}

enum source { SOURCE_NONE, SOURCE_GUESSES, SOURCE_NEXT_SET, SOURCE_TRACE };

struct kind {
	const char *name;
	enum source source;
	uint32_t guess_count;
	struct guess guesses[7];
};

static const struct kind kinds[] = {
    {"none", SOURCE_NONE, 0, {{0}}},
    {"hold_last", SOURCE_GUESSES, 1, {HOLD_LAST}},
    {"reverse", SOURCE_GUESSES, 1, {REVERSE}},
    {"still", SOURCE_GUESSES, 1, {STILL}},
    {"w", SOURCE_GUESSES, 1, {W}},
    {"s", SOURCE_GUESSES, 1, {S}},
    {"left", SOURCE_GUESSES, 1, {LEFT}},
    {"right", SOURCE_GUESSES, 1, {RIGHT}},
    {"alternatives", SOURCE_GUESSES, 7, {HOLD_LAST, REVERSE, STILL, W, S, LEFT, RIGHT}},
    {"known", SOURCE_NEXT_SET, 0, {{0}}},
    {"trace", SOURCE_TRACE, 0, {{0}}},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

struct wp_hints {
	const struct wp_trace *trace;
	const struct kind *kind;
	struct wp_retrieval *retrieval; /* SOURCE_GUESSES; holds all poses of the trace */
	uint32_t *listed;		/* by block: the last list that names it */
	uint32_t lists;			/* made so far */
};

const char *wp_hints_names(void)
{
	return "none hold_last reverse still w s left right alternatives known trace";
}

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	}
	return NULL;
}

static bool needs_motion(const struct kind *kind)
{
	for (uint32_t i = 0; i < kind->guess_count; i++) {
		if (kind->guesses[i].pose == guess_action)
			return true;
	}
	return false;
}

/* What the trace lacks for this kind, or NULL. */
static const char *find_lack(const struct wp_trace *trace, const struct kind *kind)
{
	if (kind->source == SOURCE_GUESSES && !trace->has_poses)
		return "poses";
	if (needs_motion(kind) && !trace->has_motion)
		return "motion constants";
	if (kind->source == SOURCE_TRACE && !trace->has_hints)
		return "hints of its own";
	return NULL;
}

static int open_retrieval(struct wp_hints *hints)
{
	const struct wp_trace *trace = hints->trace;

	if (wp_retrieval_open(&hints->retrieval, &trace->rule, trace->frames) < 0)
		return -1;
	for (uint32_t i = 0; i < trace->frames; i++)
		wp_retrieval_append(hints->retrieval, &trace->poses[i]);
	return 0;
}

int wp_hints_open(struct wp_hints **hints, const struct wp_trace *trace, const char *kind,
		  struct wp_error *error)
{
	const struct kind *found = find_kind(kind);
	const char *lack = found ? find_lack(trace, found) : NULL;
	struct wp_hints *made;

	if (!found)
		return wp_error_set(error, WP_EXIT_USAGE, "no hints \"%.60s\" (there are: %s)",
				    kind, wp_hints_names());
	if (lack)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "hints \"%s\" need %s, which trace \"%s\" does not have", kind,
				    lack, trace->name);
	made = calloc(1, sizeof(*made));
	if (made) {
		made->trace = trace;
		made->kind = found;
		made->listed = calloc(trace->frames + 1, sizeof(*made->listed));
	}
	if (!made || !made->listed ||
	    (found->source == SOURCE_GUESSES && open_retrieval(made) < 0)) {
		wp_hints_close(made);
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "out of memory");
	}
	*hints = made;
	return 0;
}

void wp_hints_close(struct wp_hints *hints)
{
	if (!hints)
		return;
	wp_retrieval_close(hints->retrieval);
	free(hints->listed);
	free(hints);
}

/* Adds what is not listed yet. */
static uint32_t add(struct wp_hints *hints, const uint32_t *more, uint32_t more_count,
		    uint32_t *blocks, uint32_t count, uint32_t max)
{
	for (uint32_t i = 0; i < more_count && count < max; i++) {
		if (hints->listed[more[i]] == hints->lists)
			continue;
		hints->listed[more[i]] = hints->lists;
		blocks[count++] = more[i];
	}
	return count;
}

static uint32_t make_guesses(struct wp_hints *hints, uint32_t frame, uint32_t *blocks, uint32_t max)
{
	const struct wp_trace *trace = hints->trace;
	struct seen seen = {.pose = trace->poses[frame - 1],
			    .end = trace->ends[frame - 1],
			    .motion = &trace->motion};
	uint32_t chosen[WP_SET_BLOCKS_MAX], count = 0;

	if (frame > 1)
		seen.begin = trace->ends[frame - 2];
	for (uint32_t i = 0; i < hints->kind->guess_count; i++) {
		const struct guess *guess = &hints->kind->guesses[i];
		struct wp_pose pose = guess->pose(&seen, guess->actions);
		uint32_t chosen_count;

		/* Rounded like every pose, so that mirror images stay ties on any machine. */
		pose = wp_pose_rounded(&pose);
		chosen_count = wp_retrieval_choose(hints->retrieval, frame, &pose, chosen);

		count = add(hints, chosen, chosen_count, blocks, count, max);
	}
	return count;
}

uint32_t wp_hints_make(struct wp_hints *hints, uint32_t frame, uint32_t *blocks, uint32_t max)
{
	const uint32_t *given;
	uint32_t count;

	WP_CHECK(frame < hints->trace->frames);
	if (frame == 0)
		return 0;
	hints->lists++;
	switch (hints->kind->source) {
	case SOURCE_GUESSES:
		return make_guesses(hints, frame, blocks, max);
	case SOURCE_NEXT_SET:
		count = wp_trace_retrieved(hints->trace, frame, &given);
		return add(hints, given, count, blocks, 0, max);
	case SOURCE_TRACE:
		count = wp_trace_hints(hints->trace, frame, &given);
		return add(hints, given, count, blocks, 0, max);
	case SOURCE_NONE:
		break;
	}
	return 0;
}
