/*
 * What plays the frames of one replay through the pager. replay.c owns it,
 * opens and closes its parts; player_frame.c plays one frame with it.
 */
#ifndef WP_PLAYER_H
#define WP_PLAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/replay/device_check.h"
#include "harness/replay/lower_bound.h"
#include "harness/replay/replay.h"
#include "harness/replay/replay_compute.h"
#include "harness/replay/replay_world.h"
#include "harness/replay/session.h"

#define WP_PLAYER_WALL 1 /* a session's end that is a result */

struct wp_player {
	struct wp_replay_plan *plan;
	struct wp_run *run;
	struct wp_replay_world world;
	struct wp_pager *pager;
	struct wp_device_check *check;
	struct wp_replay_compute compute;
	bool unanswered;		/* the store died with requests in flight */
	uint64_t start_ns;		/* of frame 0 on the world's clock */
	uint64_t noticed_ns;		/* when the end of the last compute was */
	uint32_t hints[WP_STAGING_MAX]; /* for the coming frame, and while that waits */
	uint32_t hint_count;
	struct wp_lower_bound_config bound;
	struct wp_session session;  /* tiered */
	uint32_t first_frame;	    /* above 0: a session goes on */
	struct wp_player *given_up; /* the one before, kept like this one */
};

/*
 * One frame; *needed_ns, when its set is needed, moves on to the next frame's.
 * 0, WP_PLAYER_WALL, or what stopped it (-errno; the run may say more).
 */
int wp_player_play_frame(struct wp_player *player, uint32_t frame, uint64_t *needed_ns) WP_MUST_USE;

#endif
