/* A replay's lower bound: which rate holds for it, and whether there is one at all. */
#ifndef WP_REPLAY_BOUND_H
#define WP_REPLAY_BOUND_H

#include "harness/replay/lower_bound.h"
#include "harness/replay/replay.h"

/*
 * True if the plan has a bound: forced-nvme, at a rate that no schedule can
 * exceed. The kernel's limit alone is none, as it grants credit for idle times.
 *
 * In the virtual world no run is below it. Elsewhere the bucket makes up for
 * late wake-ups, so that a frame can come out below by what the one before lost.
 */
bool wp_replay_bound_config(const struct wp_replay_plan *plan,
			    struct wp_lower_bound_config *config) WP_MUST_USE;

#endif
