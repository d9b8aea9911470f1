/*
 * Profiles: the figures that tie the paper together, scaling, and what is
 * refused; with them the strict reading of JSON configs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "harness/profile/profile.h"
#include "harness/trace/trajectory.h"
#include "pager/codec.h"

static void test_shipped_profiles(void **state)
{
	struct wp_model model;
	struct wp_machine machine;
	struct wp_drive_profile drive;
	struct wp_error error;

	(void)state;
	assert_int_equal(wp_model_load(&model, "mg2", &error), 0);
	assert_int_equal(wp_model_elements(&model, NULL), 243302400);
	assert_int_equal(model.compute_ns, 1200000000);
	assert_int_equal(model.position_rows, 1024);
	assert_int_equal(model.inferred.count, 0);
	assert_int_equal(wp_machine_load(&machine, "rtx4090", &error), 0);
	assert_int_equal(machine.host_block_budget_bytes, 29205777612);
	assert_int_equal(machine.host_block_budget_bytes / 486604800, 60);
	assert_int_equal(machine.host_block_budget_bytes / 129254400, 225);
	assert_string_equal(machine.inferred.keys[0], "host_block_percent");
	assert_int_equal(wp_drive_load(&drive, "ideal", &error), 0);
	assert_int_equal(drive.drive.read_bytes_per_s, 0);
	assert_int_equal(wp_drive_load(&drive, "nvme-gen4", &error), 0);
	assert_true(drive.drive.read_latency_ns > 0 && drive.drive.read_bytes_per_s > 0);
	assert_int_equal(wp_model_load(&model, "lingbot-world-fast", &error), 0);
	assert_int_equal(wp_model_elements(&model, NULL) * 2, 3833856000);
	assert_int_equal(wp_model_load(&model, "nonsuch", &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_USAGE);
	assert_non_null(strstr(error.text, "lingbot-world-fast, mg2"));
}

static void check_scale(double asked, uint32_t tokens, uint64_t compute_ns)
{
	struct wp_model model;
	struct wp_error error;
	struct wp_scale scale;

	assert_int_equal(wp_model_load(&model, "mg2", &error), 0);
	scale = wp_scale_make(&model, asked);
	assert_int_equal(scale.tokens, tokens);
	assert_true(scale.effective == tokens / 880.0);
	assert_int_equal(wp_scale_apply(&scale, model.compute_ns), compute_ns);
	assert_int_equal(wp_model_elements(&model, &scale), 243302400ull / 880 * tokens);
}

static void test_scales(void **state)
{
	(void)state;
	check_scale(1, 880, 1200000000);
	check_scale(1.0 / 16, 55, 75000000);
	check_scale(1.0 / 32, 28, 38181818);
	check_scale(1.0 / 256, 3, 4090909);
	check_scale(1e-9, 1, 1363636);
}

enum kind { MODEL, MACHINE, DRIVE, TRAJECTORY };

/* Loads `text` as a config of a kind; returns 0 or -1. */
static int load_text(enum kind kind, const void *text, size_t size, struct wp_error *error)
{
	const char *folder = getenv("TMPDIR");
	char path[256];
	struct wp_model model;
	struct wp_machine machine;
	struct wp_drive_profile drive;
	struct wp_trajectory trajectory;
	int fd, result;

	snprintf(path, sizeof(path), "%.200s/configXXXXXX", folder ? folder : "/tmp");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
	if (kind == MODEL)
		result = wp_model_load(&model, path, error);
	else if (kind == MACHINE)
		result = wp_machine_load(&machine, path, error);
	else if (kind == DRIVE)
		result = wp_drive_load(&drive, path, error);
	else
		result = wp_trajectory_load(&trajectory, path, error);
	if (kind == TRAJECTORY && result == 0)
		wp_trajectory_done(&trajectory);
	unlink(path);
	return result;
}

#define MACHINE_KEYS                                                                               \
	"\"name\": \"m\", \"gpu_block_budget_bytes\": 0, \"copy_bytes_per_s\": 0, "                \
	"\"device_decode_bytes_per_s\": 0, \"host_bytes\": 1000"

#define TRAJECTORY_KEYS                                                                            \
	"\"name\": \"t\", \"origin\": \"synthetic\", \"frames\": 9, "                              \
	"\"video_frames_per_frame\": 12, \"camera_degrees_per_video_frame\": 1.5, "                \
	"\"walk_metres_per_video_frame\": 0.1"

#define STEPS(step) "{" TRAJECTORY_KEYS ", \"actions\": [" step "]}"

static const struct {
	enum kind kind;
	const char *text, *why; /* NULL: accepted */
} configs[] = {
    {MACHINE, "{" MACHINE_KEYS ", \"host_block_percent\": 85}", NULL},
    {MACHINE, "\xef\xbb\xbf{" MACHINE_KEYS ",\r\n\"host_block_percent\": 85}\r\n", NULL},
    {MACHINE, "{" MACHINE_KEYS ", \"host_block_budget_bytes\": 0}", NULL},
    {MACHINE, "{" MACHINE_KEYS "}", "wants one of"},
    {MACHINE, "{" MACHINE_KEYS ", \"host_block_percent\": 85, \"host_block_budget_bytes\": 1}",
     "wants one of"},
    {MACHINE, "{" MACHINE_KEYS ", \"host_block_percent\": 101}", "out of range (1 to 100)"},
    {MACHINE, "{" MACHINE_KEYS ", \"host_block_budget_bytes\": 1001}", "out of range"},
    {MACHINE, "{" MACHINE_KEYS ", \"host_block_percent\": 85, \"inferred\": [\"hosts\"]}",
     "inferred: \"hosts\" is no key of this profile"},
    {MACHINE, "{" MACHINE_KEYS ", \"host_block_percent\": 85, \"ram\": 1}", "unknown key \"ram\""},
    {MACHINE, "{" MACHINE_KEYS ", \"host_block_percent\": 85, \"sources\": {\"a\": 1}}",
     "sources.a: must be a string"},
    {MACHINE, "{" MACHINE_KEYS ", \"name\": \"n\", \"host_block_percent\": 85}",
     "duplicate object key"},
    {MACHINE, "", "not a machine profile (found an empty file)"},
    {MACHINE, "\x89PNG\r\n", "not a machine profile (found a PNG image)"},
    {MACHINE, "[]", "must be a JSON object"},
    {MACHINE, "{\"name\": \"m\"} {", "end of file expected"},
    {MODEL, "{\"name\": \"m\"}", "key \"layers\" is missing"},
    {DRIVE, "{\"name\": \"d\", \"read_latency_ns\": -1}", "read_latency_ns: -1 is out of range"},
    {DRIVE, "{\"name\": \"d\", \"read_latency_ns\": 1.5}", "must be a whole number"},
    {TRAJECTORY, STEPS("{\"do\": \"w\", \"video_frames\": 1}"), NULL},
    {TRAJECTORY, STEPS("{\"do\": [\"w\", \"up\", \"left\"], \"video_frames\": 1}"), NULL},
    {TRAJECTORY, STEPS(""), "actions: has 0 elements"},
    {TRAJECTORY, STEPS("{\"do\": \"jump\", \"video_frames\": 1}"),
     "actions[0].do: no action \"jump\""},
    {TRAJECTORY, STEPS("{\"do\": [\"w\", \"w\"], \"video_frames\": 1}"),
     "actions[0].do: has \"w\" twice"},
    {TRAJECTORY, STEPS("{\"do\": [\"w\", \"hold\"], \"video_frames\": 1}"), "hold stands alone"},
    {TRAJECTORY, STEPS("{\"do\": [], \"video_frames\": 1}"), "actions[0].do: has 0 elements"},
    {TRAJECTORY, STEPS("{\"do\": \"w\", \"video_frames\": 0}"),
     "actions[0].video_frames: 0 is out of range"},
    {TRAJECTORY, STEPS("{\"do\": \"w\", \"video_frames\": 1, \"speed\": 2}"),
     "actions[0]: unknown key \"speed\""},
    {TRAJECTORY, STEPS("7"), "actions[0]: must be an object"},
    {TRAJECTORY, "{" TRAJECTORY_KEYS ", \"k\": 0, \"actions\": []}", "k: 0 is out of range"},
    {TRAJECTORY, "{" TRAJECTORY_KEYS "}", "key \"actions\" is missing"},
};

static void test_configs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
		struct wp_error error = {0};
		int result =
		    load_text(configs[i].kind, configs[i].text, strlen(configs[i].text), &error);

		if (result == 0 && configs[i].why)
			fail_msg("accepted: %s", configs[i].text);
		if (result == 0)
			continue;
		if (!configs[i].why || !strstr(error.text, configs[i].why))
			fail_msg("%s\n%s", configs[i].text, error.text);
		assert_int_equal(error.exit_code, WP_EXIT_USAGE);
	}
}

static void test_syntax_place(void **state)
{
	static const char text[] = "{\n  \"name\": \"d\",\n  \"read_latency_ns\": NaN\n}\n";
	struct wp_error error;

	(void)state;
	assert_int_equal(load_text(DRIVE, text, sizeof(text) - 1, &error), -1);
	assert_int_equal(error.line, 3);
	assert_true(error.column > 20);
	assert_non_null(strstr(error.text, "NaN"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_shipped_profiles),
	    cmocka_unit_test(test_scales),
	    cmocka_unit_test(test_configs),
	    cmocka_unit_test(test_syntax_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
