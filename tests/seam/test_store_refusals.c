/*
 * What a store does when the kernel refuses: each call that making, filling,
 * sealing, opening and removing one needs fails in turn. The refusal has to come
 * out as the caller's error, by its name, and nothing half-made may be left. The
 * calls are this program's own, which count and hand on.
 */
#include "tests/seam/store_fixture.h"

#include <dlfcn.h>
#include <liburing.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "pager/store_filesystem.h"

#define BLOCK_BYTES (WP_CHUNK_BYTES + 5000u)
#define BLOCKS	    3u

static struct {
	_Atomic bool armed;
	_Atomic uint32_t seen;
	uint32_t at; /* this one is refused, from 1 */
	int error;
	const char *only; /* this call alone counts, or all do */
	int result;	  /* of a refused call: -1, or 0 for one that moves nothing */
	const char *refused;
} plan;

static bool is_refused(const char *call)
{
	if (!atomic_load(&plan.armed) || (plan.only && strcmp(plan.only, call) != 0) ||
	    atomic_fetch_add(&plan.seen, 1) + 1 != plan.at)
		return false;
	plan.refused = call;
	errno = plan.error;
	return true;
}

/* A call of the C library under the same name, which may be refused. */
#define REFUSABLE(result_type, name, parameters, arguments)                                        \
	result_type name parameters;                                                               \
	result_type name parameters                                                                \
	{                                                                                          \
		static result_type(*next) parameters;                                              \
		if (!next)                                                                         \
			*(void **)&next = dlsym(RTLD_NEXT, #name);                                 \
		return is_refused(#name) ? plan.result : next arguments;                           \
	}

REFUSABLE(int, fsync, (int fd), (fd))
REFUSABLE(int, mkdir, (const char *path, mode_t mode), (path, mode))
REFUSABLE(int, fstat, (int fd, struct stat *about), (fd, about))
REFUSABLE(int, fstatfs, (int fd, struct statfs *about), (fd, about))
REFUSABLE(int, fstatvfs, (int fd, struct statvfs *about), (fd, about))
REFUSABLE(int, unlinkat, (int fd, const char *name, int flags), (fd, name, flags))
REFUSABLE(int, fallocate, (int fd, int mode, off_t at, off_t bytes), (fd, mode, at, bytes))
REFUSABLE(int, renameat, (int from, const char *name, int to, const char *other),
	  (from, name, to, other))
REFUSABLE(ssize_t, pread, (int fd, void *to, size_t bytes, off_t at), (fd, to, bytes, at))
REFUSABLE(ssize_t, pwrite, (int fd, const void *from, size_t bytes, off_t at),
	  (fd, from, bytes, at))
REFUSABLE(ssize_t, getrandom, (void *to, size_t bytes, unsigned flags), (to, bytes, flags))

/* As on a file system that does not know direct I/O, and says so or does not. */
static bool no_direct, no_direct_said;

int openat(int directory, const char *name, int flags, ...)
{
	static int (*next)(int, const char *, int, ...);
	mode_t mode = 0;

	if (flags & O_CREAT) {
		va_list more;

		va_start(more, flags);
		mode = va_arg(more, mode_t);
		va_end(more);
	}
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "openat");
	if (no_direct && (flags & O_DIRECT)) {
		/* As the kernel does: the file is made, and then refused. */
		int fd = next(directory, name, flags & ~O_DIRECT, mode);

		if (fd >= 0)
			close(fd);
		errno = EINVAL;
		return fd < 0 ? fd : -1;
	}
	return is_refused("openat") ? -1 : next(directory, name, flags, mode);
}

int statx(int fd, const char *restrict name, int flags, unsigned mask, struct statx *restrict about)
{
	static int (*next)(int, const char *, int, unsigned, struct statx *);
	int result;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "statx");
	result = next(fd, name, flags, mask, about);
	if (result == 0 && no_direct_said) {
		about->stx_mask |= STATX_DIOALIGN;
		about->stx_dio_mem_align = about->stx_dio_offset_align = 0;
	}
	return result;
}

/* As a kernel that knows no flag of a ring, or that lets nobody have one. */
static enum { ANY_RING, PLAIN_RING, NO_RING } rings;

int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
	static int (*next)(unsigned, struct io_uring *, unsigned);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "io_uring_queue_init");
	if (rings == NO_RING)
		return -EPERM;
	return rings == PLAIN_RING && flags ? -EINVAL : next(entries, ring, flags);
}

/* Of what was not open: a descriptor that nobody set, or one closed twice. */
static _Atomic uint32_t bad_closes;

int close(int fd)
{
	static int (*next)(int);
	int result;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "close");
	result = next(fd);
	bad_closes += result != 0 && errno == EBADF;
	return result;
}

static void arm(uint32_t at, int error, const char *only)
{
	plan.at = at;
	plan.result = -1;
	plan.error = error;
	plan.only = only;
	plan.refused = NULL;
	atomic_store(&plan.seen, 0);
	atomic_store(&plan.armed, true);
}

/* Whether there was a call to refuse. */
static bool disarm(void)
{
	atomic_store(&plan.armed, false);
	return plan.refused != NULL;
}

static int create(struct fixture *fixture)
{
	return wp_store_host_create(&fixture->store, &fixture->config, &fixture->identity, BLOCKS,
				    fixture->clock, &fixture->report, &fixture->fault);
}

static int fill(struct fixture *fixture)
{
	int error = 0;

	for (uint32_t block = 0; block < BLOCKS && !error; block++)
		error = store_block(fixture, block);
	return error;
}

static int seal(struct fixture *fixture)
{
	return wp_store_host_seal(fixture->store);
}

static int take_away(struct fixture *fixture)
{
	return wp_store_host_remove(fixture->directory, &fixture->fault);
}

static void assert_complete(struct fixture *fixture)
{
	bool writable = fixture->config.writable;

	fixture->config.writable = false;
	open_store(fixture);
	for (uint32_t block = 0; block < BLOCKS; block++)
		assert_int_equal(fetch_block(fixture, block), 0);
	close_store(fixture);
	fixture->config.writable = writable;
}

static void assert_named(const struct fixture *fixture, int result)
{
	assert_int_equal(result, -EIO);
	assert_int_equal(fixture->fault.error, -EIO);
	if (!strstr(fixture->fault.text, fixture->directory))
		fail_msg("%s: '%s'", plan.refused, fixture->fault.text);
}

/* Gone, but for a store that only could not be made durable: that one is complete. */
static void a_store_is_made_or_not(void **state)
{
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_PREAD);
	uint32_t at = 1, complete = 0;

	(void)state;
	for (;; at++) {
		int result;

		memset(&fixture->fault, 0, sizeof(fixture->fault));
		arm(at, EIO, NULL);
		result = create(fixture);
		if (!disarm())
			break;
		assert_named(fixture, result);
		assert_null(fixture->store);
		if (access(fixture->directory, F_OK) == 0) {
			assert_string_equal(plan.refused, "fsync");
			assert_int_equal(create(fixture), -EEXIST);
			assert_int_equal(take_away(fixture), 0);
			assert_int_equal(rmdir(fixture->directory), 0);
			complete++;
		}
	}
	assert_non_null(fixture->store);
	assert_true(at > 15);
	assert_int_equal(complete, 1);
	fixture_close(fixture);
}

static void a_store_is_complete_or_not(void **state)
{
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_PREAD);
	uint32_t at = 1;
	bool refused;

	(void)state;
	fixture->identity.kind = WP_STORE_PREPARED;
	do {
		int result;

		create_store(fixture, BLOCKS);
		assert_int_equal(fill(fixture), 0);
		arm(at, EIO, NULL);
		result = seal(fixture);
		refused = disarm();
		assert_int_equal(result, refused ? -EIO : 0);
		close_store(fixture);
		at++;
		if (access(fixture->directory, F_OK) != 0)
			continue;
		assert_complete(fixture);
		assert_int_equal(take_away(fixture), 0);
		assert_int_equal(rmdir(fixture->directory), 0);
	} while (refused);
	assert_int_equal(at, 1 + 6 + 1); /* five fsyncs, one name */
	fixture_close(fixture);
}

static void a_block_is_stored_or_not(void **state)
{
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_PREAD);
	bool refused = true;
	int result;

	(void)state;
	create_store(fixture, BLOCKS);
	for (uint32_t at = 1; refused; at++) {
		assert_true(at < 20);
		arm(at, EIO, NULL);
		result = store_block(fixture, 0);
		refused = disarm();
		assert_int_equal(result, refused ? -EIO : 0);
	}
	assert_int_equal(store_block(fixture, 1), 0);
	assert_int_equal(store_block(fixture, 2), 0);
	for (uint32_t at = 1; at == 1 || refused; at++) {
		assert_true(at < 20);
		arm(at, EIO, NULL);
		result = fetch_block(fixture, 2);
		refused = disarm();
		assert_int_equal(result, refused ? -EIO : 0);
	}
	close_store(fixture);
	assert_complete(fixture);
	fixture_close(fixture);
}

static void opening_says_what_failed(void **state)
{
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_PREAD);
	uint32_t at = 1;

	(void)state;
	create_store(fixture, BLOCKS);
	assert_int_equal(fill(fixture), 0);
	close_store(fixture);
	for (;; at++) {
		int result;

		memset(&fixture->fault, 0, sizeof(fixture->fault));
		arm(at, EIO, NULL);
		result = try_open(fixture);
		if (!disarm())
			break;
		assert_named(fixture, result);
		assert_null(fixture->store);
	}
	assert_true(at > 10);
	close_store(fixture);
	assert_complete(fixture);
	fixture_close(fixture);
}

static void removing_is_taken_up_again(void **state)
{
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_PREAD);
	bool refused = true;

	(void)state;
	for (uint32_t at = 1; refused; at++) {
		int result;

		assert_true(at < 20);
		assert_int_equal(create(fixture), 0);
		close_store(fixture);
		arm(at, EIO, NULL);
		result = take_away(fixture);
		refused = disarm();
		if (refused) {
			assert_named(fixture, result);
			result = take_away(fixture);
		}
		assert_int_equal(result, 0);
		assert_int_equal(rmdir(fixture->directory), 0); /* nothing is left in it */
	}
	fixture_close(fixture);
}

/* No preallocation: zeros are written, for what was never written must not be read. */
static void a_file_system_that_cannot_reserve(void **state)
{
	struct fixture *fixture = fixture_open(5 * (1u << 20) + 5000, WP_STORE_BACKEND_PREAD);
	struct stat about;
	int fd;

	(void)state;
	fixture->config.segment_bytes_max = 0;
	arm(1, EOPNOTSUPP, "fallocate");
	create_store(fixture, 1);
	assert_true(disarm());
	fd = open_file(fixture, "segment-00000", O_RDONLY);
	assert_int_equal(fstat(fd, &about), 0);
	assert_int_equal(about.st_size, wp_store_record_bytes(5 * (1u << 20) + 5000));
	assert_true((uint64_t)about.st_blocks * 512 >= (uint64_t)about.st_size);
	close(fd);
	assert_int_equal(store_block(fixture, 0), 0);
	assert_int_equal(fetch_block(fixture, 0), 0);
	fixture_close(fixture);
}

/* A signal is no error. */
static void interrupted_calls_are_repeated(void **state)
{
	static const char *const calls[] = {"fallocate", "pwrite", "pread"};
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_PREAD);

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		arm(1, EINTR, calls[i]);
		create_store(fixture, BLOCKS);
		assert_int_equal(fill(fixture), 0);
		assert_int_equal(fetch_block(fixture, 1), 0);
		assert_true(disarm());
		close_store(fixture);
		assert_complete(fixture);
		assert_int_equal(take_away(fixture), 0);
	}
	fixture_close(fixture);
}

/* Neither is there an error to name, nor would trying for ever help. */
static void calls_that_move_nothing_are_errors(void **state)
{
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_PREAD);

	(void)state;
	arm(1, 0, "pwrite");
	plan.result = 0;
	assert_int_equal(create(fixture), -EIO);
	assert_true(disarm());
	create_store(fixture, BLOCKS);
	assert_int_equal(fill(fixture), 0);
	close_store(fixture);
	arm(1, 0, "pread");
	plan.result = 0;
	assert_int_equal(try_open(fixture), -EIO);
	assert_true(disarm());
	fixture_close(fixture);
}

static void check_without_direct(struct fixture *fixture, const char *reason)
{
	fixture->config.require_direct = true;
	assert_int_equal(create(fixture), -EOPNOTSUPP);
	if (!strstr(fixture->fault.text, reason))
		fail_msg("'%s' does not speak of '%s'", fixture->fault.text, reason);
	assert_int_equal(access(fixture->directory, F_OK), -1);
	fixture->config.require_direct = false;
	create_store(fixture, BLOCKS);
	assert_false(fixture->report.direct_io);
	assert_int_equal(fixture->report.alignment_bytes, 0);
	assert_non_null(strstr(fixture->report.fallback, "reads go through the page cache"));
	assert_non_null(strstr(fixture->report.fallback, reason));
	assert_int_equal(fill(fixture), 0);
	close_store(fixture);
	assert_complete(fixture);
	assert_false(fixture->report.direct_io);
	assert_int_equal(take_away(fixture), 0);
	assert_int_equal(rmdir(fixture->directory), 0);
}

static void without_direct_io_that_is_said(void **state)
{
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_PREAD);

	(void)state;
	no_direct = true;
	check_without_direct(fixture, "EINVAL");
	no_direct = false;
	no_direct_said = true;
	check_without_direct(fixture, "statx says there is none");
	no_direct_said = false;
	fixture_close(fixture);
}

static void rings_of_older_kernels_and_none(void **state)
{
	struct fixture *fixture = fixture_open(BLOCK_BYTES, WP_STORE_BACKEND_AUTO);
	bool usable;

	(void)state;
	create_store(fixture, BLOCKS);
	assert_int_equal(fill(fixture), 0);
	usable = strcmp(fixture->report.backend, "io_uring") == 0;
	close_store(fixture);
	rings = PLAIN_RING;
	open_store(fixture);
	assert_string_equal(fixture->report.backend, usable ? "io_uring" : "pread");
	assert_int_equal(fetch_block(fixture, 1), 0);
	close_store(fixture);
	rings = NO_RING;
	open_store(fixture);
	assert_string_equal(fixture->report.backend, "pread");
	assert_non_null(strstr(fixture->report.fallback, "io_uring"));
	assert_int_equal(fetch_block(fixture, 1), 0);
	close_store(fixture);
	fixture->config.backend = WP_STORE_BACKEND_URING;
	assert_int_equal(try_open(fixture), -EPERM);
	rings = ANY_RING;
	fixture_close(fixture);
}

/* In all of the above. */
static void only_what_was_open_was_closed(void **state)
{
	(void)state;
	assert_int_equal(bad_closes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_store_is_made_or_not),
	    cmocka_unit_test(a_store_is_complete_or_not),
	    cmocka_unit_test(a_block_is_stored_or_not),
	    cmocka_unit_test(opening_says_what_failed),
	    cmocka_unit_test(removing_is_taken_up_again),
	    cmocka_unit_test(a_file_system_that_cannot_reserve),
	    cmocka_unit_test(interrupted_calls_are_repeated),
	    cmocka_unit_test(calls_that_move_nothing_are_errors),
	    cmocka_unit_test(without_direct_io_that_is_said),
	    cmocka_unit_test(rings_of_older_kernels_and_none),
	    cmocka_unit_test(only_what_was_open_was_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
