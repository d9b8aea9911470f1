/*
 * Fuzzes the readers of configuration files. The first byte chooses the reader:
 * 0 model, 1 machine, 2 drive, 3 experiment, else trajectory, which is walked.
 */
#include <string.h>

#include "harness/experiments/experiment.h"
#include "harness/profile/profile.h"
#include "harness/trace/trajectory.h"
#include "tests/fuzz/input.h"

/* Walking costs frames * frames; a fuzzer wants many short runs. */
#define WALK_FRAMES_MAX 200

static int read_trajectory(const char *path, struct wp_error *error)
{
	struct wp_trajectory trajectory;
	struct wp_trace trace;

	if (wp_trajectory_load(&trajectory, path, error) < 0)
		return -1;
	if (trajectory.frames <= WALK_FRAMES_MAX) {
		WP_CHECK(wp_trajectory_walk(&trajectory, &trace) == 0);
		WP_CHECK(trace.frames == trajectory.frames);
		wp_trace_done(&trace);
	}
	wp_trajectory_done(&trajectory);
	return 0;
}

static int read_model(const char *path, struct wp_error *error)
{
	struct wp_model model;
	struct wp_scale scale;

	if (wp_model_load(&model, path, error) < 0)
		return -1;
	scale = wp_scale_make(&model, 1.0 / 16);
	WP_CHECK(scale.tokens >= 1 && scale.tokens <= scale.tokens_full);
	WP_CHECK(wp_model_elements(&model, &scale) <= wp_model_elements(&model, NULL));
	return 0;
}

static int read_experiment(const char *path, struct wp_error *error)
{
	static struct wp_experiment experiment;
	struct wp_point *points;
	uint32_t count;

	if (wp_experiment_load(&experiment, path, error) < 0)
		return -1;
	points = wp_experiment_points(&experiment, &count);
	WP_CHECK(points && count > 0 && count <= WP_EXPERIMENT_POINTS_MAX);
	for (uint32_t i = 0; i < count; i++) {
		WP_CHECK(points[i].trace < experiment.trace_count);
		WP_CHECK(points[i].arm < experiment.arm_count);
		WP_CHECK(points[i].bandwidth < experiment.bandwidth_count);
		WP_CHECK(!strchr(points[i].name, '/') && points[i].name[0] != '.');
	}
	free(points);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_error error;
	struct wp_machine machine;
	struct wp_drive_profile drive;
	char path[WP_FUZZ_PATH];
	int fd, rc;

	if (size == 0)
		return 0;
	fd = wp_fuzz_file(path, data + 1, size - 1);
	switch (data[0] % 8) {
	case 0:
		rc = read_model(path, &error);
		break;
	case 1:
		rc = wp_machine_load(&machine, path, &error);
		break;
	case 2:
		rc = wp_drive_load(&drive, path, &error);
		break;
	case 3:
		rc = read_experiment(path, &error);
		break;
	default:
		rc = read_trajectory(path, &error);
		break;
	}
	WP_CHECK(rc == 0 || (error.exit_code == WP_EXIT_USAGE && error.text[0]));
	close(fd);
	return 0;
}
