/* One replay for a threshold; see threshold_replay.h. */
#include "harness/experiments/threshold_replay.h"

#include <stdlib.h>

#include "harness/result/result.h"
#include "harness/stats.h"

static int take_figures(const struct wp_run *run, struct wp_threshold_stall *stall,
			struct wp_error *error)
{
	uint32_t first = run->warmup_frames;
	struct wp_stats stats;
	uint64_t *samples;

	if (!run->frame_count && !run->throttle.valid)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "the limit is not proven: %s",
				    run->throttle.reason);
	if (first >= run->frame_count)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "%s has %u frames: none is left after a warm-up of %u",
				    run->trace_name, run->frame_count, first);
	samples = calloc(run->frame_count - first, sizeof(*samples));
	if (!samples)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "threshold: out of memory");
	for (uint32_t i = first; i < run->frame_count; i++)
		samples[i - first] =
		    wp_full_scale_ns(run->frames[i].stall_ns, run->scale.effective);
	wp_stats_compute(samples, run->frame_count - first, &stats);
	free(samples);
	stall->stall_ns[WP_THRESHOLD_P50] = stats.p50;
	stall->stall_ns[WP_THRESHOLD_P99] = stats.p99;
	stall->stall_ns[WP_THRESHOLD_MAX] = stats.max;
	return 0;
}

int wp_threshold_replay(void *context, uint64_t read_bytes_per_s, struct wp_threshold_stall *stall,
			struct wp_error *error)
{
	struct wp_threshold_replay *replay = context;
	struct wp_replay_plan plan;
	struct wp_run run = {0};
	int result;

	replay->settings.bandwidth_bytes_per_s = read_bytes_per_s;
	if (wp_replay_plan_open(&plan, &replay->settings, error) != 0)
		return -1;
	result = wp_replay_run(&plan, &run, error);
	if (result == 0 && run.interrupted)
		result = wp_error_set(error, WP_EXIT_INTERRUPTED, "interrupted");
	else if (result == 0 && run.error[0])
		result = wp_error_set(error, WP_EXIT_CONTENT, "%s", run.error);
	else if (result == 0)
		result = take_figures(&run, stall, error);
	replay->frames = run.frame_count;
	replay->valid = run.valid;
	wp_run_done(&run);
	wp_replay_plan_close(&plan);
	return result;
}
