/*
 * summary.md: the paper's claims beside what was measured, the figures, and
 * every point as a table; and the verdict that the exit code carries.
 */
#ifndef WP_REPORT_H
#define WP_REPORT_H

#include <stdbool.h>

#include "harness/error.h"
#include "harness/experiments/claims.h"
#include "harness/experiments/collection.h"
#include "harness/plot/plot.h"

struct wp_report {
	struct wp_claims claims;
	struct wp_overlaps overlaps;	       /* of the folders themselves */
	struct wp_walls walls, measured_walls; /* the same; the last folder's that has one */
	struct wp_finding virtual_findings[WP_CLAIM_COUNT];
	struct wp_finding measured_findings[WP_CLAIM_COUNT];
	struct wp_figures figures;
	bool failed; /* a verdict of the virtual world differs from the paper */
};

/*
 * Reads `sources` and holds them against the claims. 0, or -1 (exit 4). Close the
 * collection after 0 only. `visitor` (may be NULL) sees every document.
 */
int wp_report_load(struct wp_report *report, struct wp_collection *collection,
		   const char *const *sources, uint32_t source_count,
		   const struct wp_collection_visitor *visitor, struct wp_error *error) WP_MUST_USE;

/*
 * Reads `sources` and writes FOLDER/summary.md and, unless `draw` is false,
 * FOLDER/figures. 0, or -1: exit 3 without gnuplot, exit 4 for results that
 * cannot be read. `report->failed` says whether a verdict failed.
 */
int wp_report_make(struct wp_report *report, const char *const *sources, uint32_t source_count,
		   const char *folder, bool draw, struct wp_error *error) WP_MUST_USE;

void wp_report_done(struct wp_report *report);

/* The claims' table in a few lines for the terminal. */
void wp_report_print(const struct wp_report *report, FILE *stream);

#endif
