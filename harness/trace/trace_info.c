/*
 * What a trace asks of a pager, in figures. Replays nothing: there are no
 * times here, only blocks.
 */
#include "harness/trace/trace_info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/files/json_value.h"
#include "harness/trace/hints.h"
#include "harness/units.h"

static bool has(const uint32_t *blocks, uint32_t count, uint32_t block)
{
	for (uint32_t i = 0; i < count; i++) {
		if (blocks[i] == block)
			return true;
	}
	return false;
}

static int count_blocks(const struct wp_trace *trace, struct wp_trace_info *info)
{
	uint8_t *used = calloc(trace->frames, 1);
	const uint32_t *set, *before = NULL;
	uint32_t before_count = 0;

	if (!used)
		return -ENOMEM;
	for (uint32_t frame = 0; frame < trace->frames; frame++) {
		uint32_t count = wp_trace_retrieved(trace, frame, &set);

		info->frames_with_set += count > 0;
		info->blocks_retrieved += count;
		for (uint32_t i = 0; i < count; i++) {
			if (frame - set[i] > info->gap_frames_max)
				info->gap_frames_max = frame - set[i];
			info->blocks_distinct += !used[set[i]];
			used[set[i]] = 1;
			info->blocks_new += !has(before, before_count, set[i]);
		}
		before = set;
		before_count = count;
	}
	free(used);
	return 0;
}

/* Lists made for every frame, against the sets that came. */
static int try_hints(const struct wp_trace *trace, const char *kind,
		     struct wp_hint_quality *quality)
{
	uint32_t blocks[WP_STAGING_MAX];
	const uint32_t *set;
	struct wp_hints *hints;
	struct wp_error error;

	if (wp_hints_open(&hints, trace, kind, &error) < 0)
		return error.exit_code == WP_EXIT_USAGE ? 0 : -ENOMEM;
	quality->known = true;
	for (uint32_t frame = 0; frame < trace->frames; frame++) {
		uint32_t listed = wp_hints_make(hints, frame, blocks, WP_STAGING_MAX);
		uint32_t count = wp_trace_retrieved(trace, frame, &set), missed = 0;

		if (listed > quality->list_blocks_max)
			quality->list_blocks_max = listed;
		if (frame < WP_TRACE_INFO_WARMUP || count == 0)
			continue;
		for (uint32_t i = 0; i < count; i++)
			missed += !has(blocks, listed, set[i]);
		quality->frames++;
		quality->frames_missed += missed > 0;
		quality->blocks_missed += missed;
	}
	wp_hints_close(hints);
	return 0;
}

int wp_trace_info_make(const struct wp_trace *trace, struct wp_trace_info *info)
{
	memset(info, 0, sizeof(*info));
	info->video_frames = (uint64_t)trace->frames * trace->motion.video_frames_per_frame;
	if (count_blocks(trace, info) < 0)
		return -ENOMEM;
	if (!trace->has_poses || trace->frames > WP_TRACE_INFO_FRAMES_MAX)
		return 0;
	info->rule_known = true;
	if (wp_trace_check_rule(trace, &info->rule_frames_equal) < 0 ||
	    try_hints(trace, "hold_last", &info->hold_last) < 0 ||
	    try_hints(trace, "alternatives", &info->alternatives) < 0)
		return -ENOMEM;
	return 0;
}

static void print_quality(FILE *stream, const char *kind, const struct wp_hint_quality *quality)
{
	if (!quality->known)
		return;
	fprintf(stream, "  %-14s miss a block in %u of %u frames; at most %u blocks a list\n", kind,
		quality->frames_missed, quality->frames, quality->list_blocks_max);
}

void wp_trace_info_print(FILE *stream, const struct wp_trace *trace,
			 const struct wp_trace_info *info)
{
	char text[WP_UNITS_TEXT];

	fprintf(stream, "%s (%s), for model %s\n", trace->name, trace->origin, trace->model);
	fprintf(stream, "  made by        %s\n", trace->made_by);
	fprintf(stream, "  frames         %u of %u video frames each\n", trace->frames,
		trace->motion.video_frames_per_frame);
	fprintf(stream, "  sets           k = %u, the last %u excluded; %u frames have one\n",
		trace->rule.k, trace->rule.exclude_recent, info->frames_with_set);
	fprintf(stream, "  blocks         %s retrieved, %u of them distinct",
		wp_units_count(text, info->blocks_retrieved), info->blocks_distinct);
	fprintf(stream, "; %s were not in the set before\n",
		wp_units_count(text, info->blocks_new));
	fprintf(stream, "  longest gap    %u frames\n", info->gap_frames_max);
	fprintf(stream, "  poses          %s%s\n", trace->has_poses ? "yes" : "no",
		trace->has_hints ? "; hints of its own" : "");
	if (info->rule_known)
		fprintf(stream, "  rule           chooses the recorded set in %u of %u frames\n",
			info->rule_frames_equal, trace->frames);
	print_quality(stream, "hold_last", &info->hold_last);
	print_quality(stream, "alternatives", &info->alternatives);
	fprintf(stream, "  digest         %s\n", trace->digest);
}

static json_t *quality_json(const struct wp_hint_quality *quality)
{
	json_t *object = json_object();

	if (!quality->known) {
		json_decref(object);
		return json_null();
	}
	wp_json_put(object, "frames", wp_json_count(quality->frames));
	wp_json_put(object, "frames_missed", wp_json_count(quality->frames_missed));
	wp_json_put(object, "blocks_missed", wp_json_count(quality->blocks_missed));
	wp_json_put(object, "list_blocks_max", wp_json_count(quality->list_blocks_max));
	return object;
}

void wp_trace_info_write(FILE *stream, const struct wp_trace *trace,
			 const struct wp_trace_info *info)
{
	json_t *root = json_object(), *hints = json_object();

	wp_json_put(root, "name", wp_json_text(trace->name));
	wp_json_put(root, "model", wp_json_text(trace->model));
	wp_json_put(root, "origin", wp_json_text(trace->origin));
	wp_json_put(root, "made_by", wp_json_text(trace->made_by));
	wp_json_put(root, "digest", wp_json_text(trace->digest));
	wp_json_put(root, "frames", wp_json_count(trace->frames));
	wp_json_put(root, "video_frames", wp_json_count(info->video_frames));
	wp_json_put(root, "k", wp_json_count(trace->rule.k));
	wp_json_put(root, "exclude_recent", wp_json_count(trace->rule.exclude_recent));
	wp_json_put(root, "has_poses", json_boolean(trace->has_poses));
	wp_json_put(root, "has_hints", json_boolean(trace->has_hints));
	wp_json_put(root, "frames_with_set", wp_json_count(info->frames_with_set));
	wp_json_put(root, "blocks_retrieved", wp_json_count(info->blocks_retrieved));
	wp_json_put(root, "blocks_distinct", wp_json_count(info->blocks_distinct));
	wp_json_put(root, "blocks_new", wp_json_count(info->blocks_new));
	wp_json_put(root, "gap_frames_max", wp_json_count(info->gap_frames_max));
	wp_json_put(root, "rule_frames_equal",
		    info->rule_known ? wp_json_count(info->rule_frames_equal) : json_null());
	wp_json_put(root, "warmup_frames", wp_json_count(WP_TRACE_INFO_WARMUP));
	wp_json_put(hints, "hold_last", quality_json(&info->hold_last));
	wp_json_put(hints, "alternatives", quality_json(&info->alternatives));
	wp_json_put(root, "hints", hints);
	json_dumpf(root, stream, JSON_INDENT(2));
	fputc('\n', stream);
	json_decref(root);
}
