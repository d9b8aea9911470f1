/*
 * The position manager: pure functions of the settings, the frame and its set.
 * Turns nothing itself (rotate.c) and remembers nothing: where a block's K was
 * rotated when it was stored is kept with the block.
 */
#include "pager/positions.h"

#include <errno.h>

uint32_t wp_positions_latents_max(const struct wp_positions *positions)
{
	return (positions->set_blocks_max + positions->local_blocks + 1) *
	       positions->latents_per_frame;
}

int wp_positions_check(const struct wp_positions *positions)
{
	uint32_t latents = positions->latents_per_frame, local;

	if (latents == 0 || latents > 1024 || positions->table_rows == 0)
		return -EINVAL;
	if (positions->set_blocks_max > WP_SET_BLOCKS_MAX ||
	    positions->local_blocks > WP_LOCAL_BLOCKS_MAX)
		return -EINVAL;
	if (positions->mode == WP_POSITIONS_NATIVE)
		return 0;
	if (wp_positions_latents_max(positions) > positions->window_latents ||
	    wp_positions_latents_max(positions) > positions->table_rows)
		return -ERANGE;
	local = (positions->local_blocks + 1) * latents;
	if (positions->action_rows > 0 && local > positions->action_rows)
		return -ERANGE;
	return 0;
}

uint32_t wp_positions_end(const struct wp_positions *positions, enum wp_positions_wall *wall)
{
	uint32_t end = positions->table_rows / positions->latents_per_frame;
	uint32_t action_end = positions->action_rows / positions->latents_per_frame;

	*wall = WP_POSITIONS_ENDLESS;
	if (positions->mode == WP_POSITIONS_MANAGED)
		return UINT32_MAX;
	*wall = WP_POSITIONS_TABLE;
	if (positions->action_rows > 0 && action_end < end) {
		*wall = WP_POSITIONS_ACTION_TABLE;
		return action_end;
	}
	return end;
}

/* Appends one place, at `latent` where managed, at the block's own index where native. */
static void add(const struct wp_positions *positions, struct wp_placement *placement,
		uint32_t index, uint32_t block, uint32_t action_latent)
{
	uint32_t latents = positions->latents_per_frame;
	uint32_t own = block * latents;

	if (positions->mode == WP_POSITIONS_NATIVE && action_latent != WP_LATENT_NONE)
		action_latent = own;
	if (positions->action_rows == 0)
		action_latent = WP_LATENT_NONE;
	placement->places[index] = (struct wp_place){
	    .block = block,
	    .latent = positions->mode == WP_POSITIONS_NATIVE ? own : index * latents,
	    .action_latent = action_latent,
	};
}

int wp_positions_place(const struct wp_positions *positions, uint32_t frame,
		       const uint32_t *retrieved, uint32_t count, struct wp_placement *placement)
{
	uint32_t latents = positions->latents_per_frame;
	uint32_t local = frame < positions->local_blocks ? frame : positions->local_blocks;
	enum wp_positions_wall wall;

	WP_CHECK(wp_positions_check(positions) == 0);
	WP_CHECK(count <= positions->set_blocks_max);
	if (frame >= wp_positions_end(positions, &wall))
		return -ERANGE;

	placement->retrieved = count;
	placement->local = local;
	for (uint32_t i = 0; i < count; i++) {
		WP_CHECK(retrieved[i] < frame);
		add(positions, placement, i, retrieved[i], WP_LATENT_NONE);
	}
	/* The local blocks, oldest first, and as the last one the frame's own. */
	for (uint32_t i = 0; i <= local; i++)
		add(positions, placement, count + i, frame - local + i, i * latents);
	return 0;
}
