/* How long a read may take, and a whole run: what the rates of a plan come to. */
#ifndef WP_REPLAY_PLAN_TIMES_H
#define WP_REPLAY_PLAN_TIMES_H

#include "harness/error.h"
#include "harness/replay/replay.h"

/* Sets the deadline of a read. Rates that no run would end at, and deadlines that no read could
 * keep, are exit 2. */
int wp_replay_plan_times(struct wp_replay_plan *plan, struct wp_error *error) WP_MUST_USE;

#endif
