/* The part of a replay's plan that only the real world has. */
#ifndef WP_REPLAY_PLAN_REAL_H
#define WP_REPLAY_PLAN_REAL_H

#include "harness/replay/replay.h"

/* After sizes and session are known. Exit 2: rates, and shapes that no kernel takes. */
int wp_replay_plan_real(struct wp_replay_plan *plan, struct wp_error *error) WP_MUST_USE;

#endif
