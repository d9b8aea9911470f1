/*
 * From accesses to frames, and what they leave for a header to say. Reads no
 * format itself. The one idea: block n is what frame n leaves behind, so
 * something that is new becomes a frame of its own, and what is only read needs
 * a frame whose block nobody will ask for.
 */
#include "harness/trace/import.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/units.h"

#define COMPUTE_NS_MAX 1000000000000000ull /* what a trace may say of one frame */

static const struct {
	const char *name;
	const char *what; /* completes "not ..." */
	int (*read)(struct wp_import *import);
	const char *unit; /* of its timestamps */
} formats[] = {
    {"mooncake", "a Mooncake trace", wp_import_mooncake, "milliseconds"},
    {"mlperf-kv", "an MLPerf Storage KV-cache trace", wp_import_mlperf_kv, "seconds"},
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

int wp_import_fail(struct wp_import *import, int column, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return wp_error_at(import->error, WP_EXIT_CONTENT, import->lines.path, import->lines.line,
			   column, "%s", text);
}

int wp_import_retrieve(struct wp_import *import, uint32_t first, uint32_t count)
{
	struct wp_import_set *set = &import->set;

	if (count > UINT32_MAX / 4 - set->count)
		return wp_import_fail(import, 0, "retrieves too many blocks at once");
	if (set->count + count > set->room) {
		uint32_t room = 2 * (set->count + count) + 64;
		uint32_t *larger = reallocarray(set->blocks, room, sizeof(*larger));

		if (!larger)
			return wp_import_fail(import, 0, "out of memory");
		set->blocks = larger;
		set->room = room;
	}
	for (uint32_t i = 0; i < count; i++)
		set->blocks[set->count++] = first + i;
	return 0;
}

static int make_begin_room(struct wp_import *import)
{
	uint32_t room = 2 * import->begin_room + 256;
	uint64_t *larger;

	if (import->trace->frames < import->begin_room)
		return 0;
	larger = reallocarray(import->begin_ns, room, sizeof(*larger));
	if (!larger)
		return -1;
	import->begin_ns = larger;
	import->begin_room = room;
	return 0;
}

/* One frame; 0, 1 when no more are wanted, -1. */
static int add_frame(struct wp_import *import, uint64_t begin_ns, const uint32_t *blocks,
		     uint32_t count)
{
	struct wp_trace *trace = import->trace;
	const struct wp_trace_frame frame = {.retrieved = blocks, .retrieved_count = count};

	if (make_begin_room(import) < 0)
		return wp_import_fail(import, 0, "out of memory");
	import->begin_ns[trace->frames] = begin_ns;
	if (wp_trace_append(trace, &frame) < 0)
		return wp_import_fail(import, 0, "out of memory");
	if (count > trace->rule.k)
		trace->rule.k = count;
	import->figures->blocks_retrieved += count;
	import->full = trace->frames == import->settings->frames_max;
	return import->full;
}

static int check_room(struct wp_import *import, uint64_t begin_ns, uint64_t frames)
{
	if (frames > WP_BLOCKS_MAX - import->trace->frames)
		return wp_import_fail(import, 0,
				      "more than the %u frames that a trace may have (--frames "
				      "stops earlier)",
				      WP_BLOCKS_MAX);
	if (import->trace->frames && begin_ns - import->latest_ns > COMPUTE_NS_MAX)
		return wp_import_fail(import, 0,
				      "more than eleven days after the access before it; is the "
				      "timestamp in %s?",
				      import->unit);
	return 0;
}

int wp_import_access(struct wp_import *import, uint64_t begin_ns, uint64_t made,
		     uint32_t *first_made)
{
	struct wp_import_set *set = &import->set;
	uint32_t k = import->settings->k, done = 0;
	uint64_t loads = set->count ? (set->count - 1) / k : 0; /* frames before the first block */
	uint64_t frames = loads + (made ? made : 1);
	int result = 0;

	WP_CHECK(begin_ns >= import->latest_ns);
	if (check_room(import, begin_ns, frames) < 0)
		return -1;
	import->latest_ns = begin_ns;
	*first_made = import->trace->frames + (uint32_t)loads;
	for (uint64_t i = 0; i < frames && result == 0; i++) {
		uint32_t left = set->count - done, count = left < k ? left : k;

		result = add_frame(import, begin_ns, count ? set->blocks + done : NULL, count);
		done += count;
		if (i >= loads && made)
			import->figures->blocks_named++;
		else
			import->figures->blocks_added++;
	}
	set->count = 0;
	return result;
}

/*
 * Frames that begin at one instant share the time until the next instant
 * evenly, so that they add up to it. After the last one nothing is known.
 */
static void set_compute(struct wp_import *import)
{
	struct wp_trace *trace = import->trace;
	uint32_t first = 0;

	for (uint32_t frame = 1; frame < trace->frames; frame++) {
		uint64_t span_ns = import->begin_ns[frame] - import->begin_ns[first];
		uint32_t count = frame - first;

		if (span_ns == 0)
			continue;
		for (uint32_t i = 0; i < count; i++) {
			uint64_t share_ns = span_ns / count + (i < span_ns % count);

			trace->compute_ns[first + i] = share_ns ? share_ns : 1;
		}
		first = frame;
	}
}

/* The file's own name, in characters that any header may hold. */
static void plain_name(const char *path, char name[96])
{
	const char *slash = strrchr(path, '/');

	snprintf(name, 96, "%s", slash ? slash + 1 : path);
	for (char *at = name; *at; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
			*at = '_';
}

static void describe(struct wp_import *import)
{
	const struct wp_import_settings *settings = import->settings;
	struct wp_trace *trace = import->trace;
	char name[96], digest[17], unit_of_blocks[96];

	plain_name(settings->path, name);
	wp_input_lines_digest(&import->lines, digest);
	if (settings->block_tokens)
		snprintf(unit_of_blocks, sizeof(unit_of_blocks),
			 "a block is a hash id of %u tokens", settings->block_tokens);
	else if (settings->block_bytes)
		snprintf(unit_of_blocks, sizeof(unit_of_blocks),
			 "a block is up to %llu bytes of an object",
			 (unsigned long long)settings->block_bytes);
	else
		snprintf(unit_of_blocks, sizeof(unit_of_blocks),
			 "a block is an object of whatever size");
	snprintf(
	    trace->made_by, sizeof(trace->made_by),
	    "worldpager trace import --format %s of %s%s%s%s: %llu lines, timestamps in %s; %s; "
	    "sets of at most %u; frames compute %s; %llu frames only retrieve",
	    settings->format, name, import->full ? "" : " (XXH3-64 ",
	    import->full ? ", stopped early" : digest, import->full ? "" : ")",
	    (unsigned long long)import->figures->lines, import->unit, unit_of_blocks, settings->k,
	    settings->has_compute ? "until the next access" : "as the model profile says",
	    (unsigned long long)import->figures->blocks_added);
}

static int read_all(struct wp_import *import, size_t format)
{
	struct wp_trace *trace = import->trace;
	const struct wp_import_settings *settings = import->settings;

	import->unit = formats[format].unit;
	if (wp_input_lines_open(&import->lines, settings->path, formats[format].what,
				WP_EXIT_CONTENT, import->error) < 0 ||
	    formats[format].read(import) < 0)
		return -1;
	if (trace->frames == 0)
		return wp_error_at(import->error, WP_EXIT_CONTENT, settings->path, 0, 0,
				   "nothing in it reads or writes a block");
	if (settings->has_compute)
		set_compute(import);
	snprintf(trace->name, sizeof(trace->name), "%s",
		 settings->name ? settings->name : settings->format);
	snprintf(trace->model, sizeof(trace->model), "unstated");
	snprintf(trace->origin, sizeof(trace->origin), "imported");
	trace->motion.video_frames_per_frame = 1;
	describe(import);
	return 0;
}

int wp_trace_import(struct wp_trace *trace, const struct wp_import_settings *settings,
		    struct wp_import_figures *figures, struct wp_error *error)
{
	struct wp_import_settings full = *settings;
	struct wp_import import = {
	    .settings = &full, .trace = trace, .figures = figures, .error = error};
	size_t format = 0;
	int result;

	memset(trace, 0, sizeof(*trace));
	memset(figures, 0, sizeof(*figures));
	while (format < FORMAT_COUNT && strcmp(formats[format].name, settings->format))
		format++;
	if (format == FORMAT_COUNT)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--format: \"%.60s\" is none of mooncake mlperf-kv",
				    settings->format);
	if (formats[format].read == wp_import_mooncake ? settings->block_bytes
						       : settings->block_tokens)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--block-tokens is for mooncake, --block-bytes for mlperf-kv");
	if (formats[format].read == wp_import_mooncake && !full.block_tokens)
		full.block_tokens = WP_IMPORT_BLOCK_TOKENS;
	WP_CHECK(full.k >= 1 && full.k <= WP_SET_BLOCKS_MAX);
	trace->rule = wp_rule_default();
	trace->rule.k = 1;
	trace->rule.exclude_recent = 0;
	result = read_all(&import, format);
	wp_input_lines_close(&import.lines);
	wp_block_names_done(&import.names);
	free(import.set.blocks);
	free(import.begin_ns);
	if (result < 0)
		wp_trace_done(trace);
	return result;
}

static void print_objects(FILE *stream, const struct wp_import_figures *figures)
{
	char one[WP_UNITS_TEXT], two[WP_UNITS_TEXT];

	fprintf(stream, "  objects    %s written, %s", wp_units_count(one, figures->writes),
		wp_units_bytes(two, figures->object_bytes_min));
	fprintf(stream, " to %s each\n", wp_units_bytes(one, figures->object_bytes_max));
	fprintf(stream, "  reads      %s of an object, %s\n", wp_units_count(one, figures->reads),
		wp_units_bytes(two, figures->read_bytes));
	fprintf(stream,
		"  left out   %s rows of phase Evict: where blocks lie is the pager's business\n",
		wp_units_count(one, figures->moves));
}

void wp_trace_import_print(FILE *stream, const struct wp_trace *trace,
			   const struct wp_import_settings *settings,
			   const struct wp_import_figures *figures)
{
	bool mooncake = strcmp(settings->format, "mooncake") == 0;
	char one[WP_UNITS_TEXT], two[WP_UNITS_TEXT];

	fprintf(stream, "%s: %s %s over %s, timestamps read as %s\n", settings->path,
		wp_units_count(one, figures->lines), mooncake ? "requests" : "rows",
		wp_units_duration(two, figures->duration_ns),
		mooncake ? "milliseconds" : "seconds");
	if (!mooncake)
		print_objects(stream, figures);
	fprintf(stream, "  blocks     %s, each left behind by a frame\n",
		wp_units_count(one, figures->blocks_named));
	fprintf(stream, "  retrieved  %s blocks, at most %u a frame\n",
		wp_units_count(one, figures->blocks_retrieved), trace->rule.k);
	fprintf(stream,
		"  frames     %s, %s of which only retrieve: nobody asks for their blocks\n",
		wp_units_count(one, trace->frames), wp_units_count(two, figures->blocks_added));
}
