/*
 * Sizes, places and times beyond 32 bits, and products beyond 64: a session of
 * an hour at the paper's scale has them all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pager/duration.h"
#include "pager/geometry.h"
#include "pager/store_files.h"
#include "pager/store_work.h"

#define GIB (1ull << 30)

static void times_of_many_bytes(void **state)
{
	(void)state;
	assert_int_equal(wp_duration_ns(0, 1), 0);
	assert_int_equal(wp_duration_ns(7, 0), 0); /* without a limit */
	assert_int_equal(wp_duration_ns(1, 3), 333333334);
	assert_int_equal(wp_duration_ns(3, 3), WP_NS_PER_S);
	/* 1 TB at 0.25 GB/s is more than an hour; bytes x ns are 10^21. */
	assert_int_equal(wp_duration_ns(1000000000000, 250000000), 4000 * WP_NS_PER_S);
	assert_int_equal(wp_duration_bytes(4000 * WP_NS_PER_S, 250000000), 1000000000000);
	assert_int_equal(wp_duration_bytes(999999999, 1), 0);
	assert_int_equal(wp_duration_rate(1000000000000, 4000 * WP_NS_PER_S), 250000000);
	assert_int_equal(wp_duration_rate(2, 3 * WP_NS_PER_S), 1); /* to nearest */
	assert_int_equal(wp_duration_rate(1, 3 * WP_NS_PER_S), 0);
	assert_int_equal(wp_duration_rate(1, 0), 0);
}

static void parts_of_a_block(void **state)
{
	/* 5 GiB and 3 bytes: chunk 20,480 is the short one. */
	struct wp_geometry geometry = {5 * GIB + 3, WP_CHUNK_BYTES, 7};

	(void)state;
	assert_int_equal(wp_geometry_chunks(&geometry), 20481);
	assert_int_equal(wp_geometry_reads(&geometry), 2926);
	assert_int_equal(wp_geometry_bytes(&geometry, 0, 20481), 5 * GIB + 3);
	assert_int_equal(wp_geometry_bytes(&geometry, 20480, 1), 3);
	assert_int_equal(wp_geometry_bytes(&geometry, 20473, 8), 7 * WP_CHUNK_BYTES + 3);
	assert_int_equal(wp_geometry_payload_bytes(&geometry, 0, 20480), 5 * GIB);
	assert_int_equal(wp_geometry_slot_bytes(&geometry), 5 * GIB + 4096);
	assert_int_equal(wp_store_range_bytes(geometry.block_bytes, 20480, 1), 3);
	assert_int_equal(wp_store_range_bytes(geometry.block_bytes, 0, 20480), 5 * GIB);
	/* What is timed stays, what is moved is little. */
	geometry.chunk_payload_bytes = 32;
	assert_int_equal(wp_geometry_bytes(&geometry, 0, 20481), 5 * GIB + 3);
	assert_int_equal(wp_geometry_payload_bytes(&geometry, 0, 20481), 20481 * 32);
	assert_int_equal(wp_geometry_slot_bytes(&geometry), 655392 + 4064);
	geometry.block_bytes = WP_CHUNK_BYTES;
	assert_int_equal(wp_geometry_chunks(&geometry), 1);
	assert_int_equal(wp_geometry_reads(&geometry), 1);
	geometry.block_bytes = 7 * WP_CHUNK_BYTES + 1;
	assert_int_equal(wp_geometry_chunks(&geometry), 8);
	assert_int_equal(wp_geometry_reads(&geometry), 2);
}

static void places_in_a_store(void **state)
{
	/* The paper's Int4 blocks, 100 in a segment of 12.9 GB. */
	struct wp_store_files files = {0};
	uint64_t record_bytes = wp_store_record_bytes(129254400);

	(void)state;
	files.header.identity.block_bytes = 129254400;
	files.header.record_bytes = record_bytes;
	files.header.entry_bytes = wp_store_entry_bytes(129254400);
	files.header.record_count = 3000;
	files.header.segment_records = 100;
	assert_int_equal(wp_store_files_segment(&files, 99), 0);
	assert_int_equal(wp_store_files_segment(&files, 100), 1);
	assert_int_equal(wp_store_files_segment(&files, 2999), 29);
	assert_int_equal(wp_store_files_offset(&files, 0), 0);
	assert_int_equal(wp_store_files_offset(&files, 100), 0);
	assert_int_equal(wp_store_files_offset(&files, 2999), 99 * record_bytes);
	assert_true(wp_store_files_offset(&files, 2999) > 11 * GIB);
	assert_int_equal(wp_store_segment_bytes(&files.header, 29), 100 * record_bytes);
	files.header.record_count = WP_BLOCKS_MAX;
	assert_int_equal(wp_store_index_bytes(&files.header), 4096ull * WP_BLOCKS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(times_of_many_bytes),
	    cmocka_unit_test(parts_of_a_block),
	    cmocka_unit_test(places_in_a_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
