/*
 * The paper's claims held against a collection of results and documents of the
 * overlap experiment and of the capacity walls. What the paper says, on which traces, and how
 * near a measurement has to come stands in results/paper/claims.json; nothing of it is in the code.
 *
 *   P1  trace, arm: median stall 0 at every R >= zero_from, and above 0 below
 *       the need of the set, k x block bytes / compute; decided by an R from the
 *       need to zero_from
 *   P2  arm, traces: median stall above 0 at every R; decided by one at the need or
 *       above it for each trace: below it every arm stalls
 *   P3  trace, arm, against: below the need the median stall is above 0, and at
 *       one R at least the longest stall exceeds that of `against`; where the
 *       arm `remedy` was run, its longest does not exceed it
 *   P4  buffers, bytes: in the overlap experiment, beside compute_ns, median stall 0 up to
 *       so many bytes a frame
 *       (one buffer has to show the copy, or it is too short to tell)
 *   P5  video_s: of bf16 and Int4 in host memory alone, and of native positions, each ended
 *       by its own wall, within `share`; in host_bytes of P6
 *   P6  frames, host_bytes: the full system plays so many inside so much host memory
 *   P9  playback_fps: generation is slower
 *
 * "0" means at most tolerance = stall_ns + share_of_on_demand x the on_demand
 * median at that R: 0 in the virtual world. What cannot decide a claim (rates, volumes,
 * frames, memory that it does not speak of) leaves it "not covered", and says what is missing.
 */
#ifndef WP_CLAIMS_H
#define WP_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "harness/experiments/collection.h"
#include "harness/experiments/overlap.h"
#include "harness/experiments/walls.h"

#define WP_CLAIM_TRACES_MAX 8
#define WP_CLAIM_NAME	    64

struct wp_claim_tolerance {
	uint64_t stall_ns;
	double share_of_on_demand;
};

enum wp_claim {
	WP_CLAIM_P1,
	WP_CLAIM_P2,
	WP_CLAIM_P3,
	WP_CLAIM_P4,
	WP_CLAIM_P5,
	WP_CLAIM_P6,
	WP_CLAIM_P9,
	WP_CLAIM_COUNT
};

#define WP_CLAIM_WALLS 3 /* of P5: the first sessions of walls.h */

struct wp_claims {
	char text[WP_CLAIM_COUNT][256]; /* what the paper reports */
	char model[WP_CLAIM_NAME], codec[WP_CLAIM_NAME];
	uint32_t k;
	uint32_t frames_least; /* after warm-up; a point of fewer decides nothing */
	char p1_trace[WP_CLAIM_NAME], p1_arm[WP_CLAIM_NAME];
	uint64_t p1_zero_from_bytes_per_s;
	char p2_arm[WP_CLAIM_NAME];
	uint32_t p2_trace_count;
	char p2_traces[WP_CLAIM_TRACES_MAX][WP_CLAIM_NAME];
	char p3_trace[WP_CLAIM_NAME], p3_arm[WP_CLAIM_NAME];
	char p3_against[WP_CLAIM_NAME], p3_remedy[WP_CLAIM_NAME];
	uint32_t p4_buffers;
	uint64_t p4_bytes, p4_compute_ns;
	double p5_video_s[WP_CLAIM_WALLS], p5_tolerance;
	uint32_t p6_frames;
	uint64_t p6_host_bytes;
	double p9_playback_fps;
	struct wp_claim_tolerance virtual_tolerance, measured_tolerance;
};

/* Loads the file that ships with the program. 0, or -1 (exit 4). */
int wp_claims_load(struct wp_claims *claims, struct wp_error *error) WP_MUST_USE;

enum wp_verdict {
	WP_VERDICT_NOT_COVERED,	   /* no such points were asked for */
	WP_VERDICT_NOT_MEASURABLE, /* asked for, but none of those needed counts */
	WP_VERDICT_AGREES,
	WP_VERDICT_DIFFERS,
};

const char *wp_verdict_text(enum wp_verdict verdict);

struct wp_finding {
	enum wp_verdict verdict;
	char text[512]; /* the figures it rests on */
};

/* P5, P6 and P9; a document without a world: not covered. */
struct wp_finding wp_claims_check_walls(const struct wp_claims *claims, enum wp_claim claim,
					const struct wp_walls *walls);

/* P1 to P3. `measured`: the worlds that use a drive instead of the virtual one. */
struct wp_finding wp_claims_check(const struct wp_claims *claims, enum wp_claim claim,
				  const struct wp_collection *collection, bool measured);

/* P4; only the tolerance's stall_ns counts. `measured` as above. */
struct wp_finding wp_claims_check_overlap(const struct wp_claims *claims,
					  const struct wp_overlaps *overlaps, bool measured);

/* Short name: "P1". */
const char *wp_claim_id(enum wp_claim claim);

#endif
