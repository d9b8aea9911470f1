/* The figures of a folder: finds the drawings and puts them into the page, in order of names. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/files/input_file.h"
#include "harness/files/markup.h"
#include "harness/plot/svg_inline.h"
#include "harness/report/report_html_parts.h"
#include "harness/tool.h"

#define DRAWING_BYTES_MAX (64u << 20)

/* What plot.h's figures show; the rest of the name is the trace's. */
static const struct {
	const char *prefix, *text;
} kinds[] = {
    {"stall_", "Stall against NVMe bandwidth: "},
    {"timeline_", "Stall of every frame, at the highest rate below the need: "},
    {"overlap", "Stall against the volume copied beside compute"},
    {"walls", "Blocks in host memory against the session's time"},
};

static void describe(char *text, size_t size, const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t length = strlen(kinds[i].prefix);

		if (strncmp(name, kinds[i].prefix, length) != 0)
			continue;
		snprintf(text, size, "%s%.*s", kinds[i].text, (int)strcspn(name + length, "."),
			 name + length);
		return;
	}
	snprintf(text, size, "%.*s", (int)strlen(name) - 4, name);
}

static int write_figure(const char *file, const char *name, FILE *stream, uint32_t number,
			struct wp_error *error)
{
	char label[512], prefix[32];
	size_t size;
	char *bytes =
	    wp_input_read(file, "a figure", WP_EXIT_CONTENT, DRAWING_BYTES_MAX, &size, error);
	int result;

	if (!bytes)
		return -1;
	describe(label, sizeof(label), name);
	snprintf(prefix, sizeof(prefix), "f%u-", number);
	fputs("<figure>\n<div class=\"box\" role=\"region\" tabindex=\"0\" aria-label=\"", stream);
	wp_markup_text(stream, label);
	fputs("\">\n", stream);
	result = wp_svg_inline(stream, file, bytes, size, prefix, label, error);
	fputs("</div>\n<figcaption>", stream);
	wp_markup_text(stream, label);
	fputs("</figcaption>\n</figure>\n", stream);
	free(bytes);
	return result;
}

static int is_drawing(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 4 &&
	       strcmp(entry->d_name + length - 4, ".svg") == 0;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Those of one folder `figures`; that there is none is no fault. */
static int write_folder(const char *folder, FILE *stream, uint32_t *count, struct wp_error *error)
{
	struct dirent **entries;
	int result = 0, found = scandir(folder, &entries, is_drawing, alphasort);

	if (found < 0)
		return errno == ENOENT || errno == ENOTDIR
			   ? 0
			   : wp_error_at(error, WP_EXIT_CONTENT, folder, 0, 0, "cannot be read: %s",
					 strerror(errno));
	for (int i = 0; i < found; i++) {
		char file[WP_PATH_MAX + 256];

		snprintf(file, sizeof(file), "%s/%s", folder, entries[i]->d_name);
		if (result == 0)
			result = write_figure(file, entries[i]->d_name, stream, ++*count, error);
		free(entries[i]);
	}
	free(entries);
	return result;
}

static int write_below(const char *folder, FILE *stream, uint32_t *count, struct wp_error *error)
{
	struct dirent **entries;
	int result = 0, found = scandir(folder, &entries, is_visible, alphasort);

	for (int i = 0; i < found; i++) {
		char path[WP_PATH_MAX];

		if (result == 0 && snprintf(path, sizeof(path), "%s/%s/figures", folder,
					    entries[i]->d_name) < (int)sizeof(path))
			result = write_folder(path, stream, count, error);
		free(entries[i]);
	}
	if (found >= 0)
		free(entries);
	return result;
}

int wp_report_html_figures(const char *folder, FILE *stream, uint32_t *count,
			   struct wp_error *error)
{
	char path[WP_PATH_MAX];

	*count = 0;
	if (snprintf(path, sizeof(path), "%s/figures", folder) >= (int)sizeof(path))
		return wp_error_set(error, WP_EXIT_CONTENT, "the folder's name is too long");
	fputs("<section aria-labelledby=\"figures\">\n<h2 id=\"figures\">Figures</h2>\n", stream);
	if (write_folder(path, stream, count, error) != 0 ||
	    write_below(folder, stream, count, error) != 0)
		return -1;
	if (!*count)
		fputs("<p>The folder has no figures.</p>\n", stream);
	else
		fputs("<p>Their points are listed in the tables below.</p>\n", stream);
	fputs("</section>\n", stream);
	return 0;
}
