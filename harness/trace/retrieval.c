/*
 * The retrieval rule. Decides nothing but the k nearest past blocks; where
 * poses come from is the caller's.
 *
 * The one idea: a rotation angle with pitch costs an arc tangent, but is bounded
 * from below by a square root (an arc is longer than its chord), so candidates
 * whose bound alone puts them behind the k-th best are passed over. The bound
 * only ever saves work: what is chosen is what the plain definition chooses.
 */
#include "harness/trace/retrieval.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define DEGREES	    (180 / M_PI)

/* Relative rounding errors of the chord are some 1e-15; this is far beyond them. */
#define CHORD_SLACK 1e-9

struct quaternion {
	double w, x, y, z;
};

/* What a past pose is asked for, block by block. */
struct past {
	double x, y, z;
	double yaw; /* wrapped to [-180, 180] */
	struct quaternion rotation;
	bool pitched;
};

struct wp_retrieval {
	struct wp_rule rule;
	uint32_t count;
	uint32_t room;
	uint32_t pitched_count; /* of the appended poses */
	struct past *past;
	double *translation; /* of each candidate, for the pose being looked from */
	double *angle;	     /* exact without pitch, else a lower bound */
};

/* One of the k best so far. */
struct nearest {
	double distance;
	double rounded;
	uint32_t block;
};

struct wp_rule wp_rule_default(void)
{
	return (struct wp_rule){
	    .k = 2,
	    .exclude_recent = 2,
	    .translation_weight = 0.5,
	    .rotation_weight = 0.5,
	    .flat = 1e-12,
	    .tie = 1e-9,
	};
}

/* Ry(yaw) Rx(pitch) as a unit quaternion. */
static struct quaternion rotation_of(const struct wp_pose *pose)
{
	double yaw = pose->yaw / DEGREES / 2, pitch = pose->pitch / DEGREES / 2;

	return (struct quaternion){
	    .w = cos(yaw) * cos(pitch),
	    .x = cos(yaw) * sin(pitch),
	    .y = sin(yaw) * cos(pitch),
	    .z = -sin(yaw) * sin(pitch),
	};
}

static struct past past_of(const struct wp_pose *pose)
{
	return (struct past){
	    .x = pose->x,
	    .y = pose->y,
	    .z = pose->z,
	    .yaw = remainder(pose->yaw, 360),
	    .rotation = rotation_of(pose),
	    .pitched = pose->pitch != 0,
	};
}

/* |v| and |w| of the rotation from `a` to `b`. */
static void relative_rotation(const struct quaternion *a, const struct quaternion *b, double *v,
			      double *w)
{
	double x = a->w * b->x - a->x * b->w - a->y * b->z + a->z * b->y;
	double y = a->w * b->y - a->y * b->w - a->z * b->x + a->x * b->z;
	double z = a->w * b->z - a->z * b->w - a->x * b->y + a->y * b->x;

	*v = sqrt(x * x + y * y + z * z);
	*w = fabs(a->w * b->w + a->x * b->x + a->y * b->y + a->z * b->z);
}

/* Both yaws are wrapped, so that one turn at most has to be taken off. */
static double yaw_angle(const struct past *a, const struct past *b)
{
	double difference = fabs(a->yaw - b->yaw);

	return difference > 180 ? 360 - difference : difference;
}

static double exact_angle(const struct past *a, const struct past *b)
{
	double v, w;

	if (!a->pitched && !b->pitched)
		return yaw_angle(a, b);
	relative_rotation(&a->rotation, &b->rotation, &v, &w);
	return 2 * atan2(v, w) * DEGREES;
}

double wp_pose_angle(const struct wp_pose *a, const struct wp_pose *b)
{
	struct past past_a = past_of(a), past_b = past_of(b);

	return exact_angle(&past_a, &past_b);
}

int wp_retrieval_open(struct wp_retrieval **retrieval, const struct wp_rule *rule,
		      uint32_t pose_max)
{
	struct wp_retrieval *made = calloc(1, sizeof(*made));

	WP_CHECK(rule->k >= 1 && rule->k <= WP_SET_BLOCKS_MAX);
	WP_CHECK(rule->translation_weight >= 0 && rule->rotation_weight >= 0);
	WP_CHECK(rule->flat >= 0 && rule->tie > 0);
	if (!made)
		return -ENOMEM;
	made->rule = *rule;
	made->room = pose_max;
	made->past = calloc(pose_max ? pose_max : 1, sizeof(*made->past));
	made->translation = calloc(pose_max ? pose_max : 1, sizeof(*made->translation));
	made->angle = calloc(pose_max ? pose_max : 1, sizeof(*made->angle));
	if (!made->past || !made->translation || !made->angle) {
		wp_retrieval_close(made);
		return -ENOMEM;
	}
	*retrieval = made;
	return 0;
}

void wp_retrieval_close(struct wp_retrieval *retrieval)
{
	if (!retrieval)
		return;
	free(retrieval->past);
	free(retrieval->translation);
	free(retrieval->angle);
	free(retrieval);
}

void wp_retrieval_append(struct wp_retrieval *retrieval, const struct wp_pose *pose)
{
	WP_CHECK(retrieval->count < retrieval->room);
	retrieval->past[retrieval->count] = past_of(pose);
	retrieval->pitched_count += retrieval->past[retrieval->count].pitched;
	retrieval->count++;
}

uint32_t wp_rule_candidates(const struct wp_rule *rule, uint32_t frame)
{
	return frame > rule->exclude_recent ? frame - rule->exclude_recent : 0;
}

/* Squared translations of all candidates; returns the largest. */
static double measure_translations(struct wp_retrieval *retrieval, uint32_t count,
				   const struct past *from)
{
	double largest = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct past *to = &retrieval->past[i];
		double x = to->x - from->x, y = to->y - from->y, z = to->z - from->z;
		double squared = x * x + y * y + z * z;

		retrieval->translation[i] = squared;
		if (squared > largest)
			largest = squared;
	}
	return largest;
}

static double measure_yaws(struct wp_retrieval *retrieval, uint32_t count, const struct past *from)
{
	double largest = 0;

	for (uint32_t i = 0; i < count; i++) {
		double angle = yaw_angle(&retrieval->past[i], from);

		retrieval->angle[i] = angle;
		if (angle > largest)
			largest = angle;
	}
	return largest;
}

/* Lower bounds of all angles; returns the largest exact angle. */
static double measure_chords(struct wp_retrieval *retrieval, uint32_t count,
			     const struct past *from)
{
	double longest = 0, largest = 0, v, w;

	for (uint32_t i = 0; i < count; i++) {
		relative_rotation(&retrieval->past[i].rotation, &from->rotation, &v, &w);
		retrieval->angle[i] = v;
		if (v > longest)
			longest = v;
	}
	/* The angle grows with the chord, so only those as long as the longest can be it. */
	for (uint32_t i = 0; i < count; i++) {
		double chord = retrieval->angle[i];

		if (chord >= longest - CHORD_SLACK)
			largest = fmax(largest, exact_angle(&retrieval->past[i], from));
		retrieval->angle[i] = 2 * chord * DEGREES * (1 - CHORD_SLACK);
	}
	return largest;
}

/* Puts a block in its place among the best; later blocks win ties. */
static uint32_t insert(struct nearest *best, uint32_t count, uint32_t max, struct nearest entry)
{
	uint32_t at = count;

	while (at > 0 && entry.rounded <= best[at - 1].rounded)
		at--;
	if (at == max)
		return count;
	if (count < max)
		count++;
	for (uint32_t i = count - 1; i > at; i--)
		best[i] = best[i - 1];
	best[at] = entry;
	return count;
}

uint32_t wp_retrieval_choose(struct wp_retrieval *retrieval, uint32_t frame,
			     const struct wp_pose *pose, uint32_t blocks[WP_SET_BLOCKS_MAX])
{
	const struct wp_rule *rule = &retrieval->rule;
	uint32_t candidates = wp_rule_candidates(rule, frame), count = 0;
	struct past from = past_of(pose);
	bool pitched = from.pitched || retrieval->pitched_count;
	struct nearest best[WP_SET_BLOCKS_MAX];
	double translation_max, angle_max, behind = INFINITY;

	WP_CHECK(candidates <= retrieval->count && rule->k >= 1);
	translation_max = measure_translations(retrieval, candidates, &from);
	angle_max = pitched ? measure_chords(retrieval, candidates, &from)
			    : measure_yaws(retrieval, candidates, &from);
	if (translation_max <= rule->flat)
		translation_max = 1;
	if (angle_max <= rule->flat)
		angle_max = 1;
	for (uint32_t i = 0; i < candidates; i++) {
		double moved =
		    rule->translation_weight * (retrieval->translation[i] / translation_max);
		double distance = moved + rule->rotation_weight * (retrieval->angle[i] / angle_max);

		if (distance > behind)
			continue;
		if (pitched)
			distance =
			    moved + rule->rotation_weight *
					(exact_angle(&retrieval->past[i], &from) / angle_max);
		count = insert(best, count, rule->k,
			       (struct nearest){distance, rint(distance / rule->tie), i});
		if (count == rule->k)
			behind = (best[count - 1].rounded + 1) * rule->tie;
	}
	for (uint32_t i = 0; i < count; i++)
		blocks[i] = best[i].block;
	return count;
}
