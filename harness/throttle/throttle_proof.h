/*
 * Internal to the throttle: what throttle.c (means, order of steps) and
 * throttle_proof.c (probes and judgement) share.
 */
#ifndef WP_THROTTLE_PROOF_H
#define WP_THROTTLE_PROOF_H

#include "harness/throttle/throttle.h"
#include "harness/throttle/throttle_cgroup.h"

struct wp_throttle {
	const struct wp_kernel *kernel;
	enum wp_throttle_method asked;
	uint64_t bytes_per_s;
	uint64_t frame_bytes;
	struct wp_throttle_group group; /* .kind is NULL without a kernel limit */
	bool bucket;
	bool proven;
	bool started;
	int counter_error;
	uint64_t counter_bytes; /* at start */
	struct wp_throttle_figures figures;
};

/* A note for the reader of the result; at most WP_THROTTLE_NOTES_MAX. */
void wp_throttle_note(struct wp_throttle_figures *figures, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The rate before any limit, and whether the drive reaches what is asked. 0 or -errno. */
int wp_throttle_probe_free(struct wp_throttle *throttle,
			   struct wp_probe_source *source) WP_MUST_USE;

/*
 * The probe under the kernel limit alone: rate, counter, credit. Sets `proven`,
 * and figures.reason where it is not. 0 or -errno of a read.
 */
int wp_throttle_probe_limit(struct wp_throttle *throttle,
			    struct wp_probe_source *source) WP_MUST_USE;

/* The limited device's own counter, or without a kernel limit the process's. 0 or -errno. */
int wp_throttle_counter(const struct wp_throttle *throttle, uint64_t *bytes) WP_MUST_USE;

/* Fills valid, reason, credit_share and notes from what the run came to. */
void wp_throttle_judge(struct wp_throttle *throttle, struct wp_throttle_figures *figures);

#endif
