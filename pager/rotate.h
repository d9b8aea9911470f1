/*
 * Moving keys that were cached after rotation to other temporal positions.
 *
 * Rotary embedding of the temporal axis turns pair i of a head, dimensions
 * (2i, 2i + 1), by t x omega_i at latent index t, omega_i = theta^(-2i / dims).
 * Turning a stored key by d x omega_i moves it from t to t + d; the dimensions
 * from `dims` on hold the other axes and stay as they are. MG2: head_dim 128,
 * dims 44 (22 pairs), theta 10000; its action modules: 64, 8, 256.
 *
 * One rotation serves every head, token and layer of a block, because all its
 * latents move by the same distance. Always from the stored copy, so that the
 * one bf16 rounding does not pile up.
 */
#ifndef WP_ROTATE_H
#define WP_ROTATE_H

#include <stdbool.h>
#include <stdint.h>

#define WP_HEAD_DIM_MAX 512u

/* The temporal axis of a model's rotary embedding. */
struct wp_rotary {
	uint32_t head_dim; /* even, 2 .. WP_HEAD_DIM_MAX */
	uint32_t dims;	   /* even, 0 .. head_dim: temporal dimensions, the first of a head */
	double theta;	   /* > 0 */
};

/* A shift made ready: one cosine and sine for each pair of a head, 1 and 0
 * where the pair stays. Computed in double, rounded once to float. */
struct wp_rotation {
	uint32_t head_dim;
	uint32_t pairs; /* that turn; 0 for a shift of 0: decoding is then the plain one */
	float cosine[WP_HEAD_DIM_MAX / 2];
	float sine[WP_HEAD_DIM_MAX / 2];
};

/* A rotation by `shift` latent indices (new index - stored index). */
void wp_rotation_init(struct wp_rotation *rotation, const struct wp_rotary *rotary, int64_t shift);

/* Keys of whole heads, bf16, from `source` to `target` (equal or not overlapping):
 * for blocks that are held uncoded. `elements` is a multiple of head_dim. */
void wp_rotation_apply(const struct wp_rotation *rotation, const uint16_t *source,
		       uint64_t elements, uint16_t *target);

#endif
