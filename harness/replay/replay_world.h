/*
 * The world of one replay, opened from its plan and closed as a whole:
 *
 *   virtual   events -> drive (-> iolog) (-> faults) (-> bucket), device
 *             nothing on the machine
 *   model     prepared store -> limit and probe -> ring (-> iolog) (-> faults) (-> bucket),
 *             timed device
 *   real      the same, and a GPU that has the host slots pinned (replay_world_gpu.c)
 *
 * A tiered session writes a store of its own (replay_session_store.c); the limit is
 * then proven on a prepared one beside it.
 *
 * Memory for the slots is taken here, once, after it was seen to fit.
 */
#ifndef WP_REPLAY_WORLD_H
#define WP_REPLAY_WORLD_H

#include "harness/replay/replay.h"
#include "harness/system/memory.h"
#include "harness/throttle/throttle.h"
#include "pager/events.h"
#include "pager/gpu.h"
#include "pager/store_host.h"
#include "pager/world.h"

struct wp_replay_world {
	struct wp_world world;
	struct wp_events *events; /* virtual only */
	struct wp_arena host;	  /* slots on the host side */
	void *device_slots;	  /* slots on the device side */
	struct wp_arena stand_in; /* which hold them where there is no GPU */
	struct wp_gpu *gpu;	  /* real: world.device owns it; NULL elsewhere */
	struct wp_gpu_facts gpu_facts;
	uint16_t *elements;	      /* real: on the GPU, room for a set in the model's form */
	uint64_t driver_bytes;	      /* real: of host memory that opening the GPU took */
	struct wp_port *bucket;	      /* within world.store; NULL: none */
	struct wp_port *faults;	      /* the same, behind the bucket */
	struct wp_throttle *throttle; /* NULL in virtual */
	struct wp_store_report store; /* of the host store; all zero in virtual */
	struct wp_port *host_store;   /* the store behind all decorators; NULL in virtual */
};

/* 0, or -1 with `error` and everything undone. */
int wp_replay_world_open(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
			 const struct wp_pager_config *pager, struct wp_error *error) WP_MUST_USE;

/* Nothing may be in flight. An all-zero world is allowed. */
void wp_replay_world_close(struct wp_replay_world *opened);

/*
 * What is in flight was not answered and will not be: the limit is undone, so that
 * nothing of the run outlives it but memory that the kernel may still write to.
 * Returns whether injected faults hold all of it back; then, and only then,
 * the world may be closed.
 */
bool wp_replay_world_give_up(struct wp_replay_world *opened, uint32_t in_flight);

/* The store part of the result, and the throttle part after the last frame. */
void wp_replay_world_describe(const struct wp_replay_world *opened,
			      const struct wp_replay_plan *plan, struct wp_store_figures *store);
void wp_replay_world_finish(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
			    const struct wp_pager_totals *totals,
			    struct wp_throttle_figures *throttle);

/* Whether the session's store holds the block, durably. */
bool wp_replay_world_stored(const struct wp_replay_world *opened, uint32_t block);

/*
 * replay_world_gpu.c. Whether the GPU has room for the plan, before anything is written
 * or taken; then slots on it, the host slots pinned, and the device port over it. The
 * store has to have registered the host slots by then. Exit 3.
 */
int wp_replay_gpu_check(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
			struct wp_error *error) WP_MUST_USE;
int wp_replay_gpu_open(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
		       struct wp_error *error) WP_MUST_USE;

/* What the GPU said when it failed; empty where nothing did. */
const char *wp_replay_gpu_why(const struct wp_replay_world *opened);

/*
 * replay_session_store.c, in model and real. Whether the session may begin or go on with what
 * lies there, before anything is written. Exit 4.
 */
int wp_replay_session_store_check(const struct wp_replay_plan *plan,
				  struct wp_error *error) WP_MUST_USE;

/* Opens the session's store, new or to go on with. */
int wp_replay_session_store_open(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
				 struct wp_error *error) WP_MUST_USE;

/* What a prepared store for the plan is and how to make it. */
void wp_replay_store_identity(const struct wp_replay_plan *plan,
			      struct wp_store_identity *identity);

#endif
