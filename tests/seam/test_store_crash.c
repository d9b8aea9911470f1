/*
 * Crashes of a writing session: the files as a crash may leave them, opened
 * again. Every acknowledged block must be there, whole; whatever else is found
 * must be recognised and never handed out.
 *
 * Either a writing process is killed at a random moment, or a crash of the
 * machine is made by hand: the store's files are copied at each flush point,
 * and pieces of later writes are mixed in, as a drive may have written any part
 * of what was not flushed. One seed decides all; WP_SEED repeats it.
 */
#include "tests/seam/store_fixture.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "pager/random.h"

#define BLOCK_BYTES (2 * WP_CHUNK_BYTES + 777u)
#define RECORDS	    3u
#define BLOCKS	    7u /* twice around, and a bit */
#define ROUNDS	    40u
#define KILLS	    10u
#define SECTOR	    512u

static const char *const names[] = {"index", "segment-00000", "segment-00001"};

#define FILES (sizeof(names) / sizeof(names[0]))

/* The store's files at one moment. */
struct image {
	unsigned char *bytes[FILES];
	size_t sizes[FILES];
	uint32_t acknowledged; /* blocks 0 .. this - 1 */
};

static void take_image(struct fixture *fixture, uint32_t acknowledged, struct image *image)
{
	image->acknowledged = acknowledged;
	for (size_t i = 0; i < FILES; i++) {
		int fd = open_file(fixture, names[i], O_RDONLY);
		struct stat about;

		assert_int_equal(fstat(fd, &about), 0);
		image->sizes[i] = (size_t)about.st_size;
		image->bytes[i] = malloc(image->sizes[i]);
		assert_non_null(image->bytes[i]);
		assert_int_equal(pread(fd, image->bytes[i], image->sizes[i], 0), about.st_size);
		close(fd);
	}
}

static void free_image(struct image *image)
{
	for (size_t i = 0; i < FILES; i++)
		free(image->bytes[i]);
}

/*
 * Puts `before` back with a part of what became of it until `after`: each
 * sector that differs is taken from either with the given odds.
 */
static void put_mixture(struct fixture *fixture, const struct image *before,
			const struct image *after, struct wp_random *random)
{
	uint64_t odds = wp_random_below(random, 5); /* of 4: none, some, all */

	for (size_t i = 0; i < FILES; i++) {
		int fd = open_file(fixture, names[i], O_WRONLY);

		for (size_t at = 0; at < before->sizes[i]; at += SECTOR) {
			bool late = wp_random_below(random, 4) < odds;
			const unsigned char *from = (late ? after : before)->bytes[i] + at;

			assert_int_equal(pwrite(fd, from, SECTOR, (off_t)at), SECTOR);
		}
		close(fd);
	}
}

/* Blocks 0 .. acknowledged-1 are there but for the forgotten; the next one was under way. */
static void check_recovery(struct fixture *fixture, uint32_t acknowledged)
{
	uint32_t under_way = acknowledged;

	open_store(fixture);
	assert_int_equal(fixture->report.lost_blocks, 0); /* a crash is no damage */
	for (uint32_t block = 0; block <= acknowledged + 1; block++) {
		bool reused = block + RECORDS < under_way;
		bool unsure = block == under_way || block + RECORDS == under_way;
		int error = fetch_block(fixture, block); /* checks the bytes too */

		if (unsure) /* the crash may have come before or after it was done */
			assert_true(error == 0 || error == -ENODATA);
		else
			assert_int_equal(error, block < acknowledged && !reused ? 0 : -ENODATA);
	}
}

/* The session goes on after the crash, and all that it then acknowledges is there. */
static void check_continuation(struct fixture *fixture, uint32_t acknowledged)
{
	for (uint32_t block = acknowledged; block < BLOCKS; block++)
		assert_int_equal(store_block(fixture, block), 0);
	close_store(fixture);
	open_store(fixture);
	for (uint32_t block = BLOCKS - RECORDS; block < BLOCKS; block++)
		assert_int_equal(fetch_block(fixture, block), 0);
	assert_int_equal(fixture->report.torn_records, 0);
	close_store(fixture);
}

static struct fixture *open_session(enum wp_store_backend backend)
{
	struct fixture *fixture = fixture_open(BLOCK_BYTES, backend);

	fixture->config.forget_oldest = true;
	create_store(fixture, RECORDS);
	return fixture;
}

static uint64_t draw_seed(void)
{
	const char *given = getenv("WP_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)getpid();

	print_message("repeat with WP_SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

/*
 * images[n]: n blocks acknowledged, nothing under way. Between n and n + 1 the
 * record of block n is forgotten (durably, before its payload is touched),
 * written and committed; a crash anywhere there leaves a mixture of the steps.
 */
static void test_any_mixture_of_sectors(void **state)
{
	struct fixture *fixture = open_session(WP_STORE_BACKEND_PREAD);
	struct image images[BLOCKS + 1], forgot[BLOCKS], wrote[BLOCKS];
	struct wp_random random = {draw_seed()};

	(void)state;
	take_image(fixture, 0, &images[0]);
	for (uint32_t block = 0; block < BLOCKS; block++) {
		struct wp_request first = request_of(fixture, WP_OP_WRITE, block, 0, 1);

		fill_memory(fixture, block);
		assert_int_equal(run_request(fixture, &first), 0);
		take_image(fixture, block, &forgot[block]); /* and one chunk of the new payload */
		assert_int_equal(run_op(fixture, WP_OP_WRITE, block), 0);
		take_image(fixture, block, &wrote[block]);
		assert_int_equal(run_op(fixture, WP_OP_COMMIT, block), 0);
		take_image(fixture, block + 1, &images[block + 1]);
	}
	close_store(fixture);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t block = (uint32_t)wp_random_below(&random, BLOCKS);
		bool late = wp_random_below(&random, 2);

		if (late) /* the entry was being written: the payload had been flushed */
			put_mixture(fixture, &wrote[block], &images[block + 1], &random);
		else /* the payload was being written: the old entry had been flushed away */
			put_mixture(fixture, &forgot[block], &wrote[block], &random);
		check_recovery(fixture, block);
		check_continuation(fixture, block);
	}
	for (uint32_t block = 0; block < BLOCKS; block++) {
		free_image(&images[block]);
		free_image(&forgot[block]);
		free_image(&wrote[block]);
	}
	free_image(&images[BLOCKS]);
	fixture_close(fixture);
}

/* The entry's own write is cut off at every sector, for a new and for a reused record. */
static void test_entry_cut_off_anywhere(void **state)
{
	(void)state;
	for (uint32_t blocks = 1; blocks <= RECORDS + 1; blocks += RECORDS) {
		uint32_t last = blocks - 1;
		struct fixture *fixture = open_session(WP_STORE_BACKEND_PREAD);
		uint32_t entry_bytes = wp_store_entry_bytes(BLOCK_BYTES);
		uint64_t place = (uint64_t)(last % RECORDS) * entry_bytes;
		struct image whole;

		for (uint32_t block = 0; block < blocks; block++)
			assert_int_equal(store_block(fixture, block), 0);
		take_image(fixture, blocks, &whole);
		close_store(fixture);
		for (uint32_t cut = 0; cut <= entry_bytes; cut += 64) {
			unsigned char entry[65536] = {0};
			int fd = open_file(fixture, "index", O_WRONLY);
			int error;

			memcpy(entry, whole.bytes[0] + place, cut);
			assert_int_equal(pwrite(fd, entry, entry_bytes, (off_t)place), entry_bytes);
			close(fd);
			open_store(fixture);
			error = fetch_block(fixture, last);
			/* Zeros after the checksums are the same cut off or whole. */
			assert_true(error == -ENODATA ||
				    (error == 0 &&
				     memcmp(entry, whole.bytes[0] + place, entry_bytes) == 0));
			close_store(fixture);
		}
		free_image(&whole);
		fixture_close(fixture);
	}
}

/* Entries of another store, or of another record, are not taken for this one's. */
static void test_foreign_entries(void **state)
{
	struct fixture *fixture = open_session(WP_STORE_BACKEND_PREAD);
	struct fixture *other = open_session(WP_STORE_BACKEND_PREAD);
	uint32_t entry_bytes = wp_store_entry_bytes(BLOCK_BYTES);
	struct image mine, theirs;
	int fd;

	(void)state;
	for (uint32_t block = 0; block < RECORDS; block++) {
		assert_int_equal(store_block(fixture, block), 0);
		assert_int_equal(store_block(other, block), 0);
	}
	take_image(fixture, RECORDS, &mine);
	take_image(other, RECORDS, &theirs);
	close_store(fixture);
	fd = open_file(fixture, "index", O_WRONLY);
	assert_int_equal(pwrite(fd, theirs.bytes[0], entry_bytes, 0), entry_bytes);
	assert_int_equal(pwrite(fd, mine.bytes[0], entry_bytes, 2 * entry_bytes), entry_bytes);
	close(fd);
	open_store(fixture);
	assert_int_equal(fixture->report.torn_records, 2);
	assert_int_equal(fixture->report.stored_blocks, 1);
	assert_int_equal(fetch_block(fixture, 0), -ENODATA);
	assert_int_equal(fetch_block(fixture, 1), 0);
	assert_int_equal(fetch_block(fixture, 2), -ENODATA);
	free_image(&mine);
	free_image(&theirs);
	fixture_close(other);
	fixture_close(fixture);
}

enum damage {
	DAMAGE_NOISE,
	DAMAGE_ZEROS,
	DAMAGE_OLD, /* as if the drive had not written it */
	DAMAGE_KINDS,
};

static void put_entry(struct fixture *fixture, uint32_t record, const unsigned char *bytes)
{
	uint32_t entry_bytes = wp_store_entry_bytes(BLOCK_BYTES);
	int fd = open_file(fixture, "index", O_WRONLY);

	assert_int_equal(pwrite(fd, bytes, entry_bytes, (off_t)record * entry_bytes), entry_bytes);
	close(fd);
}

/* One entry after the other is damaged: whether that is told from what a crash leaves. */
static void damage_each(struct fixture *fixture, uint32_t records, const struct image *before,
			const struct image *whole, uint32_t lost_from, uint32_t lost_to)
{
	uint32_t entry_bytes = wp_store_entry_bytes(BLOCK_BYTES);
	unsigned char noise[65536], zeros[65536] = {0};

	memset(noise, 0xa5, sizeof(noise));
	for (uint32_t block = lost_to + 1 - records; block <= lost_to; block++) {
		uint32_t record = block % records;
		const unsigned char *bytes[DAMAGE_KINDS] = {
		    noise, zeros, before->bytes[0] + (uint64_t)record * entry_bytes};

		for (uint32_t kind = 0; kind < DAMAGE_KINDS; kind++) {
			bool lost = block >= lost_from && block < lost_to;

			put_entry(fixture, record, bytes[kind]);
			open_store(fixture);
			assert_int_equal(fixture->report.lost_blocks, lost);
			if (lost)
				assert_int_equal(fixture->report.lost_block, block);
			assert_int_equal(fixture->report.torn_records, kind == DAMAGE_NOISE);
			close_store(fixture);
			put_entry(fixture, record,
				  whole->bytes[0] + (uint64_t)record * entry_bytes);
		}
	}
}

/* The last entry vouches for all before it, itself excepted. */
static void test_damage_is_no_crash(void **state)
{
	const uint32_t records = 8;
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_PREAD);
	struct image before, whole;

	(void)state;
	create_store(fixture, records);
	take_image(fixture, 0, &before);
	for (uint32_t block = 0; block < records; block++)
		assert_int_equal(store_block(fixture, block), 0);
	take_image(fixture, records, &whole);
	close_store(fixture);
	damage_each(fixture, records, &before, &whole, 0, records - 1);
	free_image(&before);
	free_image(&whole);
	fixture_close(fixture);
}

/* Where blocks are forgotten, the oldest may have been about to go: half of them if it is not
 * known how many are written at once. */
static void damage_where_blocks_are_forgotten(uint32_t write_blocks_max, uint32_t spared)
{
	const uint32_t records = 8, blocks = 20;
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_PREAD);
	struct image before, whole;

	fixture->config.forget_oldest = true;
	fixture->config.write_blocks_max = write_blocks_max;
	create_store(fixture, records);
	for (uint32_t block = 0; block < blocks; block++) {
		if (block == blocks - records)
			take_image(fixture, block, &before);
		assert_int_equal(store_block(fixture, block), 0);
	}
	take_image(fixture, blocks, &whole);
	close_store(fixture);
	damage_each(fixture, records, &before, &whole, blocks - 1 - (records - spared), blocks - 1);
	free_image(&before);
	free_image(&whole);
	fixture_close(fixture);
}

static void test_damage_where_blocks_are_forgotten(void **state)
{
	(void)state;
	damage_where_blocks_are_forgotten(0, 4);
	damage_where_blocks_are_forgotten(1, 2);
	damage_where_blocks_are_forgotten(3, 6);
}

/* Blocks behind a gap are written again after a crash: none of them counts as lost meanwhile. */
static void test_a_gap_is_filled_again(void **state)
{
	static const uint32_t stored[] = {0, 1, 2, 4, 5, 6};
	static const unsigned char torn[65536] = {0xa5};
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_PREAD);

	(void)state;
	create_store(fixture, 8);
	for (size_t i = 0; i < sizeof(stored) / sizeof(stored[0]); i++)
		assert_int_equal(store_block(fixture, stored[i]), 0);
	close_store(fixture);
	for (uint32_t block = 3; block < 7; block++) {
		open_store(fixture);
		assert_int_equal(fixture->report.lost_blocks, 0);
		assert_int_equal(store_block(fixture, block), 0);
		assert_int_equal(run_op(fixture, WP_OP_WRITE, block + 1), 0);
		close_store(fixture);
		put_entry(fixture, block + 1, torn); /* as it was made free */
		open_store(fixture);
		assert_int_equal(fixture->report.lost_blocks, 0);
		for (uint32_t earlier = 0; earlier <= block; earlier++)
			assert_int_equal(fetch_block(fixture, earlier), 0);
		close_store(fixture);
	}
	fixture_close(fixture);
}

/* Writes and commits until it is killed; `acknowledged` is shared with the parent. */
static _Noreturn void write_until_killed(struct fixture *fixture, volatile uint32_t *acknowledged)
{
	if (try_open(fixture) != 0)
		_exit(1);
	watch_store(fixture);
	for (;;) {
		if (store_block(fixture, *acknowledged) != 0)
			_exit(1);
		++*acknowledged;
	}
}

static void kill_at_random(enum wp_store_backend backend)
{
	struct fixture *fixture = open_session(backend);
	struct wp_random random = {draw_seed()};
	volatile uint32_t *acknowledged = mmap(NULL, sizeof(*acknowledged), PROT_READ | PROT_WRITE,
					       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(acknowledged != MAP_FAILED);
	close_store(fixture);
	for (uint32_t round = 0; round < KILLS; round++) {
		useconds_t pause_us = (useconds_t)wp_random_below(&random, 20000);
		pid_t child = fork();
		int status;

		assert_true(child >= 0);
		if (child == 0)
			write_until_killed(fixture, acknowledged);
		usleep(pause_us);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status)); /* it did not stop by itself */
		check_recovery(fixture, *acknowledged);
		close_store(fixture);
	}
	munmap((void *)acknowledged, sizeof(*acknowledged));
	fixture_close(fixture);
}

static void test_killed_over_io_uring(void **state)
{
	(void)state;
	kill_at_random(WP_STORE_BACKEND_AUTO);
}

static void test_killed_over_pread(void **state)
{
	(void)state;
	kill_at_random(WP_STORE_BACKEND_PREAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_any_mixture_of_sectors),
	    cmocka_unit_test(test_entry_cut_off_anywhere),
	    cmocka_unit_test(test_foreign_entries),
	    cmocka_unit_test(test_damage_is_no_crash),
	    cmocka_unit_test(test_damage_where_blocks_are_forgotten),
	    cmocka_unit_test(test_a_gap_is_filled_again),
	    cmocka_unit_test(test_killed_over_io_uring),
	    cmocka_unit_test(test_killed_over_pread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
