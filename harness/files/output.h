/*
 * A file that appears whole or not at all: written under a temporary name in
 * the same folder, flushed to the disk, then renamed over the old one, which
 * stays as it was until that instant.
 *
 * "-" is standard output. Whatever exists and is not a regular file (a pipe,
 * /dev/null) is written to directly: renaming over it would replace it. A
 * symbolic link keeps pointing where it points. A block device is never written
 * to, nor is a link or a pipe that somebody else has left in a folder where
 * everybody may leave things.
 *
 * No output replaces a file that this process has read or written already, by
 * whatever name or link: that is a mistake in the options (exit 2), told before
 * the work where wp_output_check is asked first (used_files.h).
 */
#ifndef WP_OUTPUT_H
#define WP_OUTPUT_H

#include <limits.h>
#include <stdio.h>

#include "harness/error.h"

struct wp_output_sink;

struct wp_output {
	FILE *stream;		     /* write here; NULL when closed */
	char path[PATH_MAX];	     /* as shown in errors, and where the file goes */
	char temporary[PATH_MAX];    /* empty when written to directly */
	struct wp_output_sink *sink; /* of the stream */
	unsigned used;		     /* number of its place in used_files.h */
};

/*
 * Whether a file could be written there, before hours of work for it; also for files that are
 * not written by this header's means. From then on the place is taken: no second output goes
 * there, and what lies there is not read. Once for each output. 0, or -1 with WP_EXIT_CONTENT
 * (cannot write there) or WP_EXIT_USAGE (taken, or read). NULL is no file, and fine.
 */
int wp_output_check(const char *path, struct wp_error *error) WP_MUST_USE;

/* 0, or -1 with WP_EXIT_CONTENT (cannot write there) or WP_EXIT_USAGE (see above) and nothing
 * left behind. */
int wp_output_open(struct wp_output *output, const char *path, struct wp_error *error) WP_MUST_USE;

/* The same for a file that this process reads and writes again and again on purpose, under a name
 * that no option gives: the index of a sweep. */
int wp_output_open_again(struct wp_output *output, const char *path,
			 struct wp_error *error) WP_MUST_USE;

/* Ends the file and makes it visible. On -1 it is removed and the old one still there. */
int wp_output_commit(struct wp_output *output, struct wp_error *error) WP_MUST_USE;

/* Drops what was written. Accepts a closed or all-zero output. */
void wp_output_abandon(struct wp_output *output);

#endif
