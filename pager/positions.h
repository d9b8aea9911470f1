/*
 * Where the blocks of a frame stand on the model's temporal axis.
 *
 * The unit is a latent index. A frame's attention reads, in this order, the
 * retrieved blocks, the local window (the newest past blocks, which the device
 * still holds) and the frame's own block:
 *
 *	managed  |0 retrieved[0] |3 retrieved[1] |6 retrieved[2] |9 local |12 new  |
 *	         (3 latents a block, k = 3, one local block: 15 indices, never more)
 *
 *	native   every block keeps the absolute index at which it was made, frame x
 *	         latents: what the model does by itself. Ends where a table of
 *	         positions ends: MG2 has 1,024 rows, so frame 341 has no place.
 *
 * retrieved[0], the nearest to the new frame's pose, stands farthest back. With
 * fewer blocks than k everything moves down, so that there is never a gap.
 *
 * The action modules have a table of their own (MG2: 7,500 rows) and attend
 * only to the local window, so there `managed` counts from the first local block.
 * Their positions move together with the history of actions.
 */
#ifndef WP_POSITIONS_H
#define WP_POSITIONS_H

#include <stdint.h>

#include "pager/check.h"
#include "pager/limits.h"

#define WP_LOCAL_BLOCKS_MAX 64u
#define WP_PLACES_MAX	    (WP_SET_BLOCKS_MAX + WP_LOCAL_BLOCKS_MAX + 1u)
#define WP_LATENT_NONE	    UINT32_MAX

enum wp_positions_mode {
	WP_POSITIONS_NATIVE,
	WP_POSITIONS_MANAGED,
};

struct wp_positions {
	enum wp_positions_mode mode;
	uint32_t latents_per_frame; /* MG2: 3 */
	uint32_t set_blocks_max;    /* k */
	uint32_t local_blocks;	    /* past blocks of the local window, MG2: 1 */
	uint32_t window_latents;    /* indices the model was trained on, MG2: 15 */
	uint32_t table_rows;	    /* of self-attention, MG2: 1024 */
	uint32_t action_rows;	    /* of the action modules, MG2: 7500; 0: the model has none */
};

/* What ends a session. */
enum wp_positions_wall {
	WP_POSITIONS_ENDLESS,
	WP_POSITIONS_TABLE,
	WP_POSITIONS_ACTION_TABLE,
};

/* A block's first latent index; the others of the block follow it. */
struct wp_place {
	uint32_t block;
	uint32_t latent;
	uint32_t action_latent; /* WP_LATENT_NONE: retrieved, or no action modules */
};

/* The places of one frame: `retrieved` of them, then `local`, then the frame's own. */
struct wp_placement {
	uint32_t retrieved;
	uint32_t local;
	struct wp_place places[WP_PLACES_MAX];
};

/*
 * Whether the settings can be met. -EINVAL: a size is 0 or beyond its limit; -ERANGE:
 * managed, and the largest frame does not fit the window or a table.
 */
int wp_positions_check(const struct wp_positions *positions) WP_MUST_USE;

/* Indices of the largest frame: (k + local blocks + 1) x latents. */
uint32_t wp_positions_latents_max(const struct wp_positions *positions);

/* The first frame that has no place, and why; UINT32_MAX if there is none. */
uint32_t wp_positions_end(const struct wp_positions *positions, enum wp_positions_wall *wall);

/*
 * Places of `frame` (block numbers are frame numbers), `count` at most k.
 * 0; -ERANGE from frame wp_positions_end() on, `placement` then untouched.
 */
int wp_positions_place(const struct wp_positions *positions, uint32_t frame,
		       const uint32_t *retrieved, uint32_t count,
		       struct wp_placement *placement) WP_MUST_USE;

/* The frame's own place, at which the K of its block is rotated and stored. */
static inline const struct wp_place *wp_placement_own(const struct wp_placement *placement)
{
	return &placement->places[placement->retrieved + placement->local];
}

/* By how much K stored at `stored_latent` must be turned for a place: rotate.h. */
static inline int64_t wp_place_shift(const struct wp_place *place, uint32_t stored_latent)
{
	return (int64_t)place->latent - (int64_t)stored_latent;
}

#endif
