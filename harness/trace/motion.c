/*
 * How actions move the camera; formulas in the header. Does not decide
 * anything: poses are rounded before the rule sees them, so that the last bits
 * of a sine never reach a trace.
 */
#include "harness/trace/motion.h"

#include <math.h>
#include <string.h>

#include "pager/check.h"

static const struct {
	const char *name;
	unsigned action;
} actions_by_name[] = {
    {"w", WP_ACTION_W},	  {"s", WP_ACTION_S},	    {"a", WP_ACTION_A},
    {"d", WP_ACTION_D},	  {"left", WP_ACTION_LEFT}, {"right", WP_ACTION_RIGHT},
    {"up", WP_ACTION_UP}, {"down", WP_ACTION_DOWN}, {"hold", 0},
};

#define ACTION_COUNT (sizeof(actions_by_name) / sizeof(actions_by_name[0]))

int wp_action_find(const char *name)
{
	for (size_t i = 0; i < ACTION_COUNT; i++) {
		if (!strcmp(actions_by_name[i].name, name))
			return (int)actions_by_name[i].action;
	}
	return -1;
}

const char *wp_action_name(unsigned action)
{
	size_t i = 0;

	while (i < ACTION_COUNT && actions_by_name[i].action != action)
		i++;
	WP_CHECK(i < ACTION_COUNT);
	return actions_by_name[i].name;
}

/* +1, -1 or, when both or neither are held, 0. */
static int direction(unsigned actions, unsigned plus, unsigned minus)
{
	return !!(actions & plus) - !!(actions & minus);
}

void wp_motion_step(const struct wp_motion *motion, unsigned actions, struct wp_pose *pose)
{
	const double radians = M_PI / 180;
	double turn = motion->camera_degrees_per_video_frame;
	double yaw = pose->yaw + turn * direction(actions, WP_ACTION_RIGHT, WP_ACTION_LEFT);
	double pitch = pose->pitch + turn * direction(actions, WP_ACTION_UP, WP_ACTION_DOWN);
	double heading = (pose->yaw + yaw) / 2 * radians;
	double ahead = direction(actions, WP_ACTION_W, WP_ACTION_S);
	double aside = direction(actions, WP_ACTION_D, WP_ACTION_A);
	double step = motion->walk_metres_per_video_frame;

	if (ahead != 0 && aside != 0)
		step /= sqrt(2);
	pose->x += step * (ahead * sin(heading) + aside * cos(heading));
	pose->z += step * (ahead * cos(heading) - aside * sin(heading));
	pose->yaw = yaw;
	pose->pitch = fmax(-WP_PITCH_MAX, fmin(WP_PITCH_MAX, pitch));
}

double wp_pose_round(double value)
{
	WP_CHECK(fabs(value) < 1e9);
	/* The quotient of two exact integers is the double that the decimal text parses to. */
	return (double)llround(value * 1e6) / 1e6;
}

struct wp_pose wp_pose_rounded(const struct wp_pose *pose)
{
	return (struct wp_pose){
	    .x = wp_pose_round(pose->x),
	    .y = wp_pose_round(pose->y),
	    .z = wp_pose_round(pose->z),
	    .yaw = wp_pose_round(pose->yaw),
	    .pitch = wp_pose_round(pose->pitch),
	};
}

void wp_pose_add(struct wp_pose *sum, const struct wp_pose *pose)
{
	sum->x += pose->x;
	sum->y += pose->y;
	sum->z += pose->z;
	sum->yaw += pose->yaw;
	sum->pitch += pose->pitch;
}

struct wp_pose wp_pose_mean(const struct wp_pose *sum, uint32_t count)
{
	struct wp_pose mean = {sum->x / count, sum->y / count, sum->z / count, sum->yaw / count,
			       sum->pitch / count};

	return wp_pose_rounded(&mean);
}

struct wp_pose wp_motion_frame(const struct wp_motion *motion, unsigned actions,
			       const struct wp_pose *start)
{
	struct wp_pose at = *start, sum = {0};

	for (uint32_t i = 0; i < motion->video_frames_per_frame; i++) {
		wp_motion_step(motion, actions, &at);
		wp_pose_add(&sum, &at);
	}
	return wp_pose_mean(&sum, motion->video_frames_per_frame);
}
