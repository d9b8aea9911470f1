/*
 * What tables and figures are made from: the documents of one or more folders
 * of results, with repeats merged. A folder may hold an index itself, or
 * folders that do (`make reproduce` leaves virtual/ and model/ side by side);
 * those are then read in the order of their names.
 *
 *   cell = (world, scale, model, trace, k, codec, arm, R)     one point of a curve
 */
#ifndef WP_COLLECTION_H
#define WP_COLLECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "harness/stats.h"

#define WP_CELL_TEXT 64

struct wp_result;

struct wp_cell {
	char world[16], scale[32], model[WP_CELL_TEXT], trace[256], codec[32], arm[WP_CELL_TEXT];
	uint32_t k;	      /* 0: not known, the replay left no document */
	uint64_t bytes_per_s; /* asked */
	/* Stalls at full scale, ns, of the repeats that count: median of the
	 * medians (p50, p90, p99, sum), least min, greatest max. n = 0: none counts. */
	struct wp_stats stall;
	uint32_t repeats;		 /* that count */
	uint64_t p50_min_ns, p50_max_ns; /* of them */
	double p50_cv;		   /* their standard deviation / mean; 0 where all are equal */
	uint64_t need_bytes_per_s; /* k blocks in one frame's compute */
	bool device_limited;	   /* above what the drive reaches: not to be drawn */
	uint64_t unthrottled_bytes_per_s; /* least of the repeats; 0: not known */
	uint64_t achieved_bytes_per_s;
	char why[256];	/* with n = 0: why nothing counts */
	bool has_bound; /* by the run's lower bound, told: no schedule stalls less */
	uint64_t bound_max_ns, bound_sum_ns; /* at full scale */
	uint64_t *frame_stall_ns;	     /* of the first repeat that counts; NULL if n = 0 */
	uint32_t frame_count, warmup_frames;
};

struct wp_collection {
	struct wp_cell *cells; /* sorted by trace, k, codec, model, world, scale, arm, R */
	uint32_t count, room;
	char title[128]; /* names of the experiments */
	char machine[WP_CELL_TEXT];
	bool interrupted; /* one of the sweeps was */
	uint32_t missing; /* points that no replay was made for */
	uint32_t failed;  /* points whose replay failed */
};

/* Sees every document while it is open, in the order of reading. */
struct wp_collection_visitor {
	void (*visit)(void *context, const struct wp_result *document);
	void *context;
};

/* 0, or -1 (exit 4) naming file and key. Close after 0 only. `visitor` may be NULL. */
int wp_collection_load(struct wp_collection *collection, const char *const *folders,
		       uint32_t folder_count, const struct wp_collection_visitor *visitor,
		       struct wp_error *error) WP_MUST_USE;
void wp_collection_close(struct wp_collection *collection);

/* Cells [first, returned value) share trace, k, codec and model with cells[first]: one figure. */
uint32_t wp_collection_group_end(const struct wp_collection *collection, uint32_t first);

/* Whether a cell may be drawn and compared at the rate that was asked. */
static inline bool wp_cell_counts(const struct wp_cell *cell)
{
	return cell->stall.n > 0 && !cell->device_limited;
}

#endif
