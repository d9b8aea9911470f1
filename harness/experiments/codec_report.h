/*
 * What storing keys and values in a codec costs in accuracy, and whether moving
 * them to other positions adds to it.
 *
 * Data is drawn, not recorded: keys with channels of unequal size and a few
 * outlier channels in every head, rotated over time, height and width as MG2
 * does (44 + 42 + 42 dimensions, theta 10000) before they are stored; values
 * without outliers; queries that favour some keys. Errors are against the same
 * computation in double precision without any storing. Says something about
 * keys, values and attention outputs; it is not the paper's image score.
 */
#ifndef WP_CODEC_REPORT_H
#define WP_CODEC_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "harness/error.h"
#include "pager/codec.h"

#define WP_REPORT_HEADS	   12u
#define WP_REPORT_ROWS_MAX 64u

/* One codec at one gap. Relative errors are root mean squares over those of the truth. */
struct wp_codec_report_row {
	const struct wp_codec *codec;
	uint32_t gap_latents; /* distance over which the retrieved keys were moved */
	double key_error;
	double value_error;
	double key_cosine;     /* mean over tokens and heads */
	double key_cosine_min; /* the worst of them */
	/* Relative error of attention outputs over retrieved and local tokens. */
	double attention_error[WP_REPORT_HEADS];
	double attention_error_mean;
	double attention_error_max; /* of the worst head */
};

struct wp_codec_report {
	uint64_t seed;
	uint32_t draws; /* independent sets of data, averaged */
	uint32_t retrieved_tokens;
	uint32_t local_tokens;
	uint32_t queries; /* per head and draw */
	uint32_t count;
	struct wp_codec_report_row rows[WP_REPORT_ROWS_MAX];
};

/* Takes a few seconds. 0, or -1 with WP_EXIT_ENVIRONMENT (no memory). */
int wp_codec_report_make(struct wp_codec_report *report, uint64_t seed,
			 struct wp_error *error) WP_MUST_USE;

void wp_codec_report_markdown(const struct wp_codec_report *report, FILE *stream);

/* One line per row for gnuplot; blank lines between codecs. */
void wp_codec_report_table(const struct wp_codec_report *report, FILE *stream);

/* codec_report_json.c. 0, or -1 with WP_EXIT_CONTENT. */
int wp_codec_report_json(const struct wp_codec_report *report, FILE *stream,
			 struct wp_error *error) WP_MUST_USE;

#endif
