/* The `session` object of a result: budgets, walls and bytes in each tier, frame by frame. */
#include "harness/result/result_session.h"

static json_t *head_json(const struct wp_run *run)
{
	const struct wp_session_figures *session = &run->session;
	uint32_t blocks = session->first_frame + run->frame_count;
	json_t *object = json_object();

	wp_json_put(object, "tiers", wp_json_text(session->tiers));
	wp_json_put(object, "eviction", wp_json_text(session->eviction));
	wp_json_put(object, "gpu_budget_bytes", wp_json_count(session->gpu_budget_bytes));
	wp_json_put(object, "host_budget_bytes", wp_json_count(session->host_budget_bytes));
	wp_json_put(object, "nvme_budget_bytes", wp_json_count_or_null(session->nvme_budget_bytes));
	wp_json_put(object, "host_memory_bytes", wp_json_count(session->host_bytes));
	wp_json_put(object, "gpu_slots_blocks", wp_json_count(session->gpu_slots));
	wp_json_put(object, "host_slots_blocks", wp_json_count(session->host_slots));
	wp_json_put(object, "nvme_slots_blocks", wp_json_count_or_null(session->nvme_slots));
	wp_json_put(object, "first_frame", wp_json_count(session->first_frame));
	wp_json_put(object, "wall", wp_json_text(session->wall));
	wp_json_put(object, "blocks_made", wp_json_count(blocks));
	wp_json_put(object, "blocks_stored", wp_json_count(session->blocks_stored));
	wp_json_put(object, "blocks_forgotten", wp_json_count(session->blocks_forgotten));
	wp_json_put(object, "blocks_missing", wp_json_count(session->blocks_missing));
	wp_json_put(object, "bytes_written", wp_json_count(session->bytes_written));
	wp_json_put(object, "video_s", wp_json_real(blocks * session->frame_video_s));
	wp_json_put(object, "playback_fps", wp_json_real(session->playback_fps));
	return object;
}

/* Video frames a second of the time that they took at full scale, stalls included. */
static double generated_fps(const struct wp_run *run)
{
	double full_scale_s = (double)run->wall_ns / 1e9 / run->scale.effective;

	if (!run->frame_count || full_scale_s <= 0)
		return 0;
	return (double)run->frame_count * run->video_frames_per_frame / full_scale_s;
}

static json_t *frame_json(const struct wp_frame_figures *frame, const struct wp_tier_frame *tiers)
{
	json_t *object = json_object();

	wp_json_put(object, "frame", wp_json_count(frame->frame));
	wp_json_put(object, "bytes_gpu", wp_json_count(tiers->bytes_gpu));
	wp_json_put(object, "bytes_dram", wp_json_count(tiers->bytes_dram));
	wp_json_put(object, "bytes_nvme", wp_json_count(tiers->bytes_nvme));
	wp_json_put(object, "bytes_written", wp_json_count(tiers->bytes_written));
	wp_json_put(object, "blocks_unacknowledged", wp_json_count(tiers->unacknowledged));
	return object;
}

json_t *wp_result_session_json(const struct wp_run *run)
{
	json_t *object, *frames;

	if (!run->has_session)
		return json_null();
	object = head_json(run);
	frames = json_array();
	wp_json_put(object, "generated_fps", wp_json_real(generated_fps(run)));
	wp_json_put(object, "generated_fps_without_stalls",
		    wp_json_real(run->session.generated_fps));
	wp_json_put(object, "resident_bytes_max",
		    wp_json_count_or_null(run->session.resident_bytes_max));
	wp_json_put(object, "resident_allowed_bytes",
		    wp_json_count(run->session.resident_allowed_bytes));
	for (uint32_t i = 0; i < run->frame_count; i++)
		WP_CHECK(json_array_append_new(
			     frames, frame_json(&run->frames[i], &run->tier_frames[i])) == 0);
	wp_json_put(object, "frames", frames);
	return object;
}
