/*
 * What a plan means where a GPU does the work: no rates but the machine's own,
 * shapes that its kernels take, and memory on it.
 */
#include <string.h>

#include "harness/replay/replay_plan_real.h"
#include "pager/rotate.h"

struct wp_block_shape wp_replay_shape(const struct wp_replay_plan *plan)
{
	const struct wp_model *model = &plan->model;

	return (struct wp_block_shape){
	    .layers = model->layers,
	    .tokens = plan->scale.tokens * model->latents_per_frame,
	    .heads = model->heads,
	    .head_dim = model->head_dim,
	};
}

uint64_t wp_replay_elements_bytes(const struct wp_replay_plan *plan)
{
	struct wp_block_shape shape = wp_replay_shape(plan);

	return (wp_block_shape_elements(&shape) * sizeof(uint16_t) + 4095) / 4096 * 4096;
}

/* As kernels.h wants them. */
static int check_shape(const struct wp_replay_plan *plan, struct wp_error *error)
{
	struct wp_block_shape shape = wp_replay_shape(plan);
	uint64_t elements = wp_block_shape_tensor_elements(&shape);

	if (shape.head_dim % 8 || shape.head_dim > WP_HEAD_DIM_MAX)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--world real: heads of %u dimensions; kernels take multiples "
				    "of 8 up to %u",
				    shape.head_dim, WP_HEAD_DIM_MAX);
	if (elements % WP_CODEC_GROUP)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--world real: K of a layer has %llu elements; kernels take "
				    "multiples of %u",
				    (unsigned long long)elements, WP_CODEC_GROUP);
	return 0;
}

int wp_replay_plan_real(struct wp_replay_plan *plan, struct wp_error *error)
{
	const struct wp_replay_settings *settings = plan->settings;

	if (settings->copy_rate)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--copy-rate: in the real world the machine decides");
	plan->rates = (struct wp_device_rates){0};
	if (check_shape(plan, error) != 0)
		return -1;
	return plan->tiered ? 0
			    : wp_session_positions(&plan->session.positions, settings->positions,
						   &plan->model, &plan->trace, error);
}
