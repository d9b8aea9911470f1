/*
 * Fuzzes the reader of traces. Whatever loads must be as well-formed as the
 * rest of the program takes for granted, and survive being written and read again.
 */
#include <string.h>

#include "harness/trace/trace.h"
#include "tests/fuzz/input.h"

static void check_lists(const struct wp_block_lists *lists, uint32_t frames)
{
	for (uint32_t frame = 0; frame < frames; frame++) {
		WP_CHECK(lists->first[frame] <= lists->first[frame + 1]);
		for (uint32_t at = lists->first[frame]; at < lists->first[frame + 1]; at++)
			WP_CHECK(lists->blocks[at] < frame);
	}
}

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
	WP_CHECK(again.frames == trace->frames);
	WP_CHECK(strcmp(again.name, trace->name) == 0);
	wp_trace_done(&again);
	close(fd);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_trace trace;
	struct wp_error error;
	char path[WP_FUZZ_PATH];
	int fd = wp_fuzz_file(path, data, size);

	if (wp_trace_load(&trace, path, 0, &error) == 0) {
		WP_CHECK(trace.frames > 0);
		check_lists(&trace.retrieved, trace.frames);
		if (trace.has_hints)
			check_lists(&trace.hints, trace.frames);
		check_again(&trace);
		wp_trace_done(&trace);
	} else {
		WP_CHECK(error.exit_code == WP_EXIT_CONTENT);
		WP_CHECK(error.text[0]);
	}
	close(fd);
	return 0;
}
