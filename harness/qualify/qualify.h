/*
 * Will a drive hold a world-model session without stalls?
 *
 *   calibrate   fio measures the drive: a profile
 *   replays     a_yaw, b1_ws and a session that writes, unthrottled, on this drive
 *   headroom    the same traces simulated on the profile: how far the read rate
 *               can fall before median, 99th percentile and maximum leave zero
 *   verdict     of each trace, and the worst of them
 *
 * A trace holds when, simulated on the drive's profile, its longest stall is
 * zero and, measured, its 99th percentile stays within the tolerance: 1 % of a
 * frame's compute, as a measured time is never exactly zero. It holds at the
 * median when that is true of the median alone. A session holds when its 99th
 * percentile does and waiting for writes takes at most 1 % of its time.
 */
#ifndef WP_QUALIFY_H
#define WP_QUALIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "harness/experiments/threshold.h"
#include "harness/profile/plan.h"
#include "harness/profile/profile.h"
#include "harness/qualify/calibrate.h"
#include "harness/stats.h"

#define WP_QUALIFY_TRACES 2

enum wp_qualify_verdict {
	WP_QUALIFY_HOLDS,
	WP_QUALIFY_MEDIAN, /* holds at the median only */
	WP_QUALIFY_FAILS,
};

struct wp_qualify_config {
	const char *store; /* folder on the drive */
	const char *out;   /* folder of results */
	const char *model, *machine, *arm, *codec, *scale, *fio;
	uint32_t seconds;	      /* of calibration's longest job */
	uint64_t rated_bytes_written; /* 0: not known */
};

/* One measured replay. Times at full scale. */
struct wp_qualify_run {
	const char *name; /* "a_yaw" "b1_ws" "session" */
	struct wp_stats stall_ns;
	uint64_t write_stall_ns, wall_ns; /* as they were */
	uint32_t blocks_nvme;		  /* read, of the session: re-read */
	bool valid;
	char note[256]; /* why not valid */
	enum wp_qualify_verdict verdict;
	bool has_thresholds; /* the traces */
	struct wp_threshold thresholds[WP_THRESHOLD_FIGURES];
};

struct wp_qualify {
	struct wp_model model;
	struct wp_machine machine;
	struct wp_calibration calibration;
	struct wp_plan plan;	   /* bytes an hour, endurance */
	uint64_t read_bytes_per_s; /* of the profile */
	uint64_t tolerance_ns;	   /* at full scale */
	bool steady;
	int32_t celsius_before, celsius_after; /* INT32_MIN: the system shows none */
	struct wp_qualify_run runs[WP_QUALIFY_TRACES + 1];
	uint32_t run_count;
	enum wp_qualify_verdict verdict;
};

/* What will be done, in bytes and minutes. 0 or -1. */
int wp_qualify_print_plan(const struct wp_qualify_config *config, FILE *stream,
			  struct wp_error *error) WP_MUST_USE;

/* Whether it could begin: places that can be written to, a store on a drive. 0 or -1. */
int wp_qualify_check(const struct wp_qualify_config *config, struct wp_error *error) WP_MUST_USE;

/* Does it. Documents of the replays and the profile are in config->out afterwards. */
int wp_qualify_make(struct wp_qualify *qualify, const struct wp_qualify_config *config,
		    struct wp_error *error) WP_MUST_USE;

/* qualify_report.c: verdict.txt, verdict.json and verdict.html in config->out. */
int wp_qualify_write(const struct wp_qualify *qualify, const struct wp_qualify_config *config,
		     struct wp_error *error) WP_MUST_USE;
void wp_qualify_print(const struct wp_qualify *qualify, FILE *stream);

/* qualify_json.c: the second of them. */
int wp_qualify_write_json(const struct wp_qualify *qualify, const struct wp_qualify_config *config,
			  struct wp_error *error) WP_MUST_USE;

/* How often a threshold goes into what the drive reads; 0: none lies below that. */
double wp_qualify_headroom(const struct wp_qualify *qualify, const struct wp_threshold *threshold);

const char *wp_qualify_verdict_text(enum wp_qualify_verdict verdict);

#endif
