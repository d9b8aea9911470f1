/*
 * What the GPU's threads compute, walked on the host octet by octet as the
 * kernels do it, against the codecs and rotations that define it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pager/codec.h"
#include "pager/codec_octet.h"
#include "pager/content.h"
#include "pager/content_arith.h"
#include "pager/random.h"
#include "pager/rotate.h"

#define SEED	    60206u
#define SHIFT_LEAST (-8999)
#define SHIFT_MOST  1023

static struct wp_octet octet_at(const uint16_t *elements)
{
	struct wp_octet octet;

	memcpy(&octet, elements, sizeof(octet));
	return octet;
}

static uint32_t turned_at(const struct wp_block_shape *shape, const struct wp_rotation *rotation,
			  uint64_t tensor, uint64_t octet, uint32_t *dim)
{
	*dim = (uint32_t)(octet % (shape->head_dim / WP_OCTET) * WP_OCTET);
	return rotation && tensor % 2 == 0 ? wp_octet_turned(*dim, rotation->pairs) : 0;
}

/* As decode_int4 and decode_bf16 in kernels.cu. */
static void walk_decode(const struct wp_codec *codec, const struct wp_block_shape *shape,
			const void *stored, const struct wp_rotation *rotation, uint16_t *elements)
{
	static const struct wp_rotation none;
	const struct wp_rotation *turn = rotation ? rotation : &none;
	uint64_t octets = wp_block_shape_tensor_elements(shape) / WP_OCTET;
	uint64_t all = 2ull * shape->layers * octets;

	for (uint64_t at = 0; at < all; at++) {
		uint32_t dim, turned = turned_at(shape, rotation, at / octets, at % octets, &dim);
		struct wp_octet value;

		if (codec == &wp_codec_bf16) {
			value = octet_at((const uint16_t *)stored + WP_OCTET * at);
			value = wp_octet_turn(value, turn->cosine + dim / 2, turn->sine + dim / 2,
					      turned);
		} else {
			const uint8_t *bytes = stored;
			uint32_t packed;
			uint16_t scale;

			memcpy(&packed, bytes + 4 * at, sizeof(packed));
			memcpy(&scale, bytes + 4 * all + 2 * (at / WP_GROUP_OCTETS), sizeof(scale));
			value = wp_octet_decode(packed, scale, turn->cosine + dim / 2,
						turn->sine + dim / 2, turned);
		}
		memcpy(elements + WP_OCTET * at, &value, sizeof(value));
	}
}

/* As encode_int4: eight octets find their scale together. */
static void walk_encode(const uint16_t *elements, uint64_t octets, uint8_t *stored,
			struct wp_codec_counts *counts)
{
	for (uint64_t group = 0; group < octets / WP_GROUP_OCTETS; group++) {
		struct wp_octet_cleaned cleaned[WP_GROUP_OCTETS];
		uint16_t absmax = 0, scale;

		for (uint32_t i = 0; i < WP_GROUP_OCTETS; i++) {
			cleaned[i] = wp_octet_clean(
			    octet_at(elements + WP_OCTET * (group * WP_GROUP_OCTETS + i)));
			absmax = cleaned[i].absmax > absmax ? cleaned[i].absmax : absmax;
			counts->nans += cleaned[i].nans;
			counts->infinities += cleaned[i].infinities;
		}
		scale = wp_int4_scale(absmax);
		memcpy(stored + 4 * octets + 2 * group, &scale, sizeof(scale));
		for (uint32_t i = 0; i < WP_GROUP_OCTETS; i++) {
			uint32_t packed = wp_octet_encode(cleaned[i].octet, scale);

			memcpy(stored + 4 * (group * WP_GROUP_OCTETS + i), &packed, sizeof(packed));
		}
	}
}

static void *allocate(uint64_t bytes)
{
	void *memory = malloc(bytes);

	assert_non_null(memory);
	return memory;
}

static void check_encode(const uint16_t *elements, const struct wp_block_shape *shape)
{
	uint64_t count = wp_block_shape_elements(shape);
	uint64_t bytes = wp_codec_block_bytes(&wp_codec_int4, count);
	struct wp_codec_counts counts = {0}, expected_counts = {0};
	uint8_t *stored = allocate(bytes), *expected = allocate(bytes);

	walk_encode(elements, count / WP_OCTET, stored, &counts);
	wp_codec_encode_block(&wp_codec_int4, shape, elements, expected, &expected_counts);
	assert_memory_equal(stored, expected, bytes);
	assert_int_equal(counts.nans, expected_counts.nans);
	assert_int_equal(counts.infinities, expected_counts.infinities);
	free(stored);
	free(expected);
}

static void check_decode(const struct wp_codec *codec, const struct wp_block_shape *shape,
			 const void *stored, const struct wp_rotation *rotation)
{
	uint64_t bytes = wp_block_shape_elements(shape) * sizeof(uint16_t);
	uint16_t *elements = allocate(bytes), *expected = allocate(bytes);

	walk_decode(codec, shape, stored, rotation, elements);
	wp_codec_decode_block(codec, shape, stored, rotation, expected);
	assert_memory_equal(elements, expected, bytes);
	free(elements);
	free(expected);
}

/* Every bit pattern, among its neighbours and among strangers. */
static void test_all_patterns(void **state)
{
	const struct wp_block_shape shape = {
	    .layers = 1, .tokens = 256, .heads = 1, .head_dim = 128};
	uint16_t *elements = allocate(65536 * sizeof(*elements));
	struct wp_random random = {SEED};

	(void)state;
	for (uint32_t i = 0; i < 65536; i++)
		elements[i] = (uint16_t)i;
	for (int order = 0; order < 4; order++) {
		struct wp_rotation rotation;

		wp_rotation_init(&rotation, &(struct wp_rotary){128, 44, 10000}, order - 2);
		check_encode(elements, &shape);
		check_decode(&wp_codec_bf16, &shape, elements, &rotation);
		for (uint32_t i = 65535; i > 0; i--) {
			uint32_t other = (uint32_t)wp_random_below(&random, i + 1);
			uint16_t held = elements[i];

			elements[i] = elements[other];
			elements[other] = held;
		}
	}
	free(elements);
}

/* All nibbles under all scales, also those that encoding never makes. */
static void test_all_scales(void **state)
{
	const struct wp_block_shape shape = {
	    .layers = 1, .tokens = 16384, .heads = 1, .head_dim = 128};
	uint64_t elements = wp_block_shape_elements(&shape);
	uint64_t bytes = wp_codec_block_bytes(&wp_codec_int4, elements);
	uint8_t *stored = allocate(bytes);
	struct wp_random random = {SEED};
	struct wp_rotation rotation;

	(void)state;
	assert_int_equal(elements / WP_CODEC_GROUP, 65536);
	for (uint64_t i = 0; i < elements / 2; i++)
		stored[i] =
		    (uint8_t)(i % 32 < 16 ? i % 16 << 4 | (15 - i % 16) : wp_random_next(&random));
	for (uint32_t i = 0; i < 65536; i++)
		memcpy(stored + elements / 2 + 2 * i, &(uint16_t){(uint16_t)i}, 2);
	check_decode(&wp_codec_int4, &shape, stored, NULL);
	for (int shift = -5000; shift < 1000; shift += 1999) {
		wp_rotation_init(&rotation, &(struct wp_rotary){128, 44, 10000}, shift);
		check_decode(&wp_codec_int4, &shape, stored, &rotation);
	}
	free(stored);
}

static void test_short_way(void **state)
{
	struct wp_random random = {SEED};
	const float cosine[4] = {0.5f, -0.25f, 1.0f, 0.7f}, sine[4] = {0.8f, 0.9f, -0.1f, -0.7f};

	(void)state;
	for (uint32_t scale = 0; scale < WP_OCTET_ORDINARY; scale++) {
		uint32_t packed = (uint32_t)wp_random_next(&random);

		for (uint32_t turned = 0; turned <= 4; turned++) {
			struct wp_octet quick =
			    wp_octet_decode_short(packed, (uint16_t)scale, cosine, sine, turned);
			struct wp_octet plain =
			    wp_octet_decode_plain(packed, (uint16_t)scale, cosine, sine, turned);

			assert_memory_equal(&quick, &plain, sizeof(quick));
		}
	}
}

/* Every shift that a session can ask for, on fresh elements each time. */
static void test_all_shifts(void **state)
{
	const struct wp_block_shape shape = {.layers = 1, .tokens = 1, .heads = 2, .head_dim = 128};
	const struct wp_rotary rotary = {128, 44, 10000};
	uint16_t elements[2 * 2 * 128];
	uint8_t stored[2 * 2 * 128];
	struct wp_codec_counts counts;
	struct wp_random random = {SEED};

	(void)state;
	for (int shift = SHIFT_LEAST; shift <= SHIFT_MOST; shift++) {
		struct wp_rotation rotation;

		for (uint32_t i = 0; i < 2 * 2 * 128; i++)
			elements[i] = (uint16_t)((wp_random_next(&random) & 0x8fffu) | 0x3000u);
		wp_codec_encode_block(&wp_codec_int4, &shape, elements, stored, &counts);
		wp_rotation_init(&rotation, &rotary, shift);
		check_decode(&wp_codec_int4, &shape, stored, &rotation);
		check_decode(&wp_codec_bf16, &shape, elements, &rotation);
	}
}

/* Shapes whose heads are not whole groups, and temporal dimensions that end within an octet. */
static void test_shapes(void **state)
{
	static const struct {
		struct wp_block_shape shape;
		struct wp_rotary rotary;
	} cases[] = {
	    {{3, 5, 12, 128}, {128, 44, 10000}}, {{2, 7, 4, 64}, {64, 8, 256}},
	    {{2, 8, 3, 24}, {24, 22, 10000}},	 {{1, 8, 1, 8}, {8, 8, 100}},
	    {{2, 4, 2, 512}, {512, 510, 1e6}},	 {{1, 16, 1, 80}, {80, 0, 10000}},
	};
	struct wp_random random = {SEED};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t count = wp_block_shape_elements(&cases[i].shape);
		uint16_t *elements = allocate(count * sizeof(*elements));
		uint8_t *stored = allocate(wp_codec_block_bytes(&wp_codec_int4, count));
		struct wp_codec_counts counts;
		struct wp_rotation rotation;

		for (uint64_t j = 0; j < count; j++)
			elements[j] = (uint16_t)wp_random_next(&random);
		check_encode(elements, &cases[i].shape);
		wp_codec_encode_block(&wp_codec_int4, &cases[i].shape, elements, stored, &counts);
		wp_rotation_init(&rotation, &cases[i].rotary, -777);
		check_decode(&wp_codec_int4, &cases[i].shape, stored, &rotation);
		check_decode(&wp_codec_int4, &cases[i].shape, stored, NULL);
		check_decode(&wp_codec_bf16, &cases[i].shape, elements, &rotation);
		free(elements);
		free(stored);
	}
}

/* Content word by word, in any order, is the content that a stream of it makes. */
static void test_content_words(void **state)
{
	uint64_t words[64];

	(void)state;
	for (uint32_t chunk = 0; chunk < 50; chunk++) {
		struct wp_content_lanes lanes = wp_content_lanes(9, 1000, chunk);

		for (uint32_t i = 64; i-- > 0;)
			words[i] = wp_content_word(lanes.state[i % WP_CONTENT_LANES],
						   i / WP_CONTENT_LANES);
		assert_true(wp_content_equals(words, sizeof(words), 9, 1000, chunk));
		assert_true(wp_content_equals(words, 77, 9, 1000, chunk));
		assert_false(wp_content_equals(words, sizeof(words), 9, 1000, chunk + 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_patterns), cmocka_unit_test(test_all_scales),
	    cmocka_unit_test(test_short_way),	 cmocka_unit_test(test_all_shifts),
	    cmocka_unit_test(test_shapes),	 cmocka_unit_test(test_content_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
