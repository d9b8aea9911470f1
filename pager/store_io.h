/*
 * How the host store moves bytes: a small table that io_uring and pread both
 * fill in. One piece = one system call's worth; what came of it is told as the
 * kernel tells it (bytes moved or -errno), and store_port decides whether that
 * was short, to be repeated, or the end.
 */
#ifndef WP_STORE_IO_H
#define WP_STORE_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/clock.h"
#include "pager/jobs.h"
#include "pager/store_files.h"

/* A piece never asks for more at once: the kernel cuts at 2 GiB less a page. */
#define WP_IO_BYTES_MAX (1024u * 1024u * 1024u)

struct wp_io {
	struct wp_job job; /* the backend's own, while it has the piece */
	void *memory;
	uint64_t offset; /* in the segment */
	uint32_t bytes;
	uint32_t segment;
	bool write;
	int64_t result; /* bytes moved, or -errno */
	uint64_t done_ns;
};

struct wp_io_backend;

struct wp_io_ops {
	const char *name;
	/* Never fails: what cannot be started comes back with its error. */
	void (*start)(struct wp_io_backend *backend, struct wp_io *io);
	/* One that is over, or NULL. Never blocks. */
	struct wp_io *(*take)(struct wp_io_backend *backend);
	/* WP_TIME_NEVER, or when take should be called though fd stays quiet. */
	uint64_t (*next_ns)(const struct wp_io_backend *backend);
	int (*fd)(const struct wp_io_backend *backend);
	void (*close)(struct wp_io_backend *backend);
};

struct wp_io_backend {
	const struct wp_io_ops *ops;
};

/*
 * At most `depth` pieces are under way. `files` and `clock` outlive the
 * backend. 0, or -errno with `why` in words: nothing of the kind is possible here.
 * Partial refusals (registration) are added to report->fallback.
 */
int wp_io_uring_open(struct wp_io_backend **backend, const struct wp_store_files *files,
		     const struct wp_store_host_config *config, struct wp_clock *clock,
		     struct wp_store_report *report, char *why, size_t why_size) WP_MUST_USE;
int wp_io_pread_open(struct wp_io_backend **backend, const struct wp_store_files *files,
		     uint32_t depth, struct wp_clock *clock) WP_MUST_USE;

#endif
