/* The steps of a qualification; see qualify.h. */
#include "harness/qualify/qualify.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/experiments/folder.h"
#include "harness/experiments/threshold_replay.h"
#include "harness/files/output.h"
#include "harness/result/result.h"
#include "harness/system/blockdev.h"
#include "harness/system/interrupt.h"
#include "harness/tool.h"
#include "harness/units.h"
#include "pager/codec.h"
#include "pager/store_filesystem.h"
#include "pager/store_host.h"

#define SESSION_FRAMES	    400u
#define SESSION_HOST_BUDGET 3000000000ull /* at full scale: small, so that blocks are read back */
#define SESSION_GPU_BUDGET  1000000000ull
#define RATE_LEAST	    10000000ull
#define RATE_STEP	    100000ull
#define CALIBRATE_BYTES	    (1ull << 30)
#define TRACE_FRAMES	    160u
#define WARMUP_FRAMES	    20u

static const char *const traces[WP_QUALIFY_TRACES] = {"a_yaw", "b1_ws"};
static const char session_name[] = "session";

static struct wp_replay_settings settings_of(const struct wp_qualify_config *config)
{
	return (struct wp_replay_settings){
	    .arm = config->arm,
	    .world = "model",
	    .scale = config->scale,
	    .codec = config->codec,
	    .residency = "forced-nvme",
	    .positions = "managed",
	    .store = config->store,
	    .throttle = "none",
	    .model = config->model,
	    .machine = config->machine,
	    .drive = "ideal",
	    .seed = 1,
	    .warmup_frames = WARMUP_FRAMES,
	    .read_depth = 16,
	    .session = {.tiers = "gpu+dram+nvme",
			.eviction = "lru",
			.positions = "managed",
			.gpu_budget_bytes = SESSION_GPU_BUDGET,
			.host_budget_bytes = SESSION_HOST_BUDGET,
			.replace = true},
	};
}

static struct wp_calibrate_config calibrate_config(const struct wp_qualify_config *config,
						   const struct wp_model *model)
{
	const struct wp_codec *codec = wp_codec_find(config->codec);

	WP_CHECK(codec);
	return (struct wp_calibrate_config){
	    .folder = config->store,
	    .fio = config->fio,
	    .engine = "io_uring",
	    .size_bytes = CALIBRATE_BYTES,
	    .read_bytes = 1u << 20,
	    .read_depth = 16,
	    .block_bytes = wp_codec_block_bytes(codec, wp_model_elements(model, NULL)),
	    .seconds = config->seconds,
	    .progress = stderr,
	};
}

static int load(struct wp_qualify *qualify, const struct wp_qualify_config *config,
		struct wp_error *error)
{
	if (!wp_codec_find(config->codec))
		return wp_error_set(error, WP_EXIT_USAGE, "--codec: '%s' is none of bf16 int4",
				    config->codec);
	if (wp_model_load(&qualify->model, config->model, error) != 0 ||
	    wp_machine_load(&qualify->machine, config->machine, error) != 0 ||
	    wp_plan_make(&qualify->plan, &qualify->model, &qualify->machine, config->codec, 2, 3000,
			 error) != 0)
		return -1;
	qualify->plan.rated_bytes_written = config->rated_bytes_written;
	qualify->tolerance_ns = qualify->model.compute_ns / 100;
	return 0;
}

int wp_qualify_print_plan(const struct wp_qualify_config *config, FILE *stream,
			  struct wp_error *error)
{
	struct wp_replay_settings settings = settings_of(config);
	char bytes[WP_UNITS_TEXT], time[WP_UNITS_TEXT];
	struct wp_qualify *qualify = calloc(1, sizeof(*qualify));
	struct wp_calibrate_config calibrate;
	struct wp_replay_plan plan;
	uint64_t frames = WP_QUALIFY_TRACES * TRACE_FRAMES + SESSION_FRAMES;
	int result;

	if (!qualify)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "qualify: %s", strerror(ENOMEM));
	settings.trace = traces[0];
	result = load(qualify, config, error);
	if (result == 0)
		result = wp_replay_plan_open(&plan, &settings, error);
	if (result == 0) {
		uint64_t block_bytes = plan.geometry.block_bytes;

		calibrate = calibrate_config(config, &qualify->model);
		fprintf(stream,
			"qualification of %s for %s, arm %s, scale %s:\n"
			"  calibrate  %s written, then at most %u s of fio\n",
			config->store, qualify->model.name, config->arm, config->scale,
			wp_units_bytes(bytes, CALIBRATE_BYTES), wp_calibrate_seconds(&calibrate));
		fprintf(stream, "  replays    %s written; %s of compute, stalls apart\n",
			wp_units_bytes(bytes, (TRACE_FRAMES + SESSION_FRAMES) * block_bytes),
			wp_units_duration(time, frames * plan.compute_ns));
		fprintf(stream, "  headroom   simulated, seconds\n");
		wp_replay_plan_close(&plan);
	}
	free(qualify);
	return result;
}

/* Of what is there or would be made; "" where the system does not say. */
static void read_filesystem(const char *path, char *name, size_t size)
{
	char existing[WP_KERNEL_PATH_MAX];
	int fd = -1;

	name[0] = '\0';
	if (wp_blockdev_existing(existing, sizeof(existing), path) == 0)
		fd = open(existing, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return;
	if (wp_filesystem_name(fd, name, size) != 0)
		name[0] = '\0';
	close(fd);
}

static int check_output(const struct wp_qualify_config *config, const char *name, const char *type,
			struct wp_error *error)
{
	char path[WP_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s.%s", config->out, name, type);
	return wp_output_check(path, error);
}

/* None of what will lie in the folder may be there as an input. */
static int check_outputs(const struct wp_qualify_config *config, struct wp_error *error)
{
	if (access(config->out, F_OK) != 0)
		return 0;
	for (size_t i = 0; i < WP_QUALIFY_TRACES; i++)
		if (check_output(config, traces[i], "json", error) != 0)
			return -1;
	return check_output(config, session_name, "json", error) != 0 ||
		       check_output(config, "drive", "json", error) != 0 ||
		       check_output(config, "verdict", "json", error) != 0 ||
		       check_output(config, "verdict", "txt", error) != 0 ||
		       check_output(config, "verdict", "html", error) != 0
		   ? -1
		   : 0;
}

int wp_qualify_check(const struct wp_qualify_config *config, struct wp_error *error)
{
	char filesystem[24];

	if (wp_folder_check(config->out, error) != 0 ||
	    wp_folder_check(config->store, error) != 0 || check_outputs(config, error) != 0)
		return -1;
	read_filesystem(config->store, filesystem, sizeof(filesystem));
	if (!wp_filesystem_in_memory(filesystem))
		return 0;
	return wp_error_set(error, WP_EXIT_ENVIRONMENT,
			    "--store %s: lies in memory (%s), not on a drive", config->store,
			    filesystem);
}

/* Of the controller or disk behind the store; INT32_MIN: none is shown. */
static int32_t read_celsius(const char *store)
{
	static const char *const places[] = {"device/hwmon*/temp1_input",
					     "device/hwmon/hwmon*/temp1_input",
					     "device/device/hwmon/hwmon*/temp1_input"};
	struct wp_blockdev device;
	struct wp_error ignored;
	int32_t celsius = INT32_MIN;

	if (wp_blockdev_of_path(&device, &wp_kernel_host, store, &ignored) != 0)
		return INT32_MIN;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char pattern[160];
		uint64_t thousandths;
		glob_t found;

		snprintf(pattern, sizeof(pattern), "/sys/dev/block/%s/%s", device.text, places[i]);
		if (glob(pattern, 0, NULL, &found) != 0)
			continue;
		if (found.gl_pathc &&
		    wp_kernel_read_number(&wp_kernel_host, found.gl_pathv[0], &thousandths) == 0)
			celsius = (int32_t)(thousandths / 1000);
		globfree(&found);
	}
	return celsius;
}

static int calibrate(struct wp_qualify *qualify, const struct wp_qualify_config *config,
		     const char *profile, struct wp_error *error)
{
	struct wp_calibrate_config calibrate = calibrate_config(config, &qualify->model);
	struct wp_drive_profile drive;

	if (wp_calibrate_run(&calibrate, &qualify->calibration, error) != 0 ||
	    wp_calibrate_write(&calibrate, &qualify->calibration, "measured", profile, error) != 0)
		return -1;
	/* As everybody else reads it. */
	if (wp_drive_load(&drive, profile, error) != 0)
		return -1;
	qualify->read_bytes_per_s = drive.drive.read_bytes_per_s;
	qualify->steady = qualify->calibration.jobs[WP_CALIBRATE_READ].steady;
	return 0;
}

static void take_run(struct wp_qualify_run *to, const struct wp_run *run)
{
	uint64_t *samples = calloc(run->frame_count + 1u, sizeof(*samples));
	uint32_t count = 0;

	WP_CHECK(samples);
	for (uint32_t i = 0; i < run->frame_count; i++) {
		to->write_stall_ns += run->frames[i].write_stall_ns;
		to->blocks_nvme += run->frames[i].blocks_nvme;
		if (i >= run->warmup_frames)
			samples[count++] =
			    wp_full_scale_ns(run->frames[i].stall_ns, run->scale.effective);
	}
	wp_stats_compute(samples, count, &to->stall_ns);
	free(samples);
	to->wall_ns = run->wall_ns;
	to->valid = run->valid;
	if (!run->valid)
		snprintf(to->note, sizeof(to->note), "%.250s",
			 run->throttle.reason[0] ? run->throttle.reason
			 : run->note_count	 ? run->notes[0]
						 : "not valid");
}

/* One measured replay and its document. */
static int measure(struct wp_qualify_run *to, const struct wp_qualify_config *config,
		   const struct wp_replay_settings *settings, struct wp_error *error)
{
	char path[WP_PATH_MAX], *argv[] = {"worldpager", "qualify"};
	struct wp_run run = {.argc = 2, .argv = argv, .has_machine_facts = true};
	struct wp_replay_plan plan;
	int result;

	fprintf(stderr, "qualify: %s ...\n", to->name);
	snprintf(path, sizeof(path), "%s/%s.json", config->out, to->name);
	if (wp_replay_plan_open(&plan, settings, error) != 0)
		return -1;
	wp_machine_facts_read(&run.machine_facts, &wp_kernel_host, settings->store);
	result = wp_replay_run(&plan, &run, error);
	if (result == 0 && run.interrupted)
		result = wp_error_set(error, WP_EXIT_INTERRUPTED, "interrupted");
	else if (result == 0 && run.error[0])
		result = wp_error_set(error, wp_run_exit(&run), "%s", run.error);
	if (result == 0)
		result = wp_result_write(&run, path, error);
	if (result == 0)
		take_run(to, &run);
	wp_run_done(&run);
	wp_replay_plan_close(&plan);
	return result;
}

static int find_headroom(const struct wp_qualify *qualify, struct wp_qualify_run *run,
			 const struct wp_qualify_config *config, const char *profile,
			 struct wp_error *error)
{
	const struct wp_threshold_config range = {
	    .min_bytes_per_s = RATE_LEAST,
	    .max_bytes_per_s = qualify->read_bytes_per_s,
	    .step_bytes_per_s = RATE_STEP,
	};
	struct wp_threshold_replay replay = {.settings = settings_of(config)};
	uint32_t runs;

	run->has_thresholds = true;
	if (qualify->read_bytes_per_s <= RATE_LEAST) {
		for (unsigned i = 0; i < WP_THRESHOLD_FIGURES; i++)
			run->thresholds[i].state = WP_THRESHOLD_ABOVE;
		return 0;
	}
	replay.settings.trace = run->name;
	replay.settings.world = "virtual";
	replay.settings.scale = NULL;
	replay.settings.throttle = "bucket";
	replay.settings.drive = profile;
	return wp_threshold_find(&range, wp_threshold_replay, &replay, run->thresholds, &runs,
				 error);
}

static enum wp_qualify_verdict judge_trace(const struct wp_qualify_run *run, uint64_t tolerance_ns)
{
	if (!run->valid || run->thresholds[WP_THRESHOLD_P50].state == WP_THRESHOLD_ABOVE ||
	    run->stall_ns.p50 > tolerance_ns)
		return WP_QUALIFY_FAILS;
	if (run->thresholds[WP_THRESHOLD_MAX].state == WP_THRESHOLD_ABOVE ||
	    run->stall_ns.p99 > tolerance_ns)
		return WP_QUALIFY_MEDIAN;
	return WP_QUALIFY_HOLDS;
}

static enum wp_qualify_verdict judge_session(const struct wp_qualify_run *run,
					     uint64_t tolerance_ns)
{
	if (!run->valid || run->stall_ns.p50 > tolerance_ns ||
	    run->write_stall_ns > run->wall_ns / 100)
		return WP_QUALIFY_FAILS;
	return run->stall_ns.p99 > tolerance_ns ? WP_QUALIFY_MEDIAN : WP_QUALIFY_HOLDS;
}

static int measure_session(struct wp_qualify *qualify, const struct wp_qualify_config *config,
			   struct wp_error *error)
{
	struct wp_replay_settings settings = settings_of(config);
	struct wp_qualify_run *run = &qualify->runs[qualify->run_count++];
	struct wp_store_fault ignored;
	struct wp_replay_plan plan;

	run->name = session_name;
	settings.trace = "explore_return";
	settings.residency = "tiered";
	settings.frames = SESSION_FRAMES;
	if (measure(run, config, &settings, error) != 0)
		return -1;
	run->verdict = judge_session(run, qualify->tolerance_ns);
	/* Nobody goes on with it. */
	if (wp_replay_plan_open(&plan, &settings, error) != 0)
		return -1;
	(void)!wp_store_host_remove(plan.store_path, &ignored);
	(void)!rmdir(plan.store_path);
	wp_replay_plan_close(&plan);
	return 0;
}

int wp_qualify_make(struct wp_qualify *qualify, const struct wp_qualify_config *config,
		    struct wp_error *error)
{
	struct wp_replay_settings settings = settings_of(config);
	char profile[WP_PATH_MAX];

	memset(qualify, 0, sizeof(*qualify));
	if (load(qualify, config, error) != 0 || wp_folder_make(config->out, error) != 0)
		return -1;
	snprintf(profile, sizeof(profile), "%s/drive.json", config->out);
	qualify->celsius_before = read_celsius(config->store);
	if (calibrate(qualify, config, profile, error) != 0)
		return -1;
	for (uint32_t i = 0; i < WP_QUALIFY_TRACES; i++) {
		struct wp_qualify_run *run = &qualify->runs[qualify->run_count++];

		run->name = settings.trace = traces[i];
		if (measure(run, config, &settings, error) != 0 ||
		    find_headroom(qualify, run, config, profile, error) != 0)
			return -1;
		run->verdict = judge_trace(run, qualify->tolerance_ns);
	}
	if (measure_session(qualify, config, error) != 0)
		return -1;
	qualify->celsius_after = read_celsius(config->store);
	for (uint32_t i = 0; i < qualify->run_count; i++)
		if (qualify->runs[i].verdict > qualify->verdict)
			qualify->verdict = qualify->runs[i].verdict;
	return 0;
}
