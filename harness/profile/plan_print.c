/* A plan as text for people. The figures are plan.c's. */
#include "harness/profile/plan.h"

#include "harness/units.h"

static void print_video(FILE *stream, double video_s)
{
	char seconds[WP_UNITS_TEXT], minutes[WP_UNITS_TEXT];

	fprintf(stream, "%s s of video", wp_units_fixed(seconds, video_s, 2));
	if (video_s >= 60)
		fprintf(stream, " (%s min)", wp_units_fixed(minutes, video_s / 60, 2));
}

static void print_codec(FILE *stream, const struct wp_plan *plan, const struct wp_plan_codec *codec)
{
	char text[WP_UNITS_TEXT], bits[WP_UNITS_TEXT];

	fprintf(stream, "\n%s, %s bits an element: %s bytes a block%s\n", codec->name,
		wp_units_fixed(bits, codec->bits_per_element, 2),
		wp_units_count(text, codec->block_bytes), codec == plan->codec ? " (chosen)" : "");
	fprintf(stream, "  GPU budget       %llu blocks, ", (unsigned long long)codec->gpu_blocks);
	print_video(stream, codec->gpu_video_s);
	fprintf(stream, "\n  host budget      %llu blocks, ",
		(unsigned long long)codec->host_blocks);
	print_video(stream, codec->host_video_s);
	fprintf(stream, "%s\n",
		codec->fits ? ""
			    : "\n  too small        for the set in use and the one on its way");
	fprintf(stream, "  read rate        %s for a set of %u a frame\n",
		wp_units_rate(text, codec->read_bytes_per_s), plan->k);
	fprintf(stream, "  write rate       %s for a new block a frame\n",
		wp_units_rate(text, codec->write_bytes_per_s));
	fprintf(stream, "  written          %s an hour; ",
		wp_units_bytes(text, codec->written_bytes_per_hour));
	fprintf(stream, "%s by %u frames\n", wp_units_bytes(text, codec->session_bytes),
		plan->frames);
	if (plan->rated_bytes_written)
		fprintf(
		    stream,
		    "  endurance        %s rated: %llu hours of generating, %llu sessions\n",
		    wp_units_bytes(text, plan->rated_bytes_written),
		    (unsigned long long)(plan->rated_bytes_written / codec->written_bytes_per_hour),
		    (unsigned long long)(plan->rated_bytes_written / codec->session_bytes));
}

static void print_walls(FILE *stream, const struct wp_plan *plan)
{
	fprintf(stream, "\nwalls, in the order in which a session meets them\n");
	for (uint32_t i = 0; i < plan->wall_count; i++) {
		fprintf(stream, "  %-36s %5llu blocks, ", plan->walls[i].what,
			(unsigned long long)plan->walls[i].blocks);
		print_video(stream, plan->walls[i].video_s);
		fputc('\n', stream);
	}
	fprintf(stream, "  managed positions have room for sets of up to %u%s\n",
		plan->set_blocks_max,
		plan->k > plan->set_blocks_max ? ": fewer than asked for" : "");
}

static void print_rate_or_never(FILE *stream, const char *what, uint64_t bytes_per_s)
{
	char text[WP_UNITS_TEXT];

	fprintf(stream, "%s zero %s%s", what, bytes_per_s ? "from " : "at no rate",
		bytes_per_s ? wp_units_rate(text, bytes_per_s) : "");
}

static void print_reads(FILE *stream, const struct wp_plan *plan)
{
	char text[WP_UNITS_TEXT];

	fprintf(stream, "\nread rates without stall (%s, every set from NVMe)\n",
		plan->codec->name);
	fprintf(stream, "  on_demand        at no rate: a set is read only once it is needed\n");
	if (!plan->trace_name) {
		fprintf(stream, "  foreseen sets    %s: median and maximum zero\n",
			wp_units_rate(text, plan->codec->read_bytes_per_s));
		fprintf(stream, "  unforeseen sets  at no rate; --trace tells which there are\n");
	}
	for (uint32_t i = 0; i < plan->arm_count; i++) {
		const struct wp_plan_arm *arm = &plan->arms[i];

		fprintf(stream, "  %-10s %s:", arm->arm, plan->trace_name);
		print_rate_or_never(stream, " median", arm->median_bytes_per_s);
		print_rate_or_never(stream, ", maximum", arm->max_bytes_per_s);
		fprintf(stream, "; %u of %u frames not foreseen\n", arm->frames_missed,
			arm->frames);
	}
}

static void print_inferred(FILE *stream, const char *name, const struct wp_inferred *inferred)
{
	if (!inferred->count)
		return;
	fprintf(stream, "inferred in %s:", name);
	for (uint32_t i = 0; i < inferred->count; i++)
		fprintf(stream, "%s %s", i ? "," : "", inferred->keys[i]);
	fputc('\n', stream);
}

void wp_plan_print(FILE *stream, const struct wp_plan *plan)
{
	char text[WP_UNITS_TEXT], more[WP_UNITS_TEXT];

	fprintf(stream, "model %s on machine %s, k = %u\n", plan->model->name, plan->machine->name,
		plan->k);
	fprintf(stream, "  a block          %s elements\n", wp_units_count(text, plan->elements));
	fprintf(stream, "  a frame          %s of compute for %s s of video: ",
		wp_units_duration(text, plan->model->compute_ns),
		wp_units_fixed(more, plan->frame_video_s, 2));
	fprintf(stream, "%s fps generated, ", wp_units_fixed(text, plan->generated_fps, 2));
	fprintf(stream, "%s fps played\n", wp_units_fixed(text, plan->model->playback_fps, 2));
	fprintf(stream, "  %-16u frames, ", plan->frames);
	print_video(stream, plan->frames * plan->frame_video_s);
	fputc('\n', stream);
	for (uint32_t i = 0; i < plan->codec_count; i++)
		print_codec(stream, plan, &plan->codecs[i]);
	print_walls(stream, plan);
	print_reads(stream, plan);
	fputc('\n', stream);
	print_inferred(stream, plan->model->name, &plan->model->inferred);
	print_inferred(stream, plan->machine->name, &plan->machine->inferred);
}
