/*
 * The index in memory and its way to and from the file, one entry at a time.
 * Durability (who flushes when) is the store's business.
 */
#include "pager/store_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pager/store_filesystem.h"

int wp_store_index_init(struct wp_store_index *index, const struct wp_store_header *header,
			bool writable)
{
	uint64_t records = header->record_count;

	memset(index, 0, sizeof(*index));
	index->header = header;
	index->chunk_count = wp_store_chunk_count(header->identity.block_bytes);
	index->records = calloc(records, sizeof(*index->records));
	index->checksums = calloc(records * index->chunk_count, sizeof(*index->checksums));
	index->entry = aligned_alloc(WP_STORE_ALIGNMENT, header->entry_bytes);
	if (writable)
		index->written = calloc(records * index->chunk_count, 1);
	if (!index->records || !index->checksums || !index->entry ||
	    (writable && !index->written)) {
		wp_store_index_done(index);
		return -ENOMEM;
	}
	return 0;
}

void wp_store_index_done(struct wp_store_index *index)
{
	free(index->records);
	free(index->checksums);
	free(index->written);
	free(index->entry);
	memset(index, 0, sizeof(*index));
}

static void take_entry(struct wp_store_index *index, const struct wp_store_entry *entry)
{
	struct wp_record *record = &index->records[entry->record];

	record->generation = entry->generation;
	record->block = entry->block;
	if (entry->acknowledged > index->acknowledged)
		index->acknowledged = entry->acknowledged;
	if (entry->state != WP_ENTRY_STORED)
		return;
	record->state = WP_RECORD_STORED;
	record->position = entry->position;
	record->stored_on_disk = true;
	index->stored++;
}

/* Whether the entry on disk is that of `block`, or of one that has taken its place. */
static bool accounted_for(const struct wp_store_index *index, uint32_t block)
{
	const struct wp_record *record = &index->records[wp_store_index_place(index, block)];

	return record->generation > 0 && record->block >= block;
}

static void count_lost(struct wp_store_index *index, uint32_t replaced_max)
{
	uint32_t records = index->header->record_count;
	uint32_t kept = records > replaced_max ? records - replaced_max : 0;
	uint32_t end = index->acknowledged;

	for (uint32_t block = end > kept ? end - kept : 0; block < end; block++) {
		if (accounted_for(index, block))
			continue;
		if (!index->lost)
			index->first_lost = block;
		index->lost++;
	}
}

int wp_store_index_load(struct wp_store_index *index, int fd, uint32_t replaced_max)
{
	uint32_t entry_bytes = index->header->entry_bytes;
	uint32_t record_count = index->header->record_count;

	WP_CHECK(record_count > 0);
	for (uint32_t i = 0; i < record_count; i++) {
		struct wp_store_entry entry;
		int error =
		    wp_filesystem_read(fd, index->entry, entry_bytes, (uint64_t)i * entry_bytes);

		if (error)
			return error;
		switch (wp_store_entry_decode(index->header, i, index->entry, &entry,
					      wp_store_index_checksums(index, i))) {
		case WP_ENTRY_GOOD:
			take_entry(index, &entry);
			break;
		case WP_ENTRY_TORN:
		case WP_ENTRY_FOREIGN:
			index->torn++;
			break;
		case WP_ENTRY_EMPTY:
			break;
		}
	}
	count_lost(index, replaced_max);
	while (wp_store_index_find(index, index->acknowledged))
		index->acknowledged++;
	return 0;
}

const struct wp_record *wp_store_index_find(const struct wp_store_index *index, uint32_t block)
{
	const struct wp_record *record = &index->records[wp_store_index_place(index, block)];

	return record->state == WP_RECORD_STORED && record->block == block ? record : NULL;
}

static void begin(struct wp_store_index *index, uint32_t place, uint32_t block)
{
	struct wp_record *record = &index->records[place];

	if (record->state == WP_RECORD_STORED)
		index->stored--;
	record->state = WP_RECORD_WRITING;
	record->block = block;
	record->generation++;
	record->position = 0;
	record->acknowledged = index->acknowledged;
	record->fresh = false;
	memset(index->written + (uint64_t)place * index->chunk_count, 0, index->chunk_count);
}

int wp_store_index_claim(struct wp_store_index *index, uint32_t block, bool may_forget,
			 bool *forgot)
{
	uint32_t place = wp_store_index_place(index, block);
	const struct wp_record *record = &index->records[place];

	*forgot = false;
	if (!index->written)
		return -EROFS;
	if (record->state == WP_RECORD_WRITING)
		return record->block == block ? 0 : -ENOSPC;
	if (record->state == WP_RECORD_STORED && record->block != block) {
		if (!may_forget)
			return -ENOSPC;
		*forgot = true;
	}
	begin(index, place, block);
	return 0;
}

void wp_store_index_wrote(struct wp_store_index *index, uint32_t record, uint32_t first,
			  uint32_t count)
{
	WP_CHECK(index->records[record].state == WP_RECORD_WRITING);
	WP_CHECK(first < index->chunk_count && count <= index->chunk_count - first);
	memset(index->written + (uint64_t)record * index->chunk_count + first, 1, count);
}

bool wp_store_index_whole(const struct wp_store_index *index, uint32_t record)
{
	return index->records[record].state == WP_RECORD_WRITING &&
	       !memchr(index->written + (uint64_t)record * index->chunk_count, 0,
		       index->chunk_count);
}

void wp_store_index_commit(struct wp_store_index *index, uint32_t record, uint32_t position)
{
	WP_CHECK(wp_store_index_whole(index, record));
	index->records[record].position = position;
	index->records[record].acknowledged = index->acknowledged;
}

/* A block that an earlier session left behind a gap may be about to be written again. */
static bool is_fresh(const struct wp_store_index *index, uint32_t block)
{
	const struct wp_record *record = wp_store_index_find(index, block);

	return record && record->fresh;
}

void wp_store_index_publish(struct wp_store_index *index, uint32_t record)
{
	WP_CHECK(wp_store_index_whole(index, record));
	index->records[record].state = WP_RECORD_STORED;
	index->records[record].stored_on_disk = true;
	index->records[record].fresh = true;
	index->stored++;
	while (is_fresh(index, index->acknowledged))
		index->acknowledged++;
}

void wp_store_index_abandon(struct wp_store_index *index, uint32_t record)
{
	WP_CHECK(index->records[record].state == WP_RECORD_WRITING);
	index->records[record].state = WP_RECORD_EMPTY;
	index->records[record].stored_on_disk = true; /* unknown: treated as the worse case */
}

int wp_store_index_write_entry(struct wp_store_index *index, int fd, uint32_t record,
			       enum wp_entry_state state)
{
	const struct wp_record *from = &index->records[record];
	const struct wp_store_entry entry = {
	    .state = state,
	    .record = record,
	    .block = from->block,
	    .generation = from->generation,
	    .position = from->position,
	    .acknowledged = from->acknowledged,
	};
	uint32_t entry_bytes = index->header->entry_bytes;

	wp_store_entry_encode(index->header, &entry, wp_store_index_checksums(index, record),
			      index->entry);
	return wp_filesystem_write(fd, index->entry, entry_bytes, (uint64_t)record * entry_bytes);
}
