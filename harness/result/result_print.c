/* A run in a few lines for people; whoever wants figures takes the document. */
#include <inttypes.h>
#include <stdlib.h>

#include "harness/result/result.h"
#include "harness/units.h"

static void print_stalls(const struct wp_run *run, FILE *stream)
{
	uint32_t first =
	    run->warmup_frames < run->frame_count ? run->warmup_frames : run->frame_count;
	uint32_t n = run->frame_count - first;
	uint64_t *samples = calloc(n ? n : 1, sizeof(*samples));
	struct wp_stats stats;
	char p50[WP_UNITS_TEXT], p99[WP_UNITS_TEXT], max[WP_UNITS_TEXT], sum[WP_UNITS_TEXT];
	char frames[WP_UNITS_TEXT];

	WP_CHECK(samples);
	for (uint32_t i = 0; i < n; i++)
		samples[i] = run->frames[first + i].stall_ns;
	wp_stats_compute(samples, n, &stats);
	free(samples);
	if (!n) {
		fputs("  stall      no frame after warm-up\n", stream);
		return;
	}
	fprintf(stream, "  stall      p50 %s, p99 %s, max %s, sum %s over %s\n",
		wp_units_duration(p50, stats.p50), wp_units_duration(p99, stats.p99),
		wp_units_duration(max, stats.max), wp_units_duration(sum, stats.sum),
		wp_units_counted(frames, n, "frame"));
}

static void print_session(const struct wp_run *run, FILE *stream)
{
	const struct wp_session_figures *session = &run->session;
	uint32_t gpu = 0, dram = 0, nvme = 0;
	char written[WP_UNITS_TEXT], blocks[WP_UNITS_TEXT];

	for (uint32_t i = 0; i < run->frame_count; i++) {
		gpu += run->frames[i].blocks_gpu;
		dram += run->frames[i].blocks_dram;
		nvme += run->frames[i].blocks_nvme;
	}
	fprintf(stream, "  session    %.2f s of video, %s written, %s stored\n",
		(session->first_frame + run->frame_count) * session->frame_video_s,
		wp_units_bytes(written, session->bytes_written),
		wp_units_counted(blocks, session->blocks_stored, "block"));
	fprintf(stream, "  retrieved  %s from GPU, %" PRIu32 " from DRAM, %" PRIu32 " from NVMe\n",
		wp_units_counted(blocks, gpu, "block"), dram, nvme);
	if (session->wall)
		fprintf(stream, "  wall       %s: no place for the block of frame %" PRIu32 "\n",
			session->wall, session->first_frame + run->frame_count);
}

void wp_result_print(const struct wp_run *run, FILE *stream)
{
	char rate[WP_UNITS_TEXT];
	char contradiction[256];

	fprintf(stream, "%s, %s, world %s, scale %s: %" PRIu32 " of %" PRIu32 " frames\n",
		run->trace_name, run->arm, run->world, run->scale.text[0] ? run->scale.text : "1",
		run->frame_count, run->frame_target);
	fprintf(stream, "  limit      %s (%s)\n",
		run->throttle.asked_bytes_per_s
		    ? wp_units_rate(rate, run->throttle.asked_bytes_per_s)
		    : "none",
		run->throttle.method ? run->throttle.method : "none");
	if (run->throttle.achieved_bytes_per_s)
		fprintf(stream, "  achieved   %s\n",
			wp_units_rate(rate, run->throttle.achieved_bytes_per_s));
	print_stalls(run, stream);
	if (run->has_session)
		print_session(run, stream);
	for (uint32_t i = 0; i < run->note_count; i++)
		fprintf(stream, "  note       %s\n", run->notes[i]);
	if (!wp_result_check(run, contradiction, sizeof(contradiction)))
		fprintf(stream, "  note       %s\n", contradiction);
	if (!run->throttle.valid && run->throttle.reason[0])
		fprintf(stream, "  not valid  %s\n", run->throttle.reason);
}
