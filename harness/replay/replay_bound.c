/* What a plan means for the lower bound. Arithmetic is lower_bound.c's business. */
#include "harness/replay/replay_bound.h"

#include <string.h>

/* The lower of two rates of which 0 is none. */
static uint64_t lower_rate(uint64_t a, uint64_t b)
{
	if (a == 0 || b == 0)
		return a + b;
	return a < b ? a : b;
}

static uint64_t read_rate(const struct wp_replay_plan *plan)
{
	uint64_t limit = plan->settings->bandwidth_bytes_per_s;

	/* The virtual world has only the bucket, whatever was asked. */
	if (plan->world == WP_WORLD_VIRTUAL)
		return lower_rate(limit, plan->drive.drive.read_bytes_per_s);
	return plan->throttle == WP_THROTTLE_BUCKET || plan->throttle == WP_THROTTLE_AUTO ? limit
											  : 0;
}

bool wp_replay_bound_config(const struct wp_replay_plan *plan, struct wp_lower_bound_config *config)
{
	*config = (struct wp_lower_bound_config){
	    .block_bytes = plan->geometry.block_bytes,
	    .read_bytes_per_s = read_rate(plan),
	    .staging_blocks = plan->staging_blocks,
	    .warmup_frames = plan->settings->warmup_frames,
	};
	return strcmp(plan->settings->residency, "forced-nvme") == 0 &&
	       config->read_bytes_per_s > 0;
}
