/*
 * bf16, stored as it is: the codec of runs that keep blocks uncompressed. Any
 * bit pattern survives, NaN included; only a rotation rounds.
 */
#include "pager/codec.h"

#include <string.h>

#include "pager/rotate.h"

static uint64_t block_bytes(uint64_t block_elements)
{
	return block_elements * sizeof(uint16_t);
}

static void check_part(const struct wp_codec_part *part)
{
	WP_CHECK(part->first <= part->block_elements);
	WP_CHECK(part->count <= part->block_elements - part->first);
}

static void encode(const uint16_t *elements, const struct wp_codec_part *part, void *stored,
		   struct wp_codec_counts *counts)
{
	(void)counts;
	check_part(part);
	memcpy((uint16_t *)stored + part->first, elements, part->count * sizeof(uint16_t));
}

static void decode(const void *stored, const struct wp_codec_part *part,
		   const struct wp_rotation *rotation, uint16_t *elements)
{
	const uint16_t *source = (const uint16_t *)stored + part->first;

	check_part(part);
	if (rotation)
		wp_rotation_apply(rotation, source, part->count, elements);
	else
		memcpy(elements, source, part->count * sizeof(uint16_t));
}

const struct wp_codec wp_codec_bf16 = {
    .name = "bf16",
    .bits = 16.0,
    .block_bytes = block_bytes,
    .encode = encode,
    .decode = decode,
};
