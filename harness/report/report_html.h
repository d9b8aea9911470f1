/*
 * A folder of results as one page for a browser: claims, figures, the stalls of
 * every point frame by frame, the limits and their proof, the machine, notes.
 * The page holds all it shows and asks for nothing; it has no script.
 */
#ifndef WP_REPORT_HTML_H
#define WP_REPORT_HTML_H

#include <stdint.h>

#include "harness/error.h"

struct wp_report_html {
	uint32_t figures, points, documents; /* shown */
};

/*
 * Reads FOLDER and writes the page to `path`, whole or not at all ("-": standard output). Figures
 * are those that lie in FOLDER/figures, or figures/ of a folder in it. 0, or -1: exit 4 for
 * results or figures that cannot be read.
 */
int wp_report_html_write(const char *folder, const char *path, struct wp_report_html *shown,
			 struct wp_error *error) WP_MUST_USE;

#endif
