/*
 * Do the figures of a run add up? The formulas are those that define them; a
 * contradiction is a fault of the program and must not look like a measurement.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/result/result.h"

static bool frame_adds_up(const struct wp_run *run, const struct wp_frame_figures *frame,
			  char *text, size_t text_size)
{
	uint64_t late = frame->ready_ns > frame->needed_ns ? frame->ready_ns - frame->needed_ns : 0;
	uint64_t blocks = (uint64_t)frame->blocks_gpu + frame->blocks_dram + frame->blocks_nvme;
	uint64_t named = (uint64_t)frame->hit + frame->missed;
	bool forced = run->residency && strcmp(run->residency, "forced-nvme") == 0;

	if (frame->stall_ns != late) {
		snprintf(text, text_size,
			 "figures contradict each other: frame %" PRIu32 " stalls %" PRIu64
			 " ns, its times say %" PRIu64,
			 frame->frame, frame->stall_ns, late);
		return false;
	}
	if (named > blocks || (forced && named != blocks)) {
		snprintf(text, text_size,
			 "figures contradict each other: frame %" PRIu32 " has %" PRIu64
			 " blocks by tier and %" PRIu64 " hit or missed",
			 frame->frame, blocks, named);
		return false;
	}
	return true;
}

/* That the last frame is over is noticed on waking up, which a busy machine delays: in a run
 * of a few short frames by more than 1 %. */
#define WAKE_UP_NS 20000000u

static uint64_t tolerance(const struct wp_run *run)
{
	if (strcmp(run->world, "virtual") == 0)
		return 0;
	return run->wall_ns / 100 > WAKE_UP_NS ? run->wall_ns / 100 : WAKE_UP_NS;
}

bool wp_result_check(const struct wp_run *run, char *text, size_t text_size)
{
	uint64_t sum_ns = 0;
	uint64_t tolerance_ns = tolerance(run);
	uint64_t apart_ns;

	for (uint32_t i = 0; i < run->frame_count; i++) {
		const struct wp_frame_figures *frame = &run->frames[i];

		if (!frame_adds_up(run, frame, text, text_size))
			return false;
		sum_ns += frame->compute_ns + frame->stall_ns + frame->write_stall_ns;
	}
	apart_ns = sum_ns > run->wall_ns ? sum_ns - run->wall_ns : run->wall_ns - sum_ns;
	/* A frame cut short by an error or an interrupt belongs to the wall and to no sum. */
	if (apart_ns > tolerance_ns && !run->interrupted && !run->error[0]) {
		snprintf(text, text_size,
			 "figures contradict each other: compute and stalls sum to %" PRIu64
			 " ns, the wall is %" PRIu64,
			 sum_ns, run->wall_ns);
		return false;
	}
	return true;
}
