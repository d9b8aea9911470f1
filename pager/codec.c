/*
 * The table of codecs, and walking a whole block tensor by tensor. Knows
 * nothing of any stored form.
 */
#include "pager/codec.h"

#include <string.h>

static const struct wp_codec *const codecs[] = {&wp_codec_bf16, &wp_codec_int4};

#define CODEC_COUNT (sizeof(codecs) / sizeof(codecs[0]))

const struct wp_codec *wp_codec_find(const char *name)
{
	for (size_t i = 0; i < CODEC_COUNT; i++)
		if (strcmp(codecs[i]->name, name) == 0)
			return codecs[i];
	return NULL;
}

const struct wp_codec *wp_codec_at(uint32_t index)
{
	return index < CODEC_COUNT ? codecs[index] : NULL;
}

uint64_t wp_codec_block_bytes(const struct wp_codec *codec, uint64_t elements)
{
	return codec->block_bytes(elements);
}

static struct wp_codec_part tensor_part(const struct wp_block_shape *shape, uint64_t index)
{
	uint64_t elements = wp_block_shape_tensor_elements(shape);

	WP_CHECK(elements % WP_CODEC_GROUP == 0);
	return (struct wp_codec_part){
	    .block_elements = wp_block_shape_elements(shape),
	    .first = index * elements,
	    .count = elements,
	};
}

void wp_codec_encode_block(const struct wp_codec *codec, const struct wp_block_shape *shape,
			   const uint16_t *elements, void *stored, struct wp_codec_counts *counts)
{
	for (uint64_t i = 0; i < 2ull * shape->layers; i++) {
		struct wp_codec_part part = tensor_part(shape, i);

		codec->encode(elements + part.first, &part, stored, counts);
	}
}

void wp_codec_decode_block(const struct wp_codec *codec, const struct wp_block_shape *shape,
			   const void *stored, const struct wp_rotation *rotation,
			   uint16_t *elements)
{
	for (uint64_t i = 0; i < 2ull * shape->layers; i++) {
		struct wp_codec_part part = tensor_part(shape, i);

		/* K and V alternate; only K was rotated. */
		codec->decode(stored, &part, i % 2 == 0 ? rotation : NULL, elements + part.first);
	}
}
