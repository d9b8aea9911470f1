/*
 * The plain way to move a store's bytes: pread and pwrite in a few threads, for
 * machines where io_uring is refused. Same requests, same results.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "pager/store_io.h"

#define THREADS_MAX 16

struct pread_backend {
	struct wp_io_backend backend;
	const struct wp_store_files *files;
	struct wp_clock *clock;
	struct wp_jobs *jobs;
	struct wp_job *done; /* taken from `jobs`, not yet handed on */
};

static void move_bytes(void *context, struct wp_job *job)
{
	struct pread_backend *pread_backend = context;
	struct wp_io *io = (struct wp_io *)job;
	int fd = pread_backend->files->segments[io->segment];

	if (io->write)
		io->result = pwrite(fd, io->memory, io->bytes, (off_t)io->offset);
	else
		io->result = pread(fd, io->memory, io->bytes, (off_t)io->offset);
	if (io->result < 0)
		io->result = -errno;
	io->done_ns = wp_clock_now_ns(pread_backend->clock);
}

static void pread_start(struct wp_io_backend *backend, struct wp_io *io)
{
	wp_jobs_add(((struct pread_backend *)backend)->jobs, &io->job);
}

static struct wp_io *pread_take(struct wp_io_backend *backend)
{
	struct pread_backend *pread_backend = (struct pread_backend *)backend;
	struct wp_job *job;

	if (!pread_backend->done)
		pread_backend->done = wp_jobs_take(pread_backend->jobs);
	job = pread_backend->done;
	if (!job)
		return NULL;
	pread_backend->done = job->link;
	job->link = NULL;
	return (struct wp_io *)job;
}

static uint64_t pread_next_ns(const struct wp_io_backend *backend)
{
	return ((const struct pread_backend *)backend)->done ? 0 : WP_TIME_NEVER;
}

static int pread_fd(const struct wp_io_backend *backend)
{
	return wp_jobs_fd(((const struct pread_backend *)backend)->jobs);
}

static void pread_close(struct wp_io_backend *backend)
{
	wp_jobs_close(((struct pread_backend *)backend)->jobs);
	free(backend);
}

static const struct wp_io_ops pread_ops = {
    .name = "pread",
    .start = pread_start,
    .take = pread_take,
    .next_ns = pread_next_ns,
    .fd = pread_fd,
    .close = pread_close,
};

int wp_io_pread_open(struct wp_io_backend **backend, const struct wp_store_files *files,
		     uint32_t depth, struct wp_clock *clock)
{
	struct pread_backend *pread_backend = calloc(1, sizeof(*pread_backend));
	int error;

	if (!pread_backend)
		return -ENOMEM;
	pread_backend->backend.ops = &pread_ops;
	pread_backend->files = files;
	pread_backend->clock = clock;
	error = wp_jobs_open(&pread_backend->jobs, depth < THREADS_MAX ? depth : THREADS_MAX, false,
			     move_bytes, pread_backend);
	if (error) {
		free(pread_backend);
		return error;
	}
	*backend = &pread_backend->backend;
	return 0;
}
