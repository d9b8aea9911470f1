/*
 * The ways to code int4 groups, for codec_int4.c, its tests and its benchmark.
 * The plain way is the definition; the others give the same bits faster and are
 * chosen by what the processor can do.
 */
#ifndef WP_CODEC_INT4_H
#define WP_CODEC_INT4_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/codec.h"

struct wp_rotation;

/*
 * Whole groups, `groups` of them in a row: 64 elements, 32 packed bytes and one
 * scale of 2 bytes each. Packed data and scales may lie at any address.
 */
struct wp_int4_path {
	const char *name;
	bool (*supported)(void);
	void (*encode)(const uint16_t *elements, uint64_t groups, uint8_t *packed, uint8_t *scales,
		       struct wp_codec_counts *counts);
	void (*decode)(const uint8_t *packed, const uint8_t *scales, uint64_t groups,
		       uint16_t *elements);
	/* As decode, from the first group of a head on; head_dim is a multiple of 64. */
	void (*decode_rotated)(const uint8_t *packed, const uint8_t *scales, uint64_t groups,
			       const struct wp_rotation *rotation, uint16_t *elements);
};

extern const struct wp_int4_path wp_int4_plain;
extern const struct wp_int4_path wp_int4_portable;
#ifdef __x86_64__
extern const struct wp_int4_path wp_int4_avx2;
extern const struct wp_int4_path wp_int4_avx512;
#endif

/* Best first, plain last; NULL from the end of the list on. */
const struct wp_int4_path *wp_int4_path_at(uint32_t index);

/* The definition for `count` elements (1 .. 64) that share a scale. `dim` is the
 * place of the first in its head; rotation may be NULL. */
void wp_int4_plain_encode_group(const uint16_t *elements, uint32_t count, uint8_t *packed,
				uint8_t *scale, struct wp_codec_counts *counts);
void wp_int4_plain_decode_group(const uint8_t *packed, const uint8_t *scale, uint32_t count,
				const struct wp_rotation *rotation, uint32_t dim,
				uint16_t *elements);

/* Below this scale (sign included) no sum of two turned values overflows and
 * none is a NaN: |q x scale| <= 2^127. */
#define WP_INT4_SCALE_ORDINARY	 0x7d80u

/*
 * The fast paths divide by a scale s by multiplying with 1/s, from this scale on (2^-126; s and 1/s
 * are then ordinary numbers, and |x / s| <= 7 (1 + 2^-8)), and round the product to multiples of
 * 2^-12 by adding and subtracting WP_INT4_SNAP before they round it to an integer.
 *
 * That gives the same integer. x and s have 8 significant bits: x = X 2^a, s = S 2^b with integers
 * X, S < 2^8. So x / s is X / (S 2^m) with an integer m <= 2 or smaller than 1/2, and what is not
 * half an odd integer differs from it by at least 1 / (S 2^(m + 1)) > 2^-11. The product is off by
 * less than 2^-19: halves become themselves again, everything else stays on its side of them.
 */
#define WP_INT4_SCALE_INVERTIBLE 0x0080u
#define WP_INT4_SNAP		 3072.0f /* 1.5 x 2^11: its last place is 2^-12 */

/* From this many bytes of output on, decoding writes past the caches: whoever
 * asks for so much reads it from memory (or another device) anyway. */
#define WP_INT4_STREAM_BYTES	 (1024u * 1024u)

static inline bool wp_int4_streams(const uint16_t *elements, uint64_t groups)
{
	return groups * WP_CODEC_GROUP * sizeof(uint16_t) >= WP_INT4_STREAM_BYTES &&
	       (uintptr_t)elements % 64 == 0;
}

#endif
