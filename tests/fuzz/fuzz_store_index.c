/*
 * Fuzzes the decoders of a store's header and index entries. Their checksums
 * would stop a fuzzer at the door, so besides raw bytes it damages whole ones:
 * after any change an entry must not pass, unless it says exactly what it said.
 *
 *   input   |mode|geometry ...|bytes laid over the encoded piece by xor ...|
 */
#include <string.h>

#include "pager/store_format.h"
#include "tests/fuzz/input.h"

#define GEOMETRY_BYTES	8
#define BLOCK_BYTES_MAX (16u << 20)
#define CHUNKS_MAX	(BLOCK_BYTES_MAX / WP_CHUNK_BYTES)
#define ENTRY_BYTES_MAX 8192u

static void make_header(struct wp_store_header *header, const uint8_t *geometry)
{
	struct wp_store_identity identity = {
	    .kind = geometry[0] & 1 ? WP_STORE_SESSION : WP_STORE_PREPARED,
	    .geometry_hash = geometry[1],
	    .seed = geometry[2],
	    .codec = "int4",
	    .model = "mg2",
	};

	identity.block_bytes =
	    1 + ((uint64_t)geometry[3] << 16 | geometry[4] << 8 | geometry[5]) % BLOCK_BYTES_MAX;
	wp_store_header_init(header, &identity, 0x1234567, 1u + geometry[6], 0);
}

/* Returns whether anything changed. */
static bool damage(unsigned char *bytes, size_t size, const uint8_t *data, size_t data_size)
{
	bool changed = false;

	for (size_t at = 0; at < size && at < data_size; at++) {
		bytes[at] ^= data[at];
		changed |= data[at] != 0;
	}
	return changed;
}

static void raw(const uint8_t *data, size_t size)
{
	static unsigned char bytes[WP_STORE_HEADER_BYTES];
	struct wp_store_header header;

	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, data, size < sizeof(bytes) ? size : sizeof(bytes));
	if (!wp_store_header_decode(&header, bytes)) {
		WP_CHECK(header.record_count > 0);
		WP_CHECK(header.record_bytes >= header.identity.block_bytes);
	}
}

static void damaged_header(const struct wp_store_header *header, const uint8_t *data, size_t size)
{
	static unsigned char bytes[WP_STORE_HEADER_BYTES];
	struct wp_store_header decoded;
	bool changed;

	wp_store_header_encode(header, bytes);
	changed = damage(bytes, sizeof(bytes), data, size);
	if (wp_store_header_decode(&decoded, bytes))
		WP_CHECK(changed);
	else
		WP_CHECK(decoded.identity.block_bytes == header->identity.block_bytes &&
			 decoded.record_count == header->record_count &&
			 decoded.store_id == header->store_id);
}

static void damaged_entry(const struct wp_store_header *header, const uint8_t *data, size_t size)
{
	static unsigned char bytes[ENTRY_BYTES_MAX];
	static uint64_t written[CHUNKS_MAX + 1], read[CHUNKS_MAX + 1];
	struct wp_store_entry decoded,
	    entry = {.state = WP_ENTRY_STORED, .generation = 3, .position = 231};
	uint32_t chunks = wp_store_chunk_count(header->identity.block_bytes);
	bool changed;

	WP_CHECK(header->entry_bytes <= sizeof(bytes) && chunks <= CHUNKS_MAX);
	for (uint32_t chunk = 0; chunk < chunks; chunk++)
		written[chunk] = 0x9e3779b97f4a7c15u * (chunk + 1);
	entry.block = 77 * header->record_count; /* of those that belong in record 0 */
	wp_store_entry_encode(header, &entry, written, bytes);
	changed = damage(bytes, header->entry_bytes, data, size);
	if (wp_store_entry_decode(header, 0, bytes, &decoded, read) != WP_ENTRY_GOOD) {
		WP_CHECK(changed);
		return;
	}
	WP_CHECK(decoded.block == entry.block && decoded.generation == entry.generation);
	WP_CHECK(decoded.position == entry.position && decoded.state == entry.state);
	WP_CHECK(memcmp(read, written, chunks * sizeof(read[0])) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_store_header header;
	const uint8_t *rest = data + 1 + GEOMETRY_BYTES;

	if (size < 1 + GEOMETRY_BYTES)
		return 0;
	make_header(&header, data + 1);
	switch (data[0] % 3) {
	case 0:
		raw(data + 1, size - 1);
		break;
	case 1:
		damaged_header(&header, rest, size - 1 - GEOMETRY_BYTES);
		break;
	default:
		damaged_entry(&header, rest, size - 1 - GEOMETRY_BYTES);
		break;
	}
	return 0;
}
