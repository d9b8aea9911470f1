/*
 * What the overlap experiment is to measure: profiles, scale and volumes, made
 * from what was asked.
 */
#ifndef WP_OVERLAP_PLAN_H
#define WP_OVERLAP_PLAN_H

#include "harness/experiments/overlap.h"

/* What was asked. Strings stay the caller's; NULL and 0 where a default is derived. */
struct wp_overlap_settings {
	const char *world;
	const char *scale;     /* NULL: 1 in virtual and real, 1/16 in model */
	const char *copy_rate; /* NULL: the machine profile's; "unlimited" */
	const char *model;
	const char *machine;
	uint64_t volumes_bytes[WP_OVERLAP_POINTS_MAX / 2]; /* at scale 1 */
	uint32_t volume_count;				   /* 0: blocks of the model */
	uint32_t buffers;				   /* 1, 2; 0: both */
	uint32_t frames;
	uint32_t warmup_frames;
	uint64_t memory_bytes;
	uint64_t seed;
	bool products;
};

/* Fills `overlap` (its points without figures) and `config`. Exit 2. */
int wp_overlap_plan(const struct wp_overlap_settings *settings, struct wp_overlap *overlap,
		    struct wp_overlap_world_config *config, struct wp_error *error) WP_MUST_USE;

/* What measuring all points will take where copies run at `bytes_per_s`. */
uint64_t wp_overlap_estimate_ns(const struct wp_overlap *overlap, uint64_t bytes_per_s);

#endif
