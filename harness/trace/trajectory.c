/*
 * Trajectories: an action script becomes poses, ends and retrieved sets. Does
 * not write files (trace_write.c) and knows no names of trajectories: any script
 * in the schema works.
 */
#include "harness/trace/trajectory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/files/json_file.h"
#include "harness/progress.h"
#include "harness/system/interrupt.h"
#include "harness/tool.h"
#include "harness/trace/trace_keys.h"

#define CONFIG_BYTES_MAX (1024u * 1024u)
#define ACTIONS_AT_ONCE	 8

/* "w" or ["w", "right"]; hold stands alone. */
static unsigned read_actions(struct wp_json *step)
{
	struct wp_json array;
	char name[32];
	unsigned actions = 0;
	uint32_t count;
	int action;

	if (wp_json_is_string(step, "do")) {
		wp_json_string(step, "do", name, sizeof(name));
		action = wp_action_find(name);
		if (action < 0)
			wp_json_fail(step, "do", "no action \"%s\"", name);
		return action < 0 ? 0 : (unsigned)action;
	}
	count = wp_json_array(step, "do", 1, ACTIONS_AT_ONCE, &array);
	for (uint32_t i = 0; i < count; i++) {
		wp_json_at_string(&array, i, name, sizeof(name));
		action = wp_action_find(name);
		if (action < 0)
			wp_json_fail(&array, NULL, "no action \"%s\"", name);
		else if (action == 0 && count > 1)
			wp_json_fail(&array, NULL, "hold stands alone");
		else if (actions & (unsigned)action)
			wp_json_fail(&array, NULL, "has \"%s\" twice", name);
		else
			actions |= (unsigned)action;
	}
	return actions;
}

static void read_steps(struct wp_json *root, struct wp_trajectory *trajectory)
{
	struct wp_json array, step;
	uint32_t count = wp_json_array(root, "actions", 1, WP_TRAJECTORY_STEPS_MAX, &array);

	trajectory->steps = calloc(count ? count : 1, sizeof(*trajectory->steps));
	if (!trajectory->steps) {
		wp_json_fail(root, NULL, "out of memory");
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		wp_json_at_object(&array, i, &step);
		trajectory->steps[i].actions = read_actions(&step);
		trajectory->steps[i].video_frames = wp_json_u32(&step, "video_frames", 1, 1000000);
		wp_json_only(&step);
	}
	trajectory->step_count = count;
}

static void read_config(struct wp_json *root, struct wp_trajectory *trajectory)
{
	trajectory->rule = wp_rule_default();
	wp_json_name(root, "name", trajectory->name, sizeof(trajectory->name));
	wp_json_string_or(root, "model", trajectory->model, sizeof(trajectory->model), "mg2");
	wp_trace_keys_origin(root, trajectory->origin, sizeof(trajectory->origin));
	if (strcmp(trajectory->origin, "recorded") == 0 ||
	    strcmp(trajectory->origin, "imported") == 0)
		wp_json_fail(root, "origin", "a trace that is walked is not %s",
			     trajectory->origin);
	trajectory->frames = wp_json_u32(root, "frames", 1, WP_BLOCKS_MAX);
	wp_trace_keys_motion(root, true, &trajectory->motion);
	trajectory->rule.k = wp_json_u32_or(root, "k", 1, WP_SET_BLOCKS_MAX, trajectory->rule.k);
	trajectory->rule.exclude_recent = wp_json_u32_or(root, "exclude_recent", 0, WP_BLOCKS_MAX,
							 trajectory->rule.exclude_recent);
	wp_trace_keys_rule(root, &trajectory->rule);
	read_steps(root, trajectory);
	wp_json_only(root);
}

int wp_trajectory_load(struct wp_trajectory *trajectory, const char *name_or_path,
		       struct wp_error *error)
{
	char path[WP_PATH_MAX];
	struct wp_json_reader reader = {.file = path, .exit_code = WP_EXIT_USAGE, .error = error};
	struct json_t *document;
	struct wp_json root;

	memset(trajectory, 0, sizeof(*trajectory));
	if (wp_tool_resolve(path, WP_RESOURCE_TRAJECTORY, name_or_path, error) < 0)
		return -1;
	document = wp_json_load(&reader, "a trajectory config", CONFIG_BYTES_MAX);
	if (document) {
		wp_json_root(&root, &reader, document);
		read_config(&root, trajectory);
		wp_json_free(document);
	}
	if (!reader.failed)
		return 0;
	wp_trajectory_done(trajectory);
	return -1;
}

void wp_trajectory_done(struct wp_trajectory *trajectory)
{
	free(trajectory->steps);
	memset(trajectory, 0, sizeof(*trajectory));
}

/* Where the script stands. */
struct walk {
	const struct wp_trajectory *trajectory;
	struct wp_pose at;
	uint32_t step;
	uint32_t taken; /* video frames of this step */
};

/* One frame of the model: mean pose and end, both rounded; the walk itself is not. */
static void walk_frame(struct walk *walk, struct wp_pose *pose, struct wp_pose *end)
{
	const struct wp_trajectory *trajectory = walk->trajectory;
	uint32_t count = trajectory->motion.video_frames_per_frame;
	struct wp_pose sum = {0};

	for (uint32_t i = 0; i < count; i++) {
		const struct wp_trajectory_step *step = &trajectory->steps[walk->step];

		wp_motion_step(&trajectory->motion, step->actions, &walk->at);
		wp_pose_add(&sum, &walk->at);
		if (++walk->taken == step->video_frames) {
			walk->step = (walk->step + 1) % trajectory->step_count;
			walk->taken = 0;
		}
	}
	*pose = wp_pose_mean(&sum, count);
	*end = wp_pose_rounded(&walk->at);
}

/* "w 60, s 60", so that a trace tells what it was made from. */
static void describe(const struct wp_trajectory *trajectory, char *text, size_t size)
{
	size_t length = (size_t)snprintf(text, size, "worldpager trace make, from the script ");

	for (uint32_t i = 0; i < trajectory->step_count && length < size; i++) {
		const struct wp_trajectory_step *step = &trajectory->steps[i];
		const char *glue = i ? ", " : "";

		if (length > size - 100) {
			snprintf(text + length, size - length, ", ...");
			return;
		}
		for (unsigned action = 1; action <= WP_ACTION_DOWN; action <<= 1) {
			if (!(step->actions & action))
				continue;
			length += (size_t)snprintf(text + length, size - length, "%s%s", glue,
						   wp_action_name(action));
			glue = "+";
		}
		if (!step->actions)
			length += (size_t)snprintf(text + length, size - length, "%shold", glue);
		length += (size_t)snprintf(text + length, size - length, " %u", step->video_frames);
	}
}

/* Each frame is held against all before it: the work grows with the square of the frames. */
static void show(struct wp_progress *progress, uint64_t done, uint64_t total)
{
	if (progress)
		wp_progress_update(progress, done * done, total * total);
}

static int walk_all(struct walk *walk, struct wp_retrieval *retrieval, struct wp_trace *trace,
		    struct wp_progress *progress)
{
	uint32_t blocks[WP_SET_BLOCKS_MAX];
	struct wp_pose pose, end;
	struct wp_trace_frame frame = {.pose = &pose, .end = &end, .retrieved = blocks};

	for (uint32_t i = 0; i < walk->trajectory->frames; i++) {
		if (wp_interrupted())
			return -EINTR;
		show(progress, i, walk->trajectory->frames);
		walk_frame(walk, &pose, &end);
		frame.retrieved_count = wp_retrieval_choose(retrieval, i, &pose, blocks);
		wp_retrieval_append(retrieval, &pose);
		if (wp_trace_append(trace, &frame) < 0)
			return -ENOMEM;
	}
	return 0;
}

int wp_trajectory_walk_shown(const struct wp_trajectory *trajectory, struct wp_trace *trace,
			     struct wp_progress *progress)
{
	struct walk walk = {.trajectory = trajectory};
	struct wp_retrieval *retrieval;
	int result;

	memset(trace, 0, sizeof(*trace));
	if (wp_retrieval_open(&retrieval, &trajectory->rule, trajectory->frames) < 0)
		return -ENOMEM;
	snprintf(trace->name, sizeof(trace->name), "%s", trajectory->name);
	snprintf(trace->model, sizeof(trace->model), "%s", trajectory->model);
	snprintf(trace->origin, sizeof(trace->origin), "%s", trajectory->origin);
	describe(trajectory, trace->made_by, sizeof(trace->made_by));
	trace->rule = trajectory->rule;
	trace->has_rule = true;
	trace->motion = trajectory->motion;
	trace->has_motion = true;
	result = walk_all(&walk, retrieval, trace, progress);
	wp_retrieval_close(retrieval);
	if (result < 0)
		wp_trace_done(trace);
	return result;
}

int wp_trajectory_walk(const struct wp_trajectory *trajectory, struct wp_trace *trace)
{
	return wp_trajectory_walk_shown(trajectory, trace, NULL);
}
