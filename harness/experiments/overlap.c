/* Playing the frames of one point: see overlap.h. Opens nothing, writes nothing. */
#include "harness/experiments/overlap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/system/interrupt.h"
#include "pager/limits.h"

/* A frame's volume on its way. */
struct transfer {
	uint64_t left_bytes; /* not submitted */
	uint32_t in_flight;
	uint64_t begun_ns;
	uint64_t done_ns; /* of the last piece so far */
};

struct player {
	struct wp_overlap_world *world;
	struct wp_queue done;
	struct wp_request compute;
	bool computing;
	struct wp_request pieces[WP_OVERLAP_DEPTH];
	uint32_t free_pieces[WP_OVERLAP_DEPTH];
	uint32_t free_count;
	uint64_t sequence;    /* pieces submitted: the next goes to slot sequence % slots */
	uint64_t *sent_bytes; /* of each slot, so far: a volume's last piece may be short */
	struct transfer transfer;
	int error;
};

uint64_t wp_overlap_full_ns(const struct wp_overlap *overlap, uint64_t ns)
{
	return (uint64_t)((double)ns / overlap->scale + 0.5);
}

static void begin_transfer(struct player *player, uint64_t bytes)
{
	WP_CHECK(player->transfer.left_bytes == 0 && player->transfer.in_flight == 0);
	player->transfer = (struct transfer){
	    .left_bytes = bytes,
	    .begun_ns = wp_clock_now_ns(player->world->clock),
	};
}

/* Keeps the copy engine fed: several pieces, so that it never waits for us. */
static void feed(struct player *player)
{
	struct transfer *transfer = &player->transfer;
	struct wp_overlap_world *world = player->world;

	while (transfer->left_bytes && player->free_count) {
		uint32_t index = player->free_pieces[player->free_count - 1];
		struct wp_request *request = &player->pieces[index];
		uint64_t at = player->sequence % world->slots;
		uint64_t slot = at * world->slot_bytes;
		uint64_t bytes = transfer->left_bytes < WP_COPY_BYTES_MAX ? transfer->left_bytes
									  : WP_COPY_BYTES_MAX;

		*request = (struct wp_request){
		    .owner = &player->done,
		    .op = WP_OP_COPY,
		    .bytes = bytes,
		    .payload_bytes = bytes < world->slot_bytes ? bytes : world->slot_bytes,
		    .host = (char *)world->host.base + slot,
		    .device = (char *)world->device_slots + slot,
		    .tag = index,
		};
		if (wp_port_submit(world->device, request) != 0)
			return;
		if (request->payload_bytes > player->sent_bytes[at])
			player->sent_bytes[at] = request->payload_bytes;
		player->free_count--;
		player->sequence++;
		transfer->left_bytes -= bytes;
		transfer->in_flight++;
	}
}

static void take(struct player *player)
{
	struct wp_request *request;

	wp_port_poll(player->world->device);
	while ((request = wp_queue_pop(&player->done))) {
		if (request->result < 0 && !player->error)
			player->error = request->result;
		if (request == &player->compute) {
			player->computing = false;
			continue;
		}
		player->free_pieces[player->free_count++] = request->tag;
		player->transfer.in_flight--;
		if (request->done_ns > player->transfer.done_ns)
			player->transfer.done_ns = request->done_ns;
	}
}

static bool transferring(const struct player *player)
{
	return player->transfer.left_bytes || player->transfer.in_flight;
}

/* Until compute, the transfer, or both are over. After a failure or a signal what is in
 * flight still comes to its end, and nothing new begins. */
static int run_until(struct player *player, bool compute_over, bool transfer_over)
{
	struct wp_overlap_world *world = player->world;

	for (;;) {
		take(player);
		if (player->error || wp_interrupted())
			player->transfer.left_bytes = 0;
		feed(player);
		if ((!compute_over || !player->computing) &&
		    (!transfer_over || !transferring(player)))
			break;
		if (wp_clock_wait_until(world->clock, wp_port_next_ns(world->device)) == -EDEADLK &&
		    !player->error)
			player->error = -EDEADLK;
	}
	return player->error ? player->error : wp_interrupted() ? -EINTR : 0;
}

/* One frame: computes from `start_ns` on while (two buffers) or before (one) the next one's
 * volume is copied. *start_ns moves on to the next frame's. */
static int play_frame(struct player *player, const struct wp_overlap *overlap,
		      const struct wp_overlap_point *point, uint64_t *start_ns, uint64_t *stall_ns)
{
	uint64_t needed_ns, ready_ns;
	int result;

	player->compute = (struct wp_request){
	    .owner = &player->done,
	    .op = WP_OP_COMPUTE,
	    .duration_ns = overlap->compute_ns,
	    .start_ns = *start_ns,
	};
	WP_CHECK(wp_port_submit(player->world->device, &player->compute) == 0);
	player->computing = true;
	if (point->buffers == 2)
		begin_transfer(player, point->bytes);
	result = run_until(player, true, false);
	if (result == 0 && point->buffers == 1)
		begin_transfer(player, point->bytes);
	if (result == 0)
		result = run_until(player, true, true);
	else
		(void)run_until(player, true, true);
	if (result < 0)
		return result;
	needed_ns = player->compute.done_ns;
	ready_ns = player->transfer.done_ns;
	*stall_ns = ready_ns > needed_ns ? ready_ns - needed_ns : 0;
	*start_ns = ready_ns > needed_ns ? ready_ns : needed_ns;
	return 0;
}

static int play(struct player *player, const struct wp_overlap *overlap,
		const struct wp_overlap_point *point, uint64_t *stalls_ns, uint64_t *copies_ns)
{
	uint32_t frames = overlap->warmup_frames + overlap->frames;
	uint64_t start_ns;
	int result;

	/* Before the first frame, every slot once: the first use of memory is slow. */
	begin_transfer(player, (uint64_t)player->world->slots * WP_COPY_BYTES_MAX);
	result = run_until(player, true, true);
	start_ns = wp_clock_now_ns(player->world->clock);
	for (uint32_t frame = 0; frame < frames && result == 0; frame++) {
		uint64_t stall_ns = 0;

		result = play_frame(player, overlap, point, &start_ns, &stall_ns);
		if (frame < overlap->warmup_frames)
			continue;
		stalls_ns[frame - overlap->warmup_frames] = stall_ns;
		copies_ns[frame - overlap->warmup_frames] =
		    player->transfer.done_ns - player->transfer.begun_ns;
	}
	return result;
}

/* Brings the slots back from the device and compares them with what was sent. */
static int check_slots(struct player *player, struct wp_error *error)
{
	struct wp_overlap_world *world = player->world;
	uint64_t half = (uint64_t)world->slots * world->slot_bytes;

	for (uint64_t i = 0; i < world->slots && player->sent_bytes[i]; i++) {
		uint64_t offset = i * world->slot_bytes;
		char *sent = (char *)world->host.base + offset;
		struct wp_request *request = &player->pieces[0];

		*request = (struct wp_request){
		    .owner = &player->done,
		    .op = WP_OP_FETCH,
		    .bytes = player->sent_bytes[i],
		    .payload_bytes = player->sent_bytes[i],
		    .host = sent + half,
		    .device = (char *)world->device_slots + offset,
		};
		WP_CHECK(wp_port_submit(world->device, request) == 0);
		while (!wp_queue_pop(&player->done)) {
			(void)!wp_clock_wait_until(world->clock, wp_port_next_ns(world->device));
			wp_port_poll(world->device);
		}
		if (request->result < 0 || memcmp(sent, sent + half, player->sent_bytes[i]) != 0)
			return wp_error_set(error, WP_EXIT_CONTENT,
					    "slot %" PRIu64 ": wrong bytes on the device", i);
	}
	return 0;
}

int wp_overlap_measure(struct wp_overlap_world *world, const struct wp_overlap *overlap,
		       struct wp_overlap_point *point, struct wp_error *error)
{
	uint64_t *samples = calloc(overlap->frames, 2 * sizeof(*samples));
	struct player *player = calloc(1, sizeof(*player));
	int result = -ENOMEM;

	WP_CHECK(overlap->frames > 0 && point->bytes > 0);
	WP_CHECK(point->buffers == 1 || point->buffers == 2);
	WP_CHECK(world->slots >= 2 * WP_OVERLAP_DEPTH);
	if (player)
		player->sent_bytes = calloc(world->slots, sizeof(*player->sent_bytes));
	if (samples && player && player->sent_bytes) {
		player->world = world;
		for (uint32_t i = 0; i < WP_OVERLAP_DEPTH; i++)
			player->free_pieces[player->free_count++] = i;
		result = play(player, overlap, point, samples, samples + overlap->frames);
	}
	if (result == -EINTR) {
		result = wp_error_set(error, WP_EXIT_INTERRUPTED, "interrupted");
	} else if (result < 0) {
		result = wp_error_set(error, WP_EXIT_CONTENT, "copy to the device: %s",
				      strerror(-result));
	} else {
		wp_stats_compute(samples, overlap->frames, &point->stall);
		wp_stats_compute(samples + overlap->frames, overlap->frames, &point->copy);
		result = check_slots(player, error);
	}
	if (player)
		free(player->sent_bytes);
	free(player);
	free(samples);
	return result;
}
