/*
 * What every figure shares: how text gets into a gnuplot script without being
 * taken for a command or for markup, the colours of the arms, the two outputs.
 */
#ifndef WP_GNUPLOT_H
#define WP_GNUPLOT_H

#include <stdint.h>
#include <stdio.h>

#include "harness/error.h"
#include "harness/system/process.h"

/* 'text', safe whatever it holds: single quotes know no escapes but their own doubling. */
void wp_gnuplot_text(FILE *script, const char *text);

/* What is the same in all scripts: colours of frame and text, fonts, grid. */
void wp_gnuplot_head(FILE *script, const char *figure);

/* Opens the loop over PNG and SVG, `width` x `height` in points; close it with wp_gnuplot_tail. */
void wp_gnuplot_outputs(FILE *script, const char *figure, unsigned width, unsigned height);
void wp_gnuplot_tail(FILE *script);

/* "#0072B2": the same arm has the same colour in every figure. */
const char *wp_gnuplot_colour(const char *arm);

/*
 * Draws FOLDER/FIGURE.gp. 0, or -1: exit 3 when gnuplot is missing, exit 4 when
 * it fails or leaves no picture, WP_EXIT_INTERRUPTED after a signal.
 */
int wp_gnuplot_run(const char *folder, const char *figure, struct wp_watch *watch,
		   struct wp_error *error) WP_MUST_USE;

/* Exit 3 with what to install when there is no gnuplot. */
int wp_gnuplot_check(struct wp_error *error) WP_MUST_USE;

#endif
