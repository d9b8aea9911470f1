/*
 * Turning uncoded bf16 keys with AVX2 and AVX-512. A double word holds a pair,
 * so no shuffling is needed; masks keep the accesses within the pairs that turn.
 * Unlike decoded int4 values these may be anything, NaN and infinities included.
 */
#ifdef __x86_64__

#include "pager/rotate_path.h"

#include <immintrin.h>

#include "pager/codec_arith.h"
#include "pager/rotate.h"

#define AVX2   __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw")))
#define PART   __attribute__((always_inline)) static inline

/* wp_bf16_from_float, the result in the upper half of each double word (the
 * lower is rubbish). min and max hand on their second operand if it is a NaN. */
AVX2 PART __m256i round_upper_avx2(__m256 value)
{
	const __m256 most = _mm256_set1_ps(wp_bf16_to_float(WP_BF16_MAX));
	const __m256 least = _mm256_set1_ps(-wp_bf16_to_float(WP_BF16_MAX));
	__m256 nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
	__m256i bits = _mm256_castps_si256(_mm256_max_ps(least, _mm256_min_ps(most, value)));
	__m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
	__m256i sum = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);

	return _mm256_blendv_epi8(sum, _mm256_set1_epi32(WP_BF16_NAN << 16),
				  _mm256_castps_si256(nan));
}

AVX2 static void turn_head_avx2(const struct wp_rotation *rotation, const uint16_t *source,
				uint16_t *target)
{
	const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

	for (uint32_t i = 0; i < rotation->pairs; i += 8) {
		__m256i left = _mm256_set1_epi32((int32_t)(rotation->pairs - i));
		__m256i mask = _mm256_cmpgt_epi32(left, lane);
		__m256i words =
		    _mm256_maskload_epi32((const int *)(const void *)(source + 2 * i), mask);
		__m256 even = _mm256_castsi256_ps(_mm256_slli_epi32(words, 16));
		__m256 odd =
		    _mm256_castsi256_ps(_mm256_and_si256(words, _mm256_set1_epi32(-0x10000)));
		__m256 c = _mm256_loadu_ps(rotation->cosine + i);
		__m256 s = _mm256_loadu_ps(rotation->sine + i);
		__m256 x = _mm256_sub_ps(_mm256_mul_ps(even, c), _mm256_mul_ps(odd, s));
		__m256 y = _mm256_add_ps(_mm256_mul_ps(even, s), _mm256_mul_ps(odd, c));
		__m256i low = _mm256_srli_epi32(round_upper_avx2(x), 16);

		_mm256_maskstore_epi32((int *)(void *)(target + 2 * i), mask,
				       _mm256_blend_epi16(low, round_upper_avx2(y), 0xaa));
	}
}

AVX512 PART __m512i round_upper_avx512(__m512 value)
{
	const __m512 most = _mm512_set1_ps(wp_bf16_to_float(WP_BF16_MAX));
	const __m512 least = _mm512_set1_ps(-wp_bf16_to_float(WP_BF16_MAX));
	__mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
	__m512i bits = _mm512_castps_si512(_mm512_max_ps(least, _mm512_min_ps(most, value)));
	__m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
	__m512i sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);

	return _mm512_mask_mov_epi32(sum, nan, _mm512_set1_epi32(WP_BF16_NAN << 16));
}

AVX512 static void turn_head_avx512(const struct wp_rotation *rotation, const uint16_t *source,
				    uint16_t *target)
{
	for (uint32_t i = 0; i < rotation->pairs; i += 16) {
		uint32_t left = rotation->pairs - i;
		__mmask16 mask = (__mmask16)(left >= 16 ? 0xffffu : (1u << left) - 1);
		__m512i words = _mm512_maskz_loadu_epi32(mask, source + 2 * i);
		__m512 even = _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
		__m512 odd =
		    _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(-0x10000)));
		__m512 c = _mm512_loadu_ps(rotation->cosine + i);
		__m512 s = _mm512_loadu_ps(rotation->sine + i);
		__m512 x = _mm512_sub_ps(_mm512_mul_ps(even, c), _mm512_mul_ps(odd, s));
		__m512 y = _mm512_add_ps(_mm512_mul_ps(even, s), _mm512_mul_ps(odd, c));
		__m512i low = _mm512_srli_epi32(round_upper_avx512(x), 16);

		_mm512_mask_storeu_epi32(
		    target + 2 * i, mask,
		    _mm512_mask_blend_epi16(0xaaaaaaaau, low, round_upper_avx512(y)));
	}
}

static bool avx2_supported(void)
{
	return __builtin_cpu_supports("avx2");
}

static bool avx512_supported(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

const struct wp_rotate_path wp_rotate_avx2 = {
    .name = "avx2",
    .supported = avx2_supported,
    .turn_head = turn_head_avx2,
};

const struct wp_rotate_path wp_rotate_avx512 = {
    .name = "avx512",
    .supported = avx512_supported,
    .turn_head = turn_head_avx512,
};

#endif
