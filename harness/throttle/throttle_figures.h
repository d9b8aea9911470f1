/*
 * What a run's read limit was and whether it held: a part of its figures.
 */
#ifndef WP_THROTTLE_FIGURES_H
#define WP_THROTTLE_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#define WP_THROTTLE_NOTES_MAX 6

struct wp_throttle_figures {
	const char *method; /* "none" "bucket" "cgroup" "cgroup+bucket" (what auto resolved to) */
	const char *cgroup; /* "v1" "v2" or NULL */
	const char *asked;  /* the option: "auto" "cgroup" "bucket" "none" */
	char device[24];    /* "MAJ:MIN" of the limited disk; empty: no kernel limit */
	uint64_t asked_bytes_per_s;	  /* 0: no limit asked */
	uint64_t read_back_bytes_per_s;	  /* what the kernel says it enforces; 0: no kernel limit */
	uint64_t probe_bytes_per_s;	  /* rate of the probe under the kernel limit; 0: none */
	uint64_t unthrottled_bytes_per_s; /* rate of a short probe before limiting */
	uint64_t achieved_bytes_per_s;	  /* bytes / time with at least one read outstanding */
	uint64_t device_bytes;		  /* the group's (or process's) own counter over the run */
	uint64_t expected_bytes;	  /* what the store read in the same span */
	uint64_t credit_bytes;	    /* the kernel limiter's free credit after idle, as measured */
	uint64_t lost_credit_bytes; /* accrual the bucket refused to make up for after hiccups */
	double credit_share; /* credit_bytes of the bytes of one frame; 0: the bucket hides it */
	bool device_limited; /* the drive does not reach the asked rate: not to be drawn at it */
	bool valid;
	char reason[256]; /* why not valid; empty when valid */
	uint32_t note_count;
	char notes[WP_THROTTLE_NOTES_MAX]
		  [256]; /* for the notes of the run: what a reader must know */
};

#endif
