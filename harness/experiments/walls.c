/* Playing the sessions of walls.h, one after the other. */
#include "harness/experiments/walls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/replay/replay.h"

const struct wp_walls_setup wp_walls_setups[WP_WALLS_SESSIONS] = {
    {"bf16, host only", "bf16", "gpu+dram", "managed"},
    {"int4, host only", "int4", "gpu+dram", "managed"},
    {"native positions", "int4", "gpu+dram+nvme", "native"},
    {"full system", "int4", "gpu+dram+nvme", "managed"},
};

static int take(struct wp_walls_session *session, const struct wp_replay_plan *plan,
		const struct wp_run *run, struct wp_error *error)
{
	double wall_s = (double)run->wall_ns / 1e9 / run->scale.effective;

	session->valid = run->valid;
	session->blocks = run->frame_count;
	session->video_s = run->frame_count * run->session.frame_video_s;
	session->written_bytes =
	    (uint64_t)((double)run->session.bytes_written / run->scale.effective);
	session->generated_fps =
	    wall_s > 0 ? run->frame_count * plan->model.video_frames_per_frame / wall_s : 0;
	if (run->session.wall)
		snprintf(session->wall, sizeof(session->wall), "%s", run->session.wall);
	session->dram_bytes = calloc(run->frame_count + 1u, sizeof(*session->dram_bytes));
	if (!session->dram_bytes)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "walls: %s", strerror(ENOMEM));
	for (uint32_t i = 0; i < run->frame_count; i++) {
		session->blocks_nvme += run->frames[i].blocks_nvme;
		session->dram_bytes[i] =
		    (uint64_t)((double)run->tier_frames[i].bytes_dram / run->scale.effective);
	}
	return 0;
}

static void describe(struct wp_walls *walls, const struct wp_replay_plan *plan)
{
	const struct wp_model *model = &plan->model;

	snprintf(walls->world, sizeof(walls->world), "%s", plan->settings->world);
	snprintf(walls->model, sizeof(walls->model), "%s", model->name);
	snprintf(walls->machine, sizeof(walls->machine), "%s", plan->machine.name);
	snprintf(walls->trace, sizeof(walls->trace), "%s", plan->trace.name);
	snprintf(walls->scale_text, sizeof(walls->scale_text), "%s",
		 plan->settings->scale ? plan->settings->scale : "1");
	walls->playback_fps = model->playback_fps;
	walls->frame_video_s = model->video_frames_per_frame / model->playback_fps;
	walls->host_bytes = plan->machine.host_bytes;
	walls->bandwidth_bytes_per_s = plan->settings->bandwidth_bytes_per_s;
}

static int play(struct wp_walls *walls, uint32_t at, const struct wp_replay_settings *shared,
		struct wp_error *error)
{
	const struct wp_walls_setup *setup = &wp_walls_setups[at];
	struct wp_walls_session *session = &walls->sessions[at];
	struct wp_replay_settings settings = *shared;
	struct wp_replay_plan plan;
	struct wp_run run = {0};
	int result;

	settings.residency = "tiered";
	settings.codec = setup->codec;
	settings.positions = setup->positions;
	settings.session.tiers = setup->tiers;
	settings.session.positions = setup->positions;
	snprintf(session->name, sizeof(session->name), "%s", setup->name);
	if (wp_replay_plan_open(&plan, &settings, error) != 0)
		return -1;
	describe(walls, &plan);
	result = wp_replay_run(&plan, &run, error);
	if (result == 0)
		result = take(session, &plan, &run, error);
	if (result == 0 && run.interrupted)
		result = wp_error_set(error, WP_EXIT_INTERRUPTED, "interrupted");
	if (result == 0 && run.error[0])
		result = wp_error_set(error, wp_run_exit(&run), "%s: %s", setup->name, run.error);
	wp_run_done(&run);
	wp_replay_plan_close(&plan);
	return result;
}

int wp_walls_run(struct wp_walls *walls, const struct wp_replay_settings *settings,
		 struct wp_error *error)
{
	memset(walls, 0, sizeof(*walls));
	for (uint32_t i = 0; i < WP_WALLS_SESSIONS; i++)
		if (play(walls, i, settings, error) != 0)
			return -1;
	return 0;
}

void wp_walls_done(struct wp_walls *walls)
{
	for (uint32_t i = 0; i < WP_WALLS_SESSIONS; i++) {
		free(walls->sessions[i].dram_bytes);
		walls->sessions[i].dram_bytes = NULL;
	}
}
