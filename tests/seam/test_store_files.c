/*
 * Opening and making stores: nothing that is not ours is touched, nothing that
 * is not what the header promises is read, nothing half-made is complete.
 */
#include "tests/seam/store_fixture.h"

#include "pager/store_filesystem.h"

#define BLOCK_BYTES (WP_CHUNK_BYTES + 5000u)

static struct fixture *open_default(void)
{
	return fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_PREAD);
}

static void path_in(const struct fixture *fixture, const char *name, char path[400])
{
	snprintf(path, 400, "%s/%s", fixture->directory, name);
}

static bool exists(const struct fixture *fixture, const char *name)
{
	char path[400];
	struct stat about;

	path_in(fixture, name, path);
	return lstat(path, &about) == 0;
}

static void put_file(const struct fixture *fixture, const char *name, const void *bytes,
		     size_t size)
{
	char path[400];
	FILE *file;

	path_in(fixture, name, path);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static int try_create(struct fixture *fixture, uint32_t records)
{
	return wp_store_host_create(&fixture->store, &fixture->config, &fixture->identity, records,
				    fixture->clock, &fixture->report, &fixture->fault);
}

/* A store with `count` blocks in a session for `records`, closed again. */
static void make_store(struct fixture *fixture, uint32_t records, uint32_t count)
{
	create_store(fixture, records);
	for (uint32_t block = 0; block < count; block++)
		assert_int_equal(store_block(fixture, block), 0);
	close_store(fixture);
}

static void assert_refused(struct fixture *fixture, int error, bool content, const char *word)
{
	assert_int_equal(try_open(fixture), error);
	assert_int_equal(fixture->fault.error, error);
	assert_int_equal(fixture->fault.content, content);
	if (!strstr(fixture->fault.text, word))
		fail_msg("'%s' does not speak of '%s'", fixture->fault.text, word);
}

static void test_modes_are_private(void **state)
{
	static const char *const names[] = {"header", "index", "segment-00000", "segment-00001"};
	struct fixture *fixture = open_default();
	struct stat about;

	(void)state;
	make_store(fixture, 3, 1);
	assert_int_equal(stat(fixture->directory, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0700);
	for (size_t i = 0; i < 4; i++) {
		char path[400];

		path_in(fixture, names[i], path);
		assert_int_equal(lstat(path, &about), 0);
		assert_int_equal(about.st_mode & 0777, 0600);
	}
	fixture_close(fixture);
}

static void test_missing_and_foreign_stores(void **state)
{
	struct fixture *fixture = open_default();
	char path[400];

	(void)state;
	assert_refused(fixture, -ENOENT, true, "ENOENT");
	assert_int_equal(mkdir(fixture->directory, 0700), 0);
	assert_refused(fixture, -ENOENT, true, "no store here");
	put_file(fixture, "header", "{\"frames\": []}", 14);
	assert_refused(fixture, -EIO, true, "header");
	put_file(fixture, "header", fixture, 4096 < sizeof(*fixture) ? 4096 : sizeof(*fixture));
	path_in(fixture, "header", path);
	assert_int_equal(truncate(path, 4096), 0);
	assert_refused(fixture, -EBADMSG, true, "not the header of a worldpager store");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(fixture, -EBADMSG, true, "header"); /* and no waiting for a writer */
	fixture_close(fixture);
}

static void test_damage_is_named(void **state)
{
	struct fixture *fixture = open_default();
	char path[400], other[400];

	(void)state;
	make_store(fixture, 3, 3);
	flip_byte(fixture, "header", 40);
	assert_refused(fixture, -EBADMSG, true, "header damaged");
	flip_byte(fixture, "header", 40);
	path_in(fixture, "segment-00001", path);
	path_in(fixture, "elsewhere", other);
	assert_int_equal(rename(path, other), 0);
	assert_refused(fixture, -ENOENT, true, "segment-00001");
	assert_int_equal(symlink("elsewhere", path), 0);
	assert_refused(fixture, -ELOOP, true, "segment-00001");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(other, path), 0);
	path_in(fixture, "index", path);
	assert_int_equal(truncate(path, 4096), 0);
	assert_refused(fixture, -EBADMSG, true, "index is 4096 B long instead of 12288");
	fixture_close(fixture);
}

static void test_other_geometry_is_refused(void **state)
{
	struct fixture *fixture = open_default();
	struct wp_store_identity right;

	(void)state;
	make_store(fixture, 2, 1);
	right = fixture->identity;
	fixture->identity.geometry_hash++;
	assert_refused(fixture, -EBADMSG, true, "another purpose");
	fixture->identity = right;
	snprintf(fixture->identity.codec, sizeof(fixture->identity.codec), "bf16");
	assert_refused(fixture, -EBADMSG, true, "bf16");
	fixture->identity = right;
	open_store(fixture);
	fixture_close(fixture);
}

static void test_one_process_at_a_time(void **state)
{
	struct fixture *fixture = open_default();
	struct wp_port *first;

	(void)state;
	make_store(fixture, 2, 1);
	open_store(fixture);
	first = fixture->store;
	fixture->config.writable = false;
	assert_refused(fixture, -EWOULDBLOCK, false, "in use by another process");
	wp_port_close(first);
	/* Readers may share. */
	assert_int_equal(try_open(fixture), 0);
	first = fixture->store;
	assert_int_equal(try_open(fixture), 0);
	wp_port_close(first);
	fixture_close(fixture);
}

static void test_what_is_not_ours_stays(void **state)
{
	static const char *const names[] = {"index", "segment-00001", "header.partial"};
	struct fixture *fixture = open_default();

	(void)state;
	assert_int_equal(mkdir(fixture->directory, 0700), 0);
	put_file(fixture, "notes.txt", "mine", 4);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[400];
		struct stat about;

		put_file(fixture, names[i], "mine", 4);
		assert_true(try_create(fixture, 3) < 0);
		assert_true(fixture->fault.content);
		path_in(fixture, names[i], path);
		assert_int_equal(stat(path, &about), 0);
		assert_int_equal(about.st_size, 4);
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			assert_int_equal(exists(fixture, names[k]), k == i);
		assert_int_equal(unlink(path), 0);
	}
	make_store(fixture, 3, 1);
	assert_int_equal(try_create(fixture, 3), -EEXIST);
	assert_int_equal(wp_store_host_remove(fixture->directory, &fixture->fault), 0);
	assert_true(exists(fixture, "notes.txt"));
	assert_false(exists(fixture, "index"));
	assert_int_equal(wp_store_host_remove(fixture->directory, &fixture->fault), -ENOENT);
	fixture_close(fixture);
}

static void test_space_is_checked_before(void **state)
{
	struct fixture *fixture = open_default();

	(void)state;
	fixture->identity.block_bytes = 1ull << 36;
	assert_int_equal(try_create(fixture, 4096), -ENOSPC);
	assert_non_null(strstr(fixture->fault.text, "needs "));
	assert_non_null(strstr(fixture->fault.text, " has "));
	assert_false(fixture->fault.content);
	assert_int_equal(access(fixture->directory, F_OK), -1); /* the directory went again */
	fixture_close(fixture);
}

/* Unsealed, a prepared store is removed on closing; killed, it is recognised. */
static void test_half_made_is_not_complete(void **state)
{
	struct fixture *fixture = open_default();
	char header[400], partial[400];

	(void)state;
	fixture->identity.kind = WP_STORE_PREPARED;
	create_store(fixture, 3);
	assert_int_equal(store_block(fixture, 0), 0);
	close_store(fixture);
	assert_int_equal(access(fixture->directory, F_OK), -1);

	create_store(fixture, 3);
	for (uint32_t block = 0; block < 3; block++)
		assert_int_equal(store_block(fixture, block), 0);
	assert_int_equal(wp_store_host_seal(fixture->store), 0);
	close_store(fixture);
	path_in(fixture, "header", header);
	path_in(fixture, "header.partial", partial);
	assert_int_equal(rename(header, partial), 0); /* as a kill before sealing leaves it */
	fixture->config.writable = false;
	assert_refused(fixture, -ENOENT, true, "no store here");
	fixture->config.writable = true;
	create_store(fixture, 2); /* clears it away: fewer records now */
	assert_false(exists(fixture, "segment-00001"));
	close_store(fixture);
	/* A crash before header.partial was filled. */
	put_file(fixture, "header.partial", "", 0);
	create_store(fixture, 2);
	fixture_close(fixture);
}

static void test_prepared_is_read_only(void **state)
{
	struct fixture *fixture = open_default();

	(void)state;
	fixture->identity.kind = WP_STORE_PREPARED;
	create_store(fixture, 1);
	assert_int_equal(store_block(fixture, 0), 0);
	assert_int_equal(wp_store_host_seal(fixture->store), 0);
	close_store(fixture);
	assert_refused(fixture, -EROFS, true, "prepared");
	fixture->config.writable = false;
	open_store(fixture);
	assert_int_equal(fetch_block(fixture, 0), 0);
	fixture_close(fixture);
}

static bool on_a_drive(struct fixture *fixture)
{
	char name[24];
	int fd = open(fixture->root, O_RDONLY | O_DIRECTORY);

	assert_true(fd >= 0);
	assert_int_equal(wp_filesystem_name(fd, name, sizeof(name)), 0);
	close(fd);
	return strcmp(name, "ext4") == 0 || strcmp(name, "xfs") == 0;
}

/* Bytes that were never written read at memory speed: no drive is measured. */
static void test_holes_are_refused(void **state)
{
	struct fixture *fixture = open_default();
	uint64_t record_bytes = wp_store_record_bytes(BLOCK_BYTES);
	int fd;

	(void)state;
	if (!on_a_drive(fixture)) {
		fixture_close(fixture);
		skip();
	}
	fixture->config.allow_unproven = false;
	make_store(fixture, 4, 3); /* block 3 was never stored: its extent does not matter */
	open_store(fixture);
	close_store(fixture);
	fd = open_file(fixture, "segment-00000", O_RDWR);
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				   (off_t)record_bytes + 65536, 8192),
			 0);
	assert_refused(fixture, -EBADMSG, true, "block 1 lies on a hole");
	assert_int_equal(fallocate(fd, 0, (off_t)record_bytes + 65536, 8192), 0);
	assert_refused(fixture, -EBADMSG, true, "block 1 lies on a hole"); /* now unwritten */
	close(fd);
	fixture->config.allow_unproven = true;
	open_store(fixture);
	assert_non_null(strstr(fixture->report.fallback, "unproven"));
	assert_int_equal(fetch_block(fixture, 1), -EBADMSG);
	fixture_close(fixture);
}

static void test_memory_is_no_drive(void **state)
{
	struct fixture *fixture = open_default();
	char root[] = "/dev/shm/worldpager-test-XXXXXX";

	(void)state;
	if (!mkdtemp(root)) {
		fixture_close(fixture);
		skip();
	}
	snprintf(fixture->directory, sizeof(fixture->directory), "%s/s", root);
	create_store(fixture, 1);
	assert_int_equal(store_block(fixture, 0), 0);
	assert_string_equal(fixture->report.filesystem, "tmpfs");
	close_store(fixture);
	fixture->config.allow_unproven = false;
	assert_refused(fixture, -EOPNOTSUPP, false, "tmpfs");
	assert_int_equal(wp_store_host_remove(fixture->directory, &fixture->fault), 0);
	assert_int_equal(rmdir(fixture->directory), 0);
	assert_int_equal(rmdir(root), 0);
	fixture_close(fixture);
}

/* Direct I/O with the alignment of a drive with large sectors, if root can make one. */
static void test_large_sectors(void **state)
{
	struct fixture *fixture = open_default();
	char command[2048];
	int made;

	(void)state;
	snprintf(command, sizeof(command),
		 "cd '%s' && truncate -s 16M image && mkdir m && "
		 "L=$(losetup -f --show --sector-size 4096 image) && echo $L >loop && "
		 "mkfs.ext4 -q -b 4096 $L && mount $L m",
		 fixture->root);
	snprintf(command + strlen(command), sizeof(command) - strlen(command), " 2>/dev/null");
	made = geteuid() == 0 ? system(command) : 1;
	if (made == 0) {
		snprintf(fixture->directory, sizeof(fixture->directory), "%s/m/s", fixture->root);
		fixture->config.require_direct = true;
		fixture->identity.block_bytes = 13 * 512; /* no multiple of the sector */
		create_store(fixture, 3);
		for (uint32_t block = 0; block < 3; block++)
			assert_int_equal(store_block(fixture, block), 0);
		for (uint32_t block = 0; block < 3; block++)
			assert_int_equal(fetch_block(fixture, block), 0);
		assert_true(fixture->report.direct_io);
		assert_int_equal(fixture->report.alignment_bytes, 4096);
		close_store(fixture);
	}
	snprintf(command, sizeof(command),
		 "cd '%s' && { umount m; test -e loop && losetup -d $(cat loop); } 2>/dev/null",
		 fixture->root);
	if (geteuid() == 0)
		(void)!system(command);
	fixture_close(fixture);
	if (made != 0)
		skip(); /* needs root and a loop device with 4096-byte sectors */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_modes_are_private),
	    cmocka_unit_test(test_missing_and_foreign_stores),
	    cmocka_unit_test(test_damage_is_named),
	    cmocka_unit_test(test_other_geometry_is_refused),
	    cmocka_unit_test(test_one_process_at_a_time),
	    cmocka_unit_test(test_what_is_not_ours_stays),
	    cmocka_unit_test(test_space_is_checked_before),
	    cmocka_unit_test(test_half_made_is_not_complete),
	    cmocka_unit_test(test_prepared_is_read_only),
	    cmocka_unit_test(test_holes_are_refused),
	    cmocka_unit_test(test_memory_is_no_drive),
	    cmocka_unit_test(test_large_sectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
