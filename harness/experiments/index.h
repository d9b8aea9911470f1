/*
 * index.json: what a sweep's folder holds. It is what makes a folder a folder
 * of results; a table or a figure needs nothing else to find its documents.
 *
 *   DIR/index.json            the experiment as it was run, and every point's fate
 *   DIR/replays/NAME.json     one document a replay
 *   DIR/traces/               traces made for a k that none ships for
 *   DIR/summary.md figures/   made from the above, again at any time by `plot`
 */
#ifndef WP_INDEX_H
#define WP_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "harness/experiments/experiment.h"

#define WP_INDEX_FILE "index.json"

/* Writes DIR/index.json whole or not at all. */
int wp_index_write(const char *folder, const struct wp_experiment *experiment,
		   const struct wp_point *points, uint32_t count, bool interrupted,
		   struct wp_error *error) WP_MUST_USE;

struct wp_index_point {
	char document[192]; /* within the folder; empty: it left none */
	char trace[512], arm[64], codec[64], bandwidth[64]; /* as asked */
	uint32_t k, repeat;				    /* k 0: the trace's own */
	char state[16];					    /* "done" "failed" "not run" */
	int exit_code;
	char error[2048];
};

struct wp_index {
	char name[64], what[256], world[16];
	bool interrupted;
	uint32_t count;
	struct wp_index_point *points;
};

/* 0, or -1 with exit 4 naming file and key. Close after 0 only. */
int wp_index_load(const char *folder, struct wp_index *index, struct wp_error *error) WP_MUST_USE;
void wp_index_close(struct wp_index *index);

/* Whether a point of an index is one of `experiment`'s, too. */
bool wp_index_has_point(const struct wp_experiment *experiment,
			const struct wp_index_point *point) WP_MUST_USE;

/* Whether DIR has an index (of whatever quality). */
bool wp_index_exists(const char *folder);

#endif
