/*
 * Rates: copies between host and device by the host's clock, kernels by the device's,
 * each beside a plain copy within the device in the same round, so that a clock
 * that drifts or a neighbour on the machine weighs on both. Medians over rounds.
 */
#include <stdlib.h>
#include <string.h>

#include "pager/duration.h"
#include "pager/limits.h"
#include "pager/rotate.h"
#include "pager/world.h"
#include "tests/gpu/measure.h"

#define LAUNCHES   8u /* between two events: what launching takes is spread over them */
#define ROUNDS_MAX 64u
#define PORT_PIECE (1u << 20) /* the largest small read */
#define PORT_DEPTH 2u	      /* as many as the pager gives the device at once */
#define COMPUTE_NS 100000000u
#define SHIFT	   (-8985)

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static uint64_t median_ns(uint64_t *samples, uint32_t count)
{
	qsort(samples, count, sizeof(*samples), compare_u64);
	return samples[count / 2];
}

/* A volume through one stream, in pieces. */
static void queue_copies(struct measure *measure, enum wp_gpu_stream stream, unsigned char *host,
			 uint64_t piece_bytes)
{
	unsigned char *device = (unsigned char *)measure->elements;
	struct wp_gpu *gpu = measure->gpu;

	if (stream == WP_GPU_FETCH)
		device = (unsigned char *)measure->others;
	for (uint64_t at = 0; at < measure->host_bytes; at += piece_bytes) {
		uint64_t left = measure->host_bytes - at;
		uint64_t bytes = left < piece_bytes ? left : piece_bytes;
		void *to = stream == WP_GPU_FETCH ? host + at : device + at;
		const void *from = stream == WP_GPU_FETCH ? device + at : host + at;

		measure_must(measure, gpu->ops->copy(gpu, stream, to, from, bytes), "copy");
	}
}

static void measure_copy(struct measure *measure, struct copy_rate rate)
{
	bool to = strcmp(rate.direction, "from_device") != 0;
	bool from = strcmp(rate.direction, "to_device") != 0;
	unsigned char *host = rate.pinned ? measure->pinned : measure->pageable;
	uint64_t samples[ROUNDS_MAX] = {0};

	for (uint32_t round = 0; round < measure->rounds; round++) {
		uint64_t begin_ns = wp_clock_now_ns(measure->clock);

		if (to)
			queue_copies(measure, WP_GPU_COPY, host, rate.piece_bytes);
		if (from)
			queue_copies(measure, WP_GPU_FETCH, to ? host + measure->host_bytes : host,
				     rate.piece_bytes);
		measure_must(measure, measure->gpu->ops->sync(measure->gpu), "copy");
		samples[round] = wp_clock_now_ns(measure->clock) - begin_ns;
	}
	rate.bytes = ((uint64_t)to + from) * measure->host_bytes;
	rate.bytes_per_s = wp_duration_rate(rate.bytes, median_ns(samples, measure->rounds));
	WP_CHECK(measure->copy_count < COPIES_MAX);
	measure->copies[measure->copy_count++] = rate;
}

void measure_copies(struct measure *measure)
{
	uint64_t whole = measure->host_bytes, piece = WP_COPY_BYTES_MAX;
	const struct copy_rate copies[] = {
	    {"pinned, whole", "to_device", true, whole, 0, 0},
	    {"pinned, whole", "from_device", true, whole, 0, 0},
	    {"pinned, in pieces", "to_device", true, piece, 0, 0},
	    {"pinned, in pieces", "from_device", true, piece, 0, 0},
	    {"pinned, in pieces", "both", true, piece, 0, 0},
	    {"pageable, whole", "to_device", false, whole, 0, 0},
	    {"pageable, whole", "from_device", false, whole, 0, 0},
	};

	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
		measure_copy(measure, copies[i]);
}

/* What is launched, and the bytes it moves: each element is 2, or 4.25 bits where coded. */
struct way {
	const char *name;
	enum { DEVICE_COPY, DECODE, ENCODE } kind;
	const struct wp_codec *codec;
	bool turned;
};

static void launch(struct measure *measure, const struct way *way,
		   const struct wp_rotation *rotation)
{
	const struct wp_gpu_form form = {way->codec, measure->shape};
	struct wp_gpu *gpu = measure->gpu;
	int result;

	if (way->kind == DEVICE_COPY)
		result = gpu->ops->copy(gpu, WP_GPU_COMPUTE, measure->others, measure->elements,
					2 * wp_block_shape_elements(&measure->shape));
	else if (way->kind == DECODE)
		result = gpu->ops->decode(gpu, &form, measure->stored,
					  way->turned ? rotation : NULL, measure->others);
	else
		result = gpu->ops->encode(gpu, &form, measure->elements, measure->stored);
	measure_must(measure, result, way->name);
}

static uint64_t time_launches(struct measure *measure, const struct way *way,
			      const struct wp_rotation *rotation)
{
	struct wp_gpu *gpu = measure->gpu;
	uint64_t ns = 0;

	measure_must(measure, gpu->ops->mark(gpu, WP_GPU_COMPUTE, 0), "event");
	for (uint32_t i = 0; i < LAUNCHES; i++)
		launch(measure, way, rotation);
	measure_must(measure, gpu->ops->mark(gpu, WP_GPU_COMPUTE, 1), "event");
	measure_must(measure, gpu->ops->sync(gpu), way->name);
	WP_CHECK(gpu->ops->passed(gpu, 0) == 1 && gpu->ops->passed(gpu, 1) == 1);
	measure_must(measure, gpu->ops->between_ns(gpu, 0, 1, &ns), "event");
	return ns / LAUNCHES ? ns / LAUNCHES : 1;
}

static void add_kernel(struct measure *measure, const struct way *way, uint64_t *samples,
		       const uint64_t *copies)
{
	uint64_t elements = wp_block_shape_elements(&measure->shape);
	struct kernel_rate *rate = &measure->kernels[measure->kernel_count++];
	uint64_t stored_bytes = wp_codec_block_bytes(way->codec, elements);
	uint32_t rounds = measure->rounds;
	double ratios[ROUNDS_MAX];
	uint64_t bytes;

	WP_CHECK(measure->kernel_count <= KERNELS_MAX);
	rate->name = way->name;
	rate->read_bytes = way->kind == DECODE ? stored_bytes : 2 * elements;
	rate->written_bytes = way->kind == ENCODE ? stored_bytes : 2 * elements;
	bytes = rate->read_bytes + rate->written_bytes;
	for (uint32_t i = 0; i < rounds; i++)
		ratios[i] = ((double)bytes / (double)samples[i]) /
			    ((double)(4 * elements) / (double)copies[i]);
	qsort(ratios, rounds, sizeof(ratios[0]), compare_double);
	rate->of_copy = ratios[rounds / 2];
	rate->launch_ns = median_ns(samples, rounds);
	rate->bytes_per_s = wp_duration_rate(bytes, rate->launch_ns);
}

void measure_kernels(struct measure *measure)
{
	static const struct way ways[] = {
	    {"copy within the device", DEVICE_COPY, &wp_codec_bf16, false},
	    {"int4 decode", DECODE, &wp_codec_int4, false},
	    {"int4 decode, K turned", DECODE, &wp_codec_int4, true},
	    {"bf16 decode, K turned", DECODE, &wp_codec_bf16, true},
	    {"int4 encode", ENCODE, &wp_codec_int4, false},
	};
	enum { WAYS = sizeof(ways) / sizeof(ways[0]) };
	const struct wp_rotary rotary = {measure->shape.head_dim, 44, 10000};
	static uint64_t samples[WAYS][ROUNDS_MAX], copies[ROUNDS_MAX];
	struct wp_rotation rotation;

	wp_rotation_init(&rotation, &rotary, SHIFT);
	for (uint32_t way = 0; way < WAYS; way++) /* once untimed: code is loaded when it is used */
		(void)time_launches(measure, &ways[way], &rotation);
	for (uint32_t round = 0; round < measure->rounds; round++)
		for (uint32_t way = 0; way < WAYS; way++)
			samples[way][round] = time_launches(measure, &ways[way], &rotation);
	memcpy(copies, samples[0], sizeof(copies));
	for (uint32_t way = 0; way < WAYS; way++)
		add_kernel(measure, &ways[way], samples[way], copies);
}

/* The stand-ins for a model last as long as they are told. */
void measure_computes(struct measure *measure)
{
	static const char *const names[] = {"arithmetic in registers", "matrix products"};
	static const enum wp_gpu_load loads[] = {WP_GPU_LOAD_TIMED, WP_GPU_LOAD_PRODUCTS};
	struct wp_gpu *gpu = measure->gpu;

	for (int i = 0; i < 2; i++) {
		struct compute_time *time = &measure->computes[i];

		time->name = names[i];
		time->asked_ns = COMPUTE_NS;
		/* The first loads its code. */
		measure_must(measure, gpu->ops->compute(gpu, loads[i], 1000), "compute");
		measure_must(measure, gpu->ops->mark(gpu, WP_GPU_COMPUTE, 0), "event");
		measure_must(measure, gpu->ops->compute(gpu, loads[i], COMPUTE_NS), "compute");
		measure_must(measure, gpu->ops->mark(gpu, WP_GPU_COMPUTE, 1), "event");
		measure_must(measure, gpu->ops->sync(gpu), "compute");
		measure_must(measure, gpu->ops->between_ns(gpu, 0, 1, &time->took_ns), "event");
	}
}

/* One volume through the port, as the pager moves blocks: small reads, two on their way. */
static uint64_t time_port(struct measure *measure, struct wp_port *port)
{
	struct wp_request requests[PORT_DEPTH];
	struct wp_queue done = {0}, idle = {0};
	uint64_t begin_ns = wp_clock_now_ns(measure->clock), at = 0;
	struct wp_request *request;

	for (uint32_t i = 0; i < PORT_DEPTH; i++) {
		requests[i] = (struct wp_request){.owner = &done, .op = WP_OP_COPY};
		wp_queue_push(&idle, &requests[i]);
	}
	while (at < measure->host_bytes || idle.count < PORT_DEPTH) {
		while (at < measure->host_bytes && (request = wp_queue_pop(&idle))) {
			request->payload_bytes = request->bytes = PORT_PIECE;
			request->host = measure->pinned + at;
			request->device = (unsigned char *)measure->elements + at;
			at += PORT_PIECE;
			WP_CHECK(wp_port_submit(port, request) == 0);
		}
		(void)!wp_clock_wait_until(measure->clock, wp_port_next_ns(port));
		wp_port_poll(port);
		while ((request = wp_queue_pop(&done))) {
			measure_must(measure, request->result, "copy");
			wp_queue_push(&idle, request);
		}
	}
	return wp_clock_now_ns(measure->clock) - begin_ns;
}

void measure_port(struct measure *measure)
{
	const struct wp_device_gpu_config config = {.form = {&wp_codec_int4, measure->shape}};
	struct copy_rate rate = {
	    "through the pager's port", "to_device", true, PORT_PIECE, measure->host_bytes, 0};
	uint64_t samples[ROUNDS_MAX] = {0};
	struct wp_port *port;

	measure_must(measure, wp_device_gpu_open(&port, measure->gpu, measure->clock, &config),
		     "device port");
	for (uint32_t round = 0; round < measure->rounds; round++)
		samples[round] = time_port(measure, port);
	rate.bytes_per_s = wp_duration_rate(rate.bytes, median_ns(samples, measure->rounds));
	WP_CHECK(measure->copy_count < COPIES_MAX);
	measure->copies[measure->copy_count++] = rate;
	wp_port_close(port);
	measure->gpu = NULL;
}
