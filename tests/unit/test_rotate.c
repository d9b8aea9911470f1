/*
 * Turning keys: accuracy against extended precision, fused decoding against the
 * plain code on every path, and what must stay as it is.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pager/codec.h"
#include "pager/codec_arith.h"
#include "pager/codec_int4.h"
#include "pager/random.h"
#include "pager/rotate.h"
#include "pager/rotate_path.h"

#define SEED	     20253u
#define SHIFTS	     10000u
#define SHIFT_MAX    9000
#define ELEMENTS_MAX 8192u
#define GUARD_BYTE   0xa5

static const struct wp_rotary mg2 = {128, 44, 10000.0};
static const struct wp_rotary mg2_actions = {64, 8, 256.0};

static int64_t draw_shift(struct wp_random *random)
{
	return (int64_t)wp_random_below(random, 2 * SHIFT_MAX + 1) - SHIFT_MAX;
}

/* About normal, times a power of two so that members of a pair differ in size. */
static uint16_t draw_key(struct wp_random *random)
{
	uint64_t bits = wp_random_next(random);
	float sum = (float)(int32_t)bits + (float)(int32_t)(bits >> 32);

	return wp_bf16_from_float(ldexpf(sum / 4294967296.0f, (int)(bits % 24) - 12));
}

static uint16_t draw_any(struct wp_random *random)
{
	return (uint16_t)wp_random_next(random);
}

static void fill(struct wp_random *random, uint16_t *elements, uint64_t count,
		 uint16_t (*draw)(struct wp_random *))
{
	for (uint64_t i = 0; i < count; i++)
		elements[i] = draw(random);
}

/* Half the distance from a bf16 value to the next larger one. */
static long double half_ulp(uint16_t value)
{
	uint16_t magnitude = value & 0x7fffu;

	return ((long double)wp_bf16_to_float(magnitude + 1u) - wp_bf16_to_float(magnitude)) / 2;
}

/* One pair before and after, against the angle in extended precision. */
static void check_pair(long double x, long double y, const uint16_t *after, long double angle)
{
	long double length = hypotl(x, y), c = cosl(angle), s = sinl(angle);
	long double even = x * c - y * s, odd = x * s + y * c;

	if (fabsl(wp_bf16_to_float(after[0]) - even) > half_ulp(after[0]) + ldexpl(length, -22) ||
	    fabsl(wp_bf16_to_float(after[1]) - odd) > half_ulp(after[1]) + ldexpl(length, -22))
		fail_msg("(%.9Lg, %.9Lg) by %.9Lg gave (%04x, %04x)", x, y, angle, after[0],
			 after[1]);
}

static void check_head(const struct wp_rotary *rotary, const float *before, const uint16_t *after,
		       int64_t shift)
{
	for (uint32_t i = 0; i < rotary->dims / 2; i++) {
		long double omega = powl(rotary->theta, -2.0L * i / rotary->dims);

		check_pair(before[2 * i], before[2 * i + 1], after + 2 * i, shift * omega);
	}
	for (uint32_t i = rotary->dims; i < rotary->head_dim; i++)
		assert_int_equal(after[i], wp_bf16_from_float(before[i]));
}

static void test_accuracy_bf16(void **state)
{
	struct wp_random random = {SEED};
	struct wp_rotation rotation;
	uint16_t source[128], target[128];
	float before[128];

	(void)state;
	for (uint32_t i = 0; i < SHIFTS; i++) {
		const struct wp_rotary *rotary = i % 4 ? &mg2 : &mg2_actions;
		int64_t shift = draw_shift(&random);

		fill(&random, source, rotary->head_dim, draw_key);
		for (uint32_t j = 0; j < rotary->head_dim; j++)
			before[j] = wp_bf16_to_float(source[j]);
		wp_rotation_init(&rotation, rotary, shift);
		wp_rotation_apply(&rotation, source, rotary->head_dim, target);
		check_head(rotary, before, target, shift);
	}
}

static void test_accuracy_int4(void **state)
{
	const struct wp_codec_part part = {128, 0, 128};
	struct wp_random random = {SEED + 1};
	struct wp_rotation rotation;
	uint16_t source[128], target[128];
	uint8_t stored[64 + 4];
	float before[128];

	(void)state;
	for (uint32_t i = 0; i < SHIFTS; i++) {
		struct wp_codec_counts counts = {0, 0};
		int64_t shift = draw_shift(&random);

		fill(&random, source, 128, draw_key);
		wp_codec_int4.encode(source, &part, stored, &counts);
		for (uint32_t j = 0; j < 128; j++) {
			uint16_t scale;

			memcpy(&scale, stored + 64 + 2 * (j / 64), sizeof(scale));
			before[j] = wp_int4_decode(stored[j / 2] >> (j % 2 * 4) & 15u, scale);
		}
		wp_rotation_init(&rotation, &mg2, shift);
		wp_codec_int4.decode(stored, &part, &rotation, target);
		check_head(&mg2, before, target, shift);
	}
}

/* A key rotated at t and moved by d equals, up to rounding, the key rotated at t + d. */
static void test_moving_is_rotating_elsewhere(void **state)
{
	struct wp_random random = {SEED + 2};

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		struct wp_rotation at, move, to;
		uint16_t key[128], first[128], moved[128], direct[128];
		int64_t t = (int64_t)wp_random_below(&random, 9000);
		int64_t d = (int64_t)wp_random_below(&random, 15) - t;

		wp_rotation_init(&at, &mg2, t);
		wp_rotation_init(&move, &mg2, d);
		wp_rotation_init(&to, &mg2, t + d);
		fill(&random, key, 128, draw_key);
		wp_rotation_apply(&at, key, 128, first);
		wp_rotation_apply(&move, first, 128, moved);
		wp_rotation_apply(&to, key, 128, direct);
		for (uint32_t j = 0; j < 44; j += 2) {
			double length = hypot((double)wp_bf16_to_float(key[j]),
					      (double)wp_bf16_to_float(key[j + 1]));

			for (uint32_t p = j; p < j + 2; p++)
				assert_true(fabs((double)wp_bf16_to_float(moved[p]) -
						 (double)wp_bf16_to_float(direct[p])) <=
					    length / 64);
		}
	}
}

static void test_known_angles(void **state)
{
	struct wp_rotation rotation;
	uint16_t key[128] = {0x3f80}, turned[128];

	(void)state;
	wp_rotation_init(&rotation, &mg2, 1);
	assert_int_equal(rotation.pairs, 22);
	assert_true(rotation.cosine[0] == 0.540302277f && rotation.sine[0] == 0.841470957f);
	/* omega_21 = 10000^(-42/44) = 1.51991e-4 */
	assert_true(fabsf(rotation.sine[21] - 1.5199111e-4f) < 1e-10f);
	assert_true(rotation.cosine[22] == 1.0f && rotation.sine[22] == 0.0f);
	/* (1, 0) one index forward: (cos 1, sin 1), not its mirror image. */
	wp_rotation_apply(&rotation, key, 128, turned);
	assert_int_equal(turned[0], 0x3f0a);
	assert_int_equal(turned[1], 0x3f57);
	wp_rotation_init(&rotation, &mg2_actions, 3);
	assert_int_equal(rotation.pairs, 4);
	assert_true(fabsf(rotation.sine[1] - 0.681638760f) < 1e-7f); /* sin(3/4) */
	assert_true(fabsf(rotation.sine[3] - 0.046857839f) < 1e-8f); /* sin(3/64) */
}

/* Without a shift every bit of every value stays, NaN and -0.0 included. */
static void test_no_shift(void **state)
{
	static uint16_t elements[65536], target[65536];
	struct wp_rotation rotation;

	(void)state;
	for (uint32_t i = 0; i < 65536; i++)
		elements[i] = (uint16_t)(i * 40503u);
	wp_rotation_init(&rotation, &mg2, 0);
	wp_rotation_apply(&rotation, elements, 65536, target);
	assert_memory_equal(elements, target, sizeof(elements));
	/* Dimensions of the other axes stay with any shift. */
	wp_rotation_init(&rotation, &mg2, -777);
	wp_rotation_apply(&rotation, elements, 65536, target);
	for (uint32_t i = 0; i < 65536; i++)
		if (i % 128 >= 44)
			assert_int_equal(elements[i], target[i]);
}

/* -- paths --------------------------------------------------------------- */

static const struct wp_rotary models[] = {
    {128, 44, 10000.0}, {64, 8, 256.0}, {64, 64, 10000.0}, {128, 128, 500.0},
    {256, 90, 10000.0}, {192, 2, 3.0},	{512, 512, 1e6},
};

#define MODEL_COUNT (sizeof(models) / sizeof(models[0]))

static void draw_stored(struct wp_random *random, uint64_t groups, uint8_t *packed, uint8_t *scales,
			bool any_scale)
{
	for (uint64_t i = 0; i < groups * 32; i++)
		packed[i] = (uint8_t)wp_random_next(random);
	for (uint64_t i = 0; i < groups; i++) {
		uint16_t scale = draw_any(random);

		if (!any_scale)
			scale = draw_key(random) & 0x7fffu;
		memcpy(scales + 2 * i, &scale, sizeof(scale));
	}
}

static void test_int4_paths_turn_alike(void **state)
{
	static uint8_t packed[ELEMENTS_MAX / 2], scales[ELEMENTS_MAX / 32];
	static uint16_t expected[ELEMENTS_MAX + 64], turned[ELEMENTS_MAX + 64];
	struct wp_random random = {SEED + 3};
	const struct wp_int4_path *path;
	struct wp_rotation rotation;

	(void)state;
	for (uint32_t i = 0; (path = wp_int4_path_at(i)); i++) {
		if (!path->supported())
			continue;
		for (uint32_t round = 0; round < 700; round++) {
			const struct wp_rotary *model = &models[round % MODEL_COUNT];
			uint64_t heads = wp_random_below(&random, 16);
			uint64_t groups = heads * model->head_dim / 64;

			wp_rotation_init(&rotation, model, draw_shift(&random));
			draw_stored(&random, groups, packed, scales, round % 2);
			memset(expected, GUARD_BYTE, sizeof(expected));
			memset(turned, GUARD_BYTE, sizeof(turned));
			wp_int4_plain.decode_rotated(packed, scales, groups, &rotation, expected);
			path->decode_rotated(packed, scales, groups, &rotation, turned);
			assert_memory_equal(expected, turned, sizeof(expected));
		}
	}
}

static void test_bf16_paths_turn_alike(void **state)
{
	static uint16_t source[512], expected[512], turned[512];
	struct wp_random random = {SEED + 4};
	const struct wp_rotate_path *path;
	struct wp_rotation rotation;

	(void)state;
	for (uint32_t i = 0; (path = wp_rotate_path_at(i)); i++) {
		if (!path->supported())
			continue;
		for (uint32_t round = 0; round < 2000; round++) {
			const struct wp_rotary *model = &models[round % MODEL_COUNT];

			wp_rotation_init(&rotation, model, draw_shift(&random));
			fill(&random, source, 512, round % 2 ? draw_any : draw_key);
			memset(expected, GUARD_BYTE, sizeof(expected));
			memset(turned, GUARD_BYTE, sizeof(turned));
			wp_rotate_plain.turn_head(&rotation, source, expected);
			path->turn_head(&rotation, source, turned);
			assert_memory_equal(expected, turned, sizeof(expected));
			path->turn_head(&rotation, source, source); /* in place */
			assert_memory_equal(expected, source, model->dims * sizeof(uint16_t));
		}
	}
}

/* What wp_codec_decode_block must give for tensor `index` of an int4 block. */
static void decode_plainly(const uint8_t *stored, const struct wp_block_shape *shape,
			   uint64_t index, const struct wp_rotation *rotation, uint16_t *target)
{
	uint64_t groups = wp_block_shape_tensor_elements(shape) / 64;
	const uint8_t *scales = stored + wp_block_shape_elements(shape) / 2 + index * groups * 2;

	wp_int4_plain.decode_rotated(stored + index * groups * 32, scales, groups, rotation,
				     target);
}

/* Large enough to bypass the caches, through the public door; K turns, V does not. */
static void test_whole_block(void **state)
{
	const struct wp_block_shape shape = {2, 3 * 120, 12, 128};
	uint64_t elements = wp_block_shape_elements(&shape);
	uint64_t tensor = wp_block_shape_tensor_elements(&shape);
	uint16_t *source = malloc(2 * elements), *target = aligned_alloc(64, 2 * elements);
	uint16_t *expected = malloc(2 * tensor);
	uint8_t *stored = malloc(2 * elements);
	struct wp_random random = {SEED + 5};
	struct wp_codec_counts counts = {0, 0};
	struct wp_rotation rotation;

	(void)state;
	assert_true(source && target && expected && stored);
	fill(&random, source, elements, draw_any);
	wp_rotation_init(&rotation, &mg2, 12 - 8997);

	wp_codec_encode_block(&wp_codec_bf16, &shape, source, stored, &counts);
	wp_codec_decode_block(&wp_codec_bf16, &shape, stored, &rotation, target);
	for (uint64_t i = 0; i < 4; i++) {
		memcpy(expected, source + i * tensor, 2 * tensor);
		if (i % 2 == 0)
			wp_rotation_apply(&rotation, expected, tensor, expected);
		assert_memory_equal(target + i * tensor, expected, 2 * tensor);
	}
	wp_codec_encode_block(&wp_codec_int4, &shape, source, stored, &counts);
	wp_codec_decode_block(&wp_codec_int4, &shape, stored, &rotation, target);
	for (uint64_t i = 0; i < 4; i++) {
		decode_plainly(stored, &shape, i, i % 2 == 0 ? &rotation : NULL, expected);
		assert_memory_equal(target + i * tensor, expected, 2 * tensor);
	}
	free(source);
	free(target);
	free(expected);
	free(stored);
}

/* Heads that are no multiple of a group take the plain way; the tail too. */
static void test_odd_heads(void **state)
{
	const struct wp_rotary odd = {80, 26, 10000.0};
	const struct wp_codec_part part = {800 + 80, 0, 880}; /* 13 groups and 48 elements */
	uint16_t source[880], target[880];
	uint8_t stored[440 + 28];
	float before[880];
	struct wp_random random = {SEED + 6};
	struct wp_codec_counts counts = {0, 0};
	struct wp_rotation rotation;

	(void)state;
	assert_int_equal(wp_codec_int4.block_bytes(880), sizeof(stored));
	fill(&random, source, 880, draw_key);
	wp_codec_int4.encode(source, &part, stored, &counts);
	for (uint32_t i = 0; i < 880; i++) {
		uint16_t scale;

		memcpy(&scale, stored + 440 + 2 * (i / 64), sizeof(scale));
		before[i] = wp_int4_decode(stored[i / 2] >> (i % 2 * 4) & 15u, scale);
	}
	wp_rotation_init(&rotation, &odd, 4321);
	wp_codec_int4.decode(stored, &part, &rotation, target);
	for (uint32_t head = 0; head < 11; head++)
		check_head(&odd, before + 80 * head, target + 80 * head, 4321);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_accuracy_bf16),
	    cmocka_unit_test(test_accuracy_int4),
	    cmocka_unit_test(test_moving_is_rotating_elsewhere),
	    cmocka_unit_test(test_known_angles),
	    cmocka_unit_test(test_no_shift),
	    cmocka_unit_test(test_int4_paths_turn_alike),
	    cmocka_unit_test(test_bf16_paths_turn_alike),
	    cmocka_unit_test(test_whole_block),
	    cmocka_unit_test(test_odd_heads),
	};

	printf("test_rotate: seed %u\n", SEED);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
