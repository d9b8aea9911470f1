/*
 * Two sets of results of the same settings on the same machine: did something
 * get slower?
 *
 * Virtual results are deterministic: they agree when their digests do, bit for
 * bit. Measured ones are compared by four figures a point (a trace, an arm, a
 * rate ...), each at full scale, each with the same tolerance:
 *
 *   stall          of each frame, paired by frame; the median over a side's runs
 *   read time      of a block: time with a read outstanding / blocks read, by frame
 *   stall p99, max of each run, ranked
 *
 * The chance of any alarm when nothing changed is at most WP_COMPARE_ALPHA: half
 * of it is shared evenly by all tests over frames, half by all tests over runs
 * (compare_stats.h). A figure is worse only when its test says so.
 */
#ifndef WP_COMPARE_H
#define WP_COMPARE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/compare/compare_stats.h"
#include "harness/error.h"
#include "harness/result/result.h"

#define WP_COMPARE_ALPHA     0.01
#define WP_COMPARE_TOLERANCE 0.05
#define WP_COMPARE_FLOOR_NS  100000 /* as measured; wake-ups differ by this much */
#define WP_COMPARE_NOTES_MAX 32

enum wp_compare_side { WP_COMPARE_BASE, WP_COMPARE_NEW, WP_COMPARE_SIDES };

enum wp_compare_figure {
	WP_COMPARE_STALL,
	WP_COMPARE_READ,
	WP_COMPARE_P99,
	WP_COMPARE_MAX,
	WP_COMPARE_FIGURES,
};

enum wp_compare_outcome {
	WP_COMPARE_SAME, /* within the tolerance, or not told from noise */
	WP_COMPARE_WORSE,
	WP_COMPARE_BETTER,
	WP_COMPARE_UNDECIDED, /* this many frames or runs cannot tell */
};

struct wp_compare_test {
	double value_ns[WP_COMPARE_SIDES]; /* median over frames and runs; at full scale */
	double p, p_better, alpha, p_least;
	enum wp_compare_outcome outcome;
};

struct wp_compare_run {
	char name[256]; /* the file, without its folders */
	struct wp_result result;
};

/* Runs of one point; indices into the sides' runs. */
struct wp_compare_point {
	char name[640]; /* "BASE against NEW" where --force has the two differ */
	uint32_t count[WP_COMPARE_SIDES];
	uint32_t runs[WP_COMPARE_SIDES][WP_COMPARE_RUNS_MAX];
	bool is_virtual;
	bool equal;					  /* virtual: bit for bit */
	char difference[256];				  /* virtual: the first one */
	struct wp_compare_test tests[WP_COMPARE_FIGURES]; /* measured */
};

struct wp_compare {
	struct wp_compare_run *runs[WP_COMPARE_SIDES];
	uint32_t run_count[WP_COMPARE_SIDES];
	struct wp_compare_point *points;
	uint32_t point_count;
	double tolerance;
	bool force;
	uint32_t note_count; /* differences that do not stop, or were forced */
	char notes[WP_COMPARE_NOTES_MAX][256];
	uint32_t worse, better, undecided; /* tests */
};

/* Starts empty. Close whatever comes after. */
void wp_compare_open(struct wp_compare *compare, double tolerance, bool force);
void wp_compare_close(struct wp_compare *compare);

/*
 * Adds a document, the documents of a folder of results, or those in a folder
 * (*.json, and folders of results one level below; documents that are no
 * replay's, as a drive's profile, are passed over). 0, or -1 (exit 4).
 */
int wp_compare_add(struct wp_compare *compare, enum wp_compare_side side, const char *path,
		   struct wp_error *error) WP_MUST_USE;

/*
 * Matches points, refuses what must not be compared (exit 4: machines,
 * settings, invalid runs, points on one side only), unless forced, and tests.
 */
int wp_compare_run(struct wp_compare *compare, struct wp_error *error) WP_MUST_USE;

/* compare_figures.c: the figures of one measured point, then the verdicts of all. */
void wp_compare_measure(const struct wp_compare *compare, struct wp_compare_point *point);
void wp_compare_judge(struct wp_compare *compare);

/* compare_report.c */
const char *wp_compare_figure_name(enum wp_compare_figure figure);
const char *wp_compare_outcome_name(enum wp_compare_outcome outcome);
void wp_compare_print(const struct wp_compare *compare, FILE *stream);
int wp_compare_write_markdown(const struct wp_compare *compare, const char *file,
			      struct wp_error *error) WP_MUST_USE;
int wp_compare_write_junit(const struct wp_compare *compare, const char *file,
			   struct wp_error *error) WP_MUST_USE;

/* The same files where there is no comparison: one error, and the reason. */
int wp_compare_refuse_markdown(const struct wp_error *why, const char *file,
			       struct wp_error *error) WP_MUST_USE;
int wp_compare_refuse_junit(const struct wp_error *why, const char *file,
			    struct wp_error *error) WP_MUST_USE;

#endif
