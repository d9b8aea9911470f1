/*
 * The store on a real file system: a directory of preallocated segment files
 * and an index, read and written with direct I/O through io_uring, or through
 * pread in a few threads where io_uring is refused. The operations are those
 * of store.h; what is particular here:
 *
 *   READ, WRITE  move whole multiples of the file's alignment: where the range
 *                ends the block, `host` has room for (READ) or holds (WRITE)
 *                bytes up to the next multiple of 4096. `host` is 4096-aligned.
 *   VERIFY       runs on a thread of its own.
 *   WRITE        the first one of a block opens its record, block number
 *                modulo record count. If the record holds another block, that
 *                one is forgotten first, durably; -ENOSPC unless the store was
 *                opened with `forget_oldest`. Prepared stores: -EROFS.
 *   COMMIT       after all WRITEs of the block have come back; `position` goes
 *                into the index. Commits that wait together share their flushes.
 *   generation   grows each time a record is written. 0 in a request takes any;
 *                another number must be the stored one, else -ESTALE.
 *
 *   -ENODATA  never stored, forgotten, or not committed yet
 *   -EIO      the file ends early (fault_offset), or -EAGAIN without end
 *
 * Up to `depth` READs and WRITEs, and WP_READ_DEPTH_MAX VERIFYs and COMMITs,
 * are in flight at once; more get -EAGAIN. The clock's now_ns is also called
 * from the store's threads.
 */
#ifndef WP_STORE_HOST_H
#define WP_STORE_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/clock.h"
#include "pager/limits.h"
#include "pager/port.h"

enum wp_store_kind {
	WP_STORE_PREPARED = 1, /* filled once for replays, then read only */
	WP_STORE_SESSION = 2,  /* written while a session runs */
};

#define WP_STORE_CODEC_BYTES 16
#define WP_STORE_MODEL_BYTES 48

/* What the blocks of a store are. Names are zero-terminated. */
struct wp_store_identity {
	enum wp_store_kind kind;
	uint64_t block_bytes;	/* payload of one block */
	uint64_t geometry_hash; /* of everything about the model that shapes a block */
	uint64_t seed;		/* of the content of a prepared store */
	char codec[WP_STORE_CODEC_BYTES];
	char model[WP_STORE_MODEL_BYTES];
};

enum wp_store_backend {
	WP_STORE_BACKEND_AUTO, /* io_uring, else pread with the reason in the report */
	WP_STORE_BACKEND_URING,
	WP_STORE_BACKEND_PREAD,
};

/* Memory that requests will point into, registered with the kernel if it allows. */
struct wp_store_arena {
	void *base;
	uint64_t bytes;
};

struct wp_store_host_config {
	const char *directory;
	enum wp_store_backend backend;
	uint32_t depth;	    /* READs and WRITEs in flight: 1 .. WP_READ_DEPTH_MAX */
	bool writable;	    /* a session goes on; locks out every other process */
	bool forget_oldest; /* a full store drops the block in the way instead of -ENOSPC */
	/* With it: blocks that the caller writes at once at most, one after the other, so that
	 * damage is told from what a crash leaves; 0: not known. */
	uint32_t write_blocks_max;
	bool require_direct; /* refuse rather than go through the page cache */
	/* Also accept what does not prove that bytes come from a drive: tmpfs and
	 * ramfs, files with holes or unwritten extents. Said in the report. */
	bool allow_unproven;
	const struct wp_store_arena *arenas;
	uint32_t arena_count;
	uint64_t segment_bytes_max; /* creation: size of one segment file; 0: 4 GiB */
};

/*
 * How many blocks of a full store that forgets a crash may have caught being replaced.
 * Whoever tells of acknowledged blocks (an index entry, an ack log) speaks of the time
 * when a commit began or had ended: from then on, as many as were under way may have
 * been finished, and as many begun after them.
 */
static inline uint32_t wp_store_replaced_max(uint32_t write_blocks_max)
{
	return 2 * write_blocks_max;
}

/* What is really in use, from the open files and not from the options. */
struct wp_store_report {
	const char *backend; /* "io_uring" "pread" */
	char filesystem[24]; /* "ext4", "overlayfs", ...; else its magic in hex */
	bool direct_io;
	bool registered_buffers;
	bool registered_file;
	uint32_t alignment_bytes; /* of direct I/O on the segments; 0: none */
	uint64_t record_bytes;	  /* block plus padding */
	uint32_t record_count;
	uint32_t stored_blocks; /* at open */
	uint32_t torn_records;	/* index entries that were cut off or not ours; never returned */
	uint32_t lost_blocks;	/* were durable, and their entries are gone: damage, no crash */
	uint32_t lost_block;	/* the lowest of them, if there are, and its entry in the index */
	uint64_t lost_offset;
	uint32_t device_major; /* st_dev of the segments */
	uint32_t device_minor;
	char fallback[256]; /* why anything less than asked is in use; empty otherwise */
};

/* Why a store could not be opened or made: one line for the user. */
struct wp_store_fault {
	int error;    /* -errno */
	bool content; /* the store itself: missing, foreign, damaged, another geometry;
		       * otherwise rights, space, device or file system */
	char text[512];
};

/* A stored block as the index knows it. */
struct wp_stored_block {
	uint32_t block;
	uint32_t generation;
	uint64_t payload_bytes;
	uint32_t position; /* latent index that its keys were rotated at */
};

/*
 * Opens a complete store. `expect`, if not NULL, must match its identity
 * (model name apart, which only explains). 0, or -errno with `fault` filled.
 * Strings and arenas of `config` stay the caller's; arenas outlive the store.
 */
int wp_store_host_open(struct wp_port **store, const struct wp_store_host_config *config,
		       const struct wp_store_identity *expect, struct wp_clock *clock,
		       struct wp_store_report *report, struct wp_store_fault *fault) WP_MUST_USE;

/*
 * Makes a store with room for `record_count` blocks in a new or empty
 * directory and opens it for writing; what an interrupted preparation left is
 * cleared away first. A session is usable at once; a prepared store exists
 * only after wp_store_host_seal, and closing it unsealed removes it.
 */
int wp_store_host_create(struct wp_port **store, const struct wp_store_host_config *config,
			 const struct wp_store_identity *identity, uint32_t record_count,
			 struct wp_clock *clock, struct wp_store_report *report,
			 struct wp_store_fault *fault) WP_MUST_USE;

/* Every record committed: the prepared store becomes complete. 0 or -errno. */
int wp_store_host_seal(struct wp_port *store) WP_MUST_USE;

/* Reads a store's identity without opening its segments. -ENOENT: there is none. */
int wp_store_host_identify(const char *directory, struct wp_store_identity *identity,
			   uint32_t *record_count, struct wp_store_fault *fault) WP_MUST_USE;

/* Removes the files of a store, complete or not, and nothing else. */
int wp_store_host_remove(const char *directory, struct wp_store_fault *fault) WP_MUST_USE;

/* Bytes on disk of a store with `record_count` blocks. */
uint64_t wp_store_host_bytes(uint64_t block_bytes, uint32_t record_count);

/* The following take the port that open or create returned, also while a
 * decorator stands in front of it. */

/* false: the block is not stored. */
bool wp_store_host_find(const struct wp_port *store, uint32_t block, struct wp_stored_block *found);

/* The block in record `record` < record_count; false: none. Enumerates. */
bool wp_store_host_record(const struct wp_port *store, uint32_t record,
			  struct wp_stored_block *found);

/* Blocks forgotten since open. */
uint64_t wp_store_host_forgotten(const struct wp_port *store);

#endif
