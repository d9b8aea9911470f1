/*
 * The files of a store: a directory with header, index and segments, opened or
 * made so that nothing that is not ours is ever touched, and locked against
 * other processes. Reading and writing blocks happens elsewhere, through
 * `segments`.
 *
 *   making:  header.partial -> index -> segments -> ... -> rename to header
 *
 * A directory with header.partial and no header is what an interrupted
 * creation left; it names by itself every file that may be removed.
 */
#ifndef WP_STORE_FILES_H
#define WP_STORE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/store_fault.h"
#include "pager/store_format.h"
#include "pager/store_index.h"

#define WP_STORE_HEADER_NAME  "header"
#define WP_STORE_PARTIAL_NAME "header.partial"
#define WP_STORE_INDEX_NAME   "index"
#define WP_STORE_NAME_BYTES   24

/* "segment-00012" */
void wp_store_segment_name(uint32_t segment, char name[WP_STORE_NAME_BYTES]);

struct wp_store_files {
	int directory;
	int index_fd;
	int *segments;
	uint32_t segment_count;
	bool partial;	    /* header.partial is ours: closing removes what was made */
	bool new_directory; /* made here; removed again with the files */
	char *path;
	struct wp_store_header header;
	struct wp_store_index index;
	/* of the segments */
	bool direct;
	uint32_t alignment_bytes; /* for offsets, lengths and memory; 1 without direct I/O */
	uint32_t device_major, device_minor;
	char filesystem[24];
	char fallback[256];
};

/* All-or-nothing; 0, or -errno with `fault` filled. */
int wp_store_files_open(struct wp_store_files *files, const struct wp_store_host_config *config,
			const struct wp_store_identity *expect,
			struct wp_store_fault *fault) WP_MUST_USE;
int wp_store_files_create(struct wp_store_files *files, const struct wp_store_host_config *config,
			  const struct wp_store_identity *identity, uint32_t record_count,
			  struct wp_store_fault *fault) WP_MUST_USE;

/* Opens the directory of a store, not through somebody else's link. -errno with `fault`. */
int wp_store_directory_find(const char *path, struct wp_store_fault *fault) WP_MUST_USE;

/* The same, and locks it, shared or alone. -errno with `fault`. */
int wp_store_directory_open(const char *path, bool alone, struct wp_store_fault *fault) WP_MUST_USE;

/* Reads and decodes the header file `name`. 0, or -errno with `fault`. */
int wp_store_directory_header(int directory, const char *path, const char *name,
			      struct wp_store_header *header,
			      struct wp_store_fault *fault) WP_MUST_USE;

/* Opens one of the store's files in a safe way: a regular file, no link. fd or -errno. */
int wp_store_file_open(int directory, const char *name, int flags) WP_MUST_USE;

/* Asks the open segments what they are and refuses those that prove nothing. 0 or -errno. */
int wp_store_files_examine(struct wp_store_files *files, const struct wp_store_host_config *config,
			   struct wp_store_fault *fault) WP_MUST_USE;

/* Makes what the files hold durable. 0 or -errno. */
int wp_store_files_sync(const struct wp_store_files *files) WP_MUST_USE;

/* The same, and makes the store complete. 0 or -errno. */
int wp_store_files_seal(struct wp_store_files *files) WP_MUST_USE;

/* Removes the files again if the store was made here and not sealed. */
void wp_store_files_close(struct wp_store_files *files);

/* Where record `record` lies. */
static inline uint32_t wp_store_files_segment(const struct wp_store_files *files, uint32_t record)
{
	return record / files->header.segment_records;
}

static inline uint64_t wp_store_files_offset(const struct wp_store_files *files, uint32_t record)
{
	return (uint64_t)(record % files->header.segment_records) * files->header.record_bytes;
}

#endif
