/*
 * Codecs: the forms in which the keys and values of a block are stored.
 *
 * A block is a sequence of bf16 elements (uint16_t, host byte order) in the order
 *
 *	[layer][K, V][token][head][dimension]		dimension fastest
 *
 * and every codec works on parts of that sequence: whole layer tensors, or any
 * range that starts at a multiple of WP_CODEC_GROUP. Parts of one block may be
 * encoded and decoded by several threads at once; nothing here keeps state.
 *
 * `bf16` stores the elements as they are. `int4` stores, for n elements:
 *
 *	0                       packed_bytes                        block_bytes
 *	|e1 e0|e3 e2| ... |pad eN|scale 0|scale 1| ... |scale ceil(n / 64) - 1|
 *	  one byte, two elements    bf16, little endian
 *
 *	packed_bytes = ceil(n / 2)     block_bytes = packed_bytes + 2 ceil(n / 64)
 *
 * All packed data comes first, so that each layer tensor of it begins on a page
 * boundary wherever the tensor's size allows (MG2: 2,027,520 B = 495 pages, 60
 * of them), and the scales are gathered behind it: both are ranges that aligned
 * direct I/O can read. 4.25 bits an element. codec_arith.h defines the values.
 *
 * Misuse aborts; coding itself cannot fail: every bit pattern has a result.
 */
#ifndef WP_CODEC_H
#define WP_CODEC_H

#include <stdint.h>

#include "pager/check.h"

#define WP_CODEC_GROUP 64u /* elements that share one scale */

struct wp_rotation; /* rotate.h */

/* Elements [first, first + count) of a block of `block_elements`; `first` is a
 * multiple of WP_CODEC_GROUP, and so is `count` unless the part ends the block. */
struct wp_codec_part {
	uint64_t block_elements;
	uint64_t first;
	uint64_t count;
};

/* What encoding replaced; added to, never reset. Always 0 for `bf16`. */
struct wp_codec_counts {
	uint64_t nans;	     /* stored as 0 */
	uint64_t infinities; /* stored as the largest finite value */
};

struct wp_codec {
	const char *name;
	double bits; /* stored bits an element */

	/* Stored bytes of a block, without padding. */
	uint64_t (*block_bytes)(uint64_t block_elements);

	/* `elements` is the part's first element, `stored` the block's first byte. */
	void (*encode)(const uint16_t *elements, const struct wp_codec_part *part, void *stored,
		       struct wp_codec_counts *counts);

	/* With a rotation (NULL: none), which is for K only, the part consists of whole heads. */
	void (*decode)(const void *stored, const struct wp_codec_part *part,
		       const struct wp_rotation *rotation, uint16_t *elements);
};

extern const struct wp_codec wp_codec_bf16;
extern const struct wp_codec wp_codec_int4;

/* NULL if there is none of that name. */
const struct wp_codec *wp_codec_find(const char *name);

/* The codecs in a fixed order; NULL from the end of the list on. */
const struct wp_codec *wp_codec_at(uint32_t index);

/* Stored bytes of a block of `elements`, without padding. */
uint64_t wp_codec_block_bytes(const struct wp_codec *codec, uint64_t elements);

/* The tensors that a block consists of. A tensor (K or V of one layer) must be
 * a multiple of WP_CODEC_GROUP elements. */
struct wp_block_shape {
	uint32_t layers;
	uint32_t tokens; /* of the whole block: latents a block x tokens a latent */
	uint32_t heads;
	uint32_t head_dim;
};

static inline uint64_t wp_block_shape_tensor_elements(const struct wp_block_shape *shape)
{
	return (uint64_t)shape->tokens * shape->heads * shape->head_dim;
}

static inline uint64_t wp_block_shape_elements(const struct wp_block_shape *shape)
{
	return 2ull * shape->layers * wp_block_shape_tensor_elements(shape);
}

/* A whole block: wp_block_shape_elements() elements in, block_bytes out. */
void wp_codec_encode_block(const struct wp_codec *codec, const struct wp_block_shape *shape,
			   const uint16_t *elements, void *stored, struct wp_codec_counts *counts);

/* The way back; K of every layer turned by `rotation` (NULL: none), V as it is. */
void wp_codec_decode_block(const struct wp_codec *codec, const struct wp_block_shape *shape,
			   const void *stored, const struct wp_rotation *rotation,
			   uint16_t *elements);

#endif
