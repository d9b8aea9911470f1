/*
 * What a store does with one request, apart from moving bytes: checksums and
 * flushes, run on threads of the store. Internal to the store port.
 */
#ifndef WP_STORE_WORK_H
#define WP_STORE_WORK_H

#include "pager/jobs.h"
#include "pager/request.h"
#include "pager/store_files.h"

enum wp_store_task {
	WP_STORE_VERIFY,   /* check thread: compares checksums */
	WP_STORE_CHECKSUM, /* check thread: takes them, of a WRITE */
	WP_STORE_COMMIT,   /* flush thread: payload, then entry, durable */
	WP_STORE_FORGET,   /* flush thread: the entry says FREE, durably */
};

struct wp_store_work {
	struct wp_job job; /* first */
	enum wp_store_task task;
	uint32_t record;
	uint32_t generation;
	const struct wp_request *request; /* VERIFY, CHECKSUM: block, range and bytes */
	int result;
	uint64_t fault_offset;
	uint64_t done_ns;
};

struct wp_store_works {
	struct wp_store_files *files;
	struct wp_clock *clock;
};

/* Bytes of the chunks [first, first + count) of a block. */
uint64_t wp_store_range_bytes(uint64_t block_bytes, uint32_t first, uint32_t count);

/* Run by wp_jobs; `context` is a struct wp_store_works. */
void wp_store_work_check(void *context, struct wp_job *job);
void wp_store_work_flush(void *context, struct wp_job *list);

#endif
