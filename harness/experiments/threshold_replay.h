/*
 * What threshold.h asks of a replay: the three figures at one rate, over the
 * frames after warm-up, at full scale.
 */
#ifndef WP_THRESHOLD_REPLAY_H
#define WP_THRESHOLD_REPLAY_H

#include "harness/experiments/threshold.h"
#include "harness/replay/replay.h"

struct wp_threshold_replay {
	struct wp_replay_settings settings; /* but for the rate */
	uint32_t frames;		    /* of the last run */
	bool valid;			    /* the last run proved what it measured */
};

/* A wp_threshold_run; `context` is a struct wp_threshold_replay. */
int wp_threshold_replay(void *context, uint64_t read_bytes_per_s, struct wp_threshold_stall *stall,
			struct wp_error *error) WP_MUST_USE;

#endif
