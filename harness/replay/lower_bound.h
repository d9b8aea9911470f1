/*
 * lower_bound: the stall that no schedule of reads can go below, frame by
 * frame, in a forced-nvme session. Pure arithmetic; nothing is allocated.
 *
 * The schedules covered. One drive delivers at most R bytes per second in any
 * interval, without credit from idle times. Every block of every frame's set
 * S_c is read whole for that frame; nothing is reused between frames. Frame c
 * computes for C_c from the instant it is ready (never before it is needed),
 * then frame c+1 is needed. Bytes for frame c may be read from the instant
 * something is known of it, which is when frame c-1 starts to compute:
 *
 *      c-1 ready, starts to compute      c needed            c ready
 *          |------------ C_{c-1} ------------|---- stall_c ----|
 *          |  read ahead, at most M blocks   |  read the rest  |
 *
 *   (a) told:   S_c itself is known then, one frame ahead;
 *   (b) hinted: only the arm's hint list H_c is known then. Ahead of need a
 *       schedule may read blocks of H_c alone, any of them, in any order and
 *       any portions; S_c is known when c is needed.
 *
 * M is the staging capacity: at most M blocks, whole or in part, may lie read
 * ahead at once; a dropped one may be replaced. Reads may be cut anywhere,
 * copies and verification cost nothing. Each of these only widens the class,
 * so a schedule with small reads, a slow link or a fixed order is covered
 * too. Which hints come true is not known ahead, but a schedule may be lucky:
 * the bound for (b) is the choice of somebody who knows which, and no online
 * schedule with the same hints can be below it. For frame 0 nothing is known
 * ahead.
 *
 * The bound. Let n = |S_c|, B the block's bytes, and p the blocks of S_c that
 * can lie read ahead: min(n, M) in (a), min(|S_c and H_c|, M) in (b), 0 for
 * frame 0. At the instant c is needed at most p B bytes of S_c have been
 * read, so at least (n - p) B remain; and all n B lie between the two ends of
 * the drawing above, C_{c-1} + stall_c apart. Hence
 *
 *      stall_c >= max(0, (n - p) B / R, n B / R - C_{c-1})
 *
 * and it is reached: read the p blocks one after another from the left end,
 * then at need whatever is left of S_c. If the p blocks are done before need,
 * the first term is what remains, else the drive has never been idle and the
 * second is. With p = n the first term is 0: nothing has to wait for need.
 *
 * Frames do not interact. The right side holds no instant and no earlier
 * stall: idling or stalling longer in frame c shifts the drawing of c+1 as a
 * whole, because knowledge of c+1 comes with the start of c's compute, no
 * sooner, and what was read for c is of no use to c+1. One schedule therefore
 * has the least stall in every frame at once, so the least total, the least
 * maximum and every least percentile do not trade off, and leaving out
 * warm-up frames only leaves out terms. (Were S_c known already when c-1 is
 * *needed*, the stall of c-1 would widen the window of c and this would not
 * hold.)
 *
 * Rounding. Logged instants are whole nanoseconds, the drive's are not: with
 * both ends of a stall rounded up, it may be logged up to a nanosecond
 * shorter than it was. So each term is rounded down, and no logged stall is
 * below the bound.
 *
 * Blocks found in memory have no place in this: for tiered residency there is
 * no such bound.
 */
#ifndef WP_LOWER_BOUND_H
#define WP_LOWER_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/check.h"

struct wp_lower_bound_config {
	uint64_t block_bytes;
	uint64_t read_bytes_per_s; /* R, the lower of the limit and the drive's rate; 0: no limit */
	uint32_t staging_blocks;   /* M */
	uint32_t warmup_frames;	   /* left out of the figures, as in an arm's summary */
};

/* One frame as the session met it. Block numbers in `set` and in `hints` are distinct. */
struct wp_lower_bound_frame {
	const uint32_t *set;   /* S_c */
	const uint32_t *hints; /* H_c */
	uint32_t set_count;
	uint32_t hint_count;
	uint64_t compute_ns; /* C_c; _add does not look at it */
};

/* Over the frames after warm-up; `n` of them. Values that do not fit are UINT64_MAX. */
struct wp_lower_bound_figures {
	uint32_t n;
	uint64_t sum_ns;
	uint64_t max_ns;
};

struct wp_lower_bound {
	struct wp_lower_bound_figures told;   /* (a) */
	struct wp_lower_bound_figures hinted; /* (b) */
};

/* The formula above: n = `set_blocks`, p = `ahead_blocks` <= n, C = `window_ns`. */
uint64_t wp_lower_bound_stall_ns(const struct wp_lower_bound_config *config, uint32_t set_blocks,
				 uint32_t ahead_blocks, uint64_t window_ns);

/* p of (b): blocks of the frame's set that are hinted and fit into staging. */
uint32_t wp_lower_bound_ahead_blocks(const struct wp_lower_bound_config *config,
				     const struct wp_lower_bound_frame *frame);

/* Adds frame `index`, warm-up or not, to figures that begin all zero; `window_ns` is what the
 * frame before computed, C_{c-1}. For sessions too long to keep their hints. */
void wp_lower_bound_add(struct wp_lower_bound *bound, const struct wp_lower_bound_config *config,
			uint32_t index, const struct wp_lower_bound_frame *frame,
			uint64_t window_ns);

/* All frames of a session, frame 0 first. */
struct wp_lower_bound wp_lower_bound_of(const struct wp_lower_bound_config *config,
					const struct wp_lower_bound_frame *frames,
					uint32_t frame_count);

/*
 * How far an arm is from its bound: true and stall / bound; false where the
 * bound is 0, where a ratio says nothing and only a stall of 0 reaches it.
 */
bool wp_lower_bound_ratio(uint64_t stall_ns, uint64_t bound_ns, double *ratio) WP_MUST_USE;

#endif
