/*
 * A model's own process that keeps its past blocks with the pager: the whole life of a
 * session, frame by frame, with a stand-in for the model. What a real one replaces is
 * marked MODEL. ../README.md explains the steps.
 *
 *	embed DIR	a new folder for the blocks, whose files go at the end
 *
 * With a GPU the stand-in makes elements, the pager encodes, stores, retrieves, decodes
 * and turns them, and every one is compared. Without, the device of the model world
 * takes the GPU's place: timed, with content of its own, which is compared instead.
 *
 * Exit: 0 done, 2 no folder named, 3 the machine, 4 wrong bytes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pager/codec.h"
#include "pager/content.h"
#include "pager/device.h"
#include "pager/eviction.h"
#include "pager/gpu.h"
#include "pager/pager.h"
#include "pager/positions.h"
#include "pager/random.h"
#include "pager/store_host.h"
#include "pager/world.h"

#define FRAMES	   48u
#define K	   2u /* blocks retrieved a frame, at most */
#define COMPUTE_NS 5000000u
#define SEED	   1u

static const struct wp_block_shape shape = {.layers = 4, .tokens = 96, .heads = 4, .head_dim = 128};
static const struct wp_rotary rotary = {.head_dim = 128, .dims = 44, .theta = 10000};
static const struct wp_positions positions = {
    .mode = WP_POSITIONS_MANAGED,
    .latents_per_frame = 3,
    .set_blocks_max = K,
    .local_blocks = 1,
    .window_latents = 15,
    .table_rows = 1024,
};

struct session {
	struct wp_world world;
	struct wp_pager *pager;
	struct wp_pager_config config;
	struct wp_gpu *gpu;   /* NULL: there is none */
	uint16_t *decoded[K]; /* on the GPU: what the model reads ... */
	uint16_t *fresh;      /* ... and what it writes: the frame's own block */
	void *stream;	      /* MODEL: the cudaStream_t of its kernels; NULL is the default one */
	uint32_t made_at[FRAMES]; /* the latent index that each block's K was rotated at */
	uint64_t needed_ns, stall_ns_max;
	uint64_t from_store;
};

static void stop(int status, const char *what, const char *why)
{
	fprintf(stderr, "embed: %s: %s\n", what, why);
	exit(status);
}

static void must(int result, const char *what)
{
	if (result < 0)
		stop(3, what, strerror(-result));
}

static void *allocate(uint64_t bytes)
{
	void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (!memory)
		stop(3, "memory", strerror(ENOMEM));
	return memory;
}

static uint64_t elements_bytes(void)
{
	return (wp_block_shape_elements(&shape) * sizeof(uint16_t) + 4095) / 4096 * 4096;
}

/* MODEL: where block `block` lies while it is encoded. Here each frame's in the same place. */
static const uint16_t *elements_of(void *context, uint32_t block)
{
	(void)block;
	return ((struct session *)context)->fresh;
}

static void configure(struct session *session)
{
	uint64_t bytes = wp_codec_block_bytes(&wp_codec_int4, wp_block_shape_elements(&shape));

	session->config = (struct wp_pager_config){
	    .geometry = {bytes, WP_CHUNK_BYTES, 1},
	    .order = wp_order_find("demand_first"),
	    .residency = WP_RESIDENCY_TIERED,
	    .set_blocks_max = K,
	    .staging_blocks = 2 * K,
	    .read_depth = 16,
	    .read_retries_max = WP_READ_RETRIES_MAX,
	    .tiers = {.device_slots = 5, /* so few that blocks go to the store and come back */
		      .host_slots = 8,
		      .nvme_blocks = FRAMES,
		      .blocks_max = FRAMES,
		      .write_depth = 8,
		      .write_blocks = 4,
		      .eviction = wp_eviction_find("lru")},
	};
}

/* The order matters: mapped, registered by the store, then pinned by the GPU. */
static void open_store(struct session *session, const char *directory,
		       const struct wp_store_arena *arena)
{
	const struct wp_store_host_config config = {
	    .directory = directory,
	    .depth = 16,
	    .writable = true,
	    .allow_unproven = true, /* an example runs anywhere, also on tmpfs */
	    .arenas = arena,
	    .arena_count = 1,
	};
	struct wp_store_identity identity = {.kind = WP_STORE_SESSION,
					     .block_bytes = session->config.geometry.block_bytes,
					     .geometry_hash =
						 1, /* MODEL: of all that shapes a block */
					     .codec = "int4",
					     .model = "embed"};
	struct wp_store_report report;
	struct wp_store_fault fault;

	if (wp_store_host_create(&session->world.store, &config, &identity, FRAMES,
				 session->world.clock, &report, &fault) < 0)
		stop(3, directory, fault.text);
}

static void open_gpu(struct session *session, const struct wp_store_arena *arena)
{
	uint64_t slots_bytes = wp_pager_device_bytes(&session->config);
	const struct wp_gpu_config config = {
	    .arena_bytes = slots_bytes + (K + 1) * elements_bytes(),
	    .events = WP_GPU_EVENTS,
	    .host = arena->base,
	    .host_bytes = arena->bytes,
	};
	const struct wp_device_gpu_config port = {
	    .form = {&wp_codec_int4, shape},
	    .rotary = rotary,
	    .geometry = session->config.geometry,
	    .elements_of = elements_of,
	    .elements_context = session,
	};
	char why[WP_GPU_WHY];

	if (wp_gpu_cuda_open(&session->gpu, &config, why) < 0)
		stop(3, "GPU", why);
	session->config.device_slots = session->gpu->arena;
	for (uint32_t i = 0; i < K; i++)
		session->decoded[i] =
		    (uint16_t *)((char *)session->gpu->arena + slots_bytes + i * elements_bytes());
	session->fresh = session->decoded[K - 1] + elements_bytes() / sizeof(uint16_t);
	must(wp_device_gpu_open(&session->world.device, session->gpu, session->world.clock, &port),
	     "device");
}

/* No GPU: the model world's device, with memory of the host for its slots. */
static void open_stand_in(struct session *session)
{
	const struct wp_device_rates rates = {.copy_bytes_per_s = 25000000000u,
					      .content_seed = SEED};

	session->config.device_slots = allocate(wp_pager_device_bytes(&session->config));
	must(wp_device_model_open(&session->world.device, session->world.clock, &rates), "device");
}

static void open_session(struct session *session, const char *directory)
{
	struct wp_gpu_facts facts;
	struct wp_store_arena arena;
	char why[WP_GPU_WHY];

	configure(session);
	must(wp_clock_host_open(&session->world.clock), "clock");
	arena.bytes = wp_pager_host_bytes(&session->config);
	arena.base = mmap(NULL, arena.bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (arena.base == MAP_FAILED)
		must(-errno, "host slots");
	session->config.host_slots = arena.base;
	open_store(session, directory, &arena);
	if (wp_gpu_cuda_probe(&facts, why) == 0) {
		open_gpu(session, &arena);
		printf("on %s\n", facts.name);
	} else {
		open_stand_in(session);
		printf("without a GPU: %s\n", why);
	}
	session->world.clock->ops->watch(session->world.clock, wp_port_fd(session->world.store));
	session->world.clock->ops->watch(session->world.clock, wp_port_fd(session->world.device));
	must(wp_pager_open(&session->pager, &session->config, &session->world), "pager");
	session->needed_ns = wp_clock_now_ns(session->world.clock);
}

/* Lets the pager work until `done` has a completion. */
static void wait_for(struct session *session, struct wp_queue *done, uint32_t count)
{
	for (;;) {
		must(wp_pager_step(session->pager), "pager");
		if (done->count == count)
			break;
		must(wp_world_wait(&session->world, wp_pager_deadline_ns(session->pager)), "wait");
	}
	for (struct wp_request *request; (request = wp_queue_pop(done));)
		must(request->result,
		     session->gpu ? wp_device_gpu_why(session->world.device) : "device");
}

/* MODEL: its retrieval rule, and its guess at the coming frame's set. */
static uint32_t retrieve(uint32_t frame, uint32_t set[K])
{
	if (frame < 4)
		return 0;
	set[0] = frame - 4;
	set[1] = (frame * 7) % (frame - 4 ? frame - 4 : 1);
	return set[1] == set[0] ? 1 : K;
}

/* By how much K of each block of the set turns, and where the frame's own block stands. */
static uint32_t place(struct session *session, uint32_t frame, const uint32_t *set, uint32_t count,
		      int32_t shifts[K])
{
	struct wp_placement placement;

	must(wp_positions_place(&positions, frame, set, count, &placement), "positions");
	for (uint32_t i = 0; i < count; i++)
		shifts[i] = (int32_t)wp_place_shift(&placement.places[i], session->made_at[set[i]]);
	return wp_placement_own(&placement)->latent;
}

/* MODEL: the K and V that frame `block` leaves behind. Here ordinary numbers made from its
 * own number, so that anybody can tell what they were. */
static void make_elements(uint32_t block, uint16_t *elements)
{
	struct wp_random random = {block + 1};

	for (uint64_t i = 0; i < wp_block_shape_elements(&shape); i++)
		elements[i] = (uint16_t)((wp_random_next(&random) & 0x81ffu) | 0x3e00u);
}

/* MODEL: launches its kernels on session->stream; they read session->decoded and write
 * session->fresh. Here the elements come from the host, and the call waits for them. */
static void run_model(struct session *session, uint32_t frame)
{
	uint16_t *made = allocate(elements_bytes());

	make_elements(frame, made);
	must(session->gpu->ops->copy(session->gpu, WP_GPU_COMPUTE, session->fresh, made,
				     wp_block_shape_elements(&shape) * sizeof(*made)),
	     "model");
	must(session->gpu->ops->sync(session->gpu), "model");
	free(made);
}

/* What was decoded, against the reference codec. */
static void compare_decoded(struct session *session, uint32_t index, uint32_t block, int32_t shift)
{
	uint64_t bytes = wp_block_shape_elements(&shape) * sizeof(uint16_t);
	uint16_t *found = allocate(bytes), *expected = allocate(bytes);
	unsigned char *stored = allocate(session->config.geometry.block_bytes);
	struct wp_codec_counts counts = {0};
	struct wp_rotation rotation;

	must(session->gpu->ops->copy(session->gpu, WP_GPU_COMPUTE, found, session->decoded[index],
				     bytes),
	     "comparing");
	must(session->gpu->ops->sync(session->gpu), "comparing");
	make_elements(block, expected);
	wp_codec_encode_block(&wp_codec_int4, &shape, expected, stored, &counts);
	wp_rotation_init(&rotation, &rotary, shift);
	wp_codec_decode_block(&wp_codec_int4, &shape, stored, &rotation, expected);
	if (memcmp(found, expected, bytes) != 0)
		stop(4, "decoded", "not what was put");
	free(found);
	free(expected);
	free(stored);
}

static void compare_content(const struct session *session, uint32_t index, uint32_t block)
{
	const struct wp_geometry *geometry = &session->config.geometry;
	const char *at = wp_pager_device(session->pager, index);

	for (uint32_t chunk = 0; chunk < wp_geometry_chunks(geometry); chunk++)
		if (!wp_content_equals(at + (uint64_t)chunk * WP_CHUNK_BYTES,
				       wp_geometry_bytes(geometry, chunk, 1), SEED, block, chunk))
			stop(4, "device slot", "not what was put");
}

/* The set is there: decode it, run the model behind that, stage the coming frame beside it. */
static void compute(struct session *session, uint32_t frame, const uint32_t *set, uint32_t count,
		    const int32_t *shifts)
{
	struct wp_port *device = session->world.device;
	struct wp_queue done = {0};
	struct wp_request decodes[K], computed = {.owner = &done, .op = WP_OP_COMPUTE};
	uint32_t guess[K], guess_count;

	for (uint32_t i = 0; i < count; i++) {
		decodes[i] = (struct wp_request){.owner = &done,
						 .op = WP_OP_DECODE,
						 .block = set[i],
						 .device = wp_pager_device(session->pager, i),
						 .elements = session->decoded[i],
						 .shift = shifts[i]};
		must(wp_port_submit(device, &decodes[i]), "decode");
	}
	if (session->gpu) {
		/* The model's stream waits for the decoding; the host does not. */
		must(wp_device_gpu_lead(device, session->stream), "decode");
		run_model(session, frame);
		must(wp_device_gpu_follow(device, session->stream, &computed), "model");
	} else {
		computed.duration_ns = COMPUTE_NS;
		must(wp_port_submit(device, &computed), "model");
	}
	guess_count = frame + 1 < FRAMES ? retrieve(frame + 1, guess) : 0;
	wp_pager_hint(session->pager, guess, guess_count);
	wait_for(session, &done, count + 1);
	for (uint32_t i = 0; i < count; i++) {
		if (session->gpu)
			compare_decoded(session, i, set[i], shifts[i]);
		else
			compare_content(session, i, set[i]);
	}
}

/* The frame's own block goes to the pager: encoded, then written through behind the frames. */
static void put(struct session *session, uint32_t frame)
{
	must(wp_pager_wait_put(session->pager, frame, session->made_at[frame]), "put");
	/* The model may write over `fresh` once that has been encoded. */
	if (session->gpu)
		must(wp_device_gpu_lead(session->world.device, session->stream), "encode");
}

static void play_frame(struct session *session, uint32_t frame)
{
	struct wp_pager_figures figures;
	uint32_t set[K], count = retrieve(frame, set);
	int32_t shifts[K];

	session->made_at[frame] = place(session, frame, set, count, shifts);
	wp_pager_need(session->pager, set, count, session->needed_ns);
	must(wp_pager_wait_ready(session->pager), "retrieved blocks");
	wp_pager_settle(session->pager, &figures);
	if (figures.ready_ns > session->needed_ns + session->stall_ns_max)
		session->stall_ns_max = figures.ready_ns - session->needed_ns;
	session->from_store += figures.blocks_nvme;
	compute(session, frame, set, count, shifts);
	wp_pager_release(session->pager);
	put(session, frame);
	session->needed_ns = wp_clock_now_ns(session->world.clock);
}

/* What was put becomes durable; then everything goes, in the reverse order. */
static void close_session(struct session *session, const char *directory)
{
	struct wp_store_fault fault;

	while (wp_pager_usage(session->pager).unacknowledged) {
		must(wp_pager_step(session->pager), "pager");
		if (wp_pager_usage(session->pager).unacknowledged)
			must(wp_world_wait(&session->world, wp_pager_deadline_ns(session->pager)),
			     "wait");
	}
	printf("%u blocks stored, %" PRIu64 " read back, longest stall %.2f ms\n",
	       wp_pager_usage(session->pager).nvme_blocks, session->from_store,
	       (double)session->stall_ns_max / 1e6);
	must(wp_pager_quiesce(session->pager), "pager");
	wp_pager_close(session->pager);
	wp_world_close(&session->world); /* closes the GPU, too: it unpins the host slots */
	munmap(session->config.host_slots, wp_pager_host_bytes(&session->config));
	if (!session->gpu)
		free(session->config.device_slots);
	if (wp_store_host_remove(directory, &fault) < 0)
		stop(3, directory, fault.text);
}

int main(int argc, char **argv)
{
	static struct session session;

	if (argc != 2) {
		fprintf(stderr, "usage: embed DIR\n");
		return 2;
	}
	open_session(&session, argv[1]);
	for (uint32_t frame = 0; frame < FRAMES; frame++)
		play_frame(&session, frame);
	close_session(&session, argv[1]);
	return 0;
}
