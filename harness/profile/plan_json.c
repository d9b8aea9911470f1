/* A plan as JSON. The figures are plan.c's; every key ends in its unit. */
#include "harness/profile/plan.h"

#include <jansson.h>

#include "harness/files/json_value.h"

static json_t *codec_json(const struct wp_plan *plan, const struct wp_plan_codec *codec)
{
	json_t *object = json_object();
	uint64_t rated = plan->rated_bytes_written;

	wp_json_put(object, "name", wp_json_text(codec->name));
	wp_json_put(object, "bits_per_element", wp_json_real(codec->bits_per_element));
	wp_json_put(object, "block_bytes", wp_json_count(codec->block_bytes));
	wp_json_put(object, "fits", json_boolean(codec->fits));
	wp_json_put(object, "gpu_blocks", wp_json_count(codec->gpu_blocks));
	wp_json_put(object, "gpu_video_s", wp_json_real(codec->gpu_video_s));
	wp_json_put(object, "host_blocks", wp_json_count(codec->host_blocks));
	wp_json_put(object, "host_video_s", wp_json_real(codec->host_video_s));
	wp_json_put(object, "read_bytes_per_s", wp_json_count(codec->read_bytes_per_s));
	wp_json_put(object, "write_bytes_per_s", wp_json_count(codec->write_bytes_per_s));
	wp_json_put(object, "written_bytes_per_hour", wp_json_count(codec->written_bytes_per_hour));
	wp_json_put(object, "session_bytes", wp_json_count(codec->session_bytes));
	wp_json_put(object, "endurance_hours",
		    rated ? wp_json_count(rated / codec->written_bytes_per_hour) : json_null());
	wp_json_put(object, "endurance_sessions",
		    rated ? wp_json_count(rated / codec->session_bytes) : json_null());
	return object;
}

static json_t *wall_json(const struct wp_plan_wall *wall)
{
	json_t *object = json_object();

	wp_json_put(object, "what", wp_json_text(wall->what));
	wp_json_put(object, "blocks", wp_json_count(wall->blocks));
	wp_json_put(object, "video_s", wp_json_real(wall->video_s));
	return object;
}

static json_t *arm_json(const struct wp_plan_arm *arm)
{
	json_t *object = json_object();

	wp_json_put(object, "arm", wp_json_text(arm->arm));
	wp_json_put(object, "hints", wp_json_text(arm->hints));
	wp_json_put(object, "frames", wp_json_count(arm->frames));
	wp_json_put(object, "frames_missed", wp_json_count(arm->frames_missed));
	wp_json_put(object, "zero_median_bytes_per_s",
		    wp_json_count_or_null(arm->median_bytes_per_s));
	wp_json_put(object, "zero_max_bytes_per_s", wp_json_count_or_null(arm->max_bytes_per_s));
	return object;
}

static json_t *inferred_json(const struct wp_plan *plan)
{
	json_t *object = json_object(), *model = json_array(), *machine = json_array();

	for (uint32_t i = 0; i < plan->model->inferred.count; i++)
		json_array_append_new(model, wp_json_text(plan->model->inferred.keys[i]));
	for (uint32_t i = 0; i < plan->machine->inferred.count; i++)
		json_array_append_new(machine, wp_json_text(plan->machine->inferred.keys[i]));
	wp_json_put(object, "model", model);
	wp_json_put(object, "machine", machine);
	return object;
}

void wp_plan_write(FILE *stream, const struct wp_plan *plan)
{
	json_t *root = json_object(), *codecs = json_array(), *walls = json_array(),
	       *arms = json_array();

	for (uint32_t i = 0; i < plan->codec_count; i++)
		json_array_append_new(codecs, codec_json(plan, &plan->codecs[i]));
	for (uint32_t i = 0; i < plan->wall_count; i++)
		json_array_append_new(walls, wall_json(&plan->walls[i]));
	for (uint32_t i = 0; i < plan->arm_count; i++)
		json_array_append_new(arms, arm_json(&plan->arms[i]));
	wp_json_put(root, "model", wp_json_text(plan->model->name));
	wp_json_put(root, "machine", wp_json_text(plan->machine->name));
	wp_json_put(root, "codec", wp_json_text(plan->codec->name));
	wp_json_put(root, "k", wp_json_count(plan->k));
	wp_json_put(root, "frames", wp_json_count(plan->frames));
	wp_json_put(root, "elements", wp_json_count(plan->elements));
	wp_json_put(root, "compute_ns", wp_json_count(plan->model->compute_ns));
	wp_json_put(root, "video_s", wp_json_real(plan->frames * plan->frame_video_s));
	wp_json_put(root, "generated_fps", wp_json_real(plan->generated_fps));
	wp_json_put(root, "playback_fps", wp_json_real(plan->model->playback_fps));
	wp_json_put(root, "gpu_block_budget_bytes",
		    wp_json_count(plan->machine->gpu_block_budget_bytes));
	wp_json_put(root, "host_block_budget_bytes",
		    wp_json_count(plan->machine->host_block_budget_bytes));
	wp_json_put(root, "set_blocks_max", wp_json_count(plan->set_blocks_max));
	wp_json_put(root, "rated_bytes_written", wp_json_count_or_null(plan->rated_bytes_written));
	wp_json_put(root, "codecs", codecs);
	wp_json_put(root, "walls", walls);
	wp_json_put(root, "trace", wp_json_text(plan->trace_name));
	wp_json_put(root, "arms", arms);
	wp_json_put(root, "inferred", inferred_json(plan));
	json_dumpf(root, stream, JSON_INDENT(2));
	fputc('\n', stream);
	json_decref(root);
}
