/*
 * What the kernel may answer to one piece, put before the store port by a
 * backend that does the work at once and then lies about it: refused for now,
 * interrupted, short at odd places, the end of the file, errors.
 */
#include "tests/seam/store_fixture.h"

#include <sys/eventfd.h>

#include "pager/random.h"
#include "pager/store_pieces.h"
#include "pager/store_port.h"

#define BLOCK_BYTES (6 * WP_CHUNK_BYTES + 12345u)

/* Which answers are changed. 0: none. */
struct plan {
	uint32_t again_every; /* every n-th piece: -EAGAIN or -EINTR, nothing moved */
	uint32_t short_every; /* every n-th piece moves a drawn part of its bytes */
	uint32_t fail_at;     /* the n-th piece: -EREMOTEIO */
	uint32_t end_at;      /* the n-th piece: 0 bytes, as at the end of a file */
};

struct lying {
	struct wp_io_backend backend;
	struct wp_store_files *files;
	struct wp_clock *clock;
	struct plan plan;
	struct wp_random random;
	struct wp_job *done;
	uint32_t pieces;
	int fd;
};

static int64_t answer(struct lying *lying, struct wp_io *io)
{
	const struct plan *plan = &lying->plan;
	int fd = lying->files->segments[io->segment];
	uint32_t n = ++lying->pieces;
	size_t align = lying->files->alignment_bytes;
	size_t bytes = io->bytes;

	if (plan->again_every && n % plan->again_every == 0)
		return n % 2 ? -EAGAIN : -EINTR;
	if (n == plan->fail_at)
		return -EREMOTEIO;
	if (n == plan->end_at)
		return 0;
	if (plan->short_every && n % plan->short_every == 0 && bytes > 8192)
		bytes = 4096 + wp_random_below(&lying->random, bytes - 8192);
	/* The file is opened for direct I/O: move whole sectors, admit to less. */
	bytes = (bytes + align - 1) / align * align;
	return io->write ? pwrite(fd, io->memory, bytes, (off_t)io->offset)
			 : pread(fd, io->memory, bytes, (off_t)io->offset);
}

static void lying_start(struct wp_io_backend *backend, struct wp_io *io)
{
	struct lying *lying = (struct lying *)backend;

	io->result = answer(lying, io);
	if (lying->plan.short_every && io->result > 4096 && io->result < io->bytes)
		io->result -= 1 + (int64_t)wp_random_below(&lying->random, 4095);
	io->done_ns = wp_clock_now_ns(lying->clock);
	io->job.link = lying->done;
	lying->done = &io->job;
}

static struct wp_io *lying_take(struct wp_io_backend *backend)
{
	struct lying *lying = (struct lying *)backend;
	struct wp_job *job = lying->done;

	if (job)
		lying->done = job->link;
	return (struct wp_io *)job;
}

static uint64_t lying_next_ns(const struct wp_io_backend *backend)
{
	return ((const struct lying *)backend)->done ? 0 : WP_TIME_NEVER;
}

static int lying_fd(const struct wp_io_backend *backend)
{
	return ((const struct lying *)backend)->fd;
}

static void lying_close(struct wp_io_backend *backend)
{
	close(((struct lying *)backend)->fd);
	free(backend);
}

static const struct wp_io_ops lying_ops = {
    .name = "lying",
    .start = lying_start,
    .take = lying_take,
    .next_ns = lying_next_ns,
    .fd = lying_fd,
    .close = lying_close,
};

/* A store of 2 blocks, written honestly and opened again over the liar. */
static struct fixture *open_lying(struct plan plan, uint32_t io_bytes_max)
{
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_AUTO);
	struct wp_store_port_config config = {.depth = 4, .io_bytes_max = io_bytes_max};
	struct wp_store_files *files = malloc(sizeof(*files));
	struct lying *lying = calloc(1, sizeof(*lying));

	assert_non_null(files);
	assert_non_null(lying);
	create_store(fixture, 2);
	assert_int_equal(store_block(fixture, 0), 0);
	close_store(fixture);
	assert_int_equal(
	    wp_store_files_open(files, &fixture->config, &fixture->identity, &fixture->fault), 0);
	lying->backend.ops = &lying_ops;
	lying->files = files;
	lying->clock = fixture->clock;
	lying->plan = plan;
	lying->random.state = SEED;
	lying->fd = eventfd(0, EFD_CLOEXEC);
	assert_true(lying->fd >= 0);
	assert_int_equal(
	    wp_store_port_open(&fixture->store, files, &lying->backend, &config, fixture->clock),
	    0);
	watch_store(fixture);
	return fixture;
}

/* Reads block 0 and writes block 1 under the plan; the request that read. */
static struct wp_request read_and_write(struct fixture *fixture)
{
	struct wp_request read = request_of(fixture, WP_OP_READ, 0, 0, chunk_count(fixture));

	memset(fixture->memory, 0xa5, wp_store_record_bytes(BLOCK_BYTES));
	assert_int_equal(run_request(fixture, &read), 0);
	assert_int_equal(run_op(fixture, WP_OP_VERIFY, 0), 0);
	assert_true(memory_holds(fixture, 0));
	assert_int_equal(store_block(fixture, 1), 0);
	assert_int_equal(fetch_block(fixture, 1), 0);
	return read;
}

static void test_refused_pieces_are_repeated(void **state)
{
	struct fixture *fixture = open_lying((struct plan){.again_every = 3}, 65536);

	(void)state;
	assert_true(read_and_write(fixture).retries > 2);
	fixture_close(fixture);
}

static void test_endless_refusal_ends(void **state)
{
	struct fixture *fixture = open_lying((struct plan){.again_every = 1}, 65536);
	struct wp_request read = request_of(fixture, WP_OP_READ, 0, 2, 1);

	(void)state;
	assert_int_equal(run_request(fixture, &read), -EIO);
	assert_int_equal(read.fault_offset, 2 * WP_CHUNK_BYTES);
	assert_int_equal(read.retries, WP_PIECES_AGAIN_MAX + 1);
	fixture_close(fixture);
}

static void test_short_pieces_are_resumed(void **state)
{
	(void)state;
	for (uint32_t every = 1; every < 4; every++) {
		struct fixture *fixture =
		    open_lying((struct plan){.short_every = every}, WP_IO_BYTES_MAX);

		assert_true(read_and_write(fixture).retries > 0 || every > 1);
		fixture_close(fixture);
	}
}

/* What the kernel's limit of 2 GiB does to a large block, with a small limit. */
static void test_long_ranges_are_cut(void **state)
{
	struct fixture *fixture = open_lying((struct plan){0}, 12288);

	(void)state;
	assert_int_equal(read_and_write(fixture).retries, 0);
	fixture_close(fixture);
}

static void test_everything_at_once(void **state)
{
	struct fixture *fixture =
	    open_lying((struct plan){.again_every = 5, .short_every = 3}, 131072);

	(void)state;
	read_and_write(fixture);
	fixture_close(fixture);
}

static void test_errors_name_their_place(void **state)
{
	(void)state;
	for (uint32_t at = 1; at <= 4; at++) {
		struct fixture *fixture = open_lying((struct plan){.fail_at = at}, 65536);
		struct wp_request read = request_of(fixture, WP_OP_READ, 0, 1, 3);

		assert_int_equal(run_request(fixture, &read), -EREMOTEIO);
		assert_int_equal(read.fault_offset, WP_CHUNK_BYTES + (at - 1) * 65536);
		assert_int_equal(read.end_missing, 0);	      /* an error is no end */
		assert_int_equal(fetch_block(fixture, 0), 0); /* only that piece was bad */
		fixture_close(fixture);
	}
}

static void test_end_of_file_is_an_error(void **state)
{
	struct fixture *fixture = open_lying((struct plan){.end_at = 2}, 65536);
	struct wp_request read = request_of(fixture, WP_OP_READ, 0, 0, 1);

	(void)state;
	assert_int_equal(run_request(fixture, &read), -EIO);
	assert_int_equal(read.fault_offset, 65536);
	assert_int_equal(read.end_missing, WP_CHUNK_BYTES - 65536);
	fixture_close(fixture);
}

/* A WRITE that failed can be repeated; what was not written is not committed. */
static void test_failed_write_is_repeated(void **state)
{
	struct fixture *fixture = open_lying((struct plan){.fail_at = 2}, 65536);

	(void)state;
	fill_memory(fixture, 1);
	assert_int_equal(run_op(fixture, WP_OP_WRITE, 1), -EREMOTEIO);
	assert_int_equal(fetch_block(fixture, 1), -ENODATA);
	assert_int_equal(store_block(fixture, 1), 0);
	assert_int_equal(fetch_block(fixture, 1), 0);
	fixture_close(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_refused_pieces_are_repeated),
	    cmocka_unit_test(test_endless_refusal_ends),
	    cmocka_unit_test(test_short_pieces_are_resumed),
	    cmocka_unit_test(test_long_ranges_are_cut),
	    cmocka_unit_test(test_everything_at_once),
	    cmocka_unit_test(test_errors_name_their_place),
	    cmocka_unit_test(test_end_of_file_is_an_error),
	    cmocka_unit_test(test_failed_write_is_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
