/*
 * The bytes of a store's header and index, apart from any file: encoding,
 * decoding and what a damaged or foreign piece looks like.
 *
 *   DIR/header         WP_STORE_HEADER_BYTES; its existence says "complete"
 *   DIR/index          one entry a record, each `entry_bytes`, a multiple of 4096
 *   DIR/segment-00000  `segment_records` records of `record_bytes` each
 *   DIR/segment-00001  ...
 *
 *   entry   |fixed part|checksum of chunk 0|chunk 1| ... |zeros|
 *   record  |payload: block_bytes|padding to a multiple of 4096|
 *
 * All numbers are little-endian. Entries carry the store's id and their own
 * record number, so that a misplaced or foreign one is told from a torn one.
 */
#ifndef WP_STORE_FORMAT_H
#define WP_STORE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "pager/check.h"
#include "pager/store_host.h"

#define WP_STORE_ALIGNMENT     4096u
#define WP_STORE_HEADER_BYTES  4096u
#define WP_STORE_VERSION       1u
#define WP_STORE_SEGMENT_BYTES (4ull << 30) /* of a full segment file, unless asked otherwise */

struct wp_store_header {
	struct wp_store_identity identity;
	uint64_t store_id; /* drawn at creation */
	uint64_t record_bytes;
	uint32_t record_count;
	uint32_t segment_records; /* records of a full segment; the last may hold fewer */
	uint32_t entry_bytes;
};

enum wp_entry_state {
	WP_ENTRY_STORED = 1,
	WP_ENTRY_FREE = 2, /* forgotten; keeps the generation */
};

/* The fixed part of an entry. The rest of what it says on disk follows from the header. */
struct wp_store_entry {
	enum wp_entry_state state;
	uint32_t record;
	uint32_t block;
	uint32_t generation;
	uint32_t position;
	uint32_t acknowledged; /* blocks 0 .. acknowledged-1 had been durable when it was written */
};

enum wp_entry_verdict {
	WP_ENTRY_GOOD,
	WP_ENTRY_EMPTY,	  /* zeros: never written */
	WP_ENTRY_TORN,	  /* cut off or damaged */
	WP_ENTRY_FOREIGN, /* whole, but of another store, record or geometry */
};

/* Derived sizes. `block_bytes` is 1 .. WP_BLOCK_BYTES_MAX. */
uint64_t wp_store_record_bytes(uint64_t block_bytes);
uint32_t wp_store_chunk_count(uint64_t block_bytes);
uint32_t wp_store_entry_bytes(uint64_t block_bytes);

/* Fills in everything that follows from the identity. */
void wp_store_header_init(struct wp_store_header *header, const struct wp_store_identity *identity,
			  uint64_t store_id, uint32_t record_count, uint64_t segment_bytes_max);

uint32_t wp_store_segment_count(const struct wp_store_header *header);
/* Bytes of segment file `segment`. */
uint64_t wp_store_segment_bytes(const struct wp_store_header *header, uint32_t segment);
uint64_t wp_store_index_bytes(const struct wp_store_header *header);

void wp_store_header_encode(const struct wp_store_header *header,
			    unsigned char bytes[WP_STORE_HEADER_BYTES]);

/* NULL, or what is wrong with the bytes, as words for the user. */
const char *wp_store_header_decode(struct wp_store_header *header,
				   const unsigned char bytes[WP_STORE_HEADER_BYTES]) WP_MUST_USE;

/* `bytes` has header->entry_bytes, `checksums` one a chunk; both are NULL-free. */
void wp_store_entry_encode(const struct wp_store_header *header, const struct wp_store_entry *entry,
			   const uint64_t *checksums, unsigned char *bytes);

/* Fills `entry` and `checksums` only when the verdict is GOOD. */
enum wp_entry_verdict wp_store_entry_decode(const struct wp_store_header *header, uint32_t record,
					    const unsigned char *bytes,
					    struct wp_store_entry *entry,
					    uint64_t *checksums) WP_MUST_USE;

#endif
