/* A frame's work on the device; see replay_compute.h. */
#include "harness/replay/replay_compute.h"

#include <string.h>

#include "pager/duration.h"

void wp_replay_compute_open(struct wp_replay_compute *compute, const struct wp_replay_plan *plan,
			    const struct wp_replay_world *world)
{
	memset(compute, 0, sizeof(*compute));
	compute->plan = plan;
	compute->world = world;
}

/*
 * By how much K of the retrieved block at `index` is to be turned. Blocks stand where the
 * frame that made them stood, also those of a prepared store: each is a trace's own frame.
 */
static int32_t shift_of(const struct wp_replay_plan *plan, const struct wp_placement *placement,
			uint32_t index)
{
	const struct wp_place *place = &placement->places[index];
	struct wp_placement made;
	const uint32_t *set;
	uint32_t count = wp_trace_retrieved(&plan->trace, place->block, &set);

	WP_CHECK(wp_positions_place(&plan->session.positions, place->block, set, count, &made) ==
		 0);
	return (int32_t)wp_place_shift(place, wp_placement_own(&made)->latent);
}

static void submit(struct wp_replay_compute *compute, struct wp_request *request)
{
	request->owner = &compute->done;
	WP_CHECK(wp_port_submit(compute->world->world.device, request) == 0);
	compute->left++;
}

/* On a GPU: each block by itself; an empty set still marks the frame's begin. */
static void decode_set(struct wp_replay_compute *compute, uint32_t frame, const uint32_t *set,
		       uint32_t count, void *const *addresses)
{
	const struct wp_replay_plan *plan = compute->plan;
	uint64_t stride = wp_replay_elements_bytes(plan) / sizeof(uint16_t);
	bool turns = plan->session.positions.mode == WP_POSITIONS_MANAGED;
	struct wp_placement placement;

	if (turns)
		WP_CHECK(wp_positions_place(&plan->session.positions, frame, set, count,
					    &placement) == 0);
	for (uint32_t i = 0; i < count; i++) {
		compute->decodes[i] = (struct wp_request){
		    .op = WP_OP_DECODE,
		    .block = set[i],
		    .device = addresses[i],
		    .elements = compute->world->elements + i * stride,
		    .shift = turns ? shift_of(plan, &placement, i) : 0,
		};
		submit(compute, &compute->decodes[i]);
	}
	if (count == 0) {
		compute->decodes[0] = (struct wp_request){.op = WP_OP_DECODE};
		submit(compute, &compute->decodes[0]);
	}
}

/* Where the device is modelled: one interval. Returns its length. */
static uint64_t decode_timed(struct wp_replay_compute *compute, uint32_t count)
{
	const struct wp_replay_plan *plan = compute->plan;
	uint64_t bytes = count * wp_model_elements(&plan->model, &plan->scale) * sizeof(uint16_t);

	compute->decodes[0] = (struct wp_request){
	    .op = WP_OP_DECODE,
	    .bytes = bytes,
	    .start_ns = compute->start_ns,
	};
	submit(compute, &compute->decodes[0]);
	return wp_duration_ns(bytes, plan->rates.decode_bytes_per_s);
}

void wp_replay_compute_start(struct wp_replay_compute *compute, uint32_t frame,
			     void *const *addresses, uint64_t start_ns)
{
	const struct wp_replay_plan *plan = compute->plan;
	uint64_t traced_ns = wp_trace_compute_ns(&plan->trace, frame);
	uint64_t compute_ns =
	    traced_ns ? wp_scale_apply(&plan->scale, traced_ns) : plan->compute_ns;
	uint64_t decode_ns = 0;
	const uint32_t *set;
	uint32_t count = wp_trace_retrieved(&plan->trace, frame, &set);

	WP_CHECK(compute->left == 0);
	compute->start_ns = start_ns;
	if (compute->world->gpu)
		decode_set(compute, frame, set, count, addresses);
	else
		decode_ns = decode_timed(compute, count);
	compute->compute = (struct wp_request){
	    .op = WP_OP_COMPUTE,
	    .duration_ns = compute_ns > decode_ns ? compute_ns - decode_ns : 0,
	    .start_ns = start_ns,
	};
	submit(compute, &compute->compute);
}

int wp_replay_compute_take(struct wp_replay_compute *compute)
{
	struct wp_request *request;
	int error = 0;

	while ((request = wp_queue_pop(&compute->done))) {
		compute->left--;
		error = error ? error : request->result;
	}
	if (error)
		return error;
	return compute->left > 0;
}

uint64_t wp_replay_compute_end_ns(const struct wp_replay_compute *compute)
{
	return compute->compute.done_ns;
}

uint64_t wp_replay_compute_decode_end_ns(const struct wp_replay_compute *compute)
{
	const struct wp_replay_plan *plan = compute->plan;
	uint64_t end_ns = compute->decodes[0].done_ns;

	/* In order on one stream: the last one's end is everybody's. */
	for (uint32_t i = 1; compute->world->gpu && i < plan->set_blocks_max; i++)
		end_ns =
		    compute->decodes[i].done_ns > end_ns ? compute->decodes[i].done_ns : end_ns;
	return end_ns;
}
