/*
 * Fuzzes the importers. The first byte chooses format and options. Whatever is
 * imported must be a trace that the reader of traces accepts, frame by frame
 * the same.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/trace/trace_import.h"
#include "tests/fuzz/input.h"

/* A few bytes can ask for 16 million frames; a fuzzer wants many short runs. */
#define FRAMES_MAX 2000

static void check_again(const struct wp_trace *trace)
{
	struct wp_trace again;
	struct wp_error error;
	char *text = NULL;
	size_t size = 0;
	char path[WP_FUZZ_PATH];
	FILE *stream = open_memstream(&text, &size);
	int fd;

	WP_CHECK(stream);
	wp_trace_write(stream, trace);
	WP_CHECK(fclose(stream) == 0);
	fd = wp_fuzz_file(path, (const uint8_t *)text, size);
	WP_CHECK(wp_trace_load(&again, path, 0, &error) == 0);
	WP_CHECK(again.frames == trace->frames && again.rule.k == trace->rule.k);
	WP_CHECK(!memcmp(again.compute_ns, trace->compute_ns,
			 trace->frames * sizeof(*trace->compute_ns)));
	for (uint32_t frame = 0; frame < trace->frames; frame++) {
		const uint32_t *left, *right;
		uint32_t count = wp_trace_retrieved(trace, frame, &left);

		WP_CHECK(wp_trace_retrieved(&again, frame, &right) == count);
		WP_CHECK(count == 0 || !memcmp(left, right, count * sizeof(*left)));
	}
	wp_trace_done(&again);
	close(fd);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_import_settings settings = {.frames_max = FRAMES_MAX};
	struct wp_import_figures figures;
	struct wp_trace trace;
	struct wp_error error;
	char path[WP_FUZZ_PATH];
	int fd;

	if (size == 0)
		return 0;
	fd = wp_fuzz_file(path, data + 1, size - 1);
	settings.path = path;
	settings.format = data[0] & 1 ? "mooncake" : "mlperf-kv";
	settings.has_compute = data[0] & 2;
	settings.k = data[0] & 4 ? 64 : 2;
	if (data[0] & 1)
		settings.block_tokens = data[0] & 8 ? 16 : 0;
	else
		settings.block_bytes = data[0] & 8 ? 4096 : 0;
	if (wp_trace_import(&trace, &settings, &figures, &error) == 0) {
		WP_CHECK(trace.frames > 0 && trace.frames <= FRAMES_MAX);
		WP_CHECK(figures.blocks_named + figures.blocks_added == trace.frames);
		check_again(&trace);
		wp_trace_done(&trace);
	} else {
		WP_CHECK(error.exit_code == WP_EXIT_CONTENT && error.text[0]);
		WP_CHECK(!trace.poses && !trace.retrieved.first);
	}
	close(fd);
	return 0;
}
