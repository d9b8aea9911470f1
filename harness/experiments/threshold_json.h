/* The document of the threshold finder: what was asked, and one row a trace and arm. */
#ifndef WP_THRESHOLD_JSON_H
#define WP_THRESHOLD_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "harness/experiments/threshold.h"

#define WP_THRESHOLD_SCHEMA_VERSION 1

/* Replays on this machine's drive 5 % above and below a threshold; stalls at full scale. */
struct wp_threshold_confirmation {
	bool made;
	uint64_t above_bytes_per_s, below_bytes_per_s;
	uint64_t above_stall_ns, below_stall_ns; /* of the threshold's figure */
	bool valid;				 /* both proved their limit */
};

/* Strings stay the caller's. */
struct wp_threshold_row {
	const char *trace;
	const char *arm;
	uint32_t frames; /* of the runs, warm-up included */
	uint32_t runs;
	struct wp_threshold thresholds[WP_THRESHOLD_FIGURES];
	struct wp_threshold_confirmation confirmations[WP_THRESHOLD_FIGURES];
};

struct wp_threshold_report {
	const char *codec;
	const char *confirm_scale; /* of the confirming replays; NULL: none */
	uint32_t warmup_frames;
	struct wp_threshold_config config;
	const struct wp_threshold_row *rows;
	uint32_t row_count;
};

/* "found", "below" or "above", as in the document. */
const char *wp_threshold_state_name(enum wp_threshold_state state);

/* Whole or not at all; "-" is standard output. 0, or -1 with WP_EXIT_CONTENT. */
int wp_threshold_write(const struct wp_threshold_report *report, const char *path,
		       struct wp_error *error) WP_MUST_USE;

#endif
