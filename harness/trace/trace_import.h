/*
 * Traces of other tools as worldpager traces. What each format's columns mean,
 * and what of them is kept, is described in traces/import.md.
 *
 *   format       one access                          becomes
 *   mooncake     a request: hash ids                 ids seen before are retrieved,
 *                                                    a new one is a frame's block
 *   mlperf-kv    reads, up to the next write         read keys are retrieved, a
 *                                                    written object is blocks
 *
 * Every number that replay relies on comes from the file; nothing is drawn.
 */
#ifndef WP_TRACE_IMPORT_H
#define WP_TRACE_IMPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/error.h"
#include "harness/trace/trace.h"

#define WP_IMPORT_BLOCK_TOKENS 512u /* of a Mooncake hash id */

struct wp_import_settings {
	const char *format;
	const char *path;
	const char *name;      /* of the trace; NULL: the format's */
	uint32_t k;	       /* most blocks in a set: 1 .. WP_SET_BLOCKS_MAX */
	uint32_t frames_max;   /* stop after so many; 0: all */
	bool has_compute;      /* frames compute until the next access; else as the profile says */
	uint32_t block_tokens; /* mooncake: tokens behind one hash id; 0: 512 */
	uint64_t block_bytes;  /* mlperf-kv: objects are cut into blocks of this; 0: one each */
};

/* What was read and what became of it. */
struct wp_import_figures {
	uint64_t lines;		   /* requests, or rows below the header */
	uint64_t duration_ns;	   /* from the first to the last timestamp */
	uint64_t blocks_named;	   /* hash ids or objects' blocks, each left behind by a frame */
	uint64_t blocks_added;	   /* of frames that only retrieve; nobody retrieves them */
	uint64_t blocks_retrieved; /* sum over all sets */
	uint64_t reads, writes;	   /* mlperf-kv: rows that count */
	uint64_t moves;		   /* mlperf-kv: rows of phase Evict, left out */
	uint64_t read_bytes;	   /* mlperf-kv: of the rows that count */
	uint64_t object_bytes_min, object_bytes_max;
};

/*
 * 0 with a trace to write and free, or -1 with an all-zero trace: exit 2 for
 * settings, exit 4 for contents, with line and, where there is one, column.
 */
int wp_trace_import(struct wp_trace *trace, const struct wp_import_settings *settings,
		    struct wp_import_figures *figures, struct wp_error *error) WP_MUST_USE;

/* Units and counts, some lines for a person. */
void wp_trace_import_print(FILE *stream, const struct wp_trace *trace,
			   const struct wp_import_settings *settings,
			   const struct wp_import_figures *figures);

#endif
