/*
 * A read probe: pieces one after another, a time stamp after each. No limit is
 * set or judged here. One read at a time is enough: the kernel cuts a piece of
 * megabytes into requests that run side by side.
 */
#include "harness/throttle/probe.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PIECE_BYTES_MAX	  (4u * 1024u * 1024u)
#define BUFFER_ALIGN	  4096u

#define LOOK_EVERY_NS	  50000000u
#define CLOSE_PATIENCE_NS 1000000000u

struct file_source {
	struct wp_probe_source source;
	unsigned char *buffer;
	uint32_t extent; /* next to read from */
	uint64_t offset;
	uint32_t extent_count;
	struct wp_probe_extent extents[]; /* cut down to whole units */
};

static uint64_t bytes_in(uint64_t bytes_per_s, uint64_t duration_ns)
{
	return (uint64_t)((__uint128_t)bytes_per_s * duration_ns / 1000000000u);
}

static uint64_t rate_of(uint64_t bytes, uint64_t duration_ns)
{
	return duration_ns ? (uint64_t)((__uint128_t)bytes * 1000000000u / duration_ns) : 0;
}

/* `began_ns` becomes the instant at which each read begins; 0: there is none under way. */
static int run(struct wp_probe_source *source, const struct wp_probe_plan *plan,
	       struct wp_probe_figures *figures, _Atomic uint64_t *began_ns)
{
	uint32_t unit = source->unit_bytes;
	uint32_t piece = plan->piece_bytes / unit * unit;
	uint64_t start_ns = source->now_ns(source);
	uint64_t skipped_bytes = 0, skipped_ns = 0;

	WP_CHECK(unit > 0);
	if (piece == 0)
		piece = unit;
	if (piece > PIECE_BYTES_MAX)
		piece = PIECE_BYTES_MAX / unit * unit;
	memset(figures, 0, sizeof(*figures));
	while (figures->bytes < plan->bytes) {
		uint64_t due;
		int error;

		atomic_store(began_ns, source->now_ns(source));
		error = source->read(source, piece);
		if (error)
			return error;
		figures->bytes += piece;
		figures->elapsed_ns = source->now_ns(source) - start_ns;
		/*
		 * A limiter that lets some bytes pass free makes the next ones wait
		 * for them: the part that does not count ends with the first piece
		 * beyond the mark, not before it.
		 */
		if (skipped_bytes <= plan->skip_bytes && plan->skip_bytes) {
			skipped_bytes = figures->bytes;
			skipped_ns = figures->elapsed_ns;
		}
		due = bytes_in(plan->bytes_per_s, figures->elapsed_ns);
		if (plan->bytes_per_s && figures->bytes > due &&
		    figures->bytes - due > figures->credit_bytes)
			figures->credit_bytes = figures->bytes - due;
		if (plan->time_ns_max && figures->elapsed_ns >= plan->time_ns_max)
			break;
	}
	figures->bytes_per_s =
	    rate_of(figures->bytes - skipped_bytes, figures->elapsed_ns - skipped_ns);
	return 0;
}

/* One run by a thread of its own, and what it may still need when nobody waits for it. */
struct wp_probe_thread {
	pthread_t thread;
	struct wp_probe_source *source;
	struct wp_probe_plan plan;
	struct wp_probe_figures figures;
	int error;
	_Atomic uint64_t began_ns;
};

static void *serve(void *context)
{
	struct wp_probe_thread *thread = context;

	thread->error = run(thread->source, &thread->plan, &thread->figures, &thread->began_ns);
	return NULL;
}

/* Signals are the waiting thread's. */
static int start(struct wp_probe_thread *thread)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread->thread, NULL, serve, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

/* True once it has ended, false after `patience_ns`. */
static bool ended(struct wp_probe_thread *thread, uint64_t patience_ns)
{
	struct timespec until;
	uint64_t nanoseconds;

	clock_gettime(CLOCK_REALTIME, &until);
	nanoseconds = (uint64_t)until.tv_nsec + patience_ns;
	until.tv_sec += (time_t)(nanoseconds / 1000000000u);
	until.tv_nsec = (long)(nanoseconds % 1000000000u);
	return pthread_timedjoin_np(thread->thread, NULL, &until) == 0;
}

static int wait_for(struct wp_probe_source *source, struct wp_probe_thread *thread)
{
	while (!ended(thread, LOOK_EVERY_NS)) {
		uint64_t began_ns = atomic_load(&thread->began_ns);

		if (source->stop && *source->stop)
			return -EINTR;
		if (began_ns && source->now_ns(source) > began_ns + source->deadline_ns)
			return -ETIMEDOUT;
	}
	return 0;
}

int wp_probe_run(struct wp_probe_source *source, const struct wp_probe_plan *plan,
		 struct wp_probe_figures *figures)
{
	_Atomic uint64_t unwatched;
	struct wp_probe_thread *thread;
	int error;

	WP_CHECK(!source->stuck);
	if (!source->deadline_ns)
		return run(source, plan, figures, &unwatched);
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	thread->source = source;
	thread->plan = *plan;
	error = start(thread);
	if (!error)
		error = wait_for(source, thread);
	else
		error = -ENOMEM;
	if (error == -EINTR || error == -ETIMEDOUT) {
		source->stuck = thread;
		return error;
	}
	if (!error) {
		*figures = thread->figures;
		error = thread->error;
	}
	free(thread);
	return error;
}

/* The whole range or an error: a file shorter than promised must not pass as a fast one. */
static int read_at(int fd, unsigned char *buffer, uint64_t bytes, uint64_t offset)
{
	while (bytes > 0) {
		ssize_t got = pread(fd, buffer, bytes, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -ENODATA;
		buffer += got;
		offset += (uint64_t)got;
		bytes -= (uint64_t)got;
	}
	return 0;
}

static int file_read(struct wp_probe_source *source, uint32_t bytes)
{
	struct file_source *files = (struct file_source *)source;

	while (bytes > 0) {
		const struct wp_probe_extent *extent = &files->extents[files->extent];
		uint64_t part = extent->bytes - files->offset;
		int error;

		if (part > bytes)
			part = bytes;
		atomic_store(&source->offset, files->offset);
		error = read_at(extent->fd, files->buffer, part, files->offset);
		if (error)
			return error;
		files->offset += part;
		bytes -= (uint32_t)part;
		if (files->offset == extent->bytes) {
			files->offset = 0;
			files->extent = (files->extent + 1) % files->extent_count;
		}
	}
	return 0;
}

static uint64_t file_now_ns(struct wp_probe_source *source)
{
	struct timespec now;

	(void)source;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void file_rest(struct wp_probe_source *source, uint64_t duration_ns)
{
	struct timespec rest = {.tv_sec = (time_t)(duration_ns / 1000000000u),
				.tv_nsec = (long)(duration_ns % 1000000000u)};

	(void)source;
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR)
		;
}

static void file_close(struct wp_probe_source *source)
{
	struct file_source *files = (struct file_source *)source;

	free(files->buffer);
	free(files);
}

int wp_probe_files_open(struct wp_probe_source **source, const struct wp_probe_extent *extents,
			uint32_t extent_count, uint32_t unit_bytes)
{
	struct file_source *files;
	void *buffer;

	WP_CHECK(unit_bytes > 0 && unit_bytes <= PIECE_BYTES_MAX);
	files = calloc(1, sizeof(*files) + extent_count * sizeof(files->extents[0]));
	if (!files)
		return -ENOMEM;
	for (uint32_t i = 0; i < extent_count; i++) {
		uint64_t bytes = extents[i].bytes / unit_bytes * unit_bytes;

		if (bytes == 0)
			continue;
		files->extents[files->extent_count].fd = extents[i].fd;
		files->extents[files->extent_count].bytes = bytes;
		files->extent_count++;
	}
	if (files->extent_count == 0) {
		free(files);
		return -ENODATA;
	}
	if (posix_memalign(&buffer, unit_bytes > BUFFER_ALIGN ? unit_bytes : BUFFER_ALIGN,
			   PIECE_BYTES_MAX)) {
		free(files);
		return -ENOMEM;
	}
	files->buffer = memset(buffer, 0, PIECE_BYTES_MAX);
	files->source = (struct wp_probe_source){.read = file_read,
						 .now_ns = file_now_ns,
						 .rest = file_rest,
						 .close = file_close,
						 .unit_bytes = unit_bytes};
	*source = &files->source;
	return 0;
}

void wp_probe_close(struct wp_probe_source *source)
{
	if (!source)
		return;
	if (source->stuck && !ended(source->stuck, CLOSE_PATIENCE_NS))
		return;
	free(source->stuck);
	source->stuck = NULL;
	source->close(source);
}
