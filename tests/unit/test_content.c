/*
 * Content and checksums of chunks: each argument counts, at every length, and
 * bytes that differ anywhere are seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pager/content.h"
#include "pager/limits.h"

#define MOST 200u

static void every_byte_is_compared(void **state)
{
	unsigned char bytes[MOST + 1];

	(void)state;
	for (size_t length = 0; length <= MOST; length++) {
		memset(bytes, 0xee, sizeof(bytes));
		wp_content_fill(bytes, length, 7, 3, 2);
		assert_int_equal(bytes[length], 0xee);
		assert_true(wp_content_equals(bytes, length, 7, 3, 2));
		for (size_t at = 0; at < length; at++) {
			bytes[at] ^= 1;
			assert_false(wp_content_equals(bytes, length, 7, 3, 2));
			bytes[at] ^= 1;
		}
	}
}

static void content_depends_on_all_of_it(void **state)
{
	unsigned char bytes[64], again[64];

	(void)state;
	wp_content_fill(bytes, sizeof(bytes), 7, 3, 2);
	/* A longer one begins with the shorter one, and no 32 bytes come twice. */
	wp_content_fill(again, 33, 7, 3, 2);
	assert_memory_equal(bytes, again, 33);
	assert_memory_not_equal(bytes, bytes + 32, 32);
	assert_false(wp_content_equals(bytes, sizeof(bytes), 8, 3, 2));
	assert_false(wp_content_equals(bytes, sizeof(bytes), 7, 4, 2));
	assert_false(wp_content_equals(bytes, sizeof(bytes), 7, 3, 1));
	assert_false(wp_content_equals(bytes, sizeof(bytes), 7, 2, 3));
}

/* Stores outlive the program that made them: these come from the formula, worked out elsewhere. */
static void content_stays_what_it_was(void **state)
{
	static const uint64_t words[] = {
	    0x2a6381f63e381846u, 0x8089e16d976b6494u, 0x41b876c630da636du, 0xda3db3aa1aafe29au,
	    0x74c57b601591c25cu, 0xe717a01cba22b6b0u, 0x814a04789ab9aef1u, 0x35e17b59ab8cb2a5u,
	};
	uint64_t filled[8];

	(void)state;
	wp_content_fill((unsigned char *)filled, sizeof(filled), 7, 3, 2);
	assert_memory_equal(filled, words, sizeof(words));
}

/* Right bytes of the wrong block, of an older generation or from the wrong place. */
static void checksums_depend_on_all_of_it(void **state)
{
	static const uint32_t others[][3] = {{6, 1, 2}, {5, 0, 2}, {5, 2, 2}, {5, 1, 3}, {1, 5, 2},
					     {2, 1, 5}, {5, 2, 1}, {4, 1, 2}, {5, 3, 2}};
	unsigned char bytes[MOST];
	uint64_t checksum;

	(void)state;
	wp_content_fill(bytes, sizeof(bytes), 7, 5, 2);
	checksum = wp_content_checksum(bytes, sizeof(bytes), 5, 1, 2);
	assert_true(checksum == wp_content_checksum(bytes, sizeof(bytes), 5, 1, 2));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_true(checksum != wp_content_checksum(bytes, sizeof(bytes), others[i][0],
							    others[i][1], others[i][2]));
	for (size_t at = 0; at < sizeof(bytes); at++) {
		bytes[at] ^= 0x80;
		assert_true(checksum != wp_content_checksum(bytes, sizeof(bytes), 5, 1, 2));
		bytes[at] ^= 0x80;
	}
	assert_true(checksum != wp_content_checksum(bytes, sizeof(bytes) - 1, 5, 1, 2));
}

static void chunks_behind_each_other(void **state)
{
	static unsigned char bytes[3 * WP_CHUNK_BYTES], chunk[WP_CHUNK_BYTES];
	const size_t last = 1000;

	(void)state;
	/* Whole chunks and a short one. */
	wp_content_fill_chunks(bytes, 2 * WP_CHUNK_BYTES + last, 7, 9, 5, 3);
	for (uint32_t i = 0; i < 3; i++) {
		size_t length = i < 2 ? WP_CHUNK_BYTES : last;

		wp_content_fill(chunk, length, 7, 9, 5 + i);
		assert_memory_equal(bytes + (size_t)i * WP_CHUNK_BYTES, chunk, length);
	}
	assert_int_equal(bytes[2 * WP_CHUNK_BYTES + last], 0);
	/* The virtual world's: little of each chunk. */
	for (uint32_t size = 1; size <= 40; size++) {
		memset(bytes, 0, 200);
		wp_content_fill_chunks(bytes, 3 * size, 7, 9, 5, 3);
		for (uint32_t i = 0; i < 3; i++)
			assert_true(wp_content_equals(bytes + (size_t)i * size, size, 7, 9, 5 + i));
		assert_int_equal(bytes[3 * size], 0);
	}
}

/* Each byte of each chunk, with chunks of every form that there is. */
static void the_wrong_chunk_is_named(void **state)
{
	static unsigned char bytes[WP_CHUNK_BYTES + 9];
	const uint64_t sizes[][2] = {{3 * 8, 3}, {3 * 40, 3}, {3 * 5, 3},
				     {8, 1},	 {40, 1},     {WP_CHUNK_BYTES + 9, 2}};

	(void)state;
	for (size_t form = 0; form < sizeof(sizes) / sizeof(sizes[0]); form++) {
		uint64_t size = sizes[form][0];
		uint32_t count = (uint32_t)sizes[form][1];
		uint64_t chunk = size > WP_CHUNK_BYTES ? WP_CHUNK_BYTES : size / count;

		wp_content_fill_chunks(bytes, size, 7, 9, 5, count);
		assert_int_equal(wp_content_wrong_chunk(bytes, size, 7, 9, 5, count), 5 + count);
		assert_int_equal(wp_content_wrong_chunk(bytes, size, 7, 8, 5, count), 5);
		for (uint64_t at = 0; at<size; at += size> 1000 ? 13107 : 1) {
			bytes[at] ^= 1;
			assert_int_equal(wp_content_wrong_chunk(bytes, size, 7, 9, 5, count),
					 5 + at / chunk);
			bytes[at] ^= 1;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_byte_is_compared),
	    cmocka_unit_test(content_depends_on_all_of_it),
	    cmocka_unit_test(content_stays_what_it_was),
	    cmocka_unit_test(checksums_depend_on_all_of_it),
	    cmocka_unit_test(chunks_behind_each_other),
	    cmocka_unit_test(the_wrong_chunk_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
