/*
 * Preparing a rotation, and turning uncoded bf16 keys: the plain code is the
 * definition (with codec_arith.h). Turning int4 keys is fused with decoding them
 * and lives with that codec.
 */
#include "pager/rotate.h"

#include <math.h>
#include <string.h>

#include "pager/check.h"
#include "pager/codec_arith.h"
#include "pager/rotate_path.h"

void wp_rotation_init(struct wp_rotation *rotation, const struct wp_rotary *rotary, int64_t shift)
{
	WP_CHECK(rotary->head_dim >= 2 && rotary->head_dim <= WP_HEAD_DIM_MAX);
	WP_CHECK(rotary->head_dim % 2 == 0 && rotary->dims % 2 == 0);
	WP_CHECK(rotary->dims <= rotary->head_dim && rotary->theta > 0);

	rotation->head_dim = rotary->head_dim;
	rotation->pairs = shift == 0 ? 0 : rotary->dims / 2;
	for (uint32_t i = 0; i < WP_HEAD_DIM_MAX / 2; i++) {
		double angle = 0;

		if (i < rotation->pairs)
			angle = (double)shift * pow(rotary->theta, -2.0 * i / rotary->dims);
		rotation->cosine[i] = (float)cos(angle);
		rotation->sine[i] = (float)sin(angle);
	}
}

static void turn_head(const struct wp_rotation *rotation, const uint16_t *source, uint16_t *target)
{
	for (uint32_t i = 0; i < rotation->pairs; i++) {
		float even = wp_bf16_to_float(source[2 * i]);
		float odd = wp_bf16_to_float(source[2 * i + 1]);
		float cosine = rotation->cosine[i], sine = rotation->sine[i];

		target[2 * i] = wp_bf16_from_float(wp_rotate_even(even, odd, cosine, sine));
		target[2 * i + 1] = wp_bf16_from_float(wp_rotate_odd(even, odd, cosine, sine));
	}
}

static bool plain_supported(void)
{
	return true;
}

const struct wp_rotate_path wp_rotate_plain = {
    .name = "plain",
    .supported = plain_supported,
    .turn_head = turn_head,
};

static const struct wp_rotate_path *const paths[] = {
#ifdef __x86_64__
    &wp_rotate_avx512,
    &wp_rotate_avx2,
#endif
    &wp_rotate_plain,
};

#define PATH_COUNT (sizeof(paths) / sizeof(paths[0]))

const struct wp_rotate_path *wp_rotate_path_at(uint32_t index)
{
	return index < PATH_COUNT ? paths[index] : NULL;
}

void wp_rotation_apply(const struct wp_rotation *rotation, const uint16_t *source,
		       uint64_t elements, uint16_t *target)
{
	uint32_t turned = 2 * rotation->pairs, path = 0;
	size_t rest_bytes = (rotation->head_dim - turned) * sizeof(uint16_t);

	WP_CHECK(elements % rotation->head_dim == 0);
	while (path + 1 < PATH_COUNT && !paths[path]->supported())
		path++;
	for (uint64_t i = 0; i < elements; i += rotation->head_dim) {
		paths[path]->turn_head(rotation, source + i, target + i);
		if (source != target)
			memcpy(target + i + turned, source + i + turned, rest_bytes);
	}
}
