/*
 * What the importers of trace_import.h share: the trace in the making, and how
 * an access becomes frames.
 */
#ifndef WP_IMPORT_H
#define WP_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/files/input_file.h"
#include "harness/trace/block_names.h"
#include "harness/trace/trace_import.h"

/* A list of blocks that grows; all zero: empty. */
struct wp_import_set {
	uint32_t *blocks;
	uint32_t count, room;
};

struct wp_import {
	const struct wp_import_settings *settings;
	struct wp_trace *trace;
	struct wp_import_figures *figures;
	struct wp_error *error;
	const char *unit; /* of the timestamps, in words */
	struct wp_input_lines lines;
	struct wp_block_names names;
	struct wp_import_set set; /* to be retrieved by the access in the making */
	uint64_t *begin_ns;	  /* of every frame; never decreasing */
	uint32_t begin_room;
	uint64_t latest_ns; /* of the timestamps so far */
	bool full;	    /* frames_max is reached */
};

/* An error in the line last read; column 0: of the line as a whole. Returns -1. */
int wp_import_fail(struct wp_import *import, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds to import->set. 0 or -1 with the error set. */
int wp_import_retrieve(struct wp_import *import, uint32_t first, uint32_t count) WP_MUST_USE;

/*
 * One access at `begin_ns`, at least latest_ns: import->set is retrieved and
 * emptied, then `made` blocks are left behind, *first_made onwards. A set of more
 * than k is retrieved by several frames, the last of which makes the first block:
 * nothing is made before everything is there.
 * 0; 1: frames_max is reached; -1 with the error set.
 */
int wp_import_access(struct wp_import *import, uint64_t begin_ns, uint64_t made,
		     uint32_t *first_made) WP_MUST_USE;

/* The readers: all lines; 0 or -1 with the error set. */
int wp_import_mooncake(struct wp_import *import) WP_MUST_USE;
int wp_import_mlperf_kv(struct wp_import *import) WP_MUST_USE;

#endif
