/*
 * Checksums and flushes on the store's threads.
 *
 * A flush serves everything that waited: one fdatasync for each segment with
 * new payload, then the entries, then one for the index. The order is what
 * makes an entry mean that its payload is there.
 */
#include "pager/store_work.h"

#include <errno.h>
#include <unistd.h>

#include "pager/content.h"

uint64_t wp_store_range_bytes(uint64_t block_bytes, uint32_t first, uint32_t count)
{
	uint64_t begin = (uint64_t)first * WP_CHUNK_BYTES;
	uint64_t end = begin + (uint64_t)count * WP_CHUNK_BYTES;

	return (end < block_bytes ? end : block_bytes) - begin;
}

void wp_store_work_check(void *context, struct wp_job *job)
{
	const struct wp_store_works *works = context;
	struct wp_store_work *work = (struct wp_store_work *)job;
	const struct wp_request *request = work->request;
	const struct wp_store_header *header = &works->files->header;
	uint64_t *checksums = wp_store_index_checksums(&works->files->index, work->record);
	const unsigned char *at = request->host;

	for (uint32_t i = 0; i < request->chunk_count; i++, at += WP_CHUNK_BYTES) {
		uint32_t chunk = request->chunk_first + i;
		uint64_t bytes = wp_store_range_bytes(header->identity.block_bytes, chunk, 1);
		uint64_t checksum =
		    wp_content_checksum(at, bytes, request->block, work->generation, chunk);

		if (work->task == WP_STORE_CHECKSUM) {
			checksums[chunk] = checksum;
		} else if (checksums[chunk] != checksum) {
			work->result = -EBADMSG;
			work->fault_offset = (uint64_t)chunk * WP_CHUNK_BYTES;
			break;
		}
	}
	work->done_ns = wp_clock_now_ns(works->clock);
}

static uint32_t segment_of(const struct wp_store_works *works, const struct wp_store_work *work)
{
	return wp_store_files_segment(works->files, work->record);
}

static struct wp_store_work *next_work(const struct wp_store_work *work)
{
	return (struct wp_store_work *)work->job.link;
}

/* The payload of all COMMITs in the list, each segment once. */
static void sync_payload(const struct wp_store_works *works, struct wp_store_work *list)
{
	for (struct wp_store_work *work = list; work; work = next_work(work)) {
		uint32_t segment = segment_of(works, work);
		const struct wp_store_work *before = list;

		if (work->task != WP_STORE_COMMIT)
			continue;
		while (before != work &&
		       (before->task != WP_STORE_COMMIT || segment_of(works, before) != segment))
			before = next_work(before);
		if (before != work)
			work->result = before->result;
		else if (fdatasync(works->files->segments[segment]) != 0)
			work->result = -errno;
	}
}

void wp_store_work_flush(void *context, struct wp_job *jobs)
{
	const struct wp_store_works *works = context;
	struct wp_store_work *list = (struct wp_store_work *)jobs;
	uint64_t done_ns;
	int error = 0;

	sync_payload(works, list);
	for (struct wp_store_work *work = list; work; work = next_work(work)) {
		if (work->result)
			continue;
		work->result = wp_store_index_write_entry(
		    &works->files->index, works->files->index_fd, work->record,
		    work->task == WP_STORE_COMMIT ? WP_ENTRY_STORED : WP_ENTRY_FREE);
	}
	if (fdatasync(works->files->index_fd) != 0)
		error = -errno;
	done_ns = wp_clock_now_ns(works->clock);
	for (struct wp_store_work *work = list; work; work = next_work(work)) {
		if (!work->result)
			work->result = error;
		work->done_ns = done_ns;
	}
}
