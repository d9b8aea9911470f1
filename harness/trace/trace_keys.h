/*
 * Keys that trace headers and trajectory configs share.
 */
#ifndef WP_TRACE_KEYS_H
#define WP_TRACE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/files/json_file.h"
#include "harness/trace/motion.h"
#include "harness/trace/retrieval.h"

/* "origin": "reconstructed" "recorded" "synthetic" "imported". */
void wp_trace_keys_origin(struct wp_json *root, char *origin, size_t size);

/* "rule": {"name", "translation_weight", "rotation_weight", "flat", "tie"}; what is
 * absent stays as it is in `rule`. */
void wp_trace_keys_rule(struct wp_json *root, struct wp_rule *rule);

/* "video_frames_per_frame" and, if `constants`, the two motion constants. */
void wp_trace_keys_motion(struct wp_json *root, bool constants, struct wp_motion *motion);

#endif
