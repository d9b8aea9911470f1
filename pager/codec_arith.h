/*
 * The arithmetic of one element: what a bf16 value, an int4 value and a turned
 * pair are, bit for bit. Shared by the plain code on the host and by device
 * code, so it includes nothing but fixed-width integers and allocates nothing.
 *
 * All of it is IEEE single precision, rounded to nearest even, denormals kept,
 * and no multiplication is fused with an addition: host files are compiled with
 * -ffp-contract=off, and on a device the rounded intrinsics say so. Every fast
 * path gives these bits.
 */
#ifndef WP_CODEC_ARITH_H
#define WP_CODEC_ARITH_H

#include <stdint.h>

#include "pager/arith.h"

#define WP_BF16_MAX   0x7f7fu /* the largest finite value */
#define WP_BF16_INF   0x7f80u
#define WP_BF16_NAN   0x7fc0u /* the only NaN that rounding makes */
#define WP_INT4_LIMIT 7	      /* q is clamped to [-7, 7] */
#define WP_INT4_BIAS  8	      /* and stored as q + 8 */

union wp_float_bits {
	float value;
	uint32_t bits;
};

WP_ARITH float wp_float_of_bits(uint32_t bits)
{
	union wp_float_bits u;

	u.bits = bits;
	return u.value;
}

WP_ARITH uint32_t wp_bits_of_float(float value)
{
	union wp_float_bits u;

	u.value = value;
	return u.bits;
}

WP_ARITH float wp_arith_mul(float a, float b)
{
#ifdef __CUDA_ARCH__
	return __fmul_rn(a, b);
#else
	return a * b;
#endif
}

WP_ARITH float wp_arith_add(float a, float b)
{
#ifdef __CUDA_ARCH__
	return __fadd_rn(a, b);
#else
	return a + b;
#endif
}

WP_ARITH float wp_arith_div(float a, float b)
{
#ifdef __CUDA_ARCH__
	return __fdiv_rn(a, b);
#else
	return a / b;
#endif
}

WP_ARITH float wp_bf16_to_float(uint16_t value)
{
	return wp_float_of_bits((uint32_t)value << 16);
}

/*
 * To bf16, nearest even. What lies beyond the largest finite value becomes that
 * value, so that no finite key decodes to an infinity (the largest value's own
 * scale rounds up: 7 x scale would otherwise overflow).
 */
WP_ARITH uint16_t wp_bf16_from_float(float value)
{
	uint32_t bits = wp_bits_of_float(value);
	uint32_t magnitude = bits & 0x7fffffffu;
	uint32_t rounded;

	if (magnitude > 0x7f800000u)
		return WP_BF16_NAN;
	rounded = (magnitude + 0x7fffu + ((magnitude >> 16) & 1u)) >> 16;
	if (rounded > WP_BF16_MAX)
		rounded = WP_BF16_MAX;
	return (uint16_t)(rounded | ((bits >> 16) & 0x8000u));
}

/* absmax / 7, rounded to bf16; `absmax` is finite and not negative. It is 0 for
 * absmax up to three times the smallest denormal: such a group is a zero group. */
WP_ARITH uint16_t wp_int4_scale(uint16_t absmax)
{
	return wp_bf16_from_float(wp_arith_div(wp_bf16_to_float(absmax), (float)WP_INT4_LIMIT));
}

/* The stored nibble of a finite `value`. */
WP_ARITH uint32_t wp_int4_encode(uint16_t value, uint16_t scale)
{
	/* Adding and subtracting 1.5 x 2^23 rounds to an integer, nearest even; |q| < 11 here. */
	const float shift = 12582912.0f;
	float q;

	if (scale == 0)
		return WP_INT4_BIAS;
	q = wp_arith_div(wp_bf16_to_float(value), wp_bf16_to_float(scale));
	q = wp_arith_add(wp_arith_add(q, shift), -shift);
	if (q > (float)WP_INT4_LIMIT)
		q = (float)WP_INT4_LIMIT;
	if (q < (float)-WP_INT4_LIMIT)
		q = (float)-WP_INT4_LIMIT;
	return (uint32_t)((int32_t)q + WP_INT4_BIAS);
}

/* q x scale: exact in float for every scale that encoding makes. Any nibble and
 * any scale have a value, also those that encoding never makes. */
WP_ARITH float wp_int4_decode(uint32_t nibble, uint16_t scale)
{
	return wp_arith_mul((float)((int32_t)nibble - WP_INT4_BIAS), wp_bf16_to_float(scale));
}

/* The pair (even, odd) turned: even x c - odd x s, even x s + odd x c. */
WP_ARITH float wp_rotate_even(float even, float odd, float cosine, float sine)
{
	return wp_arith_add(wp_arith_mul(even, cosine), -wp_arith_mul(odd, sine));
}

WP_ARITH float wp_rotate_odd(float even, float odd, float cosine, float sine)
{
	return wp_arith_add(wp_arith_mul(even, sine), wp_arith_mul(odd, cosine));
}

#endif
