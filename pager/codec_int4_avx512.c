/*
 * int4 with AVX-512 (F, BW, VL). Decoding looks values up: a group has at most
 * 16 of them, one register. Groups in which something is not ordinary (NaN or
 * infinities to replace, scales at which products could overflow) are left to
 * the plain code, so that only the common case has to be fast.
 */
#ifdef __x86_64__

#include "pager/codec_int4.h"

#include <immintrin.h>
#include <string.h>

#include "pager/codec_arith.h"
#include "pager/rotate.h"

#define TARGET	     __attribute__((target("avx512f,avx512bw,avx512vl")))
#define TARGET_PART  TARGET __attribute__((always_inline)) static inline

#define GROUP	     WP_CODEC_GROUP
#define GROUP_PACKED (WP_CODEC_GROUP / 2)

/* A group's 16 values as float, q = -8 .. 7. */
TARGET_PART __m512 value_table(uint16_t scale)
{
	const __m512 q = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);

	return _mm512_mul_ps(q, _mm512_set1_ps(wp_bf16_to_float(scale)));
}

/* Rounds to bf16, left in the upper halves (the lower ones are rubbish). Only
 * for values that stay finite. */
TARGET_PART __m512i round_upper(__m512 value)
{
	__m512i bits = _mm512_castps_si512(value);
	__m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));

	return _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
}

TARGET_PART void store(uint16_t *target, __m512i value, bool stream)
{
	if (stream)
		_mm512_stream_si512((void *)target, value);
	else
		_mm512_storeu_si512(target, value);
}

TARGET_PART void decode_group(const uint8_t *packed, uint16_t scale, uint16_t *elements,
			      bool stream)
{
	__m256i values =
	    _mm512_cvtepi32_epi16(_mm512_srli_epi32(round_upper(value_table(scale)), 16));
	__m512i table = _mm512_broadcast_i64x4(values);

	for (uint32_t i = 0; i < 2; i++) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(packed + 16 * i));
		__m512i wide = _mm512_cvtepu8_epi32(bytes);
		/* The lookup takes 5 bits of each word; the table repeats after 4. */
		__m512i index = _mm512_or_si512(wide, _mm512_slli_epi32(wide, 12));

		store(elements + 32 * i, _mm512_permutexvar_epi16(index, table), stream);
	}
}

/* `cosine` and `sine`: of the group's 32 pairs. */
TARGET_PART void decode_group_rotated(const uint8_t *packed, uint16_t scale, const float *cosine,
				      const float *sine, uint16_t *elements, bool stream)
{
	__m512 table = value_table(scale);

	for (uint32_t i = 0; i < 2; i++) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(packed + 16 * i));
		__m512i wide = _mm512_cvtepu8_epi32(bytes);
		__m512 even = _mm512_permutexvar_ps(wide, table);
		__m512 odd = _mm512_permutexvar_ps(_mm512_srli_epi32(wide, 4), table);
		__m512 c = _mm512_loadu_ps(cosine + 16 * i);
		__m512 s = _mm512_loadu_ps(sine + 16 * i);
		__m512 x = _mm512_sub_ps(_mm512_mul_ps(even, c), _mm512_mul_ps(odd, s));
		__m512 y = _mm512_add_ps(_mm512_mul_ps(even, s), _mm512_mul_ps(odd, c));
		__m512i low = _mm512_srli_epi32(round_upper(x), 16);

		store(elements + 32 * i, _mm512_mask_blend_epi16(0xaaaaaaaau, low, round_upper(y)),
		      stream);
	}
}

TARGET_PART void finish_streaming(void)
{
	_mm_sfence();
}

#include "pager/codec_int4_walk.h"

/* The largest of 32 unsigned words. */
TARGET_PART uint16_t largest(__m512i words)
{
	__m256i half =
	    _mm256_max_epu16(_mm512_castsi512_si256(words), _mm512_extracti64x4_epi64(words, 1));
	__m128i quarter =
	    _mm_max_epu16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
	__m128i least = _mm_minpos_epu16(_mm_xor_si128(quarter, _mm_set1_epi16(-1)));

	return (uint16_t)~_mm_extract_epi16(least, 0);
}

/* q of 16 values, not yet biased. */
TARGET_PART __m512i quantise(__m512i bits, __m512 inverse)
{
	const __m512 snap = _mm512_set1_ps(WP_INT4_SNAP);
	__m512 quotient = _mm512_mul_ps(_mm512_castsi512_ps(bits), inverse);

	return _mm512_cvtps_epi32(_mm512_sub_ps(_mm512_add_ps(quotient, snap), snap));
}

/* 32 elements to 16 bytes: byte = (even + 8) + 16 (odd + 8). */
TARGET_PART __m128i pack(__m512i words, __m512 inverse)
{
	__m512i even = quantise(_mm512_slli_epi32(words, 16), inverse);
	__m512i odd = quantise(_mm512_and_si512(words, _mm512_set1_epi32(-0x10000)), inverse);
	__m512i sum = _mm512_add_epi32(even, _mm512_slli_epi32(odd, 4));

	return _mm512_cvtepi32_epi8(_mm512_add_epi32(sum, _mm512_set1_epi32(17 * WP_INT4_BIAS)));
}

TARGET static void encode(const uint16_t *elements, uint64_t groups, uint8_t *packed,
			  uint8_t *scales, struct wp_codec_counts *counts)
{
	const __m512i magnitude = _mm512_set1_epi16(0x7fff);

	for (uint64_t i = 0; i < groups; i++) {
		__m512i first = _mm512_loadu_si512(elements + i * GROUP);
		__m512i second = _mm512_loadu_si512(elements + i * GROUP + 32);
		uint16_t absmax = largest(_mm512_max_epu16(_mm512_and_si512(first, magnitude),
							   _mm512_and_si512(second, magnitude)));
		uint16_t scale_bits = absmax < WP_BF16_INF ? wp_int4_scale(absmax) : 0;
		__m512 inverse = _mm512_set1_ps(1.0f / wp_bf16_to_float(scale_bits));
		uint8_t *target = packed + i * GROUP_PACKED;

		if (scale_bits < WP_INT4_SCALE_INVERTIBLE) {
			wp_int4_plain_encode_group(elements + i * GROUP, GROUP, target,
						   scales + 2 * i, counts);
			continue;
		}
		memcpy(scales + 2 * i, &scale_bits, sizeof(scale_bits));
		_mm_storeu_si128((__m128i *)target, pack(first, inverse));
		_mm_storeu_si128((__m128i *)(target + 16), pack(second, inverse));
	}
}

static bool supported(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl");
}

const struct wp_int4_path wp_int4_avx512 = {
    .name = "avx512",
    .supported = supported,
    .encode = encode,
    .decode = decode,
    .decode_rotated = decode_rotated,
};

#endif
