/*
 * A fuzz input as a file without a file system: readers take paths, so the
 * bytes go into an anonymous file that /proc names.
 */
#ifndef WP_FUZZ_INPUT_H
#define WP_FUZZ_INPUT_H

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pager/check.h"

#define WP_FUZZ_PATH 64

/* Returns the descriptor; the caller closes it. */
static inline int wp_fuzz_file(char path[WP_FUZZ_PATH], const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	WP_CHECK(fd >= 0);
	WP_CHECK(write(fd, data, size) == (ssize_t)size);
	snprintf(path, WP_FUZZ_PATH, "/proc/self/fd/%d", fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
