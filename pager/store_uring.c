/*
 * Moving a store's bytes with io_uring: one ring, segments and arenas
 * registered where the kernel allows. The only file that knows liburing.
 *
 * A fixed read is asked for only where the memory lies within one registered
 * piece; everything else is an ordinary read on the same ring, so a refused
 * registration costs speed and never an error.
 */
#include <errno.h>
#include <inttypes.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "pager/store_io.h"

#define PIECES_MAX	1024 /* registered iovecs: UIO_MAXIOV of older kernels */
#define ENTRY_PAUSE_NS	(1000 * 1000)
#define SYSCTL_DISABLED "/proc/sys/kernel/io_uring_disabled"

struct uring_backend {
	struct wp_io_backend backend;
	const struct wp_store_files *files;
	struct wp_clock *clock;
	struct io_uring ring;
	bool ring_open;
	bool registered_files;
	bool unentered; /* entries that the kernel would not take yet */
	struct iovec *pieces;
	uint32_t piece_count; /* registered ones */
};

/* Index of the registered piece around [memory, memory + bytes), or -1. */
static int find_piece(const struct uring_backend *uring, const void *memory, uint64_t bytes)
{
	const char *from = memory;

	for (uint32_t i = 0; i < uring->piece_count; i++) {
		const char *base = uring->pieces[i].iov_base;
		uint64_t length = uring->pieces[i].iov_len;

		if (from >= base && from < base + length)
			return (uint64_t)(from - base) + bytes <= length ? (int)i : -1;
	}
	return -1;
}

/* Hands entries to the kernel; what it cannot take now is tried again by take. */
static void enter(struct uring_backend *uring)
{
	int result;

	do {
		result = io_uring_submit(&uring->ring);
	} while (result == -EINTR);
	uring->unentered = io_uring_sq_ready(&uring->ring) > 0;
}

static void uring_start(struct wp_io_backend *backend, struct wp_io *io)
{
	struct uring_backend *uring = (struct uring_backend *)backend;
	struct io_uring_sqe *entry = io_uring_get_sqe(&uring->ring);
	int piece = find_piece(uring, io->memory, io->bytes);
	int fd = uring->registered_files ? (int)io->segment : uring->files->segments[io->segment];

	/* The ring has an entry for each of the pieces that may be under way. */
	WP_CHECK(entry && io->bytes <= WP_IO_BYTES_MAX);
	if (io->write && piece >= 0)
		io_uring_prep_write_fixed(entry, fd, io->memory, io->bytes, io->offset, piece);
	else if (io->write)
		io_uring_prep_write(entry, fd, io->memory, io->bytes, io->offset);
	else if (piece >= 0)
		io_uring_prep_read_fixed(entry, fd, io->memory, io->bytes, io->offset, piece);
	else
		io_uring_prep_read(entry, fd, io->memory, io->bytes, io->offset);
	if (uring->registered_files)
		entry->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data(entry, io);
	enter(uring);
}

static struct wp_io *uring_take(struct wp_io_backend *backend)
{
	struct uring_backend *uring = (struct uring_backend *)backend;
	struct io_uring_cqe *completion;
	struct wp_io *io;

	if (uring->unentered)
		enter(uring);
	if (io_uring_peek_cqe(&uring->ring, &completion) != 0)
		return NULL;
	io = io_uring_cqe_get_data(completion);
	io->result = completion->res;
	io->done_ns = wp_clock_now_ns(uring->clock);
	io_uring_cqe_seen(&uring->ring, completion);
	return io;
}

static uint64_t uring_next_ns(const struct wp_io_backend *backend)
{
	const struct uring_backend *uring = (const struct uring_backend *)backend;

	return uring->unentered ? wp_clock_now_ns(uring->clock) + ENTRY_PAUSE_NS : WP_TIME_NEVER;
}

static int uring_fd(const struct wp_io_backend *backend)
{
	return ((const struct uring_backend *)backend)->ring.ring_fd;
}

static void uring_close(struct wp_io_backend *backend)
{
	struct uring_backend *uring = (struct uring_backend *)backend;

	if (uring->ring_open)
		io_uring_queue_exit(&uring->ring);
	free(uring->pieces);
	free(uring);
}

static const struct wp_io_ops uring_ops = {
    .name = "io_uring",
    .start = uring_start,
    .take = uring_take,
    .next_ns = uring_next_ns,
    .fd = uring_fd,
    .close = uring_close,
};

static void explain_setup(int error, char *why, size_t size)
{
	char reason[96];
	FILE *sysctl = fopen(SYSCTL_DISABLED, "re");
	int disabled = sysctl ? fgetc(sysctl) : '0'; /* one digit: 0, 1 or 2 */

	if (sysctl)
		fclose(sysctl);
	wp_store_errno_text(error, reason, sizeof(reason));
	snprintf(why, size, "io_uring_setup: %s", reason);
	if (error == -EPERM && disabled != '0' && disabled != EOF)
		wp_store_reason_add(why, size, "kernel.io_uring_disabled is %c, 0 allows it",
				    disabled);
	else if (error == -EPERM)
		wp_store_reason_add(why, size,
				    "a seccomp filter, as containers have, may forbid it");
	else if (error == -ENOMEM)
		wp_store_reason_add(why, size, "memory or RLIMIT_MEMLOCK too small for a ring");
	else if (error == -ENOSYS)
		wp_store_reason_add(why, size, "this kernel has no io_uring");
}

/* Arenas cut into pieces of at most WP_REGISTER_BYTES_MAX. Number of pieces, or -ENOMEM. */
static int cut_arenas(struct uring_backend *uring, const struct wp_store_host_config *config,
		      uint64_t *total)
{
	uint64_t count = 0;
	uint32_t at = 0;

	*total = 0;
	for (uint32_t i = 0; i < config->arena_count; i++) {
		uint64_t bytes = config->arenas[i].bytes;

		*total += bytes;
		count += (bytes + WP_REGISTER_BYTES_MAX - 1) / WP_REGISTER_BYTES_MAX;
	}
	uring->pieces = count ? calloc(count, sizeof(*uring->pieces)) : NULL;
	if (!uring->pieces)
		return count ? -ENOMEM : 0;
	for (uint32_t i = 0; i < config->arena_count; i++) {
		char *base = config->arenas[i].base;
		uint64_t left = config->arenas[i].bytes;

		while (left > 0) {
			uint64_t bytes =
			    left < WP_REGISTER_BYTES_MAX ? left : WP_REGISTER_BYTES_MAX;

			uring->pieces[at++] = (struct iovec){base, bytes};
			base += bytes;
			left -= bytes;
		}
	}
	return (int)at;
}

static void refuse_buffers(int error, uint64_t total, struct wp_store_report *report)
{
	struct rlimit limit = {0};
	char reason[96];

	wp_store_errno_text(error, reason, sizeof(reason));
	wp_store_reason_add(report->fallback, sizeof(report->fallback),
			    "buffers not registered: %s", reason);
	if (error == -ENOMEM && getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
		wp_store_reason_add(report->fallback, sizeof(report->fallback),
				    "needs %" PRIu64 " B locked, RLIMIT_MEMLOCK soft %" PRIu64
				    " hard %" PRIu64 " (ulimit -l, CAP_IPC_LOCK)",
				    total, (uint64_t)limit.rlim_cur, (uint64_t)limit.rlim_max);
}

/* Registers what can be; refusals are reasons in the report. 0 or -ENOMEM. */
static int register_all(struct uring_backend *uring, const struct wp_store_host_config *config,
			struct wp_store_report *report)
{
	char reason[96];
	uint64_t total;
	int count = cut_arenas(uring, config, &total);
	int error;

	if (count < 0)
		return count;
	if (count > 0) {
		error = count > PIECES_MAX ? -E2BIG
					   : io_uring_register_buffers(&uring->ring, uring->pieces,
								       (unsigned)count);
		if (error)
			refuse_buffers(error, total, report);
		else
			uring->piece_count = (uint32_t)count;
	}
	report->registered_buffers = uring->piece_count > 0;
	error = io_uring_register_files(&uring->ring, uring->files->segments,
					uring->files->segment_count);
	uring->registered_files = report->registered_file = error == 0;
	if (error) {
		wp_store_errno_text(error, reason, sizeof(reason));
		wp_store_reason_add(report->fallback, sizeof(report->fallback),
				    "files not registered: %s", reason);
	}
	return 0;
}

int wp_io_uring_open(struct wp_io_backend **backend, const struct wp_store_files *files,
		     const struct wp_store_host_config *config, struct wp_clock *clock,
		     struct wp_store_report *report, char *why, size_t why_size)
{
	struct uring_backend *uring = calloc(1, sizeof(*uring));
	int error;

	if (!uring) {
		snprintf(why, why_size, "out of memory");
		return -ENOMEM;
	}
	uring->backend.ops = &uring_ops;
	uring->files = files;
	uring->clock = clock;
	/* Completions interrupt nobody: who waits for them is in the kernel anyway. */
	error = io_uring_queue_init(config->depth, &uring->ring, IORING_SETUP_COOP_TASKRUN);
	if (error == -EINVAL) /* kernels before 5.19 */
		error = io_uring_queue_init(config->depth, &uring->ring, 0);
	if (error) {
		explain_setup(error, why, why_size);
	} else {
		uring->ring_open = true;
		error = register_all(uring, config, report);
		if (error)
			snprintf(why, why_size, "out of memory");
	}
	if (error) {
		uring_close(&uring->backend);
		return error;
	}
	*backend = &uring->backend;
	return 0;
}
