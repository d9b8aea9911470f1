/*
 * What a frame has the device do once its set is ready: decode the set, then
 * compute. Queued at once, so that nothing comes between them.
 *
 *   virtual, model   one DECODE, timed as all the bytes it would write; the profile's
 *                    compute time is that of a whole step, so decoding takes its share
 *                    of it and lengthens it only beyond
 *   real             one DECODE a block, into the model's form, its K turned to where
 *                    the block stands in this frame; compute ends the profile's time
 *                    after the first of them began
 */
#ifndef WP_REPLAY_COMPUTE_H
#define WP_REPLAY_COMPUTE_H

#include "harness/replay/replay.h"
#include "harness/replay/replay_world.h"

struct wp_replay_compute {
	const struct wp_replay_plan *plan;
	const struct wp_replay_world *world;
	struct wp_queue done;
	struct wp_request decodes[WP_SET_BLOCKS_MAX];
	struct wp_request compute;
	uint32_t left; /* requests with the device */
	uint64_t start_ns;
};

void wp_replay_compute_open(struct wp_replay_compute *compute, const struct wp_replay_plan *plan,
			    const struct wp_replay_world *world);

/* `addresses` are those of the frame's set on the device; nothing may be under way. */
void wp_replay_compute_start(struct wp_replay_compute *compute, uint32_t frame,
			     void *const *addresses, uint64_t start_ns);

/* Takes what is over: 0 when all of it is, 1 while it is not, -errno of the device. */
int wp_replay_compute_take(struct wp_replay_compute *compute) WP_MUST_USE;

/* Once it is over. */
uint64_t wp_replay_compute_end_ns(const struct wp_replay_compute *compute);
uint64_t wp_replay_compute_decode_end_ns(const struct wp_replay_compute *compute);

#endif
