/*
 * The contract of the store port, run over io_uring and over pread: what was
 * written comes back, what is not right is named, and nothing is handed on
 * that was not stored.
 */
#include "tests/seam/store_fixture.h"

#define ODD_BYTES (2 * WP_CHUNK_BYTES + 100001u)

static struct fixture *open_backend(void **state, uint64_t block_bytes)
{
	enum wp_store_backend backend = *(enum wp_store_backend *)*state;

	return fixture_open(block_bytes, backend);
}

static void test_blocks_come_back(void **state)
{
	struct fixture *fixture = open_backend(state, ODD_BYTES);
	struct wp_stored_block found;

	create_store(fixture, 5);
	for (uint32_t block = 0; block < 5; block++)
		assert_int_equal(store_block(fixture, block), 0);
	close_store(fixture);
	fixture->config.writable = false;
	open_store(fixture);
	assert_int_equal(fixture->report.stored_blocks, 5);
	assert_int_equal(fixture->report.record_bytes % 4096, 0);
	for (uint32_t block = 5; block-- > 0;)
		assert_int_equal(fetch_block(fixture, block), 0);
	assert_true(wp_store_host_find(fixture->store, 3, &found));
	assert_int_equal(found.payload_bytes, ODD_BYTES);
	assert_int_equal(found.generation, 1);
	assert_int_equal(run_op(fixture, WP_OP_WRITE, 0), -EROFS);
	fixture_close(fixture);
}

/* A payload that is no multiple of any sector, read in pieces with a short tail. */
static void test_tail_is_kept(void **state)
{
	struct fixture *fixture = open_backend(state, 28824000);

	create_store(fixture, 1);
	assert_int_equal(store_block(fixture, 0), 0);
	memset(fixture->memory, 0xa5, wp_store_record_bytes(28824000));
	for (uint32_t first = 0; first < chunk_count(fixture); first += 4) {
		uint32_t left = chunk_count(fixture) - first;
		struct wp_request request =
		    request_of(fixture, WP_OP_READ, 0, first, left < 4 ? left : 4);

		assert_int_equal(run_request(fixture, &request), 0);
		request.op = WP_OP_VERIFY;
		assert_int_equal(run_request(fixture, &request), 0);
	}
	assert_true(memory_holds(fixture, 0));
	fixture_close(fixture);
}

static void test_smallest_block(void **state)
{
	struct fixture *fixture = open_backend(state, 1);

	create_store(fixture, 3);
	assert_int_equal(store_block(fixture, 2), 0);
	assert_int_equal(fetch_block(fixture, 2), 0);
	fixture_close(fixture);
}

static void test_misdirected_read_does_not_verify(void **state)
{
	struct fixture *fixture = open_backend(state, ODD_BYTES);
	struct wp_request verify = request_of(fixture, WP_OP_VERIFY, 1, 1, 2);

	create_store(fixture, 2);
	assert_int_equal(store_block(fixture, 0), 0);
	assert_int_equal(store_block(fixture, 1), 0);
	assert_int_equal(run_op(fixture, WP_OP_READ, 0), 0);
	assert_int_equal(run_request(fixture, &verify), -EBADMSG);
	assert_int_equal(verify.fault_offset, WP_CHUNK_BYTES);
	/* The same bytes one chunk on. */
	assert_int_equal(run_op(fixture, WP_OP_READ, 1), 0);
	memmove(fixture->memory + WP_CHUNK_BYTES, fixture->memory, WP_CHUNK_BYTES);
	assert_int_equal(run_request(fixture, &verify), -EBADMSG);
	assert_int_equal(verify.fault_offset, WP_CHUNK_BYTES);
	fixture_close(fixture);
}

/* Wherever a byte is flipped, its chunk is named; padding does not matter. */
static void test_flipped_byte_is_named(void **state)
{
	static const uint64_t offsets[] = {0, WP_CHUNK_BYTES - 1, WP_CHUNK_BYTES + 77777,
					   ODD_BYTES - 1};
	struct fixture *fixture = open_backend(state, ODD_BYTES);
	uint64_t record_bytes = wp_store_record_bytes(ODD_BYTES);

	create_store(fixture, 3);
	for (uint32_t block = 0; block < 3; block++)
		assert_int_equal(store_block(fixture, block), 0);
	flip_byte(fixture, "segment-00000", record_bytes - 1); /* padding of block 0 */
	assert_int_equal(fetch_block(fixture, 0), 0);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		struct wp_request verify =
		    request_of(fixture, WP_OP_VERIFY, 1, 0, chunk_count(fixture));

		flip_byte(fixture, "segment-00000", record_bytes + offsets[i]);
		assert_int_equal(run_op(fixture, WP_OP_READ, 1), 0);
		assert_int_equal(run_request(fixture, &verify), -EBADMSG);
		assert_int_equal(verify.fault_offset, offsets[i] / WP_CHUNK_BYTES * WP_CHUNK_BYTES);
		flip_byte(fixture, "segment-00000", record_bytes + offsets[i]);
	}
	assert_int_equal(fetch_block(fixture, 1), 0);
	assert_int_equal(fetch_block(fixture, 2), 0);
	fixture_close(fixture);
}

static void test_file_cut_short_is_an_error(void **state)
{
	struct fixture *fixture = open_backend(state, ODD_BYTES);
	struct wp_request read = request_of(fixture, WP_OP_READ, 1, 0, chunk_count(fixture));
	uint64_t align;
	int fd;

	create_store(fixture, 2);
	assert_int_equal(store_block(fixture, 0), 0);
	assert_int_equal(store_block(fixture, 1), 0);
	fd = open_file(fixture, "segment-00000", O_RDWR);
	assert_int_equal(
	    ftruncate(fd, (off_t)(wp_store_record_bytes(ODD_BYTES) + WP_CHUNK_BYTES + 8192)), 0);
	close(fd);
	assert_int_equal(run_request(fixture, &read), -EIO);
	assert_int_equal(read.fault_offset, WP_CHUNK_BYTES + 8192);
	/* Of the last sector of the block as well. */
	align = fixture->report.alignment_bytes;
	assert_int_equal(read.end_missing,
			 (ODD_BYTES + align - 1) / align * align - read.fault_offset);
	assert_int_equal(fetch_block(fixture, 0), 0);
	close_store(fixture);
	assert_int_equal(try_open(fixture), -EBADMSG);
	assert_true(fixture->fault.content);
	fixture_close(fixture);
}

static void test_what_was_never_stored(void **state)
{
	struct fixture *fixture = open_backend(state, ODD_BYTES);

	create_store(fixture, 2);
	assert_int_equal(run_op(fixture, WP_OP_READ, 0), -ENODATA);
	fill_memory(fixture, 1);
	assert_int_equal(run_op(fixture, WP_OP_WRITE, 1), 0);
	assert_int_equal(run_op(fixture, WP_OP_READ, 1), -ENODATA); /* not committed yet */
	assert_int_equal(run_op(fixture, WP_OP_COMMIT, 1), 0);
	assert_int_equal(run_op(fixture, WP_OP_READ, 3), -ENODATA); /* same record */
	assert_int_equal(fetch_block(fixture, 1), 0);
	fixture_close(fixture);
}

/* More than `depth` reads are refused and taken later; all come back right. */
static void test_depth_is_kept(void **state)
{
	struct fixture *fixture = open_backend(state, 16 * WP_CHUNK_BYTES);
	struct wp_request reads[16];
	uint32_t back = 0;

	create_store(fixture, 1);
	assert_int_equal(store_block(fixture, 0), 0);
	memset(fixture->memory, 0xa5, 16 * WP_CHUNK_BYTES);
	for (uint32_t i = 0; i < 16; i++) {
		reads[i] = request_of(fixture, WP_OP_READ, 0, i, 1);
		while (wp_port_submit(fixture->store, &reads[i]) == -EAGAIN) {
			assert_int_equal(i - back - fixture->done.count, fixture->config.depth);
			assert_int_equal(wait_done(fixture)->result, 0);
			back++;
		}
		assert_true(i - back - fixture->done.count < fixture->config.depth);
	}
	for (; back < 16; back++)
		assert_int_equal(wait_done(fixture)->result, 0);
	assert_true(memory_holds(fixture, 0));
	fixture_close(fixture);
}

/* Reads into registered memory, across a registered piece's end, and outside it. */
static void test_any_memory_will_do(void **state)
{
	struct fixture *fixture = open_backend(state, 4 * WP_CHUNK_BYTES);
	struct wp_store_arena arenas[2] = {
	    {fixture->memory + 4096, WP_CHUNK_BYTES},
	    {fixture->memory + 3 * WP_CHUNK_BYTES, WP_CHUNK_BYTES},
	};

	fixture->config.arenas = arenas;
	fixture->config.arena_count = 2;
	create_store(fixture, 1);
	assert_int_equal(store_block(fixture, 0), 0);
	for (uint32_t count = 1; count <= 4; count++) {
		memset(fixture->memory, 0xa5, 4 * WP_CHUNK_BYTES);
		for (uint32_t first = 0; first < 4; first += count) {
			struct wp_request read = request_of(fixture, WP_OP_READ, 0, first,
							    first + count > 4 ? 4 - first : count);

			assert_int_equal(run_request(fixture, &read), 0);
		}
		assert_true(memory_holds(fixture, 0));
	}
	fixture_close(fixture);
}

static void test_full_store_forgets_only_if_told(void **state)
{
	struct fixture *fixture = open_backend(state, ODD_BYTES);
	struct wp_stored_block found;

	create_store(fixture, 2);
	for (uint32_t block = 0; block < 2; block++)
		assert_int_equal(store_block(fixture, block), 0);
	assert_int_equal(store_block(fixture, 2), -ENOSPC);
	assert_int_equal(fetch_block(fixture, 0), 0);
	close_store(fixture);
	fixture->config.forget_oldest = true;
	open_store(fixture);
	assert_int_equal(store_block(fixture, 2), 0);
	assert_int_equal(wp_store_host_forgotten(fixture->store), 1);
	assert_int_equal(fetch_block(fixture, 0), -ENODATA);
	close_store(fixture);
	open_store(fixture);
	assert_true(wp_store_host_record(fixture->store, 0, &found));
	assert_int_equal(found.block, 2);
	assert_int_equal(found.generation, 2);
	assert_int_equal(fetch_block(fixture, 2), 0);
	assert_int_equal(fetch_block(fixture, 1), 0);
	fixture_close(fixture);
}

static void test_generation_and_position(void **state)
{
	struct fixture *fixture = open_backend(state, ODD_BYTES);
	struct wp_request commit = request_of(fixture, WP_OP_COMMIT, 0, 0, 1);
	struct wp_request read = request_of(fixture, WP_OP_READ, 0, 0, 1);
	struct wp_stored_block found;

	create_store(fixture, 1);
	fill_memory(fixture, 0);
	assert_int_equal(run_op(fixture, WP_OP_WRITE, 0), 0);
	commit.position = 12;
	assert_int_equal(run_request(fixture, &commit), 0);
	assert_int_equal(commit.generation, 1);
	assert_int_equal(store_block(fixture, 0), 0);
	read.generation = 1;
	assert_int_equal(run_request(fixture, &read), -ESTALE);
	read.generation = 2;
	assert_int_equal(run_request(fixture, &read), 0);
	fill_memory(fixture, 0);
	assert_int_equal(run_op(fixture, WP_OP_WRITE, 0), 0);
	assert_int_equal(run_request(fixture, &commit), 0);
	close_store(fixture);
	open_store(fixture);
	assert_true(wp_store_host_find(fixture->store, 0, &found));
	assert_int_equal(found.position, 12);
	assert_int_equal(found.generation, 3);
	fixture_close(fixture);
}

/* Many blocks under way at once, commits together. */
static void test_group_commit(void **state)
{
	struct fixture *fixture = open_backend(state, ODD_BYTES);
	struct wp_request commits[8];

	fixture->config.forget_oldest = true;
	create_store(fixture, 8);
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 8; i++) {
			fill_memory(fixture, round * 8 + i);
			assert_int_equal(run_op(fixture, WP_OP_WRITE, round * 8 + i), 0);
		}
		for (uint32_t i = 0; i < 8; i++) {
			commits[i] = request_of(fixture, WP_OP_COMMIT, round * 8 + i, 0, 1);
			assert_int_equal(wp_port_submit(fixture->store, &commits[i]), 0);
		}
		for (uint32_t i = 0; i < 8; i++)
			assert_int_equal(wait_done(fixture)->result, 0);
	}
	close_store(fixture);
	open_store(fixture);
	assert_int_equal(fixture->report.stored_blocks, 8);
	for (uint32_t block = 8; block < 16; block++)
		assert_int_equal(fetch_block(fixture, block), 0);
	fixture_close(fixture);
}

#define CONTRACT(test, backend)                                                                    \
	{                                                                                          \
		.name = #test "_over_" #backend, .test_func = test, .initial_state = &backend      \
	}

int main(void)
{
	static enum wp_store_backend io_uring = WP_STORE_BACKEND_AUTO;
	static enum wp_store_backend pread = WP_STORE_BACKEND_PREAD;
	const struct CMUnitTest tests[] = {
#define BOTH(test) CONTRACT(test, io_uring), CONTRACT(test, pread)
	    BOTH(test_blocks_come_back),	BOTH(test_tail_is_kept),
	    BOTH(test_smallest_block),		BOTH(test_misdirected_read_does_not_verify),
	    BOTH(test_flipped_byte_is_named),	BOTH(test_file_cut_short_is_an_error),
	    BOTH(test_what_was_never_stored),	BOTH(test_depth_is_kept),
	    BOTH(test_any_memory_will_do),	BOTH(test_full_store_forgets_only_if_told),
	    BOTH(test_generation_and_position), BOTH(test_group_commit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
