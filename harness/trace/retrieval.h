/*
 * The model's retrieval rule, after WorldKV: the k past blocks whose poses are
 * nearest to the frame's own.
 *
 *   candidates of frame c   blocks 0 .. c - 1 - exclude_recent
 *   distance                weight_t T / Tmax + weight_a A / Amax
 *   T                       squared translation
 *   A                       rotation angle: the yaw difference wrapped to [0, 180]
 *                           when neither has pitch, otherwise 2 atan2(|v|, |w|) of
 *                           the relative quaternion of Ry(yaw) Rx(pitch)
 *   Tmax, Amax              the largest among the candidates, if above `flat`
 *   equal distances         (rounded to `tie`) go to the most recent
 */
#ifndef WP_RETRIEVAL_H
#define WP_RETRIEVAL_H

#include <stdint.h>

#include "harness/trace/motion.h"
#include "pager/check.h"
#include "pager/limits.h"

struct wp_rule {
	uint32_t k; /* 1 .. WP_SET_BLOCKS_MAX */
	uint32_t exclude_recent;
	double translation_weight;
	double rotation_weight;
	double flat; /* a largest value at most this does not divide: 1e-12 */
	double tie;  /* distances are rounded to this: 1e-9 */
};

#define WP_RULE_NAME "pose_distance"

struct wp_rule wp_rule_default(void);

/* Past poses, in the form in which many distances are taken quickly. */
struct wp_retrieval;

/* Room for `pose_max` poses. -ENOMEM. */
int wp_retrieval_open(struct wp_retrieval **retrieval, const struct wp_rule *rule,
		      uint32_t pose_max) WP_MUST_USE;
void wp_retrieval_close(struct wp_retrieval *retrieval); /* NULL is allowed */

/* The pose of the next block: block numbers count from 0. */
void wp_retrieval_append(struct wp_retrieval *retrieval, const struct wp_pose *pose);

/* Blocks that frame `frame` chooses from. */
uint32_t wp_rule_candidates(const struct wp_rule *rule, uint32_t frame);

/*
 * The set of frame `frame` seen from `pose`, nearest first; at most rule.k.
 * All candidates must have been appended. Returns how many.
 */
uint32_t wp_retrieval_choose(struct wp_retrieval *retrieval, uint32_t frame,
			     const struct wp_pose *pose, uint32_t blocks[WP_SET_BLOCKS_MAX]);

/* The rotation between two poses in degrees, as defined above. */
double wp_pose_angle(const struct wp_pose *a, const struct wp_pose *b);

#endif
