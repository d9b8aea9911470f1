/*
 * Eight elements at a time: what one GPU thread does to a block, and where in
 * the block it does it. The kernels are loops over this; a host test runs the
 * same loops and compares every bit with the codecs.
 *
 * An octet is 16 bytes of bf16 (one wide access) or 4 bytes of int4. Eight of
 * them share a scale, and none crosses a head: tensors are multiples of
 * WP_CODEC_GROUP elements, heads of WP_OCTET.
 */
#ifndef WP_CODEC_OCTET_H
#define WP_CODEC_OCTET_H

#include "pager/codec_arith.h"

#define WP_OCTET	8u
#define WP_GROUP_OCTETS 8u /* WP_CODEC_GROUP / WP_OCTET */

/* Element 2i in the low half of pairs[i], 2i + 1 in the high half. */
struct wp_octet {
	uint32_t pairs[4];
};

/* How many of an octet's four pairs turn, the first ones: its first dimension is `dim`. */
WP_ARITH uint32_t wp_octet_turned(uint32_t dim, uint32_t pairs)
{
	uint32_t first = dim / 2;

	return first >= pairs ? 0 : pairs - first < 4 ? pairs - first : 4;
}

WP_ARITH uint32_t wp_octet_pair(float even, float odd)
{
	return (uint32_t)wp_bf16_from_float(even) | (uint32_t)wp_bf16_from_float(odd) << 16;
}

/* a x b + c on pairs of bf16, rounded once. On the host only where a x b + c is exact in float,
 * as it is in all uses here. */
WP_ARITH uint32_t wp_octet_fma(uint32_t a, uint32_t b, uint32_t c)
{
#ifdef __CUDA_ARCH__
	uint32_t d;

	asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
	return d;
#else
	uint32_t pair = 0;

	for (uint32_t shift = 0; shift < 32; shift += 16) {
		float product = wp_arith_mul(wp_bf16_to_float((uint16_t)(a >> shift)),
					     wp_bf16_to_float((uint16_t)(b >> shift)));
		float sum = wp_arith_add(product, wp_bf16_to_float((uint16_t)(c >> shift)));

		pair |= (uint32_t)wp_bf16_from_float(sum) << shift;
	}
	return pair;
#endif
}

/* wp_octet_pair for two values that stay finite. */
WP_ARITH uint32_t wp_octet_pair_finite(float even, float odd)
{
#ifdef __CUDA_ARCH__
	uint32_t pair;

	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(odd), "f"(even));
	return pair;
#else
	return wp_octet_pair(even, odd);
#endif
}

/* Below it (sign included) a scale is ordinary: nothing overflows, as WP_INT4_SCALE_ORDINARY. */
#define WP_OCTET_ORDINARY 0x7d80u

/* Pair i of an octet as floats, turned. */
WP_ARITH void wp_octet_turn_pair(uint32_t packed, uint16_t scale, uint32_t i, float cosine,
				 float sine, float turned[2])
{
	float even = wp_int4_decode(packed >> (8 * i) & 15u, scale);
	float odd = wp_int4_decode(packed >> (8 * i + 4) & 15u, scale);

	turned[0] = wp_rotate_even(even, odd, cosine, sine);
	turned[1] = wp_rotate_odd(even, odd, cosine, sine);
}

/*
 * The short way, for ordinary scales. 0x4300 | n is 128 + n in bf16; less 136 it is n - 8, and
 * its product with the scale has only the rounding that the definition has. The addend -0.0
 * keeps the sign of a product of zero.
 */
WP_ARITH struct wp_octet wp_octet_decode_short(uint32_t packed, uint16_t scale, const float *cosine,
					       const float *sine, uint32_t turned)
{
	uint32_t scales = scale | (uint32_t)scale << 16;
	const uint32_t low[4] = {packed, packed >> 8, packed >> 16, packed >> 24};
	const uint32_t high[4] = {packed << 12, packed << 4, packed >> 4, packed >> 12};
	struct wp_octet octet;

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t biased = (low[i] & 0x0000000fu) | (high[i] & 0x000f0000u) | 0x43004300u;
		uint32_t q = wp_octet_fma(biased, 0x3f803f80u, 0xc308c308u);

		octet.pairs[i] = wp_octet_fma(q, scales, 0x80008000u);
	}
	for (uint32_t i = 0; i < 4; i++) {
		float pair[2];

		if (i >= turned)
			break;
		wp_octet_turn_pair(packed, scale, i, cosine[i], sine[i], pair);
		octet.pairs[i] = wp_octet_pair_finite(pair[0], pair[1]);
	}
	return octet;
}

WP_ARITH struct wp_octet wp_octet_decode_plain(uint32_t packed, uint16_t scale, const float *cosine,
					       const float *sine, uint32_t turned)
{
	struct wp_octet octet;

	for (uint32_t i = 0; i < 4; i++) {
		float pair[2];

		if (i < turned) {
			wp_octet_turn_pair(packed, scale, i, cosine[i], sine[i], pair);
		} else {
			pair[0] = wp_int4_decode(packed >> (8 * i) & 15u, scale);
			pair[1] = wp_int4_decode(packed >> (8 * i + 4) & 15u, scale);
		}
		octet.pairs[i] = wp_octet_pair(pair[0], pair[1]);
	}
	return octet;
}

/* `packed` holds element i in bits 4i; `cosine` and `sine` begin with the octet's first pair. */
WP_ARITH struct wp_octet wp_octet_decode(uint32_t packed, uint16_t scale, const float *cosine,
					 const float *sine, uint32_t turned)
{
	return scale < WP_OCTET_ORDINARY
		   ? wp_octet_decode_short(packed, scale, cosine, sine, turned)
		   : wp_octet_decode_plain(packed, scale, cosine, sine, turned);
}

/* The same for elements that are stored as bf16: pairs that stay keep their bits. */
WP_ARITH struct wp_octet wp_octet_turn(struct wp_octet octet, const float *cosine,
				       const float *sine, uint32_t turned)
{
	for (uint32_t i = 0; i < turned; i++) {
		float even = wp_bf16_to_float((uint16_t)octet.pairs[i]);
		float odd = wp_bf16_to_float((uint16_t)(octet.pairs[i] >> 16));

		octet.pairs[i] = wp_octet_pair(wp_rotate_even(even, odd, cosine[i], sine[i]),
					       wp_rotate_odd(even, odd, cosine[i], sine[i]));
	}
	return octet;
}

/* What cannot be stored, replaced: NaN by 0, infinities by the largest finite value. */
struct wp_octet_cleaned {
	struct wp_octet octet;
	uint32_t nans;
	uint32_t infinities;
	uint16_t absmax;
};

WP_ARITH struct wp_octet_cleaned wp_octet_clean(struct wp_octet octet)
{
	struct wp_octet_cleaned cleaned = {{{0, 0, 0, 0}}, 0, 0, 0};

	for (uint32_t i = 0; i < WP_OCTET; i++) {
		uint32_t shift = 16 * (i % 2);
		uint16_t value = (uint16_t)(octet.pairs[i / 2] >> shift);
		uint16_t magnitude = value & 0x7fffu;

		if (magnitude > WP_BF16_INF) {
			cleaned.nans++;
			value = 0;
		} else if (magnitude == WP_BF16_INF) {
			cleaned.infinities++;
			value = (uint16_t)((value & 0x8000u) | WP_BF16_MAX);
		}
		magnitude = value & 0x7fffu;
		if (magnitude > cleaned.absmax)
			cleaned.absmax = magnitude;
		cleaned.octet.pairs[i / 2] |= (uint32_t)value << shift;
	}
	return cleaned;
}

WP_ARITH uint32_t wp_octet_encode(struct wp_octet cleaned, uint16_t scale)
{
	uint32_t packed = 0;

	for (uint32_t i = 0; i < WP_OCTET; i++)
		packed |= wp_int4_encode((uint16_t)(cleaned.pairs[i / 2] >> (16 * (i % 2))), scale)
			  << (4 * i);
	return packed;
}

#endif
