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
#define WP_INT4_SCALE_ORDINARY 0x7d80u

/* From this many bytes of output on, decoding writes past the caches: whoever
 * asks for so much reads it from memory (or another device) anyway. */
#define WP_INT4_STREAM_BYTES   (1024u * 1024u)

static inline bool wp_int4_streams(const uint16_t *elements, uint64_t groups)
{
	return groups * WP_CODEC_GROUP * sizeof(uint16_t) >= WP_INT4_STREAM_BYTES &&
	       (uintptr_t)elements % 64 == 0;
}

#endif
