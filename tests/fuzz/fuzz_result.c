/*
 * Fuzzes the reader of result documents, as `plot` meets them in a folder that
 * anybody may have filled. What loads has only figures that can be asked for.
 */
#include "harness/result/result.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_result result;
	struct wp_error error;
	char path[WP_FUZZ_PATH];
	int fd = wp_fuzz_file(path, data, size);

	if (wp_result_load(path, &result, &error) == 0) {
		for (size_t frame = 0; frame < result.frame_count; frame++)
			(void)wp_result_frame_stall_ns(&result, frame);
		WP_CHECK(result.world && result.trace && result.arm && result.reason);
		WP_CHECK(result.scale > 0);
		wp_result_close(&result);
	} else {
		WP_CHECK(error.exit_code == WP_EXIT_CONTENT);
		WP_CHECK(error.text[0]);
	}
	close(fd);
	return 0;
}
