/*
 * How actions move the camera. x right, y up, z ahead; metres and degrees; all
 * zero at the start. Yaw accumulates unwrapped, to the right; pitch upwards,
 * clamped to +-85. Walking is level and goes along the mean of old and new yaw.
 */
#ifndef WP_MOTION_H
#define WP_MOTION_H

#include <stdint.h>

struct wp_pose {
	double x, y, z, yaw, pitch;
};

/* Sets of these are or-ed together; none is "hold". */
enum wp_action {
	WP_ACTION_W = 1 << 0,
	WP_ACTION_S = 1 << 1,
	WP_ACTION_A = 1 << 2,
	WP_ACTION_D = 1 << 3,
	WP_ACTION_LEFT = 1 << 4,
	WP_ACTION_RIGHT = 1 << 5,
	WP_ACTION_UP = 1 << 6,
	WP_ACTION_DOWN = 1 << 7,
};

#define WP_PITCH_MAX 85.0 /* degrees */

struct wp_motion {
	uint32_t video_frames_per_frame;
	double camera_degrees_per_video_frame;
	double walk_metres_per_video_frame;
};

/* WP_ACTION_* of "w" ... "down", 0 of "hold"; -1: no action. */
int wp_action_find(const char *name);
/* The name of a single action. */
const char *wp_action_name(unsigned action);

/* One video frame: moves `pose`. */
void wp_motion_step(const struct wp_motion *motion, unsigned actions, struct wp_pose *pose);

/* Poses are averaged component by component, summed in order. The mean is rounded. */
void wp_pose_add(struct wp_pose *sum, const struct wp_pose *pose);
struct wp_pose wp_pose_mean(const struct wp_pose *sum, uint32_t count);

/* A whole frame of one action set from `start`: the rounded mean of the poses after each step. */
struct wp_pose wp_motion_frame(const struct wp_motion *motion, unsigned actions,
			       const struct wp_pose *start);

/* To 1e-6 metres and degrees, -0 as 0: the value that six decimals print and parse back. */
double wp_pose_round(double value);
struct wp_pose wp_pose_rounded(const struct wp_pose *pose);

#endif
