/*
 * int4: the layout of a part within its block, and the plain code that defines
 * the values (with codec_arith.h). Speed is the business of codec_int4_portable.c,
 * codec_int4_avx2.c and codec_int4_avx512.c; the best is picked at run time.
 */
#include "pager/codec_int4.h"

#include <string.h>

#include "pager/codec_arith.h"
#include "pager/rotate.h"

#define GROUP	     WP_CODEC_GROUP
#define GROUP_PACKED (WP_CODEC_GROUP / 2)

/* Counts what cannot be stored and gives what is stored instead. */
static uint16_t finite(uint16_t value, struct wp_codec_counts *counts)
{
	uint16_t magnitude = value & 0x7fffu;

	if (magnitude < WP_BF16_INF)
		return value;
	if (magnitude > WP_BF16_INF) {
		counts->nans++;
		return 0;
	}
	counts->infinities++;
	return (uint16_t)((value & 0x8000u) | WP_BF16_MAX);
}

void wp_int4_plain_encode_group(const uint16_t *elements, uint32_t count, uint8_t *packed,
				uint8_t *scale, struct wp_codec_counts *counts)
{
	uint16_t values[GROUP] = {0};
	uint16_t absmax = 0, scale_bits;

	for (uint32_t i = 0; i < count; i++) {
		values[i] = finite(elements[i], counts);
		/* Magnitudes of bf16 order like the integers that hold them. */
		if ((values[i] & 0x7fffu) > absmax)
			absmax = values[i] & 0x7fffu;
	}
	scale_bits = wp_int4_scale(absmax);
	memcpy(scale, &scale_bits, sizeof(scale_bits));
	for (uint32_t i = 0; i < count; i += 2)
		packed[i / 2] = (uint8_t)(wp_int4_encode(values[i], scale_bits) |
					  wp_int4_encode(values[i + 1], scale_bits) << 4);
}

static void turn_pair(float *even, float *odd, const struct wp_rotation *rotation, uint32_t dim)
{
	uint32_t pair = dim % rotation->head_dim / 2;
	float x = *even, y = *odd;

	if (pair >= rotation->pairs)
		return;
	*even = wp_rotate_even(x, y, rotation->cosine[pair], rotation->sine[pair]);
	*odd = wp_rotate_odd(x, y, rotation->cosine[pair], rotation->sine[pair]);
}

void wp_int4_plain_decode_group(const uint8_t *packed, const uint8_t *scale, uint32_t count,
				const struct wp_rotation *rotation, uint32_t dim,
				uint16_t *elements)
{
	uint16_t scale_bits;

	memcpy(&scale_bits, scale, sizeof(scale_bits));
	for (uint32_t i = 0; i < count; i += 2) {
		float even = wp_int4_decode(packed[i / 2] & 15u, scale_bits);
		float odd = wp_int4_decode(packed[i / 2] >> 4, scale_bits);

		if (rotation)
			turn_pair(&even, &odd, rotation, dim + i);
		elements[i] = wp_bf16_from_float(even);
		if (i + 1 < count)
			elements[i + 1] = wp_bf16_from_float(odd);
	}
}

static void plain_encode(const uint16_t *elements, uint64_t groups, uint8_t *packed,
			 uint8_t *scales, struct wp_codec_counts *counts)
{
	for (uint64_t i = 0; i < groups; i++)
		wp_int4_plain_encode_group(elements + i * GROUP, GROUP, packed + i * GROUP_PACKED,
					   scales + 2 * i, counts);
}

static void plain_decode_rotated(const uint8_t *packed, const uint8_t *scales, uint64_t groups,
				 const struct wp_rotation *rotation, uint16_t *elements)
{
	uint32_t dim = 0;

	for (uint64_t i = 0; i < groups; i++) {
		wp_int4_plain_decode_group(packed + i * GROUP_PACKED, scales + 2 * i, GROUP,
					   rotation, dim, elements + i * GROUP);
		if (rotation)
			dim = (dim + GROUP) % rotation->head_dim;
	}
}

static void plain_decode(const uint8_t *packed, const uint8_t *scales, uint64_t groups,
			 uint16_t *elements)
{
	plain_decode_rotated(packed, scales, groups, NULL, elements);
}

static bool plain_supported(void)
{
	return true;
}

const struct wp_int4_path wp_int4_plain = {
    .name = "plain",
    .supported = plain_supported,
    .encode = plain_encode,
    .decode = plain_decode,
    .decode_rotated = plain_decode_rotated,
};

static const struct wp_int4_path *const paths[] = {
#ifdef __x86_64__
    &wp_int4_avx512,
    &wp_int4_avx2,
#endif
    &wp_int4_portable,
    &wp_int4_plain,
};

#define PATH_COUNT (sizeof(paths) / sizeof(paths[0]))

const struct wp_int4_path *wp_int4_path_at(uint32_t index)
{
	return index < PATH_COUNT ? paths[index] : NULL;
}

static const struct wp_int4_path *best_path(void)
{
	uint32_t index = 0;

	while (index + 1 < PATH_COUNT && !paths[index]->supported())
		index++;
	return paths[index];
}

static uint64_t packed_bytes(uint64_t elements)
{
	return elements / 2 + elements % 2;
}

static uint64_t block_bytes(uint64_t block_elements)
{
	return packed_bytes(block_elements) +
	       2 * (block_elements / GROUP + (block_elements % GROUP != 0));
}

/* Where a part lies in its block. */
struct place {
	uint64_t groups; /* whole ones */
	uint32_t tail;	 /* elements of the last, shorter one */
	uint64_t packed; /* offsets within the block */
	uint64_t scales;
};

static struct place place_of(const struct wp_codec_part *part)
{
	uint64_t end = part->first + part->count;

	WP_CHECK(part->first % GROUP == 0);
	WP_CHECK(part->count <= part->block_elements && part->first <= part->block_elements &&
		 end <= part->block_elements);
	WP_CHECK(part->count % GROUP == 0 || end == part->block_elements);
	return (struct place){
	    .groups = part->count / GROUP,
	    .tail = (uint32_t)(part->count % GROUP),
	    .packed = part->first / 2,
	    .scales = packed_bytes(part->block_elements) + 2 * (part->first / GROUP),
	};
}

static void encode(const uint16_t *elements, const struct wp_codec_part *part, void *stored,
		   struct wp_codec_counts *counts)
{
	struct place place = place_of(part);
	uint8_t *packed = (uint8_t *)stored + place.packed;
	uint8_t *scales = (uint8_t *)stored + place.scales;

	best_path()->encode(elements, place.groups, packed, scales, counts);
	if (place.tail > 0)
		wp_int4_plain_encode_group(elements + place.groups * GROUP, place.tail,
					   packed + place.groups * GROUP_PACKED,
					   scales + 2 * place.groups, counts);
}

static void decode(const void *stored, const struct wp_codec_part *part,
		   const struct wp_rotation *rotation, uint16_t *elements)
{
	struct place place = place_of(part);
	const uint8_t *packed = (const uint8_t *)stored + place.packed;
	const uint8_t *scales = (const uint8_t *)stored + place.scales;
	uint32_t tail_dim = 0;

	if (rotation) {
		WP_CHECK(part->first % rotation->head_dim == 0);
		WP_CHECK(part->count % rotation->head_dim == 0);
		tail_dim = (uint32_t)(place.groups * GROUP % rotation->head_dim);
	}
	if (!rotation || rotation->pairs == 0)
		best_path()->decode(packed, scales, place.groups, elements);
	else if (rotation->head_dim % GROUP == 0)
		best_path()->decode_rotated(packed, scales, place.groups, rotation, elements);
	else
		plain_decode_rotated(packed, scales, place.groups, rotation, elements);
	if (place.tail > 0)
		wp_int4_plain_decode_group(packed + place.groups * GROUP_PACKED,
					   scales + 2 * place.groups, place.tail, rotation,
					   tail_dim, elements + place.groups * GROUP);
}

const struct wp_codec wp_codec_int4 = {
    .name = "int4",
    .bits = 4.0 + 16.0 / GROUP,
    .block_bytes = block_bytes,
    .encode = encode,
    .decode = decode,
};
