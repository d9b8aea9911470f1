/*
 * Writing a trace. The text is fixed to the byte: keys in one order, poses with
 * six decimals printed from integers, no locale, nothing that depends on when
 * or where it was made. traces/README.md describes the format.
 */
#include "harness/trace/trace.h"

#include <math.h>
#include <stdlib.h>

#include "harness/system/interrupt.h"

/* Names and descriptions come from checked configs; quotes and non-ASCII may remain. */
static void print_string(FILE *stream, const char *text)
{
	fputc('"', stream);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', stream);
		fputc(*text, stream);
	}
	fputc('"', stream);
}

/* The shortest text that parses back to the same number: 0.1235, 1.5, 1e-12. */
static void print_number(FILE *stream, double value)
{
	char text[32];
	int digits = 1;

	do {
		snprintf(text, sizeof(text), "%.*g", digits, value);
	} while (strtod(text, NULL) != value && ++digits <= 17);
	fputs(text, stream);
}

static void print_micro(FILE *stream, double value, const char *before)
{
	long long micro = llround(value * 1e6);

	fprintf(stream, "%s%s%lld.%06lld", before, micro < 0 ? "-" : "", llabs(micro) / 1000000,
		llabs(micro) % 1000000);
}

static void print_pose(FILE *stream, const char *key, const struct wp_pose *pose)
{
	fprintf(stream, ",\"%s\":[", key);
	print_micro(stream, pose->x, "");
	print_micro(stream, pose->y, ",");
	print_micro(stream, pose->z, ",");
	print_micro(stream, pose->yaw, ",");
	print_micro(stream, pose->pitch, ",");
	fputc(']', stream);
}

static void print_blocks(FILE *stream, const char *key, const uint32_t *blocks, uint32_t count)
{
	fprintf(stream, ",\"%s\":[", key);
	for (uint32_t i = 0; i < count; i++)
		fprintf(stream, "%s%u", i ? "," : "", blocks[i]);
	fputc(']', stream);
}

static void print_rule(FILE *stream, const struct wp_rule *rule)
{
	fprintf(stream, ",\"rule\":{\"name\":\"%s\",\"translation_weight\":", WP_RULE_NAME);
	print_number(stream, rule->translation_weight);
	fputs(",\"rotation_weight\":", stream);
	print_number(stream, rule->rotation_weight);
	fputs(",\"flat\":", stream);
	print_number(stream, rule->flat);
	fputs(",\"tie\":", stream);
	print_number(stream, rule->tie);
	fputc('}', stream);
}

static void print_header(FILE *stream, const struct wp_trace *trace)
{
	const struct wp_rule *rule = &trace->rule;

	fprintf(stream, "{\"format\":\"%s\",\"version\":%d,\"name\":", WP_TRACE_FORMAT,
		WP_TRACE_VERSION);
	print_string(stream, trace->name);
	fputs(",\"model\":", stream);
	print_string(stream, trace->model);
	fputs(",\"origin\":", stream);
	print_string(stream, trace->origin);
	fputs(",\"made_by\":", stream);
	print_string(stream, trace->made_by);
	fprintf(stream, ",\"frames\":%u,\"k\":%u,\"exclude_recent\":%u", trace->frames, rule->k,
		rule->exclude_recent);
	if (trace->has_rule)
		print_rule(stream, rule);
	fprintf(stream, ",\"video_frames_per_frame\":%u", trace->motion.video_frames_per_frame);
	if (trace->has_motion) {
		fputs(",\"camera_degrees_per_video_frame\":", stream);
		print_number(stream, trace->motion.camera_degrees_per_video_frame);
		fputs(",\"walk_metres_per_video_frame\":", stream);
		print_number(stream, trace->motion.walk_metres_per_video_frame);
	}
	fputs(",\"units\":{\"position\":\"m\",\"angle\":\"degrees\",\"time\":\"ns\"}}\n", stream);
}

void wp_trace_write(FILE *stream, const struct wp_trace *trace)
{
	const uint32_t *blocks;
	uint32_t count;

	print_header(stream, trace);
	for (uint32_t i = 0; i < trace->frames && !wp_interrupted(); i++) {
		fprintf(stream, "{\"frame\":%u", i);
		if (trace->has_poses) {
			print_pose(stream, "pose", &trace->poses[i]);
			print_pose(stream, "end", &trace->ends[i]);
		}
		count = wp_trace_retrieved(trace, i, &blocks);
		print_blocks(stream, "retrieved", blocks, count);
		if (wp_trace_compute_ns(trace, i))
			fprintf(stream, ",\"compute_ns\":%llu",
				(unsigned long long)wp_trace_compute_ns(trace, i));
		if (trace->has_hints) {
			count = wp_trace_hints(trace, i, &blocks);
			print_blocks(stream, "hints", blocks, count);
		}
		fputs("}\n", stream);
	}
}
