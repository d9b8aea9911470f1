/*
 * Makes all figures of a collection in a folder of their own and puts them in
 * place only when every one is there: a failure leaves the old ones.
 */
#include "harness/plot/plot.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/experiments/folder.h"
#include "harness/plot/gnuplot.h"
#include "harness/tool.h"

struct drawing {
	const struct wp_collection *collection;
	const struct wp_overlaps *overlaps; /* NULL: draws the walls alone */
	const struct wp_walls *walls;
	const struct wp_claims *claims;
	char folder[WP_PATH_MAX];    /* FOLDER/figures */
	char temporary[WP_PATH_MAX]; /* a folder in it */
	struct wp_figures *figures;
	struct wp_watch watch;
	struct wp_error *error;
};

uint32_t wp_plot_series_end(const struct wp_plot_group *group, uint32_t first)
{
	const struct wp_cell *head = &group->cells[first];
	uint32_t end = first + 1;

	while (end < group->count && strcmp(group->cells[end].world, head->world) == 0 &&
	       strcmp(group->cells[end].scale, head->scale) == 0 &&
	       strcmp(group->cells[end].arm, head->arm) == 0)
		end++;
	return end;
}

char *wp_plot_world(char *text, size_t size, const struct wp_cell *cell)
{
	if (strcmp(cell->world, "virtual") == 0)
		snprintf(text, size, "simulated");
	else
		snprintf(text, size, "this disk%s%s%s",
			 strcmp(cell->world, "real") == 0 ? " and GPU" : "",
			 strcmp(cell->scale, "1") == 0 ? "" : ", scale ",
			 strcmp(cell->scale, "1") == 0 ? "" : cell->scale);
	return text;
}

/* Whether another group of the same trace needs telling apart. */
static bool has_siblings(const struct wp_collection *collection, const struct wp_cell *cell)
{
	for (uint32_t i = 0; i < collection->count; i++) {
		const struct wp_cell *other = &collection->cells[i];

		if (other->k && strcmp(other->trace, cell->trace) == 0 &&
		    (other->k != cell->k || strcmp(other->codec, cell->codec) != 0 ||
		     strcmp(other->model, cell->model) != 0))
			return true;
	}
	return false;
}

/* A name for a file: what may be in one stays, and no two figures share it. */
static void name_figure(struct drawing *drawing, const char *kind, const struct wp_cell *cell,
			char *name)
{
	static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-";
	struct wp_figures *figures = drawing->figures;
	size_t length;

	if (has_siblings(drawing->collection, cell))
		snprintf(name, WP_FIGURE_NAME - 8, "%s_%.40s_%.24s_k%u_%.16s", kind, cell->trace,
			 cell->model, cell->k, cell->codec);
	else
		snprintf(name, WP_FIGURE_NAME - 8, "%s_%.80s", kind, cell->trace);
	for (char *at = name; *at; at++) {
		if (!strchr(kept, *at))
			*at = '-';
	}
	length = strlen(name);
	for (uint32_t i = 0, suffix = 2; i < figures->count; i++) {
		if (strcmp(figures->figures[i].name, name) == 0) {
			snprintf(name + length, 8, "-%u", suffix++);
			i = UINT32_MAX; /* look again from the start */
		}
	}
}

static FILE *create(struct drawing *drawing, const char *name, const char *kind)
{
	char path[WP_PATH_MAX + WP_FIGURE_NAME];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/%s.%s", drawing->temporary, name, kind);
	stream = fopen(path, "we");
	if (!stream)
		wp_error_at(drawing->error, WP_EXIT_CONTENT, path, 0, 0, "cannot be written: %s",
			    strerror(errno));
	return stream;
}

static int finish(struct drawing *drawing, FILE *stream, const char *name)
{
	int failed = fflush(stream) != 0 || ferror(stream);

	if (fclose(stream) != 0 || failed)
		return wp_error_set(drawing->error, WP_EXIT_CONTENT,
				    "figure %s could not be written: %s", name, strerror(errno));
	return 0;
}

typedef bool (*draw_function)(const struct wp_plot_group *group, const char *figure, FILE *script,
			      FILE *data, char *caption, size_t caption_size);

/* The figures that are not of a group of cells. */
static bool draw_document(const struct drawing *drawing, const char *name, FILE *script, FILE *data,
			  char *caption, size_t size)
{
	return strcmp(name, "walls") == 0 ? wp_plot_walls(drawing->walls, drawing->claims, name,
							  script, data, caption, size)
					  : wp_plot_overlap(drawing->overlaps, drawing->claims,
							    name, script, data, caption, size);
}

/* A figure's two files, which `group` and `function` fill, or, with none, a document. */
static int draw_named(struct drawing *drawing, const char *name, const struct wp_plot_group *group,
		      draw_function function)
{
	struct wp_figures *figures = drawing->figures;
	char *caption = figures->figures[figures->count].caption;
	size_t size = sizeof(figures->figures[0].caption);
	FILE *script = create(drawing, name, "gp"), *data;
	bool drawn;

	if (!script)
		return -1;
	data = create(drawing, name, "dat");
	if (!data) {
		fclose(script);
		return -1;
	}
	drawn = function ? function(group, name, script, data, caption, size)
			 : draw_document(drawing, name, script, data, caption, size);
	if ((finish(drawing, script, name) | finish(drawing, data, name)) != 0)
		return -1;
	if (!drawn)
		return 0;
	if (wp_gnuplot_run(drawing->temporary, name, &drawing->watch, drawing->error) != 0)
		return -1;
	snprintf(figures->figures[figures->count++].name, WP_FIGURE_NAME, "%s", name);
	return 0;
}

static int draw(struct drawing *drawing, const struct wp_plot_group *group, const char *kind,
		draw_function function)
{
	char name[WP_FIGURE_NAME];

	if (drawing->figures->count == WP_FIGURES_MAX)
		return 0;
	name_figure(drawing, kind, group->cells, name);
	return draw_named(drawing, name, group, function);
}

static int draw_documents(struct drawing *drawing)
{
	const struct wp_overlaps *overlaps = drawing->overlaps;

	if (overlaps && overlaps->count && drawing->figures->count < WP_FIGURES_MAX &&
	    draw_named(drawing, "overlap", NULL, NULL) != 0)
		return -1;
	if (drawing->walls && drawing->walls->world[0] && drawing->figures->count < WP_FIGURES_MAX)
		return draw_named(drawing, "walls", NULL, NULL);
	return 0;
}

static int draw_all(struct drawing *drawing)
{
	const struct wp_collection *collection = drawing->collection;

	for (uint32_t first = 0, end; first < collection->count; first = end) {
		struct wp_plot_group group = {.cells = &collection->cells[first],
					      .claims = drawing->claims};

		end = wp_collection_group_end(collection, first);
		group.count = end - first;
		if (!group.cells->k)
			continue; /* points without a document */
		snprintf(group.title, sizeof(group.title), "%s  (%s, %s, k = %u)",
			 group.cells->trace, group.cells->model, group.cells->codec,
			 group.cells->k);
		if (draw(drawing, &group, "stall", wp_plot_stall) != 0 ||
		    draw(drawing, &group, "worst", wp_plot_worst) != 0 ||
		    draw(drawing, &group, "timeline", wp_plot_timeline) != 0)
			return -1;
	}
	return draw_documents(drawing);
}

/* Files that this program made: figures of an earlier time, under whatever trace's name. */
static bool is_figure(const char *name)
{
	static const char *const kinds[] = {".gp", ".dat", ".png", ".svg"};
	size_t length = strlen(name);

	if (strncmp(name, "stall_", 6) != 0 && strncmp(name, "worst_", 6) != 0 &&
	    strncmp(name, "timeline_", 9) != 0 && strncmp(name, "overlap.", 8) != 0 &&
	    strncmp(name, "walls.", 6) != 0)
		return false;
	for (size_t i = 0; i < 4; i++) {
		size_t tail = strlen(kinds[i]);

		if (length > tail && strcmp(name + length - tail, kinds[i]) == 0)
			return true;
	}
	return false;
}

static void remove_figures(const char *folder)
{
	char path[WP_PATH_MAX + 256];
	DIR *stream = opendir(folder);

	if (!stream)
		return;
	for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
		if (!is_figure(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		unlink(path);
	}
	closedir(stream);
}

static int put_in_place(struct drawing *drawing)
{
	static const char *const kinds[] = {"gp", "dat", "png", "svg"};
	char from[WP_PATH_MAX + WP_FIGURE_NAME + 8], to[WP_PATH_MAX + WP_FIGURE_NAME + 8];

	if (drawing->collection)
		remove_figures(drawing->folder);
	for (uint32_t i = 0; i < drawing->figures->count; i++) {
		const char *name = drawing->figures->figures[i].name;

		for (size_t j = 0; j < 4; j++) {
			snprintf(from, sizeof(from), "%s/%s.%s", drawing->temporary, name,
				 kinds[j]);
			snprintf(to, sizeof(to), "%s/%s.%s", drawing->folder, name, kinds[j]);
			if (rename(from, to) != 0)
				return wp_error_at(drawing->error, WP_EXIT_CONTENT, to, 0, 0,
						   "cannot be written: %s", strerror(errno));
		}
	}
	return 0;
}

static int write_all(struct drawing *drawing, const char *folder)
{
	struct wp_error *error = drawing->error;
	int result;

	drawing->figures->count = 0;
	if (snprintf(drawing->folder, sizeof(drawing->folder), "%s/figures", folder) >
	    (int)sizeof(drawing->folder) - 32)
		return wp_error_set(error, WP_EXIT_USAGE, "the folder's name is too long");
	if (wp_folder_make(drawing->folder, error) != 0)
		return -1;
	snprintf(drawing->temporary, sizeof(drawing->temporary), "%.*s/.new-XXXXXX",
		 (int)sizeof(drawing->temporary) - 32, drawing->folder);
	wp_watch_begin(&drawing->watch);
	if (mkdtemp(drawing->temporary)) {
		result = drawing->collection ? draw_all(drawing) : draw_documents(drawing);
	} else {
		result = wp_error_at(error, WP_EXIT_CONTENT, drawing->folder, 0, 0,
				     "cannot be written to: %s", strerror(errno));
		drawing->temporary[0] = '\0';
	}
	if (result == 0)
		result = put_in_place(drawing);
	wp_folder_remove(drawing->temporary);
	rmdir(drawing->folder); /* succeeds only when nothing was ever drawn */
	wp_watch_end(&drawing->watch);
	return result;
}

int wp_plot_write(const struct wp_collection *collection, const struct wp_overlaps *overlaps,
		  const struct wp_walls *walls, const struct wp_claims *claims, const char *folder,
		  struct wp_figures *figures, struct wp_error *error)
{
	struct drawing drawing = {
	    .collection = collection,
	    .overlaps = overlaps,
	    .walls = walls,
	    .claims = claims,
	    .figures = figures,
	    .error = error,
	};

	return write_all(&drawing, folder);
}

/* One document's figure, beside whatever the folder has. */
static int write_document(struct drawing *drawing, const char *folder, struct wp_error *error)
{
	struct wp_figures *figures = calloc(1, sizeof(*figures));
	int result;

	if (!figures)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "figures: %s", strerror(ENOMEM));
	drawing->figures = figures;
	drawing->error = error;
	result = write_all(drawing, folder);
	free(figures);
	return result;
}

int wp_plot_overlap_write(const struct wp_overlaps *overlaps, const struct wp_claims *claims,
			  const char *folder, struct wp_error *error)
{
	struct drawing drawing = {.overlaps = overlaps, .claims = claims};

	return write_document(&drawing, folder, error);
}

int wp_plot_walls_write(const struct wp_walls *walls, const struct wp_claims *claims,
			const char *folder, struct wp_error *error)
{
	struct drawing drawing = {.walls = walls, .claims = claims};

	return write_document(&drawing, folder, error);
}
