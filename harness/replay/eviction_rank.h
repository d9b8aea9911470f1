/*
 * What eviction policies of pager/eviction.h rank blocks by: how far a block's
 * pose is from the current frame's, or how many frames pass until the trace
 * retrieves it again.
 */
#ifndef WP_EVICTION_RANK_H
#define WP_EVICTION_RANK_H

#include <stdint.h>

#include "harness/error.h"
#include "harness/trace/trace.h"

struct wp_eviction_rank;

/* Error (exit 2): `policy` is "farthest" and the trace has no poses. */
int wp_eviction_rank_open(struct wp_eviction_rank **rank, const char *policy,
			  const struct wp_trace *trace, struct wp_error *error) WP_MUST_USE;
void wp_eviction_rank_close(struct wp_eviction_rank *rank);

/* Blocks are from now on ranked for `frame`, which is coming; frames only grow. */
void wp_eviction_rank_advance(struct wp_eviction_rank *rank, uint32_t frame);

/* `context` is the rank: the pager's callback. */
uint64_t wp_eviction_rank_of(void *context, uint32_t block);

#endif
