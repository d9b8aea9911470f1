/*
 * The bytes of headers and index entries: what was encoded decodes, any changed
 * bit is seen, and sizes follow from the block's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "pager/store_format.h"

static struct wp_store_header header_of(uint64_t block_bytes, uint32_t record_count,
					uint64_t segment_bytes_max)
{
	struct wp_store_identity identity = {
	    .kind = WP_STORE_PREPARED,
	    .block_bytes = block_bytes,
	    .geometry_hash = 0xfeedface12345678u,
	    .seed = 42,
	    .codec = "int4",
	    .model = "mg2",
	};
	struct wp_store_header header;

	wp_store_header_init(&header, &identity, 0x1122334455667788u, record_count,
			     segment_bytes_max);
	return header;
}

static void test_sizes(void **state)
{
	struct wp_store_header header = header_of(129254400, 160, 4ull << 30);

	(void)state;
	/* The paper's Int4 block: 31,556.25 pages, 493.07 chunks, one page an entry. */
	assert_int_equal(header.record_bytes, 31557ull * 4096);
	assert_int_equal(wp_store_chunk_count(129254400), 494);
	assert_int_equal(header.entry_bytes, 4096);
	assert_int_equal(header.segment_records, 33);
	assert_int_equal(wp_store_segment_count(&header), 5);
	assert_int_equal(wp_store_segment_bytes(&header, 3), 33 * header.record_bytes);
	assert_int_equal(wp_store_segment_bytes(&header, 4), 28 * header.record_bytes);
	assert_int_equal(wp_store_index_bytes(&header), 160 * 4096);
	assert_int_equal(wp_store_host_bytes(129254400, 160),
			 4096 + 160 * (header.record_bytes + 4096));
	assert_int_equal(wp_store_record_bytes(1), 4096);
	assert_int_equal(wp_store_record_bytes(4097), 8192);
	/* bf16: 1,857 checksums. */
	assert_int_equal(wp_store_entry_bytes(486604800), 4 * 4096);
	header = header_of(WP_BLOCK_BYTES_MAX, WP_BLOCKS_MAX, 1);
	assert_int_equal(header.segment_records, 1);
	assert_int_equal(wp_store_segment_count(&header), WP_BLOCKS_MAX);
}

static void test_header_comes_back(void **state)
{
	struct wp_store_header header = header_of(28824000, 3000, 1 << 30), decoded;
	unsigned char bytes[WP_STORE_HEADER_BYTES], again[WP_STORE_HEADER_BYTES];

	(void)state;
	wp_store_header_encode(&header, bytes);
	assert_null(wp_store_header_decode(&decoded, bytes));
	assert_int_equal(decoded.identity.block_bytes, 28824000);
	assert_int_equal(decoded.identity.kind, WP_STORE_PREPARED);
	assert_string_equal(decoded.identity.codec, "int4");
	wp_store_header_encode(&decoded, again);
	assert_memory_equal(bytes, again, sizeof(bytes));
	/* The format does not depend on the machine. */
	assert_memory_equal(bytes, "WPSTORE\n\1\0\0\0\1\0\0\0\x88\x77\x66\x55\x44\x33\x22\x11", 24);
}

static void test_every_bit_of_a_header_counts(void **state)
{
	struct wp_store_header header = header_of(600000, 12, 1 << 20), decoded;
	unsigned char bytes[WP_STORE_HEADER_BYTES];

	(void)state;
	wp_store_header_encode(&header, bytes);
	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		assert_non_null(wp_store_header_decode(&decoded, bytes));
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	for (size_t cut = 0; cut < sizeof(bytes); cut += 8) {
		unsigned char torn[WP_STORE_HEADER_BYTES] = {0};

		memcpy(torn, bytes, cut);
		assert_non_null(wp_store_header_decode(&decoded, torn));
	}
}

struct entry_bytes {
	unsigned char *bytes;
	uint64_t *checksums;
};

static struct entry_bytes encode(const struct wp_store_header *header,
				 const struct wp_store_entry *entry)
{
	uint32_t chunk_count = wp_store_chunk_count(header->identity.block_bytes);
	struct entry_bytes made = {.bytes = malloc(header->entry_bytes),
				   .checksums = malloc(chunk_count * sizeof(uint64_t))};

	assert_non_null(made.bytes);
	assert_non_null(made.checksums);
	for (uint32_t i = 0; i < chunk_count; i++)
		made.checksums[i] = 0x9e3779b97f4a7c15u * (i + 1);
	wp_store_entry_encode(header, entry, made.checksums, made.bytes);
	return made;
}

static void free_entry(struct entry_bytes made)
{
	free(made.bytes);
	free(made.checksums);
}

static void test_entry_comes_back(void **state)
{
	/* One chunk; just one page; one checksum more than a page holds; bf16. */
	static const uint64_t sizes[] = {1, 502ull * WP_CHUNK_BYTES, 503ull * WP_CHUNK_BYTES,
					 486604800};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct wp_store_header header = header_of(sizes[i], 100, 0);
		struct wp_store_entry decoded, entry = {WP_ENTRY_STORED, 7, 307, 4, 12, 305};
		uint32_t chunk_count = wp_store_chunk_count(sizes[i]);
		struct entry_bytes made = encode(&header, &entry);
		uint64_t *checksums = malloc(chunk_count * sizeof(uint64_t));

		assert_int_equal(wp_store_entry_decode(&header, 7, made.bytes, &decoded, checksums),
				 WP_ENTRY_GOOD);
		assert_int_equal(decoded.block, 307);
		assert_int_equal(decoded.generation, 4);
		assert_int_equal(decoded.position, 12);
		assert_int_equal(decoded.acknowledged, 305);
		assert_int_equal(decoded.state, WP_ENTRY_STORED);
		assert_memory_equal(checksums, made.checksums, chunk_count * sizeof(uint64_t));
		free(checksums);
		free_entry(made);
	}
}

static void test_every_bit_of_an_entry_counts(void **state)
{
	struct wp_store_header header = header_of(3 * WP_CHUNK_BYTES, 10, 0);
	struct wp_store_entry decoded, entry = {WP_ENTRY_STORED, 3, 13, 1, 0, 9};
	struct entry_bytes made = encode(&header, &entry);
	uint64_t checksums[3];

	(void)state;
	for (size_t bit = 0; bit < 8 * (size_t)header.entry_bytes; bit++) {
		made.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		assert_int_equal(wp_store_entry_decode(&header, 3, made.bytes, &decoded, checksums),
				 WP_ENTRY_TORN);
		made.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	free_entry(made);
}

/* Whole, but not of this store, record, geometry or codec. */
static void test_foreign_entries(void **state)
{
	struct wp_store_header header = header_of(3 * WP_CHUNK_BYTES, 10, 0), other;
	struct wp_store_entry decoded, entry = {WP_ENTRY_STORED, 3, 13, 1, 0, 9};
	struct entry_bytes made = encode(&header, &entry);
	uint64_t checksums[3];

	(void)state;
#define DECODED_AS(header, record)                                                                 \
	wp_store_entry_decode(&(header), record, made.bytes, &decoded, checksums)
	assert_int_equal(DECODED_AS(header, 3), WP_ENTRY_GOOD);
	assert_int_equal(DECODED_AS(header, 4), WP_ENTRY_FOREIGN);
	other = header;
	other.store_id++;
	assert_int_equal(DECODED_AS(other, 3), WP_ENTRY_FOREIGN);
	other = header;
	other.identity.geometry_hash++;
	assert_int_equal(DECODED_AS(other, 3), WP_ENTRY_FOREIGN);
	other = header;
	other.identity.codec[0] = 'x';
	assert_int_equal(DECODED_AS(other, 3), WP_ENTRY_FOREIGN);
	other = header;
	other.identity.block_bytes--;
	assert_int_equal(DECODED_AS(other, 3), WP_ENTRY_FOREIGN);
	other = header;
	other.record_count = 9; /* block 13 would belong elsewhere */
	assert_int_equal(DECODED_AS(other, 3), WP_ENTRY_FOREIGN);
	memset(made.bytes, 0, header.entry_bytes);
	assert_int_equal(DECODED_AS(header, 3), WP_ENTRY_EMPTY);
	free_entry(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sizes),
	    cmocka_unit_test(test_header_comes_back),
	    cmocka_unit_test(test_every_bit_of_a_header_counts),
	    cmocka_unit_test(test_entry_comes_back),
	    cmocka_unit_test(test_every_bit_of_an_entry_counts),
	    cmocka_unit_test(test_foreign_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
