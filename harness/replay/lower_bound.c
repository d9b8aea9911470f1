/*
 * The least stall of any schedule of reads: the formula of the header, in whole
 * nanoseconds and bytes. It searches for no schedule and knows no arm; that the
 * formula is right is what its test tries by exhaustion.
 */
#include "harness/replay/lower_bound.h"

#define NS_PER_S 1000000000u

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* What `blocks` blocks take the drive, rounded down as the header says. */
static uint64_t read_ns(const struct wp_lower_bound_config *config, uint32_t blocks)
{
	/* 64 + 32 + 30 bits: the product fits. */
	unsigned __int128 byte_ns = (unsigned __int128)config->block_bytes * blocks * NS_PER_S;
	uint64_t rate = config->read_bytes_per_s;
	unsigned __int128 ns;

	if (rate == 0)
		return 0;
	ns = byte_ns / rate;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

uint64_t wp_lower_bound_stall_ns(const struct wp_lower_bound_config *config, uint32_t set_blocks,
				 uint32_t ahead_blocks, uint64_t window_ns)
{
	uint64_t after_need_ns, all_ns;

	WP_CHECK(ahead_blocks <= set_blocks);
	after_need_ns = read_ns(config, set_blocks - ahead_blocks);
	all_ns = read_ns(config, set_blocks);
	all_ns = all_ns > window_ns ? all_ns - window_ns : 0;
	return after_need_ns > all_ns ? after_need_ns : all_ns;
}

static bool is_hinted(const struct wp_lower_bound_frame *frame, uint32_t block)
{
	for (uint32_t i = 0; i < frame->hint_count; i++)
		if (frame->hints[i] == block)
			return true;
	return false;
}

static uint32_t at_most(uint32_t count, uint32_t limit)
{
	return count < limit ? count : limit;
}

uint32_t wp_lower_bound_ahead_blocks(const struct wp_lower_bound_config *config,
				     const struct wp_lower_bound_frame *frame)
{
	uint32_t hinted = 0;

	for (uint32_t i = 0; i < frame->set_count; i++)
		hinted += is_hinted(frame, frame->set[i]);
	return at_most(hinted, config->staging_blocks);
}

static void figures_add(struct wp_lower_bound_figures *figures, uint64_t stall_ns)
{
	figures->n++;
	figures->sum_ns = add_saturated(figures->sum_ns, stall_ns);
	if (stall_ns > figures->max_ns)
		figures->max_ns = stall_ns;
}

void wp_lower_bound_add(struct wp_lower_bound *bound, const struct wp_lower_bound_config *config,
			uint32_t index, const struct wp_lower_bound_frame *frame,
			uint64_t window_ns)
{
	uint32_t told = 0, hinted = 0;

	if (index < config->warmup_frames)
		return;
	if (index > 0) {
		told = at_most(frame->set_count, config->staging_blocks);
		hinted = wp_lower_bound_ahead_blocks(config, frame);
	}
	figures_add(&bound->told,
		    wp_lower_bound_stall_ns(config, frame->set_count, told, window_ns));
	figures_add(&bound->hinted,
		    wp_lower_bound_stall_ns(config, frame->set_count, hinted, window_ns));
}

struct wp_lower_bound wp_lower_bound_of(const struct wp_lower_bound_config *config,
					const struct wp_lower_bound_frame *frames,
					uint32_t frame_count)
{
	struct wp_lower_bound bound = {0};

	for (uint32_t c = 0; c < frame_count; c++)
		wp_lower_bound_add(&bound, config, c, &frames[c],
				   c > 0 ? frames[c - 1].compute_ns : 0);
	return bound;
}

bool wp_lower_bound_ratio(uint64_t stall_ns, uint64_t bound_ns, double *ratio)
{
	if (bound_ns == 0)
		return false;
	*ratio = (double)stall_ns / (double)bound_ns;
	return true;
}
