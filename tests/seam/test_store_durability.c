/*
 * The order in which a writing store hands bytes and flushes to the kernel. A
 * killed process shows nothing of it, because the page cache outlives the
 * process; here every write and flush is seen on its way, and three rules hold:
 *
 *   a payload is only written over when no index entry is unflushed: the old
 *     block was forgotten durably
 *   an index entry is only written when no payload is unflushed
 *   a COMMIT is only over when nothing is unflushed
 *
 * With one request at a time they are exact. pwrite, fdatasync and fsync are
 * this program's own, which take notes and call the kernel. Also flushes that
 * fail: nothing is acknowledged then, and no entry follows lost payload.
 */
#include "tests/seam/store_fixture.h"

#include <sys/syscall.h>

#define BLOCK_BYTES (2 * WP_CHUNK_BYTES + 777u)
#define RECORDS	    5u /* in segments of 2 */
#define BLOCKS	    13u

enum file {
	FILE_INDEX,
	FILE_SEGMENT,
	FILE_OTHER,
};

/* Flags of threads that never write them at the same time: one request is under way. */
static volatile bool watching;
static volatile uint32_t unflushed_entries;
static volatile uint32_t unflushed_payload; /* a bit a segment */
static volatile uint32_t entries, flushes, broken;
static volatile enum file failing = FILE_OTHER; /* whose flushes fail */

static enum file file_of(int fd, uint32_t *segment)
{
	char link[64], path[512];
	const char *name;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return FILE_OTHER;
	path[length] = 0;
	name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	*segment = 0;
	if (strcmp(name, "index") == 0)
		return FILE_INDEX;
	if (strncmp(name, "segment-", 8) != 0)
		return FILE_OTHER;
	*segment = (uint32_t)strtoul(name + 8, NULL, 10);
	return FILE_SEGMENT;
}

ssize_t pwrite(int fd, const void *buffer, size_t bytes, off_t offset)
{
	uint32_t segment;

	switch (watching ? file_of(fd, &segment) : FILE_OTHER) {
	case FILE_INDEX:
		broken += unflushed_payload != 0;
		entries++;
		unflushed_entries++;
		break;
	case FILE_SEGMENT:
		broken += unflushed_entries != 0;
		unflushed_payload |= 1u << segment;
		break;
	case FILE_OTHER:
		break;
	}
	return syscall(SYS_pwrite64, fd, buffer, bytes, offset);
}

static int flush(int fd, long call)
{
	uint32_t segment = 0;
	enum file file = watching ? file_of(fd, &segment) : FILE_OTHER;

	if (file != FILE_OTHER && file == failing) {
		errno = EIO;
		return -1;
	}
	flushes += file != FILE_OTHER;
	if (file == FILE_INDEX)
		unflushed_entries = 0;
	else if (file == FILE_SEGMENT)
		unflushed_payload &= ~(1u << segment);
	return (int)syscall(call, fd);
}

int fdatasync(int fd)
{
	return flush(fd, SYS_fdatasync);
}

int fsync(int fd)
{
	return flush(fd, SYS_fsync);
}

static struct fixture *open_watched(void)
{
	/* io_uring's writes pass by; what is flushed when is the same for both. */
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_PREAD);

	fixture->config.forget_oldest = true;
	create_store(fixture, RECORDS);
	unflushed_entries = unflushed_payload = entries = flushes = broken = 0;
	failing = FILE_OTHER;
	watching = true;
	return fixture;
}

static void close_watched(struct fixture *fixture)
{
	watching = false;
	failing = FILE_OTHER;
	fixture_close(fixture);
}

static void one_block_after_the_other(void **state)
{
	struct fixture *fixture = open_watched();

	(void)state;
	for (uint32_t block = 0; block < BLOCKS; block++) {
		uint32_t reused = block < RECORDS ? 0 : 1;

		fill_memory(fixture, block);
		entries = flushes = 0;
		assert_int_equal(run_op(fixture, WP_OP_WRITE, block), 0);
		assert_int_equal(entries, reused);
		assert_int_equal(flushes, reused);
		assert_int_equal(run_op(fixture, WP_OP_COMMIT, block), 0);
		assert_int_equal(entries, reused + 1);
		assert_int_equal(flushes, reused + 2);
		assert_int_equal(unflushed_entries, 0);
		assert_int_equal(unflushed_payload, 0);
		assert_int_equal(broken, 0);
	}
	close_watched(fixture);
}

/*
 * Several COMMITs at once share their flushes, and not one of them is over
 * early. Entries of one may pass payload of another here.
 */
static void several_commits_at_once(void **state)
{
	struct fixture *fixture = open_watched();
	struct wp_request commits[RECORDS];

	(void)state;
	for (uint32_t first = 0; first < 2 * RECORDS; first += RECORDS) {
		for (uint32_t i = 0; i < RECORDS; i++) {
			fill_memory(fixture, first + i);
			assert_int_equal(run_op(fixture, WP_OP_WRITE, first + i), 0);
			commits[i] = request_of(fixture, WP_OP_COMMIT, first + i, 0, 0);
		}
		for (uint32_t i = 0; i < RECORDS; i++)
			assert_int_equal(wp_port_submit(fixture->store, &commits[i]), 0);
		for (uint32_t i = 0; i < RECORDS; i++)
			assert_int_equal(wait_done(fixture)->result, 0);
		assert_int_equal(unflushed_entries, 0);
		assert_int_equal(unflushed_payload, 0);
	}
	close_store(fixture);
	open_store(fixture);
	for (uint32_t block = RECORDS; block < 2 * RECORDS; block++)
		assert_int_equal(fetch_block(fixture, block), 0);
	close_watched(fixture);
}

/* Payload that may be lost gets no entry; an entry that may be lost acknowledges nothing. */
static void a_flush_that_fails_acknowledges_nothing(void **state)
{
	struct fixture *fixture = open_watched();

	(void)state;
	fill_memory(fixture, 0);
	assert_int_equal(run_op(fixture, WP_OP_WRITE, 0), 0);
	failing = FILE_SEGMENT;
	assert_int_equal(run_op(fixture, WP_OP_COMMIT, 0), -EIO);
	assert_int_equal(entries, 0);
	failing = FILE_OTHER;
	assert_int_equal(fetch_block(fixture, 0), -ENODATA);
	fill_memory(fixture, 1);
	assert_int_equal(run_op(fixture, WP_OP_WRITE, 1), 0);
	failing = FILE_INDEX;
	assert_int_equal(run_op(fixture, WP_OP_COMMIT, 1), -EIO);
	assert_int_equal(fetch_block(fixture, 1), -ENODATA);
	failing = FILE_OTHER;
	/* Both once more: the store itself is as good as before. */
	for (uint32_t block = 0; block < 2; block++)
		assert_int_equal(store_block(fixture, block), 0);
	close_store(fixture);
	open_store(fixture);
	for (uint32_t block = 0; block < 2; block++)
		assert_int_equal(fetch_block(fixture, block), 0);
	close_watched(fixture);
}

/* A record that is not forgotten durably keeps its old payload. */
static void a_failed_forget_touches_no_payload(void **state)
{
	struct fixture *fixture = open_watched();

	(void)state;
	for (uint32_t block = 0; block < RECORDS; block++)
		assert_int_equal(store_block(fixture, block), 0);
	failing = FILE_INDEX;
	fill_memory(fixture, RECORDS);
	assert_int_equal(run_op(fixture, WP_OP_WRITE, RECORDS), -EIO);
	assert_int_equal(unflushed_payload, 0);
	failing = FILE_OTHER;
	assert_int_equal(store_block(fixture, RECORDS), 0);
	assert_int_equal(fetch_block(fixture, RECORDS), 0);
	close_watched(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_block_after_the_other),
	    cmocka_unit_test(several_commits_at_once),
	    cmocka_unit_test(a_flush_that_fails_acknowledges_nothing),
	    cmocka_unit_test(a_failed_forget_touches_no_payload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
