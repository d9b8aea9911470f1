/*
 * int4 for processors without a path of their own: a table of a group's 16
 * values instead of arithmetic per element, and loops of fixed length that
 * compilers turn into vectors. Nothing in it depends on the machine.
 */
#include "pager/codec_int4.h"

#include <string.h>

#include "pager/codec_arith.h"
#include "pager/rotate.h"

#define TARGET
#define TARGET_PART __attribute__((always_inline)) static inline

#define GROUP	    WP_CODEC_GROUP
#define PAIRS	    (WP_CODEC_GROUP / 2)

/* wp_bf16_from_float for values that stay finite, without its branches. */
TARGET_PART uint16_t round_finite(float value)
{
	uint32_t bits = wp_bits_of_float(value);

	return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

TARGET_PART void decode_group(const uint8_t *packed, uint16_t scale, uint16_t *elements,
			      bool stream)
{
	uint16_t table[16];

	(void)stream;
	for (uint32_t i = 0; i < 16; i++)
		table[i] = round_finite(wp_int4_decode(i, scale));
	for (uint32_t i = 0; i < PAIRS; i++) {
		elements[2 * i] = table[packed[i] & 15u];
		elements[2 * i + 1] = table[packed[i] >> 4];
	}
}

TARGET_PART void decode_group_rotated(const uint8_t *packed, uint16_t scale, const float *cosine,
				      const float *sine, uint16_t *elements, bool stream)
{
	float even[PAIRS], odd[PAIRS];
	uint16_t even_bits[PAIRS], odd_bits[PAIRS];

	(void)stream;
	for (uint32_t i = 0; i < PAIRS; i++) {
		even[i] = wp_int4_decode(packed[i] & 15u, scale);
		odd[i] = wp_int4_decode(packed[i] >> 4, scale);
	}
	for (uint32_t i = 0; i < PAIRS; i++) {
		even_bits[i] = round_finite(wp_rotate_even(even[i], odd[i], cosine[i], sine[i]));
		odd_bits[i] = round_finite(wp_rotate_odd(even[i], odd[i], cosine[i], sine[i]));
	}
	for (uint32_t i = 0; i < PAIRS; i++) {
		elements[2 * i] = even_bits[i];
		elements[2 * i + 1] = odd_bits[i];
	}
}

TARGET_PART void finish_streaming(void)
{
}

#include "pager/codec_int4_walk.h"

static void quantise(const uint16_t *elements, float scale, uint8_t *packed)
{
	const float shift = 12582912.0f; /* as in wp_int4_encode */
	const float inverse = 1.0f / scale;
	int32_t q[GROUP];

	for (uint32_t i = 0; i < GROUP; i++) {
		float quotient = wp_bf16_to_float(elements[i]) * inverse;

		quotient = quotient + WP_INT4_SNAP - WP_INT4_SNAP;
		q[i] = (int32_t)(quotient + shift - shift);
	}
	for (uint32_t i = 0; i < PAIRS; i++)
		packed[i] = (uint8_t)(q[2 * i] + q[2 * i + 1] * 16 + 17 * WP_INT4_BIAS);
}

static void encode(const uint16_t *elements, uint64_t groups, uint8_t *packed, uint8_t *scales,
		   struct wp_codec_counts *counts)
{
	for (uint64_t i = 0; i < groups; i++) {
		const uint16_t *source = elements + i * GROUP;
		uint16_t absmax = 0, scale;

		for (uint32_t j = 0; j < GROUP; j++) {
			uint16_t magnitude = source[j] & 0x7fffu;

			absmax = magnitude > absmax ? magnitude : absmax;
		}
		scale = absmax < WP_BF16_INF ? wp_int4_scale(absmax) : 0;
		if (scale < WP_INT4_SCALE_INVERTIBLE) {
			wp_int4_plain_encode_group(source, GROUP, packed + i * PAIRS,
						   scales + 2 * i, counts);
			continue;
		}
		memcpy(scales + 2 * i, &scale, sizeof(scale));
		quantise(source, wp_bf16_to_float(scale), packed + i * PAIRS);
	}
}

static bool supported(void)
{
	return true;
}

const struct wp_int4_path wp_int4_portable = {
    .name = "portable",
    .supported = supported,
    .encode = encode,
    .decode = decode,
    .decode_rotated = decode_rotated,
};
