/*
 * Kernels against the reference codecs, bit by bit: fresh random blocks, every bit
 * pattern, every scale, shifts over the range that sessions ask for, shapes at the
 * edges of what kernels take, and the content of prepared blocks.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pager/content.h"
#include "pager/rotate.h"
#include "tests/gpu/measure.h"

#define SHIFT_LEAST (-8999)
#define SHIFT_MOST  1023
#define SHIFTS_MIN  200u

static const struct wp_rotary mg2 = {128, 44, 10000};
static const struct wp_codec *const codecs[] = {&wp_codec_int4, &wp_codec_bf16};

static struct check *add_check(struct measure *measure, const char *name)
{
	struct check *check = &measure->checks[measure->check_count++];

	WP_CHECK(measure->check_count <= CHECKS_MAX);
	check->name = name;
	return check;
}

static void judge(struct check *check, const void *found, const void *expected, uint64_t bytes,
		  const char *what)
{
	const unsigned char *a = found, *b = expected;
	uint64_t at = 0;

	check->cases++;
	check->compared_bytes += bytes;
	if (memcmp(a, b, bytes) == 0)
		return;
	while (a[at] == b[at])
		at++;
	if (check->wrong++ == 0)
		snprintf(check->first, sizeof(check->first),
			 "%s: byte %" PRIu64 " is %02x, not %02x", what, at, a[at], b[at]);
}

/* Over the GPU's compute stream, so that copies and kernels follow one another. */
static void send(struct measure *measure, void *device, const void *host, uint64_t bytes)
{
	measure_must(measure,
		     measure->gpu->ops->copy(measure->gpu, WP_GPU_COMPUTE, device, host, bytes),
		     "copy");
}

static void bring(struct measure *measure, void *host, const void *device, uint64_t bytes)
{
	send(measure, host, device, bytes);
	measure_must(measure, measure->gpu->ops->sync(measure->gpu), "copy");
}

static void *random_bytes(struct measure *measure, uint64_t bytes)
{
	uint64_t *memory = measure_memory(bytes + 8);

	for (uint64_t i = 0; i < bytes / 8 + 1; i++)
		memory[i] = wp_random_next(&measure->random);
	return memory;
}

static void check_decode(struct measure *measure, struct check *check,
			 const struct wp_gpu_form *form, const void *stored,
			 const struct wp_rotation *rotation, const char *what)
{
	uint64_t elements = wp_block_shape_elements(&form->shape);
	uint16_t *found = measure_memory(2 * elements), *expected = measure_memory(2 * elements);
	struct wp_gpu *gpu = measure->gpu;

	send(measure, measure->stored, stored, wp_codec_block_bytes(form->codec, elements));
	measure_must(measure,
		     gpu->ops->decode(gpu, form, measure->stored, rotation, measure->elements),
		     "decode");
	bring(measure, found, measure->elements, 2 * elements);
	wp_codec_decode_block(form->codec, &form->shape, stored, rotation, expected);
	judge(check, found, expected, 2 * elements, what);
	free(found);
	free(expected);
}

/* Also what was replaced: counts are the GPU's since it was opened. */
static void check_encode(struct measure *measure, struct check *check,
			 const struct wp_gpu_form *form, const uint16_t *source, const char *what)
{
	uint64_t elements = wp_block_shape_elements(&form->shape);
	uint64_t bytes = wp_codec_block_bytes(form->codec, elements);
	struct wp_codec_counts before = {0}, after = {0}, expected_counts = {0};
	unsigned char *found = measure_memory(bytes), *expected = measure_memory(bytes);
	struct wp_gpu *gpu = measure->gpu;

	measure_must(measure, gpu->ops->counts(gpu, &before), "counts");
	send(measure, measure->elements, source, 2 * elements);
	measure_must(measure, gpu->ops->encode(gpu, form, measure->elements, measure->stored),
		     "encode");
	bring(measure, found, measure->stored, bytes);
	measure_must(measure, gpu->ops->counts(gpu, &after), "counts");
	wp_codec_encode_block(form->codec, &form->shape, source, expected, &expected_counts);
	judge(check, found, expected, bytes, what);
	after.nans -= before.nans;
	after.infinities -= before.infinities;
	judge(check, &after, &expected_counts, sizeof(after), "counts of NaN and infinities");
	free(found);
	free(expected);
}

static void check_patterns(struct measure *measure)
{
	struct check *check = add_check(measure, "all bf16 bit patterns");
	const struct wp_gpu_form int4 = {&wp_codec_int4, {1, 256, 1, 128}};
	const struct wp_gpu_form bf16 = {&wp_codec_bf16, {1, 256, 1, 128}};
	uint16_t *elements = measure_memory(2 * 65536);
	struct wp_rotation rotation;

	for (uint32_t i = 0; i < 65536; i++)
		elements[i] = (uint16_t)i;
	for (int order = 0; order < 4; order++) {
		wp_rotation_init(&rotation, &mg2, order - 2);
		check_encode(measure, check, &int4, elements, "int4 encode");
		check_decode(measure, check, &bf16, elements, &rotation, "bf16 decode");
		for (uint32_t i = 65535; i > 0; i--) {
			uint32_t other = (uint32_t)wp_random_below(&measure->random, i + 1);
			uint16_t held = elements[i];

			elements[i] = elements[other];
			elements[other] = held;
		}
	}
	free(elements);
}

static int64_t draw_shift(struct measure *measure)
{
	return SHIFT_LEAST +
	       (int64_t)wp_random_below(&measure->random, SHIFT_MOST - SHIFT_LEAST + 1);
}

static void check_scales(struct measure *measure)
{
	struct check *check = add_check(measure, "all int4 scales");
	const struct wp_gpu_form form = {&wp_codec_int4, {1, 16384, 1, 128}};
	uint64_t elements = wp_block_shape_elements(&form.shape);
	uint8_t *stored = random_bytes(measure, wp_codec_block_bytes(form.codec, elements));
	struct wp_rotation rotation;

	for (uint32_t i = 0; i < 65536; i++)
		memcpy(stored + elements / 2 + 2 * i, &(uint16_t){(uint16_t)i}, 2);
	check_decode(measure, check, &form, stored, NULL, "plain");
	for (int i = 0; i < 3; i++) {
		wp_rotation_init(&rotation, &mg2, draw_shift(measure));
		check_decode(measure, check, &form, stored, &rotation, "turned");
	}
	free(stored);
}

static void check_shifts(struct measure *measure)
{
	static const int64_t edges[] = {SHIFT_LEAST, -1023, -1, 0, 1, SHIFT_MOST};
	struct check *check = add_check(measure, "shifts from -8,999 to 1,023");
	const struct wp_block_shape shape = {1, 3, 4, 128};
	uint64_t elements = wp_block_shape_elements(&shape);

	for (uint32_t i = 0; i < SHIFTS_MIN; i++) {
		uint64_t edge_count = sizeof(edges) / sizeof(edges[0]);
		int64_t shift = i < edge_count ? edges[i] : draw_shift(measure);
		void *stored = random_bytes(measure, 2 * elements);
		struct wp_rotation rotation;
		char what[64];

		snprintf(what, sizeof(what), "shift %" PRId64, shift);
		wp_rotation_init(&rotation, &mg2, shift);
		for (int codec = 0; codec < 2; codec++) {
			const struct wp_gpu_form form = {codecs[codec], shape};

			check_decode(measure, check, &form, stored, &rotation, what);
		}
		free(stored);
	}
}

/* Heads that are not whole groups, turning dimensions that end within an octet, tensors that
 * are no whole tile, and the largest head. */
static void check_shapes(struct measure *measure)
{
	static const struct {
		struct wp_block_shape shape;
		struct wp_rotary rotary;
	} cases[] = {
	    {{3, 5, 12, 128}, {128, 44, 10000}}, {{2, 7, 4, 64}, {64, 8, 256}},
	    {{2, 8, 3, 24}, {24, 22, 10000}},	 {{1, 8, 1, 8}, {8, 8, 100}},
	    {{2, 4, 2, 512}, {512, 510, 1e6}},	 {{1, 16, 1, 80}, {80, 0, 10000}},
	    {{4, 33, 40, 128}, {128, 44, 1e4}},
	};
	struct check *check = add_check(measure, "shapes at the edges");

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t elements = wp_block_shape_elements(&cases[i].shape);
		void *bytes = random_bytes(measure, 2 * elements);
		struct wp_rotation rotation;
		char what[64];

		snprintf(what, sizeof(what), "%u layers %u tokens %u heads %u dims",
			 cases[i].shape.layers, cases[i].shape.tokens, cases[i].shape.heads,
			 cases[i].shape.head_dim);
		wp_rotation_init(&rotation, &cases[i].rotary, draw_shift(measure));
		for (int codec = 0; codec < 2; codec++) {
			const struct wp_gpu_form form = {codecs[codec], cases[i].shape};

			check_encode(measure, check, &form, bytes, what);
			check_decode(measure, check, &form, bytes, NULL, what);
			check_decode(measure, check, &form, bytes, &rotation, what);
		}
		free(bytes);
	}
}

/* The block whose rates are measured. */
static void check_block(struct measure *measure)
{
	struct check *check = add_check(measure, "a whole block");
	uint64_t elements = wp_block_shape_elements(&measure->shape);
	void *bytes = random_bytes(measure, 2 * elements);
	struct wp_rotation rotation;

	wp_rotation_init(&rotation, &mg2, draw_shift(measure));
	for (int codec = 0; codec < 2; codec++) {
		const struct wp_gpu_form form = {codecs[codec], measure->shape};

		check_encode(measure, check, &form, bytes, "encode");
		check_decode(measure, check, &form, bytes, NULL, "decode");
		check_decode(measure, check, &form, bytes, &rotation, "decode turned");
	}
	free(bytes);
}

static int64_t differs(struct measure *measure, const struct wp_geometry *geometry, uint32_t block)
{
	int64_t offset = -2;

	measure_must(measure,
		     measure->gpu->ops->differs(measure->gpu, geometry, measure->seed, block,
						measure->stored, &offset),
		     "comparing content");
	return offset;
}

/* Content made on the device is the host's, and a wrong byte is found where it is. */
static void check_content(struct measure *measure)
{
	static const uint64_t sizes[] = {1, 31, 262144, 262145, 700001};
	struct check *check = add_check(measure, "content of prepared blocks");
	struct wp_gpu *gpu = measure->gpu;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct wp_geometry geometry = {sizes[i], WP_CHUNK_BYTES, 1};
		uint32_t block = (uint32_t)wp_random_below(&measure->random, 100000);
		uint64_t at = wp_random_below(&measure->random, sizes[i]);
		unsigned char *found = measure_memory(sizes[i]);
		unsigned char *expected = measure_memory(sizes[i]);
		int64_t offset, none = -1, place = (int64_t)at;

		for (uint32_t chunk = 0; chunk < wp_geometry_chunks(&geometry); chunk++)
			wp_content_fill(expected + (uint64_t)chunk * WP_CHUNK_BYTES,
					wp_geometry_bytes(&geometry, chunk, 1), measure->seed,
					block, chunk);
		measure_must(measure,
			     gpu->ops->fill(gpu, &geometry, measure->seed, block, measure->stored),
			     "content");
		bring(measure, found, measure->stored, sizes[i]);
		judge(check, found, expected, sizes[i], "made");
		offset = differs(measure, &geometry, block);
		judge(check, &offset, &none, sizeof(offset), "compared");
		found[at] ^= (unsigned char)(1u << wp_random_below(&measure->random, 8));
		send(measure, measure->stored, found, sizes[i]);
		measure_must(measure, gpu->ops->sync(gpu), "copy");
		offset = differs(measure, &geometry, block);
		judge(check, &offset, &place, sizeof(offset), "offset of a wrong byte");
		free(found);
		free(expected);
	}
}

void check_kernels(struct measure *measure)
{
	check_patterns(measure);
	check_scales(measure);
	check_shifts(measure);
	check_shapes(measure);
	check_block(measure);
	check_content(measure);
}
