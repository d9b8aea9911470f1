/*
 * Figures of a collection, into FOLDER/figures: for each NAME a script NAME.gp
 * that draws NAME.dat again on its own, NAME.png and NAME.svg.
 *
 *   stall_TRACE     stall against bandwidth; simulated lines under measured points
 *   worst_TRACE     the longest stall of every arm, where there are more than the paper's
 *   timeline_TRACE  the stall of every frame at the highest rate below the need
 *   walls           blocks in host memory against the session's time
 *   overlap         stall against the volume copied beside compute
 *
 * Where a trace was run with several k, codecs or models their names follow.
 */
#ifndef WP_PLOT_H
#define WP_PLOT_H

#include <stdint.h>
#include <stdio.h>

#include "harness/error.h"
#include "harness/experiments/claims.h"
#include "harness/experiments/collection.h"
#include "harness/experiments/overlap.h"
#include "harness/experiments/walls.h"

#define WP_FIGURES_MAX 256
#define WP_FIGURE_NAME 128

struct wp_figures {
	uint32_t count;
	struct {
		char name[WP_FIGURE_NAME];
		char caption[256];
	} figures[WP_FIGURES_MAX];
};

/*
 * Draws them all or, on -1, leaves the figures that were there: exit 3 without
 * gnuplot, exit 4 when drawing or writing fails.
 */
int wp_plot_write(const struct wp_collection *collection, const struct wp_overlaps *overlaps,
		  const struct wp_walls *walls, const struct wp_claims *claims, const char *folder,
		  struct wp_figures *figures, struct wp_error *error) WP_MUST_USE;

/* The figure `overlap` alone; other figures in the folder stay. */
int wp_plot_overlap_write(const struct wp_overlaps *overlaps, const struct wp_claims *claims,
			  const char *folder, struct wp_error *error) WP_MUST_USE;

/* The same of the figure `walls`. */
int wp_plot_walls_write(const struct wp_walls *walls, const struct wp_claims *claims,
			const char *folder, struct wp_error *error) WP_MUST_USE;

/* Cells [first, end) of one trace, k, codec and model. */
struct wp_plot_group {
	const struct wp_cell *cells;
	uint32_t count;
	const struct wp_claims *claims;
	char title[512]; /* "a_yaw  (k = 2, int4)" */
};

/* One figure's script and data; `figure` is its name. False: nothing to draw. */
bool wp_plot_stall(const struct wp_plot_group *group, const char *figure, FILE *script, FILE *data,
		   char *caption, size_t caption_size);
bool wp_plot_worst(const struct wp_plot_group *group, const char *figure, FILE *script, FILE *data,
		   char *caption, size_t caption_size);
bool wp_plot_timeline(const struct wp_plot_group *group, const char *figure, FILE *script,
		      FILE *data, char *caption, size_t caption_size);

bool wp_plot_overlap(const struct wp_overlaps *overlaps, const struct wp_claims *claims,
		     const char *figure, FILE *script, FILE *data, char *caption,
		     size_t caption_size);

bool wp_plot_walls(const struct wp_walls *walls, const struct wp_claims *claims, const char *figure,
		   FILE *script, FILE *data, char *caption, size_t caption_size);

/* Cells from `first` on that share world, scale and arm; returns the end. */
uint32_t wp_plot_series_end(const struct wp_plot_group *group, uint32_t first);

/* "simulated", "this disk, scale 1/16" */
char *wp_plot_world(char *text, size_t size, const struct wp_cell *cell);

#endif
