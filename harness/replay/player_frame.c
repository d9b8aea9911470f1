/*
 * One frame. The one idea: a frame's set is known only when the previous
 * frame's compute has ended, and everything staged before that rests on hints
 * made when that compute began.
 */
#include "harness/replay/player.h"

#include <errno.h>
#include <string.h>

#include "harness/system/interrupt.h"

static struct wp_frame_figures *frame_figures(const struct wp_player *player, uint32_t frame)
{
	return &player->run->frames[frame - player->first_frame];
}

/* The device failed under the frame itself, not under what the pager asked of it. */
static void set_device_error(struct wp_player *player, int result)
{
	const char *why = wp_replay_gpu_why(&player->world);

	wp_run_fail(player->run, "the device: %s", *why ? why : strerror(-result));
}

static int wait_ready(struct wp_player *player)
{
	int result;

	do {
		if (wp_interrupted())
			return -EINTR;
		result = wp_pager_wait_ready(player->pager);
	} while (result == -EINTR);
	return result;
}

/* Stages the next frame's hints and keeps the pager going until compute is over. */
static int finish_compute(struct wp_player *player, uint32_t frame)
{
	struct wp_world *world = &player->world.world;
	const struct wp_replay_plan *plan = player->plan;
	int result;

	if (frame + 1 < plan->frames) {
		player->hint_count =
		    wp_hints_make(plan->hints, frame + 1, player->hints, plan->staging_blocks);
		wp_pager_hint(player->pager, player->hints, player->hint_count);
	}
	for (;;) {
		result = wp_pager_step(player->pager);
		if (result < 0)
			return result;
		result = wp_replay_compute_take(&player->compute);
		if (result < 0)
			set_device_error(player, result);
		player->noticed_ns = wp_clock_now_ns(world->clock);
		if (result <= 0)
			return result;
		result = wp_world_wait(world, WP_TIME_NEVER);
		if (result == -EINTR && !wp_interrupted())
			continue;
		if (result < 0)
			return result;
	}
}

static int check_end(struct wp_player *player)
{
	struct wp_device_check_result result = wp_device_check_end(player->check);

	if (result.error) {
		set_device_error(player, result.error);
		return result.error;
	}
	if (!result.wrong)
		return 0;
	wp_run_fail(player->run, "block %u, offset %llu: wrong bytes on the device", result.block,
		    (unsigned long long)result.offset);
	return -EBADMSG;
}

static void note_figures(struct wp_player *player, uint32_t frame, uint64_t needed_ns,
			 const struct wp_pager_figures *pager)
{
	struct wp_frame_figures *figures = frame_figures(player, frame);

	*figures = (struct wp_frame_figures){
	    .frame = frame,
	    .needed_ns = needed_ns - player->start_ns,
	    .ready_ns = pager->ready_ns - player->start_ns,
	    .stall_ns = pager->ready_ns > needed_ns ? pager->ready_ns - needed_ns : 0,
	    .read_ns = pager->read_ns,
	    .verify_ns = pager->verify_ns,
	    .copy_ns = pager->copy_ns,
	    .blocks_gpu = pager->blocks_gpu,
	    .blocks_dram = pager->blocks_dram,
	    .blocks_nvme = pager->blocks_nvme,
	    .bytes_nvme = pager->bytes_nvme,
	    .hinted = pager->hinted,
	    .hit = pager->hit,
	    .missed = pager->missed,
	    .wasted = pager->wasted,
	    .retries = pager->retries,
	};
}

/* The bound so far with this frame, whose hints are still those it was staged with. */
static struct wp_lower_bound bound_with(const struct wp_player *player, uint32_t frame,
					const uint32_t *set, uint32_t count)
{
	struct wp_lower_bound bound = player->run->lower_bound;
	const struct wp_lower_bound_frame shown = {
	    .set = set,
	    .set_count = count,
	    .hints = player->hints,
	    .hint_count = player->hint_count,
	};

	wp_lower_bound_add(
	    &bound, &player->bound, frame, &shown,
	    frame > player->first_frame ? frame_figures(player, frame - 1)->compute_ns : 0);
	return bound;
}

/*
 * The block that the frame left behind goes to the pager; *needed_ns moves on while
 * writes are too far behind. WP_PLAYER_WALL: there will never be room for it.
 */
static int keep_block(struct wp_player *player, uint32_t frame, uint32_t position,
		      uint64_t *needed_ns)
{
	uint64_t done_ns = *needed_ns;
	int result;

	result = wp_pager_put(player->pager, frame, position);
	if (result == -EAGAIN) {
		do {
			result = wp_pager_wait_put(player->pager, frame, position);
		} while (result == -EINTR && !wp_interrupted());
		*needed_ns = wp_clock_now_ns(player->world.world.clock);
	}
	frame_figures(player, frame)->write_stall_ns = *needed_ns - done_ns;
	if (result == -ENOSPC && !player->plan->session.tiers.nvme_blocks) {
		player->run->session.wall = "host budget";
		return WP_PLAYER_WALL;
	}
	return result;
}

static void note_tiers(struct wp_player *player, uint32_t frame)
{
	struct wp_pager_usage usage = wp_pager_usage(player->pager);
	uint64_t block_bytes = player->plan->geometry.block_bytes;

	player->run->tier_frames[frame - player->first_frame] = (struct wp_tier_frame){
	    .bytes_gpu = usage.gpu_blocks * block_bytes,
	    .bytes_dram = usage.dram_blocks * block_bytes,
	    .bytes_nvme = usage.nvme_blocks * block_bytes,
	    .bytes_written = usage.bytes_written,
	    .unacknowledged = usage.unacknowledged,
	};
}

/* Everything between a set being needed and its frame's compute being over. */
static int compute_frame(struct wp_player *player, uint32_t frame, const uint32_t *set,
			 uint32_t count, uint64_t needed_ns)
{
	struct wp_frame_figures *figures = frame_figures(player, frame);
	void *addresses[WP_SET_BLOCKS_MAX];
	struct wp_pager_figures pager;
	uint64_t start_ns;
	int result, checked;

	wp_session_advance(&player->session, frame);
	wp_pager_need(player->pager, set, count, needed_ns);
	result = wait_ready(player);
	if (result < 0)
		return result;
	wp_pager_settle(player->pager, &pager);
	start_ns = pager.ready_ns > needed_ns ? pager.ready_ns : needed_ns;
	for (uint32_t i = 0; i < count; i++)
		addresses[i] = wp_pager_device(player->pager, i);
	wp_replay_compute_start(&player->compute, frame, addresses, start_ns);
	note_figures(player, frame, needed_ns, &pager);
	wp_device_check_begin(player->check, set, addresses, count);
	result = finish_compute(player, frame);
	checked = check_end(player);
	if (checked < 0 || result < 0)
		return checked < 0 ? checked : result;
	figures->compute_ns = wp_replay_compute_end_ns(&player->compute) - start_ns;
	figures->decode_ns = wp_replay_compute_decode_end_ns(&player->compute) - start_ns;
	return 0;
}

/* What frame `frame` retrieves, of those blocks that the session still has. */
static uint32_t retrieve(struct wp_player *player, uint32_t frame, uint32_t *set)
{
	const uint32_t *retrieved;
	uint32_t retrieved_count = wp_trace_retrieved(&player->plan->trace, frame, &retrieved);
	uint32_t count = 0;

	for (uint32_t i = 0; i < retrieved_count; i++)
		if (!player->plan->tiered || wp_pager_has(player->pager, retrieved[i]))
			set[count++] = retrieved[i];
	player->run->session.blocks_missing += retrieved_count - count;
	return count;
}

int wp_player_play_frame(struct wp_player *player, uint32_t frame, uint64_t *needed_ns)
{
	struct wp_lower_bound bound;
	uint32_t set[WP_SET_BLOCKS_MAX];
	uint32_t count = retrieve(player, frame, set);
	uint32_t position = 0;
	int result;

	if (player->plan->tiered &&
	    wp_session_position(&player->session, frame, set, count, &position) < 0) {
		player->run->session.wall = "positions";
		return WP_PLAYER_WALL;
	}
	bound = bound_with(player, frame, set, count);
	result = compute_frame(player, frame, set, count, *needed_ns);
	if (result < 0)
		return result;
	*needed_ns = wp_replay_compute_end_ns(&player->compute);
	wp_pager_release(player->pager);
	if (player->plan->tiered) {
		result = keep_block(player, frame, position, needed_ns);
		if (result != 0)
			return result;
		note_tiers(player, frame);
	}
	/* By a clock of its own, so that figures that do not add up show; not with the time
	 * that comparing bytes took beyond compute. */
	player->run->wall_ns =
	    (player->noticed_ns > *needed_ns ? player->noticed_ns : *needed_ns) - player->start_ns;
	player->run->frame_count = frame - player->first_frame + 1;
	player->run->lower_bound = bound;
	return 0;
}
