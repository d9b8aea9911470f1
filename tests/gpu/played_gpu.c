/*
 * A GPU that is played on the host, in place of device_cuda.cu: linked in front of
 * the library, it makes programs of the real world run where there is no GPU. Three
 * streams whose work takes effect when its time has come, so that what is reused or
 * read too early shows; the codecs stand for the kernels. Its times say nothing about
 * any GPU.
 *
 * The environment variable PLAYED_GPU makes it go wrong: `absent`; `small`, with no
 * memory to speak of; `large`, with a driver that takes much of the host's; `wrong@N`, one bit of
 * the N-th copy; `fail@N`, from the N-th piece of work on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "pager/content.h"
#include "pager/duration.h"
#include "pager/gpu.h"

#define COPY_BYTES_PER_S 6000000000u
#define MEMORY_BYTES	 (8ull << 30)
#define SMALL_BYTES	 (80ull << 20)
#define LARGE_BYTES	 (200ull << 20)
#define JOBS		 512u /* of a stream at once */

struct job {
	enum { COPY, DECODE, ENCODE, FILL, NOTHING } kind;
	void *to;
	const void *from;
	uint64_t bytes;
	struct wp_gpu_form form;
	struct wp_rotation rotation;
	bool turned;
	struct wp_geometry geometry;
	uint64_t seed;
	uint32_t block;
	uint64_t end_ns;
};

struct stream {
	struct job jobs[JOBS];
	uint64_t taken, done; /* jobs, since open */
	uint64_t free_ns;     /* end of the last one taken */
};

struct event {
	uint32_t stream;
	uint64_t jobs; /* of the stream that come before it */
	uint64_t ns;
};

struct played {
	struct wp_gpu gpu;
	struct stream streams[WP_GPU_STREAMS];
	struct event *events;
	uint32_t event_count;
	struct wp_codec_counts counts;
	uint64_t begin_ns; /* 0: not marked */
	uint64_t copies, works;
	uint64_t wrong_at, fail_at; /* 0: never */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct played *played_of(struct wp_gpu *gpu)
{
	return (struct played *)gpu;
}

static void fill(const struct job *job)
{
	uint32_t chunks = wp_geometry_chunks(&job->geometry);

	for (uint32_t chunk = 0; chunk < chunks; chunk++)
		wp_content_fill((char *)job->to + (uint64_t)chunk * WP_CHUNK_BYTES,
				wp_geometry_bytes(&job->geometry, chunk, 1), job->seed, job->block,
				chunk);
}

static void work(struct played *played, const struct job *job)
{
	switch (job->kind) {
	case COPY:
		memcpy(job->to, job->from, job->bytes);
		if (++played->copies == played->wrong_at)
			((char *)job->to)[job->bytes / 2] ^= 16;
		break;
	case DECODE:
		wp_codec_decode_block(job->form.codec, &job->form.shape, job->from,
				      job->turned ? &job->rotation : NULL, job->to);
		break;
	case ENCODE:
		wp_codec_encode_block(job->form.codec, &job->form.shape, job->from, job->to,
				      &played->counts);
		break;
	case FILL:
		fill(job);
		break;
	case NOTHING:
		break;
	}
}

static void advance(struct played *played, uint64_t until_ns)
{
	for (uint32_t i = 0; i < WP_GPU_STREAMS; i++) {
		struct stream *stream = &played->streams[i];

		for (; stream->done < stream->taken; stream->done++) {
			const struct job *job = &stream->jobs[stream->done % JOBS];

			if (job->end_ns > until_ns)
				break;
			work(played, job);
		}
	}
}

/* The stream's next job, to be filled in; NULL: the GPU has failed. */
static struct job *take(struct wp_gpu *gpu, enum wp_gpu_stream at)
{
	struct played *played = played_of(gpu);
	struct stream *stream = &played->streams[at];
	struct job *job = &stream->jobs[stream->taken % JOBS];

	if (played->fail_at && ++played->works >= played->fail_at) {
		snprintf(gpu->why, WP_GPU_WHY, "played: fallen off the bus");
		return NULL;
	}
	while (stream->taken - stream->done == JOBS)
		advance(played, now_ns());
	memset(job, 0, sizeof(*job));
	stream->taken++;
	return job;
}

static int give(struct wp_gpu *gpu, enum wp_gpu_stream at, struct job *job, uint64_t duration_ns)
{
	struct stream *stream = &played_of(gpu)->streams[at];
	uint64_t start_ns = now_ns();

	if (start_ns < stream->free_ns)
		start_ns = stream->free_ns;
	job->end_ns = stream->free_ns = start_ns + duration_ns;
	return 0;
}

static int play_copy(struct wp_gpu *gpu, enum wp_gpu_stream stream, void *to, const void *from,
		     uint64_t bytes)
{
	struct job *job = take(gpu, stream);

	if (!job)
		return -EIO;
	job->kind = COPY;
	job->to = to;
	job->from = from;
	job->bytes = bytes;
	return give(gpu, stream, job, wp_duration_ns(bytes, COPY_BYTES_PER_S));
}

static int play_decode(struct wp_gpu *gpu, const struct wp_gpu_form *form, const void *stored,
		       const struct wp_rotation *rotation, uint16_t *elements)
{
	struct job *job = take(gpu, WP_GPU_COMPUTE);

	if (!job)
		return -EIO;
	job->kind = DECODE;
	job->form = *form;
	job->from = stored;
	job->to = elements;
	job->turned = rotation != NULL;
	if (rotation)
		job->rotation = *rotation;
	return give(gpu, WP_GPU_COMPUTE, job, 1000);
}

static int play_encode(struct wp_gpu *gpu, const struct wp_gpu_form *form, const uint16_t *elements,
		       void *stored)
{
	struct job *job = take(gpu, WP_GPU_COMPUTE);

	if (!job)
		return -EIO;
	job->kind = ENCODE;
	job->form = *form;
	job->from = elements;
	job->to = stored;
	return give(gpu, WP_GPU_COMPUTE, job, 1000);
}

static int play_fill(struct wp_gpu *gpu, const struct wp_geometry *geometry, uint64_t seed,
		     uint32_t block, void *stored)
{
	struct job *job = take(gpu, WP_GPU_COMPUTE);

	if (!job)
		return -EIO;
	job->kind = FILL;
	job->geometry = *geometry;
	job->seed = seed;
	job->block = block;
	job->to = stored;
	return give(gpu, WP_GPU_COMPUTE, job, 1000);
}

/* Another thread's: reads what is there and nothing else. */
static int play_differs(struct wp_gpu *gpu, const struct wp_geometry *geometry, uint64_t seed,
			uint32_t block, const void *stored, int64_t *offset)
{
	uint32_t chunks = wp_geometry_chunks(geometry);
	unsigned char *expected = malloc(WP_CHUNK_BYTES);

	(void)gpu;
	if (!expected)
		return -ENOMEM;
	*offset = -1;
	for (uint32_t chunk = 0; chunk < chunks && *offset < 0; chunk++) {
		const unsigned char *at =
		    (const unsigned char *)stored + (uint64_t)chunk * WP_CHUNK_BYTES;
		uint64_t bytes = wp_geometry_bytes(geometry, chunk, 1);

		wp_content_fill(expected, bytes, seed, block, chunk);
		if (memcmp(at, expected, bytes) == 0)
			continue;
		for (uint64_t i = 0; i < bytes && *offset < 0; i++)
			if (at[i] != expected[i])
				*offset = (int64_t)((uint64_t)chunk * WP_CHUNK_BYTES + i);
	}
	free(expected);
	return 0;
}

static int play_begin(struct wp_gpu *gpu)
{
	struct played *played = played_of(gpu);
	struct job *job = take(gpu, WP_GPU_COMPUTE);

	if (!job)
		return -EIO;
	job->kind = NOTHING;
	(void)give(gpu, WP_GPU_COMPUTE, job, 0);
	if (!played->begin_ns)
		played->begin_ns = job->end_ns;
	return 0;
}

static int play_compute(struct wp_gpu *gpu, enum wp_gpu_load load, uint64_t duration_ns)
{
	struct played *played = played_of(gpu);
	struct stream *stream = &played->streams[WP_GPU_COMPUTE];
	struct job *job = take(gpu, WP_GPU_COMPUTE);
	uint64_t start_ns, end_ns;

	(void)load;
	if (!job)
		return -EIO;
	job->kind = NOTHING;
	start_ns = now_ns();
	if (start_ns < stream->free_ns)
		start_ns = stream->free_ns;
	end_ns = (played->begin_ns ? played->begin_ns : start_ns) + duration_ns;
	played->begin_ns = 0;
	return give(gpu, WP_GPU_COMPUTE, job, end_ns > start_ns ? end_ns - start_ns : 0);
}

static int play_mark(struct wp_gpu *gpu, enum wp_gpu_stream at, uint32_t event)
{
	struct played *played = played_of(gpu);
	const struct stream *stream = &played->streams[at];
	uint64_t ns = now_ns();

	WP_CHECK(event < played->event_count);
	if (ns < stream->free_ns)
		ns = stream->free_ns;
	played->events[event] = (struct event){(uint32_t)at, stream->taken, ns};
	return 0;
}

/* A stream that is not ours has nothing on it. */
static int play_mark_foreign(struct wp_gpu *gpu, void *stream, uint32_t event)
{
	struct played *played = played_of(gpu);

	(void)stream;
	WP_CHECK(event < played->event_count);
	played->events[event] = (struct event){0, 0, now_ns()};
	return 0;
}

/* ... nor does it do anything with what it waits for but at that instant. */
static int play_lead_foreign(struct wp_gpu *gpu, enum wp_gpu_stream at, void *foreign)
{
	struct played *played = played_of(gpu);
	const struct stream *stream = &played->streams[at];

	(void)foreign;
	while (stream->done < stream->taken)
		advance(played, now_ns());
	return 0;
}

static int play_passed(struct wp_gpu *gpu, uint32_t event)
{
	struct played *played = played_of(gpu);
	const struct event *marked = &played->events[event];

	WP_CHECK(event < played->event_count);
	advance(played, now_ns());
	return played->streams[marked->stream].done >= marked->jobs && now_ns() >= marked->ns;
}

static int play_between_ns(struct wp_gpu *gpu, uint32_t first, uint32_t second, uint64_t *ns)
{
	const struct played *played = played_of(gpu);

	*ns = played->events[second].ns - played->events[first].ns;
	return 0;
}

static int play_sync(struct wp_gpu *gpu)
{
	struct played *played = played_of(gpu);

	for (uint32_t i = 0; i < WP_GPU_STREAMS; i++) {
		const struct stream *stream = &played->streams[i];

		while (stream->done < stream->taken)
			advance(played, now_ns());
	}
	return 0;
}

static int play_counts(struct wp_gpu *gpu, struct wp_codec_counts *counts)
{
	*counts = played_of(gpu)->counts;
	return 0;
}

static void play_close(struct wp_gpu *gpu)
{
	struct played *played = played_of(gpu);

	(void)play_sync(gpu);
	munmap(gpu->arena, gpu->arena_bytes);
	free(played->events);
	free(played);
}

static const struct wp_gpu_ops play_ops = {
    .name = "played",
    .copy = play_copy,
    .decode = play_decode,
    .encode = play_encode,
    .fill = play_fill,
    .differs = play_differs,
    .begin = play_begin,
    .compute = play_compute,
    .mark = play_mark,
    .passed = play_passed,
    .mark_foreign = play_mark_foreign,
    .lead_foreign = play_lead_foreign,
    .between_ns = play_between_ns,
    .sync = play_sync,
    .counts = play_counts,
    .close = play_close,
};

/* N of `word@N`; 0 where something else was asked for. */
static uint64_t asked(const char *word)
{
	const char *text = getenv("PLAYED_GPU");
	size_t length = strlen(word);

	if (!text || strncmp(text, word, length) != 0)
		return 0;
	return text[length] == '@' ? strtoull(text + length + 1, NULL, 10) : 1;
}

int wp_gpu_cuda_probe(struct wp_gpu_facts *facts, char why[WP_GPU_WHY])
{
	if (asked("absent")) {
		snprintf(why, WP_GPU_WHY, "played: there is no GPU");
		return -ENODEV;
	}
	if (asked("large"))
		WP_CHECK(mmap(NULL, LARGE_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) != MAP_FAILED);
	*facts = (struct wp_gpu_facts){
	    .name = "played on the host",
	    .multiprocessors = 1,
	    .capability = 90,
	    .memory_bytes = MEMORY_BYTES,
	    .free_bytes = asked("small") ? SMALL_BYTES : MEMORY_BYTES,
	    .driver_version = 13000,
	    .runtime_version = 13000,
	};
	return 0;
}

int wp_gpu_cuda_open(struct wp_gpu **gpu, const struct wp_gpu_config *config, char why[WP_GPU_WHY])
{
	struct played *played = calloc(1, sizeof(*played));
	uint64_t bytes = config->arena_bytes ? config->arena_bytes : 4096;
	void *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	WP_CHECK(played && arena != MAP_FAILED);
	WP_CHECK(((uintptr_t)config->host & 4095u) == 0);
	why[0] = '\0';
	played->gpu.ops = &play_ops;
	played->gpu.arena = arena;
	played->gpu.arena_bytes = bytes;
	played->events = calloc(config->events + 1, sizeof(*played->events));
	WP_CHECK(played->events);
	played->event_count = config->events;
	played->wrong_at = asked("wrong");
	played->fail_at = asked("fail");
	*gpu = &played->gpu;
	return 0;
}
