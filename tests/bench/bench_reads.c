/*
 * The host store's reads and verification, one measurement a call, for
 * scripts/bench, which runs other programs in turn with it.
 *
 *   bench_reads prepare DIRECTORY BLOCKS             a store of 16 MiB blocks
 *   bench_reads read DIRECTORY BACKEND BYTES DEPTH   all of it, front to back
 *   bench_reads verify DIRECTORY                     VERIFY against bare XXH3
 *   bench_reads remove DIRECTORY
 *
 * Prints one JSON object a line; judges nothing. Processor time is that of the
 * process, its kernel workers included, between the first request and the last.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xxhash.h>

#include "harness/replay/prepare.h"
#include "pager/device.h"
#include "pager/store_host.h"

#define BLOCK_BYTES   (16u * 1024 * 1024)
#define CHUNKS	      (BLOCK_BYTES / WP_CHUNK_BYTES)
#define VERIFY_ROUNDS 40u
#define DEPTH_MAX     WP_READ_DEPTH_MAX

struct bench {
	struct wp_clock *clock;
	struct wp_port *store;
	struct wp_store_report report;
	struct wp_queue done;
	unsigned char *memory;
	struct wp_request requests[DEPTH_MAX];
};

static _Noreturn void fail(const char *text)
{
	fprintf(stderr, "bench_reads: %s\n", text);
	exit(3);
}

static double cpu_s(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static void open_store(struct bench *bench, const char *directory, const char *backend,
		       uint32_t depth, uint64_t memory_bytes)
{
	struct wp_store_arena arena = {NULL, memory_bytes};
	struct wp_store_host_config config = {
	    .directory = directory,
	    .backend =
		strcmp(backend, "pread") == 0 ? WP_STORE_BACKEND_PREAD : WP_STORE_BACKEND_URING,
	    .depth = depth,
	    .require_direct = true,
	    .arenas = &arena,
	    .arena_count = 1,
	};
	struct wp_store_fault fault;

	bench->memory = aligned_alloc(4096, memory_bytes);
	if (!bench->memory)
		fail("no memory");
	memset(bench->memory, 1, memory_bytes);
	arena.base = bench->memory;
	if (wp_clock_host_open(&bench->clock) != 0)
		fail("no clock");
	if (wp_store_host_open(&bench->store, &config, NULL, bench->clock, &bench->report,
			       &fault) != 0)
		fail(fault.text);
	if (bench->report.fallback[0])
		fprintf(stderr, "bench_reads: %s\n", bench->report.fallback);
	bench->clock->ops->watch(bench->clock, wp_port_fd(bench->store));
}

static void close_store(struct bench *bench)
{
	wp_port_close(bench->store);
	bench->clock->ops->close(bench->clock);
	free(bench->memory);
}

static void submit(struct bench *bench, struct wp_request *request)
{
	request->owner = &bench->done;
	if (wp_port_submit(bench->store, request) != 0)
		fail("the store is full though fewer requests than its depth are under way");
}

static struct wp_request *take_one(struct bench *bench)
{
	struct wp_request *request;

	for (;;) {
		wp_port_poll(bench->store);
		request = wp_queue_pop(&bench->done);
		if (request)
			break;
		if (wp_clock_wait_until(bench->clock, wp_port_next_ns(bench->store)) == -EDEADLK)
			fail("nothing to wait for");
	}
	if (request->result != 0)
		fail("a request failed");
	return request;
}

/* Piece `next` of the store, in order. */
static struct wp_request piece(const struct bench *bench, uint64_t next, uint32_t chunks,
			       uint32_t at)
{
	uint32_t pieces = CHUNKS / chunks;

	return (struct wp_request){
	    .op = WP_OP_READ,
	    .block = (uint32_t)(next / pieces),
	    .chunk_first = (uint32_t)(next % pieces) * chunks,
	    .chunk_count = chunks,
	    .bytes = (uint64_t)chunks * WP_CHUNK_BYTES,
	    .payload_bytes = (uint64_t)chunks * WP_CHUNK_BYTES,
	    .host = bench->memory + (uint64_t)at * chunks * WP_CHUNK_BYTES,
	};
}

static void read_all(struct bench *bench, uint32_t chunks, uint32_t depth)
{
	uint64_t total = (uint64_t)CHUNKS / chunks * bench->report.record_count, next = 0;
	double cpu_begin_s = cpu_s();
	uint64_t begin_ns = wp_clock_now_ns(bench->clock);
	double seconds;

	for (uint32_t i = 0; i < depth && next < total; i++, next++) {
		bench->requests[i] = piece(bench, next, chunks, i);
		submit(bench, &bench->requests[i]);
	}
	for (uint64_t over = 0; over < total; over++) {
		struct wp_request *request = take_one(bench);

		if (next < total) {
			*request =
			    piece(bench, next++, chunks, (uint32_t)(request - bench->requests));
			submit(bench, request);
		}
	}
	seconds = 1e-9 * (double)(wp_clock_now_ns(bench->clock) - begin_ns);
	printf("{\"bytes\": %" PRIu64 ", \"seconds\": %.6f, \"cpu_seconds\": %.6f, "
	       "\"backend\": \"%s\", \"direct_io\": %s, \"registered_buffers\": %s}\n",
	       (uint64_t)BLOCK_BYTES * bench->report.record_count, seconds, cpu_s() - cpu_begin_s,
	       bench->report.backend, bench->report.direct_io ? "true" : "false",
	       bench->report.registered_buffers ? "true" : "false");
}

static double verify_once(struct bench *bench)
{
	struct wp_request *request = &bench->requests[0];
	double begin_s = cpu_s();

	*request = piece(bench, 0, CHUNKS, 0);
	request->op = WP_OP_VERIFY;
	submit(bench, request);
	take_one(bench);
	return cpu_s() - begin_s;
}

static double hash_once(const struct bench *bench, uint64_t *sum)
{
	double begin_s = cpu_s();

	for (uint32_t i = 0; i < CHUNKS; i++)
		*sum += XXH3_64bits_withSeed(bench->memory + (uint64_t)i * WP_CHUNK_BYTES,
					     WP_CHUNK_BYTES, i);
	return cpu_s() - begin_s;
}

/* The first block, checked again and again; its bytes are the same for both ways. */
static void verify_all(struct bench *bench)
{
	double verify_s = 0, hash_s = 0;
	uint64_t sum = 0;

	bench->requests[0] = piece(bench, 0, CHUNKS, 0);
	submit(bench, &bench->requests[0]);
	take_one(bench);
	for (uint32_t i = 0; i < VERIFY_ROUNDS; i++) {
		verify_s += verify_once(bench);
		hash_s += hash_once(bench, &sum);
	}
	printf("{\"bytes\": %" PRIu64 ", \"verify_cpu_seconds\": %.6f, \"xxh3_cpu_seconds\": %.6f, "
	       "\"sum\": \"%016" PRIx64 "\"}\n",
	       (uint64_t)BLOCK_BYTES * VERIFY_ROUNDS, verify_s, hash_s, sum);
}

static void prepare(const char *directory, const char *blocks)
{
	const struct wp_prepare_config config = {
	    .directory = directory,
	    .identity = {.block_bytes = BLOCK_BYTES, .seed = 1, .codec = "none", .model = "bench"},
	    .block_count = (uint32_t)strtoul(blocks, NULL, 10),
	    .require_direct = true,
	};
	struct wp_error error;

	if (config.block_count == 0 || config.block_count > WP_BLOCKS_MAX)
		fail("prepare: how many blocks?");
	if (wp_prepare(&config, &error) != 0)
		fail(error.text);
}

static void read_store(char **argv)
{
	uint32_t chunks = (uint32_t)strtoul(argv[4], NULL, 10) / WP_CHUNK_BYTES;
	uint32_t depth = (uint32_t)strtoul(argv[5], NULL, 10);
	static struct bench bench;

	if (chunks == 0 || CHUNKS % chunks || depth == 0 || depth > DEPTH_MAX)
		fail("read: BYTES has to divide 16 MiB in pieces of 256 KiB, DEPTH is at most 256");
	open_store(&bench, argv[2], argv[3], depth, (uint64_t)depth * chunks * WP_CHUNK_BYTES);
	read_all(&bench, chunks, depth);
	close_store(&bench);
}

int main(int argc, char **argv)
{
	static struct bench bench;
	struct wp_store_fault fault;

	if (argc == 4 && strcmp(argv[1], "prepare") == 0) {
		prepare(argv[2], argv[3]);
	} else if (argc == 6 && strcmp(argv[1], "read") == 0) {
		read_store(argv);
	} else if (argc == 3 && strcmp(argv[1], "verify") == 0) {
		open_store(&bench, argv[2], "io_uring", 1, BLOCK_BYTES);
		verify_all(&bench);
		close_store(&bench);
	} else if (argc == 3 && strcmp(argv[1], "remove") == 0) {
		if (wp_store_host_remove(argv[2], &fault) != 0)
			fail(fault.text);
	} else {
		fail("usage: prepare DIR BLOCKS | read DIR BACKEND BYTES DEPTH | verify DIR | "
		     "remove DIR");
	}
	return 0;
}
