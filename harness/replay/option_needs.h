/*
 * Which options of `replay` have a say in which kind of run. An option without
 * any is refused: whoever gives it expects something that would not happen.
 */
#ifndef WP_OPTION_NEEDS_H
#define WP_OPTION_NEEDS_H

#include "harness/error.h"
#include "harness/replay/replay.h"

/* `option` without its dashes, of an opened plan. 0, or -1 (exit 2) with what it needs. */
int wp_option_needs_check(const char *option, const struct wp_replay_plan *plan,
			  struct wp_error *error) WP_MUST_USE;

#endif
