/*
 * The rule against its plain definition, on drawn poses with many ties, and the
 * motion that makes poses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/trace/retrieval.h"
#include "pager/random.h"

#define POSES 400

/* Rotation matrices and their product: nothing in common with quaternions. */
static void matrix_of(const struct wp_pose *pose, double m[3][3])
{
	double yaw = pose->yaw * M_PI / 180, pitch = pose->pitch * M_PI / 180;
	double made[3][3] = {
	    {cos(yaw), sin(yaw) * sin(pitch), sin(yaw) * cos(pitch)},
	    {0, cos(pitch), -sin(pitch)},
	    {-sin(yaw), cos(yaw) * sin(pitch), cos(yaw) * cos(pitch)},
	};

	memcpy(m, made, sizeof(made));
}

static double matrix_angle(const struct wp_pose *a, const struct wp_pose *b)
{
	double ma[3][3], mb[3][3], trace = 0;

	matrix_of(a, ma);
	matrix_of(b, mb);
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++)
			trace += ma[i][j] * mb[i][j];
	}
	return acos(fmax(-1, fmin(1, (trace - 1) / 2))) * 180 / M_PI;
}

/* The definition, word for word: all distances, rounded, then k minima. */
static uint32_t choose_plainly(const struct wp_rule *rule, const struct wp_pose *past,
			       uint32_t frame, const struct wp_pose *from, uint32_t *blocks)
{
	uint32_t count = wp_rule_candidates(rule, frame), chosen = 0;
	double t[POSES], a[POSES], t_max = 0, a_max = 0, rounded[POSES];
	bool taken[POSES] = {false};

	for (uint32_t i = 0; i < count; i++) {
		double x = past[i].x - from->x, y = past[i].y - from->y, z = past[i].z - from->z;

		t[i] = x * x + y * y + z * z;
		a[i] = wp_pose_angle(&past[i], from);
		t_max = fmax(t_max, t[i]);
		a_max = fmax(a_max, a[i]);
	}
	for (uint32_t i = 0; i < count; i++) {
		double distance = rule->translation_weight * (t[i] / (t_max > 1e-12 ? t_max : 1)) +
				  rule->rotation_weight * (a[i] / (a_max > 1e-12 ? a_max : 1));

		rounded[i] = rint(distance / rule->tie);
	}
	while (chosen < rule->k && chosen < count) {
		uint32_t best = WP_BLOCK_NONE;

		for (uint32_t i = 0; i < count; i++) {
			if (!taken[i] && (best == WP_BLOCK_NONE || rounded[i] <= rounded[best]))
				best = i;
		}
		taken[best] = true;
		blocks[chosen++] = best;
	}
	return chosen;
}

/* Coarse grids make ties; some seeds stand still, some never turn, some have pitch. */
static struct wp_pose draw_pose(struct wp_random *random, uint64_t seed)
{
	double reach = seed % 4 == 1 ? 0 : 1, turn = seed % 4 == 2 ? 0 : 1;
	double tilt = seed % 3 == 0 ? 0 : 1;
	double values[4];

	for (int i = 0; i < 4; i++)
		values[i] = (double)wp_random_below(random, 9) - 4;
	return (struct wp_pose){
	    .x = reach * values[0] * 0.5,
	    .z = reach * values[1] * 0.5,
	    .yaw = turn * values[2] * 90 + (seed % 5 == 0 ? 0.000001 * values[0] : 0),
	    .pitch = tilt * (wp_random_below(random, 2) ? values[3] * 20 : 0),
	};
}

static void check_drawn(uint64_t seed)
{
	struct wp_random random = {.state = seed};
	struct wp_rule rule = wp_rule_default();
	struct wp_pose past[POSES];
	struct wp_retrieval *retrieval;

	rule.k = 1 + (uint32_t)wp_random_below(&random, 5);
	rule.exclude_recent = (uint32_t)wp_random_below(&random, 4);
	rule.rotation_weight = seed % 7 == 0 ? 0 : 0.5;
	rule.translation_weight = seed % 11 == 0 ? 0 : 0.5;
	assert_int_equal(wp_retrieval_open(&retrieval, &rule, POSES), 0);
	for (uint32_t i = 0; i < POSES; i++) {
		uint32_t fast[WP_SET_BLOCKS_MAX], plain[WP_SET_BLOCKS_MAX], count;
		struct wp_pose from = draw_pose(&random, seed);

		count = wp_retrieval_choose(retrieval, i, &from, fast);
		if (count != choose_plainly(&rule, past, i, &from, plain) ||
		    memcmp(fast, plain, count * sizeof(*fast)))
			fail_msg("seed %llu, frame %u", (unsigned long long)seed, i);
		past[i] = draw_pose(&random, seed);
		wp_retrieval_append(retrieval, &past[i]);
	}
	wp_retrieval_close(retrieval);
}

static void test_against_definition(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++)
		check_drawn(seed);
}

static void test_angles(void **state)
{
	struct wp_random random = {.state = 3};
	struct wp_pose zero = {0}, turned = {.yaw = 54000 + 190}, up = {.pitch = 30};

	(void)state;
	assert_true(fabs(wp_pose_angle(&zero, &turned) - 170) < 1e-9);
	assert_true(fabs(wp_pose_angle(&zero, &up) - 30) < 1e-9);
	assert_true(wp_pose_angle(&up, &up) == 0);
	for (int i = 0; i < 2000; i++) {
		struct wp_pose a = {.yaw = (double)wp_random_below(&random, 200000) / 100 - 1000,
				    .pitch = (double)wp_random_below(&random, 17000) / 100 - 85};
		struct wp_pose b = {.yaw = (double)wp_random_below(&random, 200000) / 100 - 1000,
				    .pitch = (double)wp_random_below(&random, 3) * 40};
		double angle = wp_pose_angle(&a, &b);

		/* acos loses half its digits near 0 and 180. */
		assert_true(fabs(angle - matrix_angle(&a, &b)) < 1e-5);
		assert_true(fabs(angle - wp_pose_angle(&b, &a)) < 1e-9);
	}
}

static const struct wp_motion motion = {12, 1.5, 0.1235};

static void check_walk(unsigned actions, double yaw, double x, double z)
{
	struct wp_pose pose = {.yaw = yaw};

	wp_motion_step(&motion, actions, &pose);
	if (fabs(pose.x - x) > 1e-12 || fabs(pose.z - z) > 1e-12 || pose.y != 0)
		fail_msg("actions %#x at %g: %g, %g", actions, yaw, pose.x, pose.z);
}

static void test_steps(void **state)
{
	const double step = 0.1235, part = 0.1235 / sqrt(2);
	struct wp_pose pose = {0};

	(void)state;
	check_walk(WP_ACTION_W, 0, 0, step);
	check_walk(WP_ACTION_S, 0, 0, -step);
	check_walk(WP_ACTION_D, 0, step, 0);
	check_walk(WP_ACTION_A, 0, -step, 0);
	check_walk(WP_ACTION_W, 90, step, 0);
	check_walk(WP_ACTION_D, 90, 0, -step);
	check_walk(WP_ACTION_W, -90, -step, 0);
	check_walk(WP_ACTION_W | WP_ACTION_D, 0, part, part);
	check_walk(WP_ACTION_W | WP_ACTION_S, 0, 0, 0);
	check_walk(WP_ACTION_W | WP_ACTION_A | WP_ACTION_D, 0, 0, step);
	/* While turning, along the mean of old and new yaw. */
	check_walk(WP_ACTION_W | WP_ACTION_RIGHT, -0.75, 0, step);
	check_walk(WP_ACTION_W | WP_ACTION_LEFT, 0.75, 0, step);
	for (int i = 0; i < 100; i++)
		wp_motion_step(&motion, WP_ACTION_UP | WP_ACTION_RIGHT, &pose);
	assert_true(pose.pitch == 85 && pose.yaw == 150);
	wp_motion_step(&motion, WP_ACTION_DOWN | WP_ACTION_LEFT | WP_ACTION_RIGHT, &pose);
	assert_true(pose.pitch == 83.5 && pose.yaw == 150);
	for (int i = 0; i < 200; i++)
		wp_motion_step(&motion, WP_ACTION_DOWN, &pose);
	assert_true(pose.pitch == -85);
	wp_motion_step(&motion, 0, &pose);
	assert_true(pose.pitch == -85 && pose.yaw == 150 && pose.x == 0);
}

static void test_frame(void **state)
{
	struct wp_pose start = {0}, pose = wp_motion_frame(&motion, WP_ACTION_W, &start);

	(void)state;
	assert_true(pose.z == 0.80275); /* 0.1235 * (1 + ... + 12) / 12 */
	pose = wp_motion_frame(&motion, WP_ACTION_LEFT, &start);
	assert_true(pose.yaw == -9.75 && pose.z == 0);
	assert_true(wp_pose_round(-0.0000004) == 0 && !signbit(wp_pose_round(-0.0000004)));
	assert_true(wp_pose_round(0.1234565000001) == 0.123457);
	assert_true(wp_pose_round(-1.9999996) == -2);
}

static void test_action_names(void **state)
{
	(void)state;
	assert_int_equal(wp_action_find("hold"), 0);
	assert_int_equal(wp_action_find("jump"), -1);
	for (unsigned action = 1; action <= WP_ACTION_DOWN; action <<= 1)
		assert_int_equal(wp_action_find(wp_action_name(action)), action);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_against_definition),
	    cmocka_unit_test(test_angles),
	    cmocka_unit_test(test_steps),
	    cmocka_unit_test(test_frame),
	    cmocka_unit_test(test_action_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
