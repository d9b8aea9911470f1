/*
 * While frames run nothing is allocated: the allocator is this program's own,
 * which counts calls from the first need to the last release and hands them on
 * to the C library. Sanitizers bring an allocator of their own: skipped there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/sim/tiered_session.h"

#ifndef __has_feature
#define __has_feature(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__) ||        \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define OWN_ALLOCATOR 0
#else
#define OWN_ALLOCATOR 1
#endif

#if !OWN_ALLOCATOR
int main(void)
{
	return 77;
}
#else

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

static volatile bool armed;
static volatile uint64_t calls;

static void count(void)
{
	if (armed)
		calls++;
}

void *malloc(size_t bytes)
{
	count();
	return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes)
{
	count();
	return __libc_calloc(number, bytes);
}

void *realloc(void *memory, size_t bytes)
{
	count();
	return __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	count();
	return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
	count();
	*memory = __libc_memalign(alignment, bytes);
	return *memory ? 0 : ENOMEM;
}

void free(void *memory)
{
	count();
	__libc_free(memory);
}

static void arm(void)
{
	calls = 0;
	armed = true;
}

static uint64_t disarm(void)
{
	armed = false;
	return calls;
}

/* Otherwise a count of 0 would mean nothing. */
static void calls_are_counted(void **state)
{
	void *volatile memory;

	(void)state;
	arm();
	memory = malloc(10);
	memory = realloc(memory, 20);
	free(memory);
	memory = calloc(2, 10);
	free(memory);
	memory = aligned_alloc(4096, 4096);
	free(memory);
	assert_int_equal(disarm(), 7);
}

static void forced_nvme_allocates_nothing(void **state)
{
	uint64_t retries = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct session_config config = session_draw(seed);
		struct session session;
		uint32_t next[SESSION_K_MAX];

		session_open(&session, &config);
		arm();
		for (; session.frames_done < config.frames && !session.error;
		     session.frames_done++) {
			uint32_t drawn = draw_blocks(&session, next, config.k, true);

			session.error = play_frame(&session, next, drawn);
			memcpy(session.set, next, sizeof(next));
			session.set_count = drawn;
		}
		assert_int_equal(disarm(), 0);
		retries += wp_pager_totals(session.pager).mismatches;
		check_all_blocks(&session);
		session_close(&session);
	}
	assert_true(retries > 0); /* faults and what follows them are part of it */
}

static void tiered_allocates_nothing(void **state)
{
	uint64_t read = 0, written = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct tiered_config config = tiered_draw(seed);
		struct tiered_session session;
		int result = 0;

		tiered_open(&session, &config);
		arm();
		while (session.frames_done < config.frames && !result) {
			result = tiered_play(&session, session.frames_done);
			session.frames_done += result == 0;
		}
		if (result >= 0)
			result = tiered_flush(&session);
		assert_int_equal(disarm(), 0);
		session.error = result < 0 ? result : 0;
		read += session.blocks_nvme;
		written += session.acknowledged_count;
		tiered_stop(&session);
		session.pager = NULL;
		tiered_close(&session);
	}
	assert_true(read > 1000 && written > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(calls_are_counted),
	    cmocka_unit_test(forced_nvme_allocates_nothing),
	    cmocka_unit_test(tiered_allocates_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
