/*
 * A tiered session: what it may use, where it begins, what ends it.
 *
 *   frame c:  place (positions) -> need -> compute -> put block c -> acknowledged
 *                 |                                     |
 *                 position wall                         capacity wall
 *
 * The budgets are the machine profile's, scaled, or as asked; in slots they are
 * payload bytes / bytes of a block. A wall ends the session with its reason and
 * is a result, not an error; a full store is an error.
 */
#ifndef WP_SESSION_H
#define WP_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/error.h"
#include "harness/profile/profile.h"
#include "harness/replay/eviction_rank.h"
#include "harness/replay/run.h"
#include "harness/trace/trace.h"
#include "pager/pager.h"
#include "pager/positions.h"

/* What was asked; NULL or 0 where the profile decides. */
struct wp_session_settings {
	const char *tiers;	    /* "gpu+dram+nvme" or "gpu+dram" */
	const char *eviction;	    /* "lru" "farthest" "next_use" */
	const char *positions;	    /* "managed" "native" */
	const char *ack_log;	    /* NULL: none */
	uint64_t gpu_budget_bytes;  /* of blocks, not scaled; 0: the profile's */
	uint64_t host_budget_bytes; /* the same */
	uint64_t nvme_budget_bytes; /* the same; 0: what the session writes */
	bool resume;
	bool replace;	    /* an earlier session's store is removed */
	bool forget_oldest; /* instead of ending when the NVMe budget is full */
};

struct wp_session_plan {
	struct wp_positions positions;
	struct wp_pager_tiers tiers;		      /* without the callbacks */
	uint64_t gpu_budget_bytes, host_budget_bytes; /* scaled */
	uint64_t nvme_budget_bytes;		      /* scaled; 0: what the session writes */
	uint64_t host_bytes;			      /* all of host memory, scaled */
	uint64_t block_bytes;
};

/* Whether the names are known, where there are any. Exit 2. */
int wp_session_check_names(const struct wp_session_settings *settings,
			   struct wp_error *error) WP_MUST_USE;

/* Errors are exit 2: unknown names, budgets that hold too little, with the least that works. */
int wp_session_plan(struct wp_session_plan *plan, const struct wp_session_settings *settings,
		    const struct wp_model *model, const struct wp_machine *machine,
		    const struct wp_scale *scale, uint64_t block_bytes,
		    const struct wp_trace *trace, struct wp_error *error) WP_MUST_USE;

/* What the mode, the model and the trace's k mean. Exit 2. */
int wp_session_positions(struct wp_positions *positions, const char *mode,
			 const struct wp_model *model, const struct wp_trace *trace,
			 struct wp_error *error) WP_MUST_USE;

struct wp_session {
	const struct wp_session_plan *plan;
	const struct wp_session_settings *settings;
	struct wp_eviction_rank *rank;
	FILE *ack_log;
	bool ack_log_failed, ack_log_is_new;
	bool begun;
	uint32_t first_frame; /* after a restart: the first whose block is not stored */
};

/* Opens the ack log and what the eviction policy ranks by; fills in the callbacks. */
int wp_session_open(struct wp_session *session, const struct wp_session_plan *plan,
		    const struct wp_session_settings *settings, const struct wp_trace *trace,
		    struct wp_pager_tiers *tiers, struct wp_error *error) WP_MUST_USE;

/* The world is open and frames come next: only now does a new session's ack log replace an
 * earlier one's. Exit 4. */
int wp_session_begin(struct wp_session *session, struct wp_error *error) WP_MUST_USE;

/* An all-zero one is allowed. An ack log that was made for nothing is removed. */
void wp_session_close(struct wp_session *session);

/* The latent index of a frame's own block; -ERANGE: positions end here. */
int wp_session_position(const struct wp_session *session, uint32_t frame, const uint32_t *set,
			uint32_t count, uint32_t *position) WP_MUST_USE;

/* From now on blocks are ranked as seen by `frame`. */
void wp_session_advance(struct wp_session *session, uint32_t frame);

/* What is known before the first frame, and after the last. `device_bytes`: of host memory
 * that stand in for a GPU's, or that its driver took. */
void wp_session_describe(const struct wp_session *session, const struct wp_model *model,
			 struct wp_session_figures *figures);
void wp_session_finish(const struct wp_session *session, const struct wp_pager_usage *usage,
		       uint64_t device_bytes, struct wp_session_figures *figures);

#endif
