/*
 * Encoding and decoding of a store's header and index entries. Pure functions
 * of bytes; whoever reads or writes the files is elsewhere.
 *
 * Decoding trusts nothing: every field is compared with what the encoder would
 * have put there, so a decoded header can be used to size and index without
 * further checks.
 */
#include "pager/store_format.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include <xxhash.h>

#define HEADER_MAGIC "WPSTORE\n"
#define ENTRY_MAGIC  0x45585057u /* "WPXE" */

struct disk_header {
	unsigned char magic[8];
	uint32_t version;
	uint32_t kind;
	uint64_t store_id;
	uint64_t block_bytes;
	uint64_t record_bytes;
	uint64_t geometry_hash;
	uint64_t seed;
	uint32_t chunk_bytes;
	uint32_t entry_bytes;
	uint32_t record_count;
	uint32_t segment_records;
	char codec[WP_STORE_CODEC_BYTES];
	char model[WP_STORE_MODEL_BYTES];
	unsigned char zeros[3952];
	uint64_t checksum; /* of everything before it */
};

struct disk_entry {
	uint32_t magic;
	uint32_t state;
	uint64_t store_id;
	uint32_t record;
	uint32_t block;
	uint32_t generation;
	uint32_t position;
	uint64_t payload_bytes;
	uint64_t geometry_hash;
	uint32_t chunk_count;
	uint32_t acknowledged;
	char codec[WP_STORE_CODEC_BYTES];
	uint64_t checksum; /* of the whole entry with this field zero */
};

_Static_assert(sizeof(struct disk_header) == WP_STORE_HEADER_BYTES, "header fills its file");
_Static_assert(offsetof(struct disk_header, checksum) == 4088, "header has no padding");
_Static_assert(sizeof(struct disk_entry) == 80, "entry has no padding");
_Static_assert(offsetof(struct disk_entry, checksum) == 72, "entry has no padding");

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + WP_STORE_ALIGNMENT - 1) / WP_STORE_ALIGNMENT * WP_STORE_ALIGNMENT;
}

uint64_t wp_store_record_bytes(uint64_t block_bytes)
{
	return round_up(block_bytes);
}

uint32_t wp_store_chunk_count(uint64_t block_bytes)
{
	return (uint32_t)((block_bytes + WP_CHUNK_BYTES - 1) / WP_CHUNK_BYTES);
}

uint32_t wp_store_entry_bytes(uint64_t block_bytes)
{
	return (uint32_t)round_up(sizeof(struct disk_entry) +
				  8ull * wp_store_chunk_count(block_bytes));
}

void wp_store_header_init(struct wp_store_header *header, const struct wp_store_identity *identity,
			  uint64_t store_id, uint32_t record_count, uint64_t segment_bytes_max)
{
	uint64_t records;

	WP_CHECK(identity->block_bytes > 0 && identity->block_bytes <= WP_BLOCK_BYTES_MAX);
	WP_CHECK(record_count > 0 && record_count <= WP_BLOCKS_MAX);
	memset(header, 0, sizeof(*header));
	header->identity = *identity;
	header->store_id = store_id;
	header->record_bytes = wp_store_record_bytes(identity->block_bytes);
	header->record_count = record_count;
	header->entry_bytes = wp_store_entry_bytes(identity->block_bytes);
	records = segment_bytes_max / header->record_bytes;
	if (records == 0)
		records = 1;
	header->segment_records = records < record_count ? (uint32_t)records : record_count;
}

uint32_t wp_store_segment_count(const struct wp_store_header *header)
{
	return (header->record_count + header->segment_records - 1) / header->segment_records;
}

uint64_t wp_store_segment_bytes(const struct wp_store_header *header, uint32_t segment)
{
	uint32_t first = segment * header->segment_records;
	uint32_t left = header->record_count - first;

	return header->record_bytes *
	       (left < header->segment_records ? left : header->segment_records);
}

uint64_t wp_store_index_bytes(const struct wp_store_header *header)
{
	return (uint64_t)header->record_count * header->entry_bytes;
}

void wp_store_header_encode(const struct wp_store_header *header,
			    unsigned char bytes[WP_STORE_HEADER_BYTES])
{
	const struct wp_store_identity *identity = &header->identity;
	struct disk_header disk = {
	    .version = htole32(WP_STORE_VERSION),
	    .kind = htole32(identity->kind),
	    .store_id = htole64(header->store_id),
	    .block_bytes = htole64(identity->block_bytes),
	    .record_bytes = htole64(header->record_bytes),
	    .geometry_hash = htole64(identity->geometry_hash),
	    .seed = htole64(identity->seed),
	    .chunk_bytes = htole32(WP_CHUNK_BYTES),
	    .entry_bytes = htole32(header->entry_bytes),
	    .record_count = htole32(header->record_count),
	    .segment_records = htole32(header->segment_records),
	};

	memcpy(disk.magic, HEADER_MAGIC, sizeof(disk.magic));
	memcpy(disk.codec, identity->codec, sizeof(disk.codec));
	memcpy(disk.model, identity->model, sizeof(disk.model));
	disk.checksum = htole64(XXH3_64bits(&disk, offsetof(struct disk_header, checksum)));
	memcpy(bytes, &disk, sizeof(disk));
}

/* Names end up in messages: zero-terminated, zeros after that, nothing that drives a terminal. */
static bool name_good(const char *name, size_t bytes)
{
	size_t length = strnlen(name, bytes);

	if (length == bytes)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		if (i < length ? name[i] < 0x20 || name[i] == 0x7f : name[i] != 0)
			return false;
	}
	return true;
}

static bool sizes_good(const struct disk_header *disk)
{
	uint64_t block_bytes = le64toh(disk->block_bytes);
	uint32_t record_count = le32toh(disk->record_count);
	uint32_t segment_records = le32toh(disk->segment_records);

	return block_bytes > 0 && block_bytes <= WP_BLOCK_BYTES_MAX && record_count > 0 &&
	       record_count <= WP_BLOCKS_MAX && segment_records > 0 &&
	       segment_records <= record_count && le32toh(disk->chunk_bytes) == WP_CHUNK_BYTES &&
	       le64toh(disk->record_bytes) == wp_store_record_bytes(block_bytes) &&
	       le32toh(disk->entry_bytes) == wp_store_entry_bytes(block_bytes);
}

const char *wp_store_header_decode(struct wp_store_header *header,
				   const unsigned char bytes[WP_STORE_HEADER_BYTES])
{
	struct disk_header disk;
	uint32_t kind;

	memcpy(&disk, bytes, sizeof(disk));
	if (memcmp(disk.magic, HEADER_MAGIC, sizeof(disk.magic)) != 0)
		return "not the header of a worldpager store";
	if (le32toh(disk.version) != WP_STORE_VERSION)
		return "written in another version of the store format";
	if (le64toh(disk.checksum) != XXH3_64bits(&disk, offsetof(struct disk_header, checksum)))
		return "header damaged: its checksum does not match";
	kind = le32toh(disk.kind);
	if (kind != WP_STORE_PREPARED && kind != WP_STORE_SESSION)
		return "header of an unknown kind of store";
	if (!sizes_good(&disk) || !name_good(disk.codec, sizeof(disk.codec)) ||
	    !name_good(disk.model, sizeof(disk.model)))
		return "header holds impossible sizes or names";
	*header = (struct wp_store_header){
	    .identity = {.kind = (enum wp_store_kind)kind,
			 .block_bytes = le64toh(disk.block_bytes),
			 .geometry_hash = le64toh(disk.geometry_hash),
			 .seed = le64toh(disk.seed)},
	    .store_id = le64toh(disk.store_id),
	    .record_bytes = le64toh(disk.record_bytes),
	    .record_count = le32toh(disk.record_count),
	    .segment_records = le32toh(disk.segment_records),
	    .entry_bytes = le32toh(disk.entry_bytes),
	};
	memcpy(header->identity.codec, disk.codec, sizeof(disk.codec));
	memcpy(header->identity.model, disk.model, sizeof(disk.model));
	return NULL;
}

/* The entry's own checksum is taken with its field zero. */
static uint64_t entry_checksum(const struct disk_entry *fixed, const unsigned char *bytes,
			       size_t entry_bytes)
{
	struct disk_entry blank = *fixed;

	blank.checksum = 0;
	return XXH3_64bits_withSeed(bytes + sizeof(blank), entry_bytes - sizeof(blank),
				    XXH3_64bits(&blank, sizeof(blank)));
}

void wp_store_entry_encode(const struct wp_store_header *header, const struct wp_store_entry *entry,
			   const uint64_t *checksums, unsigned char *bytes)
{
	const struct wp_store_identity *identity = &header->identity;
	uint32_t chunk_count = wp_store_chunk_count(identity->block_bytes);
	struct disk_entry disk = {
	    .magic = htole32(ENTRY_MAGIC),
	    .state = htole32(entry->state),
	    .store_id = htole64(header->store_id),
	    .record = htole32(entry->record),
	    .block = htole32(entry->block),
	    .generation = htole32(entry->generation),
	    .position = htole32(entry->position),
	    .payload_bytes = htole64(identity->block_bytes),
	    .geometry_hash = htole64(identity->geometry_hash),
	    .chunk_count = htole32(chunk_count),
	    .acknowledged = htole32(entry->acknowledged),
	};

	memcpy(disk.codec, identity->codec, sizeof(disk.codec));
	memset(bytes, 0, header->entry_bytes);
	for (uint32_t i = 0; i < chunk_count; i++) {
		uint64_t checksum = htole64(checksums[i]);

		memcpy(bytes + sizeof(disk) + 8 * (size_t)i, &checksum, 8);
	}
	disk.checksum = htole64(entry_checksum(&disk, bytes, header->entry_bytes));
	memcpy(bytes, &disk, sizeof(disk));
}

static bool all_zero(const unsigned char *bytes, size_t count)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
}

enum wp_entry_verdict wp_store_entry_decode(const struct wp_store_header *header, uint32_t record,
					    const unsigned char *bytes,
					    struct wp_store_entry *entry, uint64_t *checksums)
{
	const struct wp_store_identity *identity = &header->identity;
	uint32_t chunk_count = wp_store_chunk_count(identity->block_bytes);
	struct disk_entry disk;
	uint32_t state;

	if (all_zero(bytes, header->entry_bytes))
		return WP_ENTRY_EMPTY;
	memcpy(&disk, bytes, sizeof(disk));
	if (le32toh(disk.magic) != ENTRY_MAGIC ||
	    le64toh(disk.checksum) != entry_checksum(&disk, bytes, header->entry_bytes))
		return WP_ENTRY_TORN;
	state = le32toh(disk.state);
	if (le64toh(disk.store_id) != header->store_id || le32toh(disk.record) != record ||
	    (state != WP_ENTRY_STORED && state != WP_ENTRY_FREE) ||
	    le32toh(disk.block) % header->record_count != record ||
	    le64toh(disk.payload_bytes) != identity->block_bytes ||
	    le64toh(disk.geometry_hash) != identity->geometry_hash ||
	    le32toh(disk.chunk_count) != chunk_count ||
	    memcmp(disk.codec, identity->codec, sizeof(disk.codec)) != 0)
		return WP_ENTRY_FOREIGN;
	*entry = (struct wp_store_entry){
	    .state = (enum wp_entry_state)state,
	    .record = record,
	    .block = le32toh(disk.block),
	    .generation = le32toh(disk.generation),
	    .position = le32toh(disk.position),
	    .acknowledged = le32toh(disk.acknowledged),
	};
	for (uint32_t i = 0; i < chunk_count; i++) {
		uint64_t checksum;

		memcpy(&checksum, bytes + sizeof(disk) + 8 * (size_t)i, 8);
		checksums[i] = le64toh(checksum);
	}
	return WP_ENTRY_GOOD;
}
