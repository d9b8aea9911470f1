/*
 * One replay from its first to its last byte: the world and the pager opened,
 * the frames played one after the other (player_frame.c), what was put made
 * durable, what is in flight waited for, the run judged.
 */
#include "harness/replay/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/progress.h"
#include "harness/replay/ack_log.h"
#include "harness/replay/device_check.h"
#include "harness/replay/os_paging.h"
#include "harness/replay/player.h"
#include "harness/replay/replay_bound.h"
#include "harness/system/interrupt.h"
#include "harness/units.h"
#include "pager/duration.h"

#define INTERRUPT_WAIT_NS 5000000000u /* for what is under way when a signal comes */

/* What stopped the frames: a signal, wrong bytes, or the store. */
static void take_stop(struct wp_player *player, int result)
{
	struct wp_pager_fault fault = wp_pager_fault(player->pager);
	const char *why = wp_replay_gpu_why(&player->world);
	char room[WP_UNITS_TEXT];

	if (fault.error == -EBADMSG)
		wp_run_fail(player->run,
			    "block %u, offset %llu: stored bytes do not match their checksum",
			    fault.block, (unsigned long long)fault.offset);
	else if (fault.error == -ETIMEDOUT)
		wp_run_fail(player->run,
			    "block %u, offset %llu: %s not answered within %llu s; the drive has "
			    "died, or --read-deadline is too short",
			    fault.block, (unsigned long long)fault.offset, fault.stage,
			    (unsigned long long)(player->plan->read_deadline_ns / WP_NS_PER_S));
	else if (fault.wanted_bytes)
		wp_run_fail(player->run,
			    "block %u, offset %llu: %s: the store's file ends there: %llu bytes "
			    "wanted, %llu got",
			    fault.block, (unsigned long long)fault.offset, fault.stage,
			    (unsigned long long)fault.wanted_bytes,
			    (unsigned long long)fault.got_bytes);
	else if (fault.error)
		wp_run_fail(player->run, "block %u, offset %llu: %s: %s", fault.block,
			    (unsigned long long)fault.offset, fault.stage,
			    *why ? why : strerror(-fault.error));
	else if (result == -EINTR)
		player->run->interrupted = true;
	else if (result == -ENOSPC) /* of the budget; that of the drive is a fault */
		wp_run_fail(
		    player->run,
		    "the NVMe budget of %s is full; a larger --nvme-budget, "
		    "--forget-oldest, or fewer --frames",
		    wp_units_counted(room, player->plan->session.tiers.nvme_blocks, "block"));
	else
		wp_run_fail(player->run, "waiting for store and device: %s", strerror(-result));
}

/* Whoever interrupts does not want to wait for a slow drive, or for a dead one. */
static uint64_t patience_end_ns(const struct wp_player *player)
{
	return wp_interrupted() ? wp_clock_now_ns(player->world.world.clock) + INTERRUPT_WAIT_NS
				: WP_TIME_NEVER;
}

/* After the last frame: what was put becomes durable. */
static int flush(struct wp_player *player)
{
	struct wp_world *world = &player->world.world;
	uint64_t end_ns = patience_end_ns(player);

	while (wp_pager_usage(player->pager).unacknowledged &&
	       wp_clock_now_ns(world->clock) < end_ns) {
		int error = wp_pager_step(player->pager);
		uint64_t deadline_ns = wp_pager_deadline_ns(player->pager);

		if (error)
			return error;
		if (!wp_pager_usage(player->pager).unacknowledged)
			break;
		error = wp_world_wait(world, deadline_ns < end_ns ? deadline_ns : end_ns);
		if (error && error != -EINTR)
			return error;
		if (end_ns == WP_TIME_NEVER)
			end_ns = patience_end_ns(player);
	}
	return 0;
}

/*
 * The first block that is missing and was not forgotten. With so many unfinished at
 * most, older ones than the newest minus that were finished: those that are missing
 * there were forgotten.
 */
static uint32_t first_unfinished(const struct wp_player *player)
{
	const struct wp_pager_tiers *tiers = &player->plan->session.tiers;
	uint32_t frames = player->plan->frames;
	uint32_t newest = frames, block = 0;

	if (tiers->forget_oldest) {
		while (newest > 0 && !wp_replay_world_stored(&player->world, newest - 1))
			newest--;
		block = newest > tiers->write_blocks ? newest - tiers->write_blocks : 0;
	}
	while (block < frames && wp_replay_world_stored(&player->world, block))
		block++;
	return block;
}

/* A session that goes on: blocks of before the restart are on NVMe. */
static void adopt_blocks(struct wp_player *player)
{
	player->first_frame = first_unfinished(player);
	player->session.first_frame = player->first_frame;
	if (player->world.store.torn_records)
		wp_run_note(player->run,
			    "index entries cut off or damaged: %u; of blocks that no other entry "
			    "vouches for: what an interruption leaves, or damage",
			    player->world.store.torn_records);
	for (uint32_t block = 0; block < player->first_frame; block++)
		if (wp_replay_world_stored(&player->world, block))
			wp_pager_adopt(player->pager, block);
}

static void play_frames(struct wp_player *player)
{
	uint64_t needed_ns = wp_clock_now_ns(player->world.world.clock);
	struct wp_progress progress;
	int result = 0;

	player->start_ns = needed_ns;
	wp_iolog_start(player->plan->iolog, needed_ns);
	wp_progress_begin(&progress, "replay");
	for (uint32_t frame = player->first_frame; frame < player->plan->frames; frame++) {
		result =
		    wp_interrupted() ? -EINTR : wp_player_play_frame(player, frame, &needed_ns);
		if (result != 0)
			break;
		wp_progress_update(&progress, frame + 1, player->plan->frames);
	}
	if (player->plan->tiered && (result >= 0 || result == -EINTR || result == -ENOSPC)) {
		int error = flush(player);

		result = error ? error : result;
	}
	if (result < 0) {
		player->run->out_of_space =
		    result == -ENOSPC || wp_pager_fault(player->pager).error == -ENOSPC;
		take_stop(player, result);
	}
	wp_progress_end(&progress);
}

/* Nothing may be in flight when the world closes: waits for what is. */
static void drain(struct wp_player *player)
{
	struct wp_world *world = &player->world.world;
	uint64_t compute_end_ns;

	if (wp_pager_quiesce_until(player->pager, patience_end_ns(player)) < 0) {
		player->unanswered = true;
		if (!player->run->interrupted)
			take_stop(player, -ETIMEDOUT);
	}
	/* A compute that was cut short ends by itself. */
	compute_end_ns = wp_port_next_ns(world->device);
	while (compute_end_ns != WP_TIME_NEVER) {
		(void)!wp_world_wait(world, compute_end_ns);
		wp_world_poll(world);
		compute_end_ns = wp_port_next_ns(world->device);
	}
}

static void note_gpu(struct wp_player *player)
{
	const struct wp_gpu_facts *gpu = &player->world.gpu_facts;
	struct wp_machine_facts *facts = &player->run->machine_facts;

	snprintf(facts->gpu, sizeof(facts->gpu), "%s", gpu->name);
	facts->gpu_memory_bytes = gpu->memory_bytes;
	facts->gpu_driver = gpu->driver_version;
}

static bool is_stored(const void *context, uint32_t block)
{
	return wp_replay_world_stored(context, block);
}

static int check_ack_log(const struct wp_player *player, struct wp_error *error)
{
	const struct wp_session_settings *settings = &player->plan->settings->session;

	return settings->resume && settings->ack_log
		   ? wp_ack_log_check(settings->ack_log, &player->plan->session.tiers, is_stored,
				      &player->world, error)
		   : 0;
}

static int open_pager(struct wp_player *player, struct wp_error *error)
{
	const struct wp_replay_plan *plan = player->plan;
	struct wp_pager_config config = plan->pager;
	struct wp_device_check_config check = {
	    .geometry = plan->geometry,
	    .seed = plan->settings->seed,
	    .threaded = plan->world != WP_WORLD_VIRTUAL,
	};
	char frames[WP_UNITS_TEXT];
	int result;

	if (plan->tiered &&
	    wp_session_open(&player->session, &plan->session, &plan->settings->session,
			    &plan->trace, &config.tiers, error) != 0)
		return -1;
	if (wp_replay_world_open(&player->world, plan, &config, error) != 0)
		return -1;
	note_gpu(player);
	config.host_slots = player->world.host.base;
	config.device_slots = player->world.device_slots;
	check.gpu = player->world.gpu;
	wp_replay_compute_open(&player->compute, plan, &player->world);
	result = wp_pager_open(&player->pager, &config, &player->world.world);
	if (result < 0)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "pager: %s", strerror(-result));
	result = wp_device_check_open(&player->check, &check);
	if (result < 0)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT,
				    "a thread that checks bytes cannot be started: %s",
				    strerror(-result));
	if (plan->tiered) {
		if (check_ack_log(player, error) != 0)
			return -1;
		adopt_blocks(player);
		if (plan->settings->session.resume && player->first_frame == 0)
			wp_run_note(player->run, "resumed at frame 0: of the session that was "
						 "there no block was acknowledged");
		wp_session_describe(&player->session, &plan->model, &player->run->session);
	}
	if (player->first_frame == 0 || player->first_frame < plan->frames)
		return plan->tiered ? wp_session_begin(&player->session, error) : 0;
	return wp_error_set(error, WP_EXIT_USAGE,
			    "--resume: all of %s stored already; nothing to go on with",
			    wp_units_counted(frames, plan->frames, "frame"));
}

static void play(struct wp_player *player)
{
	struct wp_pager_totals totals = {0};
	bool proven = !player->world.throttle || wp_throttle_proven(player->world.throttle);

	if (player->world.throttle && wp_throttle_start(player->world.throttle) < 0)
		wp_run_note(player->run, "the counter of the limited device cannot be read");
	if (proven) {
		play_frames(player);
		if (player->plan->tiered) {
			struct wp_pager_usage usage = wp_pager_usage(player->pager);

			wp_session_finish(&player->session, &usage,
					  player->world.gpu
					      ? player->world.driver_bytes
					      : player->plan->session.gpu_budget_bytes,
					  &player->run->session);
		}
		drain(player);
		totals = wp_pager_totals(player->pager); /* with what was under way at the end */
	}
	wp_replay_world_describe(&player->world, player->plan, &player->run->store);
	wp_replay_world_finish(&player->world, player->plan, &totals, &player->run->throttle);
	if (player->plan->world == WP_WORLD_MODEL)
		player->run->copy_governed_by_memcpy =
		    wp_device_model_memcpy_governed(player->world.world.device);
	if (player->session.ack_log_failed)
		wp_run_fail(player->run, "%s: not everything acknowledged could be written there",
			    player->plan->settings->session.ack_log);
	wp_replay_judge(player->plan, player->run);
}

/*
 * A store that died keeps what it has: the kernel may still write into the
 * slots, and its own threads may never come back. The process's end frees both;
 * until then this list is their owner.
 */
static struct wp_player *given_up;

static void close_player(struct wp_player *player)
{
	if (player->unanswered) {
		if (!wp_replay_world_give_up(&player->world, wp_pager_in_flight(player->pager))) {
			player->given_up = given_up;
			given_up = player;
			return;
		}
		wp_world_close(&player->world.world);
	}
	wp_pager_close(player->pager);
	wp_replay_world_close(&player->world);
	wp_session_close(&player->session);
	free(player);
}

static int run_player(struct wp_replay_plan *plan, struct wp_run *run, struct wp_error *error)
{
	struct wp_player *player = calloc(1, sizeof(*player));
	int result = -1;

	if (!player)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "replay: %s", strerror(ENOMEM));
	player->plan = plan;
	player->run = run;
	run->has_lower_bound = wp_replay_bound_config(plan, &player->bound);
	if (open_pager(player, error) == 0) {
		play(player);
		result = 0;
	}
	wp_device_check_close(player->check);
	close_player(player);
	return result;
}

int wp_replay_run(struct wp_replay_plan *plan, struct wp_run *run, struct wp_error *error)
{
	int result;

	wp_replay_describe(plan, run);
	run->frames = calloc(plan->frames ? plan->frames : 1, sizeof(*run->frames));
	run->has_session = plan->tiered;
	run->tier_frames = calloc(plan->frames ? plan->frames : 1, sizeof(*run->tier_frames));
	if (!run->frames || !run->tier_frames)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "replay: %s", strerror(ENOMEM));
	result =
	    plan->arm->order ? run_player(plan, run, error) : wp_os_paging_run(plan, run, error);
	/* A failure before frame 0 leaves no result. */
	if (result == 0 && run->error[0] && run->frame_count == 0)
		result = wp_error_set(error, WP_EXIT_CONTENT, "%s", run->error);
	if (result == 0 && run->interrupted && run->frame_count == 0)
		result = wp_error_set(error, WP_EXIT_INTERRUPTED, "interrupted before frame 0");
	return result;
}
