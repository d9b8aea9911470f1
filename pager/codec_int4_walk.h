/*
 * Walking groups, the same on every fast path and compiled into each of them,
 * so that its own instructions are inlined. Included once by a path that has
 * defined
 *
 *	TARGET, TARGET_PART	attributes of its functions and of those inlined
 *	decode_group, decode_group_rotated
 *				one group of an ordinary scale
 *	finish_streaming	after stores that bypassed the caches
 *
 * It gives decode and decode_rotated of struct wp_int4_path.
 */
#ifndef WP_CODEC_INT4_WALK_H
#define WP_CODEC_INT4_WALK_H

TARGET_PART void walk(const uint8_t *packed, const uint8_t *scales, uint64_t groups,
		      const struct wp_rotation *rotation, uint16_t *elements, bool stream)
{
	uint32_t head_dim = rotation ? rotation->head_dim : WP_CODEC_GROUP;
	uint32_t dim = 0;

	for (uint64_t i = 0; i < groups; i++) {
		uint16_t scale;

		memcpy(&scale, scales + 2 * i, sizeof(scale));
		/* A scale of 0 makes zeros with a sign, which pairs that stay must keep. */
		if (scale >= WP_INT4_SCALE_ORDINARY || scale == 0)
			wp_int4_plain_decode_group(packed, scales + 2 * i, WP_CODEC_GROUP, rotation,
						   dim, elements);
		else if (rotation && dim / 2 < rotation->pairs)
			decode_group_rotated(packed, scale, rotation->cosine + dim / 2,
					     rotation->sine + dim / 2, elements, stream);
		else
			decode_group(packed, scale, elements, stream);
		packed += WP_CODEC_GROUP / 2;
		elements += WP_CODEC_GROUP;
		dim = dim + WP_CODEC_GROUP == head_dim ? 0 : dim + WP_CODEC_GROUP;
	}
	if (stream)
		finish_streaming();
}

/* Whether to stream is decided here, so that the compiler sees two plain loops. */
TARGET static void decode(const uint8_t *packed, const uint8_t *scales, uint64_t groups,
			  uint16_t *elements)
{
	if (wp_int4_streams(elements, groups))
		walk(packed, scales, groups, NULL, elements, true);
	else
		walk(packed, scales, groups, NULL, elements, false);
}

TARGET static void decode_rotated(const uint8_t *packed, const uint8_t *scales, uint64_t groups,
				  const struct wp_rotation *rotation, uint16_t *elements)
{
	if (wp_int4_streams(elements, groups))
		walk(packed, scales, groups, rotation, elements, true);
	else
		walk(packed, scales, groups, rotation, elements, false);
}

#endif
