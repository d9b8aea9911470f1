/* Talking to gnuplot. Knows nothing of what a figure shows. */
#include "harness/plot/gnuplot.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/tool.h"
#include "harness/units.h"

/* Colours that people with any colour vision tell apart (Okabe and Ito). */
static const struct {
	const char *arm, *colour;
} colours[] = {
    {"on_demand", "#D55E00"}, {"prefetch", "#0072B2"},	  {"deadline", "#009E73"},
    {"hedged", "#CC79A7"},    {"lower_bound", "#555555"},
};

const char *wp_gnuplot_colour(const char *arm)
{
	static const char *const others[] = {"#E69F00", "#56B4E9", "#8C564B", "#7F7F00"};
	unsigned sum = 0;

	for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++) {
		if (strcmp(colours[i].arm, arm) == 0)
			return colours[i].colour;
	}
	for (const char *at = arm; *at; at++)
		sum += (unsigned char)*at;
	return others[sum % 4];
}

void wp_gnuplot_text(FILE *script, const char *text)
{
	fputc('\'', script);
	for (const char *at = text; *at; at++) {
		if (*at == '\'')
			fputc('\'', script);
		fputc((unsigned char)*at < 0x20 || *at == 0x7f ? ' ' : *at, script);
	}
	fputc('\'', script);
}

void wp_gnuplot_head(FILE *script, const char *figure)
{
	fprintf(script,
		"# Drawn by `worldpager plot`. To draw it again: gnuplot %s.gp, in this folder.\n"
		"set encoding utf8\n"
		"set datafile separator whitespace\n"
		"set border 3 lc rgb '#444444' lw 1\n"
		"set tics nomirror out scale 0.6 textcolor rgb '#333333'\n"
		"set grid xtics ytics lt 1 lc rgb '#E4E4E4' lw 0.7\n"
		"set style fill transparent solid 0.16 noborder\n"
		"set bars 0.7\n",
		figure);
}

void wp_gnuplot_outputs(FILE *script, const char *figure, unsigned width, unsigned height)
{
	fprintf(
	    script,
	    "do for [kind in 'png svg'] {\n"
	    "if (kind eq 'png') {\n"
	    "  set terminal pngcairo noenhanced size %u,%u font 'DejaVu Sans,11' fontscale 1.35 "
	    "linewidth 1.6 pointscale 1.3 background rgb 'white'\n"
	    "} else {\n"
	    "  set terminal svg noenhanced size %u,%u dynamic font 'DejaVu Sans,Verdana,sans-serif,"
	    "12' linewidth 1.2 background rgb 'white'\n"
	    "}\n"
	    "set output '%s.'.kind\n",
	    width * 3 / 2, height * 3 / 2, width, height, figure);
}

void wp_gnuplot_tail(FILE *script)
{
	fputs("unset output\n}\n", script);
}

static int missing(struct wp_error *error)
{
	return wp_error_set(error, WP_EXIT_ENVIRONMENT,
			    "gnuplot is not installed (Debian: apt-get install gnuplot-nox)");
}

int wp_gnuplot_check(struct wp_error *error)
{
	char *words[] = {"gnuplot", "--version", NULL};
	struct wp_process process;
	struct wp_watch watch;
	int result;

	wp_watch_begin(&watch);
	result = wp_process_start(&process, words, NULL, &watch);
	if (result == 0)
		result = wp_process_wait(&process, &watch, true);
	wp_watch_end(&watch);
	if (result == -EINTR)
		return wp_error_set(error, WP_EXIT_INTERRUPTED, "interrupted");
	return result == 0 && process.exit_code == 0 ? 0 : missing(error);
}

/* gnuplot has been seen to end well and leave an empty picture. */
static int check_picture(const char *folder, const char *figure, const char *kind,
			 struct wp_error *error)
{
	char path[WP_PATH_MAX];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s.%s", folder, figure, kind);
	if (stat(path, &status) == 0 && status.st_size > 0)
		return 0;
	return wp_error_set(error, WP_EXIT_CONTENT, "gnuplot drew no %s.%s", figure, kind);
}

int wp_gnuplot_run(const char *folder, const char *figure, struct wp_watch *watch,
		   struct wp_error *error)
{
	char script[256];
	char *words[] = {"gnuplot", "-d", script, NULL};
	struct wp_process process;
	int result;

	snprintf(script, sizeof(script), "%s.gp", figure);
	result = wp_process_start(&process, words, folder, watch);
	if (result == 0)
		/* SIGINT has been seen to stop gnuplot for good in the middle of a picture. */
		result = wp_process_wait(&process, watch, true);
	if (result == -ENOENT)
		return missing(error);
	if (result == -EINTR)
		return wp_error_set(error, WP_EXIT_INTERRUPTED, "interrupted while drawing");
	if (result < 0)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "cannot start gnuplot: %s",
				    strerror(-result));
	if (process.exit_code != 0)
		return wp_error_set(error, WP_EXIT_CONTENT, "gnuplot failed on %s: %s", script,
				    process.text);
	if (check_picture(folder, figure, "png", error) != 0)
		return -1;
	return check_picture(folder, figure, "svg", error);
}
