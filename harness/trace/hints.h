/*
 * Hints: which blocks somebody believes the coming frame will need, made when
 * the frame before it starts computing. A table of kinds by name:
 *
 *   none          nothing
 *   hold_last     the rule from: the motion of frame c-1 once more
 *   reverse       ... from: back the way it came
 *   still w s left right   ... from: that action for a frame, from where c-1 ends
 *   alternatives  all of hold_last, then of reverse, still, w, s, left, right
 *   known         the trace's own next set
 *   trace         the hints recorded in the trace
 */
#ifndef WP_HINTS_H
#define WP_HINTS_H

#include <stdint.h>

#include "harness/error.h"
#include "harness/trace/trace.h"

struct wp_hints;

/* The names, separated by spaces, for messages and help. */
const char *wp_hints_names(void);

/* Opens a kind on a trace that outlives it. Errors (exit 2): unknown name; the
 * trace lacks what the kind needs (poses, motion constants, hints of its own). */
int wp_hints_open(struct wp_hints **hints, const struct wp_trace *trace, const char *kind,
		  struct wp_error *error) WP_MUST_USE;
void wp_hints_close(struct wp_hints *hints); /* NULL is allowed */

/*
 * Blocks for frame `frame`, best first, without repeats, at most `max`; returns
 * how many. Nothing for frame 0. Allocates nothing.
 */
uint32_t wp_hints_make(struct wp_hints *hints, uint32_t frame, uint32_t *blocks, uint32_t max);

#endif
