/*
 * int4 with AVX2, in the manner of codec_int4_avx512.c: values are looked up
 * byte by byte, and whatever is not ordinary is left to the plain code.
 */
#ifdef __x86_64__

#include "pager/codec_int4.h"

#include <immintrin.h>
#include <string.h>

#include "pager/codec_arith.h"
#include "pager/rotate.h"

#define TARGET	     __attribute__((target("avx2")))
#define TARGET_PART  TARGET __attribute__((always_inline)) static inline

#define GROUP	     WP_CODEC_GROUP
#define GROUP_PACKED (WP_CODEC_GROUP / 2)

/* Rounds to bf16, left in the upper halves (the lower ones are rubbish). Only
 * for values that stay finite. */
TARGET_PART __m256i round_upper(__m256 value)
{
	__m256i bits = _mm256_castps_si256(value);
	__m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));

	return _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
}

TARGET_PART void store(uint16_t *target, __m256i value, bool stream)
{
	if (stream)
		_mm256_stream_si256((__m256i *)target, value);
	else
		_mm256_storeu_si256((__m256i *)target, value);
}

/* A group's 16 values, q = -8 .. 7: their low bytes in the lower half, their
 * high bytes in the upper one. */
TARGET_PART __m256i byte_table(uint16_t scale_bits)
{
	const __m256 below = _mm256_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1);
	const __m256 above = _mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
	__m256 scale = _mm256_set1_ps(wp_bf16_to_float(scale_bits));
	__m256i lower = _mm256_srli_epi32(round_upper(_mm256_mul_ps(below, scale)), 16);
	__m256i upper = _mm256_srli_epi32(round_upper(_mm256_mul_ps(above, scale)), 16);
	__m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(lower, upper), 0xd8);
	__m256i bytes = _mm256_packus_epi16(_mm256_and_si256(words, _mm256_set1_epi16(0xff)),
					    _mm256_srli_epi16(words, 8));

	return _mm256_permute4x64_epi64(bytes, 0xd8);
}

/* 32 elements from their nibbles, one a byte. */
TARGET_PART void look_up(__m256i nibbles, __m256i low_table, __m256i high_table, uint16_t *elements,
			 bool stream)
{
	__m256i low = _mm256_shuffle_epi8(low_table, nibbles);
	__m256i high = _mm256_shuffle_epi8(high_table, nibbles);
	__m256i even = _mm256_unpacklo_epi8(low, high);
	__m256i odd = _mm256_unpackhi_epi8(low, high);

	store(elements, _mm256_permute2x128_si256(even, odd, 0x20), stream);
	store(elements + 16, _mm256_permute2x128_si256(even, odd, 0x31), stream);
}

TARGET_PART void decode_group(const uint8_t *packed, uint16_t scale, uint16_t *elements,
			      bool stream)
{
	const __m256i nibble = _mm256_set1_epi8(15);
	__m256i table = byte_table(scale);
	__m256i low_table = _mm256_permute2x128_si256(table, table, 0x00);
	__m256i high_table = _mm256_permute2x128_si256(table, table, 0x11);
	/* Quarters 0, 2, 1, 3, because unpacking works within each half. */
	__m256i bytes = _mm256_permute4x64_epi64(_mm256_loadu_si256((const __m256i *)packed), 0xd8);
	__m256i even = _mm256_and_si256(bytes, nibble);
	__m256i odd = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble);

	look_up(_mm256_unpacklo_epi8(even, odd), low_table, high_table, elements, stream);
	look_up(_mm256_unpackhi_epi8(even, odd), low_table, high_table, elements + 32, stream);
}

/* `cosine` and `sine`: of the group's 32 pairs. */
TARGET_PART void decode_group_rotated(const uint8_t *packed, uint16_t scale_bits,
				      const float *cosine, const float *sine, uint16_t *elements,
				      bool stream)
{
	const __m256i bias = _mm256_set1_epi32(WP_INT4_BIAS);
	__m256 scale = _mm256_set1_ps(wp_bf16_to_float(scale_bits));

	for (uint32_t i = 0; i < 4; i++) {
		__m128i bytes = _mm_loadl_epi64((const __m128i *)(packed + 8 * i));
		__m256i wide = _mm256_cvtepu8_epi32(bytes);
		__m256i q = _mm256_sub_epi32(_mm256_and_si256(wide, _mm256_set1_epi32(15)), bias);
		__m256i r = _mm256_sub_epi32(_mm256_srli_epi32(wide, 4), bias);
		__m256 even = _mm256_mul_ps(_mm256_cvtepi32_ps(q), scale);
		__m256 odd = _mm256_mul_ps(_mm256_cvtepi32_ps(r), scale);
		__m256 c = _mm256_loadu_ps(cosine + 8 * i);
		__m256 s = _mm256_loadu_ps(sine + 8 * i);
		__m256 x = _mm256_sub_ps(_mm256_mul_ps(even, c), _mm256_mul_ps(odd, s));
		__m256 y = _mm256_add_ps(_mm256_mul_ps(even, s), _mm256_mul_ps(odd, c));
		__m256i low = _mm256_srli_epi32(round_upper(x), 16);

		store(elements + 16 * i, _mm256_blend_epi16(low, round_upper(y), 0xaa), stream);
	}
}

TARGET_PART void finish_streaming(void)
{
	_mm_sfence();
}

#include "pager/codec_int4_walk.h"

/* The largest of 16 unsigned words. */
TARGET_PART uint16_t largest(__m256i words)
{
	__m128i half =
	    _mm_max_epu16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
	__m128i least = _mm_minpos_epu16(_mm_xor_si128(half, _mm_set1_epi16(-1)));

	return (uint16_t)~_mm_extract_epi16(least, 0);
}

/* q of 8 values, not yet biased. */
TARGET_PART __m256i quantise(__m256i bits, __m256 inverse)
{
	const __m256 snap = _mm256_set1_ps(WP_INT4_SNAP);
	__m256 quotient = _mm256_mul_ps(_mm256_castsi256_ps(bits), inverse);

	return _mm256_cvtps_epi32(_mm256_sub_ps(_mm256_add_ps(quotient, snap), snap));
}

/* 16 elements to 8 bytes, one a double word: byte = (even + 8) + 16 (odd + 8). */
TARGET_PART __m256i pack(__m256i words, __m256 inverse)
{
	__m256i even = quantise(_mm256_slli_epi32(words, 16), inverse);
	__m256i odd = quantise(_mm256_and_si256(words, _mm256_set1_epi32(-0x10000)), inverse);
	__m256i sum = _mm256_add_epi32(even, _mm256_slli_epi32(odd, 4));

	return _mm256_add_epi32(sum, _mm256_set1_epi32(17 * WP_INT4_BIAS));
}

TARGET static void encode(const uint16_t *elements, uint64_t groups, uint8_t *packed,
			  uint8_t *scales, struct wp_codec_counts *counts)
{
	const __m256i magnitude = _mm256_set1_epi16(0x7fff);
	const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);

	for (uint64_t i = 0; i < groups; i++) {
		const uint16_t *source = elements + i * GROUP;
		__m256i words[4], most = _mm256_setzero_si256(), low, high;
		uint16_t absmax, scale_bits;
		__m256 inverse;

		for (uint32_t j = 0; j < 4; j++) {
			words[j] = _mm256_loadu_si256((const __m256i *)(source + 16 * j));
			most = _mm256_max_epu16(most, _mm256_and_si256(words[j], magnitude));
		}
		absmax = largest(most);
		scale_bits = absmax < WP_BF16_INF ? wp_int4_scale(absmax) : 0;
		if (scale_bits < WP_INT4_SCALE_INVERTIBLE) {
			wp_int4_plain_encode_group(source, GROUP, packed + i * GROUP_PACKED,
						   scales + 2 * i, counts);
			continue;
		}
		memcpy(scales + 2 * i, &scale_bits, sizeof(scale_bits));
		inverse = _mm256_set1_ps(1.0f / wp_bf16_to_float(scale_bits));
		low = _mm256_packus_epi32(pack(words[0], inverse), pack(words[1], inverse));
		high = _mm256_packus_epi32(pack(words[2], inverse), pack(words[3], inverse));
		low = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
		_mm256_storeu_si256((__m256i *)(packed + i * GROUP_PACKED), low);
	}
}

static bool supported(void)
{
	return __builtin_cpu_supports("avx2");
}

const struct wp_int4_path wp_int4_avx2 = {
    .name = "avx2",
    .supported = supported,
    .encode = encode,
    .decode = decode,
    .decode_rotated = decode_rotated,
};

#endif
