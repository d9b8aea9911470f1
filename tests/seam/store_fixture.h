/*
 * What the tests of the host store share: a directory of their own beside the
 * test program (so on a real file system where the build is), a clock, and one
 * request at a time.
 */
#ifndef WP_TEST_STORE_FIXTURE_H
#define WP_TEST_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pager/content.h"
#include "pager/device.h"
#include "pager/store_format.h"
#include "pager/store_host.h"

#define SEED 7u

struct fixture {
	char root[256];	     /* of this test alone; removed at the end */
	char directory[300]; /* the store's */
	struct wp_clock *clock;
	struct wp_port *store;
	struct wp_store_host_config config;
	struct wp_store_identity identity;
	struct wp_store_report report;
	struct wp_store_fault fault;
	struct wp_queue done;
	unsigned char *memory; /* one block and its padding */
};

static inline int remove_entry(const char *path, const struct stat *about, int flag,
			       struct FTW *walk)
{
	(void)about;
	(void)flag;
	(void)walk;
	return remove(path);
}

static inline struct fixture *fixture_open(uint64_t block_bytes, enum wp_store_backend backend)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char program[200] = ".";
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	assert_non_null(fixture);
	if (length > 0) {
		program[length] = 0;
		*strrchr(program, '/') = 0;
	}
	snprintf(fixture->root, sizeof(fixture->root), "%s/store-XXXXXX", program);
	assert_non_null(mkdtemp(fixture->root));
	snprintf(fixture->directory, sizeof(fixture->directory), "%s/s", fixture->root);
	assert_int_equal(wp_clock_host_open(&fixture->clock), 0);
	fixture->identity = (struct wp_store_identity){
	    .kind = WP_STORE_SESSION,
	    .block_bytes = block_bytes,
	    .geometry_hash = 0x1234,
	    .seed = SEED,
	    .codec = "int4",
	    .model = "mg2",
	};
	fixture->config = (struct wp_store_host_config){
	    .directory = fixture->directory,
	    .backend = backend,
	    .depth = 4,
	    .writable = true,
	    .allow_unproven = true, /* the build may lie anywhere */
	    .segment_bytes_max = 2 * wp_store_record_bytes(block_bytes),
	};
	fixture->memory = aligned_alloc(4096, wp_store_record_bytes(block_bytes));
	assert_non_null(fixture->memory);
	return fixture;
}

static inline void fixture_close(struct fixture *fixture)
{
	wp_port_close(fixture->store);
	fixture->clock->ops->close(fixture->clock);
	nftw(fixture->root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(fixture->memory);
	free(fixture);
}

static inline void watch_store(struct fixture *fixture)
{
	/* A clock of its own for each opening: watched descriptors stay watched. */
	fixture->clock->ops->watch(fixture->clock, wp_port_fd(fixture->store));
}

static inline void create_store(struct fixture *fixture, uint32_t records)
{
	if (wp_store_host_create(&fixture->store, &fixture->config, &fixture->identity, records,
				 fixture->clock, &fixture->report, &fixture->fault) != 0)
		fail_msg("create: %s", fixture->fault.text);
	watch_store(fixture);
}

static inline void close_store(struct fixture *fixture)
{
	wp_port_close(fixture->store);
	fixture->store = NULL;
	fixture->clock->ops->close(fixture->clock);
	assert_int_equal(wp_clock_host_open(&fixture->clock), 0);
}

static inline int try_open(struct fixture *fixture)
{
	return wp_store_host_open(&fixture->store, &fixture->config, &fixture->identity,
				  fixture->clock, &fixture->report, &fixture->fault);
}

static inline void open_store(struct fixture *fixture)
{
	if (try_open(fixture) != 0)
		fail_msg("open: %s", fixture->fault.text);
	watch_store(fixture);
}

static inline uint32_t chunk_count(const struct fixture *fixture)
{
	return wp_store_chunk_count(fixture->identity.block_bytes);
}

static inline struct wp_request request_of(struct fixture *fixture, enum wp_op op, uint32_t block,
					   uint32_t first, uint32_t count)
{
	uint64_t begin = (uint64_t)first * WP_CHUNK_BYTES;
	uint64_t end = begin + (uint64_t)count * WP_CHUNK_BYTES;

	if (end > fixture->identity.block_bytes)
		end = fixture->identity.block_bytes;
	return (struct wp_request){
	    .owner = &fixture->done,
	    .op = op,
	    .block = block,
	    .chunk_first = first,
	    .chunk_count = count,
	    .bytes = end - begin,
	    .payload_bytes = end - begin,
	    .host = fixture->memory + begin,
	};
}

static inline struct wp_request *wait_done(struct fixture *fixture)
{
	struct wp_request *request;

	for (;;) {
		int error;

		wp_port_poll(fixture->store);
		request = wp_queue_pop(&fixture->done);
		if (request)
			return request;
		error = wp_clock_wait_until(fixture->clock, wp_port_next_ns(fixture->store));
		assert_true(error == 0 || error == -EINTR);
	}
}

/* One request from submission to its result. */
static inline int run_request(struct fixture *fixture, struct wp_request *request)
{
	assert_int_equal(wp_port_submit(fixture->store, request), 0);
	assert_int_equal(fixture->done.count, 0); /* nothing completes inside submit */
	assert_ptr_equal(wait_done(fixture), request);
	assert_true(request->done_ns >= request->submit_ns);
	return request->result;
}

static inline int run_op(struct fixture *fixture, enum wp_op op, uint32_t block)
{
	struct wp_request request = request_of(fixture, op, block, 0, chunk_count(fixture));

	return run_request(fixture, &request);
}

static inline void fill_memory(struct fixture *fixture, uint32_t block)
{
	memset(fixture->memory, 0, wp_store_record_bytes(fixture->identity.block_bytes));
	for (uint32_t chunk = 0; chunk < chunk_count(fixture); chunk++) {
		struct wp_request piece = request_of(fixture, WP_OP_READ, block, chunk, 1);

		wp_content_fill(piece.host, piece.bytes, SEED, block, chunk);
	}
}

static inline bool memory_holds(struct fixture *fixture, uint32_t block)
{
	for (uint32_t chunk = 0; chunk < chunk_count(fixture); chunk++) {
		struct wp_request piece = request_of(fixture, WP_OP_READ, block, chunk, 1);

		if (!wp_content_equals(piece.host, piece.bytes, SEED, block, chunk))
			return false;
	}
	return true;
}

/* Writes and commits a block; the first error. */
static inline int store_block(struct fixture *fixture, uint32_t block)
{
	int error;

	fill_memory(fixture, block);
	error = run_op(fixture, WP_OP_WRITE, block);
	return error ? error : run_op(fixture, WP_OP_COMMIT, block);
}

/* Reads a block over poison and verifies it; the first error. */
static inline int fetch_block(struct fixture *fixture, uint32_t block)
{
	int error;

	memset(fixture->memory, 0xa5, wp_store_record_bytes(fixture->identity.block_bytes));
	error = run_op(fixture, WP_OP_READ, block);
	if (!error)
		error = run_op(fixture, WP_OP_VERIFY, block);
	if (!error)
		assert_true(memory_holds(fixture, block));
	return error;
}

static inline int open_file(struct fixture *fixture, const char *name, int flags)
{
	char path[400];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fixture->directory, name);
	fd = open(path, flags, 0600);
	assert_true(fd >= 0);
	return fd;
}

/* Changes one byte of a file of the store. */
static inline void flip_byte(struct fixture *fixture, const char *name, uint64_t offset)
{
	int fd = open_file(fixture, name, O_RDWR);
	unsigned char byte;

	assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
	assert_int_equal(fsync(fd), 0);
	close(fd);
}

#endif
