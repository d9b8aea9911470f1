/*
 * A plan: arithmetic on profiles, in integers wherever bytes are meant. Runs
 * nothing and knows nothing of this machine.
 */
#include "harness/profile/plan.h"

#include <stdlib.h>
#include <string.h>

#include "harness/trace/hints.h"
#include "harness/trace/trace_info.h"
#include "harness/units.h"
#include "pager/codec.h"

#define HOUR_NS	   3600000000000ull

/* The set in use and the one on its way: with less nothing can overlap. */
#define SETS_LEAST 2

/* value x times / divided_by, rounded up. */
static uint64_t scale_up(uint64_t value, uint64_t times, uint64_t divided_by)
{
	__uint128_t product = (__uint128_t)value * times + divided_by - 1;

	return (uint64_t)(product / divided_by);
}

static void plan_codec(const struct wp_plan *plan, const struct wp_codec *codec,
		       struct wp_plan_codec *made)
{
	uint64_t bytes = wp_codec_block_bytes(codec, plan->elements);
	uint64_t compute_ns = plan->model->compute_ns;

	*made = (struct wp_plan_codec){
	    .name = codec->name,
	    .bits_per_element = (double)bytes * 8 / (double)plan->elements,
	    .block_bytes = bytes,
	    .gpu_blocks = plan->machine->gpu_block_budget_bytes / bytes,
	    .host_blocks = plan->machine->host_block_budget_bytes / bytes,
	    .read_bytes_per_s = scale_up(plan->k * bytes, 1000000000, compute_ns),
	    .write_bytes_per_s = scale_up(bytes, 1000000000, compute_ns),
	    .written_bytes_per_hour = (uint64_t)((__uint128_t)bytes * HOUR_NS / compute_ns),
	    .session_bytes = bytes * plan->frames,
	};
	made->gpu_video_s = (double)made->gpu_blocks * plan->frame_video_s;
	made->host_video_s = (double)made->host_blocks * plan->frame_video_s;
	made->fits =
	    made->gpu_blocks >= SETS_LEAST * plan->k && made->host_blocks >= SETS_LEAST * plan->k;
}

/* Keeps the walls in the order in which a session meets them. */
static void add_wall(struct wp_plan *plan, const char *what, const char *more, uint64_t blocks)
{
	uint32_t at = plan->wall_count++;

	WP_CHECK(at < WP_PLAN_WALLS_MAX);
	for (; at > 0 && plan->walls[at - 1].blocks > blocks; at--)
		plan->walls[at] = plan->walls[at - 1];
	snprintf(plan->walls[at].what, sizeof(plan->walls[at].what), "%s%s", what, more);
	plan->walls[at].blocks = blocks;
	plan->walls[at].video_s = (double)blocks * plan->frame_video_s;
}

static int check_budget(const struct wp_plan *plan, const char *key, uint64_t budget_bytes,
			struct wp_error *error)
{
	uint64_t least = (uint64_t)SETS_LEAST * plan->k * plan->codec->block_bytes;
	char have[WP_UNITS_TEXT], need[WP_UNITS_TEXT];

	if (budget_bytes >= least)
		return 0;
	return wp_error_set(
	    error, WP_EXIT_USAGE,
	    "%s of machine \"%s\": %s hold %llu %s blocks of model \"%s\"; two sets "
	    "of %u need at least %llu bytes, %s",
	    key, plan->machine->name, wp_units_bytes(have, budget_bytes),
	    (unsigned long long)(budget_bytes / plan->codec->block_bytes), plan->codec->name,
	    plan->model->name, plan->k, (unsigned long long)least, wp_units_bytes(need, least));
}

static int refuse_codec(const struct wp_plan *plan, const char *name, struct wp_error *error)
{
	char names[128] = "";
	size_t length = 0;

	for (uint32_t i = 0; i < plan->codec_count && length < sizeof(names); i++)
		length += (size_t)snprintf(names + length, sizeof(names) - length, " %s",
					   plan->codecs[i].name);
	return wp_error_set(error, WP_EXIT_USAGE, "no codec \"%.60s\" (there are:%s)", name, names);
}

static int choose_codec(struct wp_plan *plan, const char *name, struct wp_error *error)
{
	for (uint32_t i = 0; i < plan->codec_count; i++) {
		if (!strcmp(plan->codecs[i].name, name))
			plan->codec = &plan->codecs[i];
	}
	if (!plan->codec)
		return refuse_codec(plan, name, error);
	if (check_budget(plan, "gpu_block_budget_bytes", plan->machine->gpu_block_budget_bytes,
			 error) < 0)
		return -1;
	return check_budget(plan, "host block budget", plan->machine->host_block_budget_bytes,
			    error);
}

int wp_plan_make(struct wp_plan *plan, const struct wp_model *model,
		 const struct wp_machine *machine, const char *codec, uint32_t k, uint32_t frames,
		 struct wp_error *error)
{
	const struct wp_codec *known;
	uint32_t own = model->local_latents + model->latents_per_frame;

	memset(plan, 0, sizeof(*plan));
	plan->model = model;
	plan->machine = machine;
	plan->k = k;
	plan->frames = frames;
	plan->elements = wp_model_elements(model, NULL);
	plan->generated_fps = model->video_frames_per_frame * 1e9 / (double)model->compute_ns;
	plan->frame_video_s = model->video_frames_per_frame / model->playback_fps;
	if (model->window_latents > own)
		plan->set_blocks_max = (model->window_latents - own) / model->latents_per_frame;
	for (uint32_t i = 0; (known = wp_codec_at(i)); i++) {
		WP_CHECK(i < WP_PLAN_CODECS_MAX);
		plan_codec(plan, known, &plan->codecs[i]);
		add_wall(plan, known->name, " blocks in host memory alone",
			 plan->codecs[i].host_blocks);
		plan->codec_count++;
	}
	add_wall(plan, "native positions", "", model->position_rows / model->latents_per_frame);
	if (model->action_rows)
		add_wall(plan, "native action positions", "",
			 model->action_rows / model->latents_per_frame);
	return choose_codec(plan, codec, error);
}

static int compare_rates(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* How far down the list the last block of the set stands; 0: one is not on it. */
static uint32_t depth_of(const uint32_t *set, uint32_t count, const uint32_t *list, uint32_t listed)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = 0;

		while (at < listed && list[at] != set[i])
			at++;
		if (at == listed)
			return 0;
		if (at + 1 > depth)
			depth = at + 1;
	}
	return depth;
}

/* Every frame's least rate at which its set is staged before it is needed. */
static void collect(const struct wp_plan *plan, const struct wp_trace *trace,
		    struct wp_hints *hints, uint32_t staging, struct wp_plan_arm *arm,
		    uint64_t *rates)
{
	uint32_t list[WP_STAGING_MAX];
	const uint32_t *set;

	for (uint32_t frame = 0; frame < trace->frames; frame++) {
		uint32_t count = wp_trace_retrieved(trace, frame, &set);
		uint64_t compute_ns = frame ? wp_trace_compute_ns(trace, frame - 1) : 0;
		uint32_t listed, depth;

		if (frame < WP_TRACE_INFO_WARMUP || count == 0)
			continue;
		listed = wp_hints_make(hints, frame, list, staging);
		depth = depth_of(set, count, list, listed);
		arm->frames_missed += depth == 0;
		rates[arm->frames++] =
		    depth ? scale_up((uint64_t)depth * plan->codec->block_bytes, 1000000000,
				     compute_ns ? compute_ns : plan->model->compute_ns)
			  : UINT64_MAX;
	}
}

static int plan_arm(struct wp_plan *plan, const struct wp_trace *trace, const char *name,
		    const char *kind, uint32_t staging, struct wp_error *error)
{
	struct wp_plan_arm *arm = &plan->arms[plan->arm_count];
	uint64_t *rates = calloc(trace->frames, sizeof(*rates));
	struct wp_hints *hints = NULL;

	if (!rates)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "out of memory");
	if (wp_hints_open(&hints, trace, kind, error) < 0) {
		free(rates);
		return -1;
	}
	*arm = (struct wp_plan_arm){.arm = name, .hints = kind};
	collect(plan, trace, hints, staging < WP_STAGING_MAX ? staging : WP_STAGING_MAX, arm,
		rates);
	if (arm->frames) {
		/* Nearest rank, as everywhere. */
		qsort(rates, arm->frames, sizeof(*rates), compare_rates);
		arm->median_bytes_per_s = rates[(arm->frames + 1) / 2 - 1];
		arm->max_bytes_per_s = rates[arm->frames - 1];
		if (arm->median_bytes_per_s == UINT64_MAX)
			arm->median_bytes_per_s = 0;
		if (arm->max_bytes_per_s == UINT64_MAX)
			arm->max_bytes_per_s = 0;
	}
	plan->arm_count++;
	wp_hints_close(hints);
	free(rates);
	return 0;
}

int wp_plan_add_trace(struct wp_plan *plan, const struct wp_trace *trace, struct wp_error *error)
{
	plan->trace_name = trace->name;
	plan->arm_count = 0;
	if (plan_arm(plan, trace, "prefetch", "hold_last", 2 * plan->k, error) < 0)
		return -1;
	return plan_arm(plan, trace, "hedged", "alternatives", 8 * plan->k, error);
}
