/*
 * The index of an open store: which block lies in which record, and the
 * checksums of its chunks. Block b belongs in record b modulo record_count, so
 * the oldest block is the one in the way and no map has to be kept.
 *
 *   EMPTY --open--> WRITING --publish--> STORED --open--> WRITING ...
 *
 * A record that is STORED on disk is made FREE there before its payload is
 * touched; an entry that is cut off by a crash therefore never costs a block
 * that was not already given up, or not yet acknowledged.
 *
 * That is also how damage is told from a crash: every entry says how many of
 * the first blocks were durable when it was written. One of those that is not
 * there, and that no later block can have been about to replace, is `lost`.
 *
 * Memory is changed by the store's thread; write_entry may run on another one
 * for records that the former leaves alone meanwhile.
 */
#ifndef WP_STORE_INDEX_H
#define WP_STORE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/store_format.h"

enum wp_record_state {
	WP_RECORD_EMPTY,
	WP_RECORD_WRITING,
	WP_RECORD_STORED,
};

struct wp_record {
	enum wp_record_state state;
	uint32_t block;
	uint32_t generation;
	uint32_t position;
	uint32_t acknowledged; /* what its entry says, or will say */
	bool fresh;	       /* stored since the index was opened */
	bool stored_on_disk;   /* the entry on disk may say STORED */
	bool forgetting;       /* that is being changed; its payload has to wait */
};

struct wp_store_index {
	const struct wp_store_header *header;
	uint32_t chunk_count;
	struct wp_record *records;
	uint64_t *checksums;	/* chunk_count a record */
	unsigned char *written; /* one flag a chunk, of records being written; or NULL */
	unsigned char *entry;	/* one encoded entry, for whoever reads or writes the file */
	uint32_t stored;	/* records STORED */
	uint32_t acknowledged;	/* blocks 0 .. acknowledged-1 are durable, or were forgotten */
	uint32_t torn;		/* entries found TORN or FOREIGN */
	uint32_t lost;		/* blocks that had been durable and are not there */
	uint32_t first_lost;	/* the lowest of them, if there are */
};

/* All records EMPTY. `header` stays the caller's and outlives the index. 0 or -ENOMEM. */
int wp_store_index_init(struct wp_store_index *index, const struct wp_store_header *header,
			bool writable) WP_MUST_USE;
void wp_store_index_done(struct wp_store_index *index);

/*
 * Takes in what the file says. The oldest `replaced_max` blocks of a full store may
 * have been about to be replaced, and do not count as lost. 0 or -errno.
 */
int wp_store_index_load(struct wp_store_index *index, int fd, uint32_t replaced_max) WP_MUST_USE;

/* The record that holds `block`, or NULL. */
const struct wp_record *wp_store_index_find(const struct wp_store_index *index, uint32_t block);

static inline uint32_t wp_store_index_place(const struct wp_store_index *index, uint32_t block)
{
	return block % index->header->record_count;
}

static inline uint64_t *wp_store_index_checksums(const struct wp_store_index *index,
						 uint32_t record)
{
	return index->checksums + (uint64_t)record * index->chunk_count;
}

/*
 * The record of `block` is being written or, with the next generation, begins
 * to be; a block that was in the way is forgotten if that is allowed, and said.
 * 0; -ENOSPC: another block is in the way; -EROFS: not opened for writing.
 */
int wp_store_index_claim(struct wp_store_index *index, uint32_t block, bool may_forget,
			 bool *forgot) WP_MUST_USE;

/* Chunks of the record under way have been written; whether all have. */
void wp_store_index_wrote(struct wp_store_index *index, uint32_t record, uint32_t first,
			  uint32_t count);
bool wp_store_index_whole(const struct wp_store_index *index, uint32_t record);

/* The record under way is about to be STORED: its entry is now what write_entry will write. */
void wp_store_index_commit(struct wp_store_index *index, uint32_t record, uint32_t position);

/* It is, durably, or is given up. */
void wp_store_index_publish(struct wp_store_index *index, uint32_t record);
void wp_store_index_abandon(struct wp_store_index *index, uint32_t record);

/* Writes the entry of `record` in the given state; not durable before fdatasync. 0 or -errno. */
int wp_store_index_write_entry(struct wp_store_index *index, int fd, uint32_t record,
			       enum wp_entry_state state) WP_MUST_USE;

#endif
