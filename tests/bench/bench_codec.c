/*
 * Codec speed on one core, beside memcpy: a full MG2 block (243,302,400
 * elements) is encoded, decoded, and decoded with its K turned. Every round takes each
 * way once and memcpy of the same bf16 bytes once, and a way is judged by the
 * median of the ratios within a round, because the machine may be shared and its
 * speed drifts.
 *
 * Usage: bench_codec [ROUNDS [TOKENS A LATENT]]. Prints one JSON object a way; judges
 * nothing. scripts/bench makes a table of it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pager/codec.h"
#include "pager/codec_arith.h"
#include "pager/codec_int4.h"
#include "pager/random.h"
#include "pager/rotate.h"

#define ROUNDS_MAX 101u
#define WAYS_MAX   24u

struct bench {
	struct wp_block_shape shape;
	struct wp_rotation rotation;
	uint16_t *elements;
	uint16_t *decoded;
	uint8_t *stored;
	struct wp_codec_counts counts;
};

struct way {
	const char *name;
	const struct wp_int4_path *path; /* NULL: memcpy */
	enum { COPY, ENCODE, DECODE, DECODE_TURNED, TURN_ALL } kind;
	double seconds[ROUNDS_MAX];
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *memory(size_t bytes)
{
	void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (!memory) {
		fprintf(stderr, "bench_codec: no memory for %zu bytes\n", bytes);
		exit(3);
	}
	memset(memory, 1, bytes); /* page faults belong to no way */
	return memory;
}

static void bench_open(struct bench *bench, uint32_t tokens)
{
	const struct wp_rotary rotary = {128, 44, 10000.0};
	struct wp_random random = {1};
	uint64_t elements;

	bench->shape = (struct wp_block_shape){30, 3 * tokens, 12, 128};
	elements = wp_block_shape_elements(&bench->shape);
	bench->elements = memory(elements * 2);
	bench->decoded = memory(elements * 2);
	bench->stored = memory(wp_codec_int4.block_bytes(elements));
	bench->counts = (struct wp_codec_counts){0, 0};
	wp_rotation_init(&bench->rotation, &rotary, -1234);
	for (uint64_t i = 0; i < elements; i++) {
		uint64_t bits = wp_random_next(&random);
		float a = (float)(int32_t)bits, b = (float)(int32_t)(bits >> 32);

		bench->elements[i] = wp_bf16_from_float((a + b) / 4294967296.0f);
	}
}

/* The block in tensors, as wp_codec_decode_block walks it, but on a path of our choice. */
static void code(struct bench *bench, const struct way *way)
{
	uint64_t tensor = wp_block_shape_tensor_elements(&bench->shape);
	uint8_t *scales = bench->stored + wp_block_shape_elements(&bench->shape) / 2;
	uint64_t groups = tensor / WP_CODEC_GROUP;

	for (uint64_t i = 0; i < 2ull * bench->shape.layers; i++) {
		uint8_t *packed = bench->stored + i * tensor / 2;
		uint8_t *own = scales + 2 * i * groups;

		if (way->kind == ENCODE)
			way->path->encode(bench->elements + i * tensor, groups, packed, own,
					  &bench->counts);
		else if (way->kind == TURN_ALL || (way->kind == DECODE_TURNED && i % 2 == 0))
			way->path->decode_rotated(packed, own, groups, &bench->rotation,
						  bench->decoded + i * tensor);
		else
			way->path->decode(packed, own, groups, bench->decoded + i * tensor);
	}
}

static double run(struct bench *bench, const struct way *way)
{
	double begin = now_s();

	if (way->kind == COPY)
		memcpy(bench->decoded, bench->elements, 2 * wp_block_shape_elements(&bench->shape));
	else
		code(bench, way);
	return now_s() - begin;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median over rounds of base's time / way's time. */
static double ratio(const struct way *base, const struct way *way, uint32_t rounds)
{
	double ratios[ROUNDS_MAX];

	for (uint32_t i = 0; i < rounds; i++)
		ratios[i] = base->seconds[i] / way->seconds[i];
	qsort(ratios, rounds, sizeof(ratios[0]), compare);
	return ratios[rounds / 2];
}

static double median(const struct way *way, uint32_t rounds)
{
	double seconds[ROUNDS_MAX];

	memcpy(seconds, way->seconds, sizeof(seconds));
	qsort(seconds, rounds, sizeof(seconds[0]), compare);
	return seconds[rounds / 2];
}

static uint32_t add_ways(struct way *ways)
{
	const struct wp_int4_path *path;
	uint32_t count = 1;

	ways[0] = (struct way){.name = "memcpy", .kind = COPY};
	for (uint32_t i = 0; (path = wp_int4_path_at(i)); i++) {
		if (!path->supported())
			continue;
		ways[count++] = (struct way){.name = "decode", .path = path, .kind = DECODE};
		ways[count++] =
		    (struct way){.name = "decode, K turned", .path = path, .kind = DECODE_TURNED};
		ways[count++] =
		    (struct way){.name = "decode, K and V turned", .path = path, .kind = TURN_ALL};
		ways[count++] = (struct way){.name = "encode", .path = path, .kind = ENCODE};
	}
	return count;
}

static void report(const struct bench *bench, const struct way *ways, uint32_t count,
		   uint32_t rounds)
{
	double elements = (double)wp_block_shape_elements(&bench->shape);
	const struct way *decode = NULL;

	for (uint32_t i = 0; i < count; i++) {
		const struct way *way = &ways[i];
		double s = median(way, rounds);

		if (way->kind == DECODE)
			decode = way;
		printf("{\"way\": \"%s\", \"path\": \"%s\", \"ms\": %.3f, "
		       "\"bf16_bytes_per_s\": %.0f, \"of_memcpy\": %.4f",
		       way->name, way->path ? way->path->name : "", 1e3 * s, 2 * elements / s,
		       ratio(&ways[0], way, rounds));
		if (decode && way->kind != ENCODE && way != decode)
			printf(", \"of_decode\": %.4f", ratio(decode, way, rounds));
		printf("}\n");
	}
}

int main(int argc, char **argv)
{
	static struct way ways[WAYS_MAX];
	static struct bench bench;
	uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 9;
	uint32_t tokens = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 880;
	uint32_t count = add_ways(ways);

	if (rounds < 1 || rounds > ROUNDS_MAX || tokens < 1 || tokens > 880) {
		fprintf(stderr, "usage: bench_codec [ROUNDS [TOKENS A LATENT]]\n");
		return 2;
	}
	bench_open(&bench, tokens);
	/* What is decoded has to be encoded first; not timed. */
	run(&bench, &ways[count - 1]);
	for (uint32_t round = 0; round < rounds; round++)
		for (uint32_t i = 0; i < count; i++)
			ways[i].seconds[round] = run(&bench, &ways[i]);
	report(&bench, ways, count, rounds);
	return 0;
}
