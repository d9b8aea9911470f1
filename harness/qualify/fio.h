/*
 * One run of fio, its figures, and nothing taken on trust: figures count only
 * when fio ended well, its JSON is whole, names the job that was asked for, holds
 * no error of the job (fio has been seen to end with 0 and an error inside), is
 * of a version whose units are known (3 or later: nanoseconds), and adds up.
 *
 * Text that fio prints before or after its JSON is skipped. fio runs inside the
 * folder, so that no path with a colon, which divides file names for it, ever
 * becomes an argument.
 */
#ifndef WP_FIO_H
#define WP_FIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/error.h"
#include "harness/system/process.h"

struct wp_fio_latency { /* ns */
	bool known;
	uint64_t p50, p99, p99_9, max;
};

#define WP_FIO_SHORT_MS 100 /* below it, a rate is mostly rounding and caches */

struct wp_fio_direction {
	uint64_t bytes, runtime_ms;
	uint64_t bytes_per_s;
	uint64_t bytes_per_s_min, bytes_per_s_max,
	    bytes_per_s_deviation; /* over samples of 0.5 s */
	struct wp_fio_latency completion;
};

struct wp_fio_figures {
	char version[32]; /* "fio-3.33" */
	struct wp_fio_direction read, write;
	struct wp_fio_latency flush;
	bool steady_asked, steady; /* fio's own detection */
};

/* Figures of job `name` in what fio wrote. 0, or -1 (exit 4) saying what is wrong. */
int wp_fio_parse(struct wp_fio_figures *figures, const char *text, size_t size, const char *name,
		 struct wp_error *error) WP_MUST_USE;

#define WP_FIO_REASON 240

/* The line in which fio says what went wrong, empty if there is none: it stands among the output,
 * before or after the JSON. True if it speaks of an error in so many words. */
bool wp_fio_reason(char reason[WP_FIO_REASON], const char *text, size_t size);

struct wp_fio_job {
	const char *program; /* "fio" or a path */
	const char *folder;  /* where it runs */
	const char *file;    /* absolute path of the job file */
	const char *name;    /* of the job in it */
	unsigned limit_s;    /* killed after this long */
};

/*
 * Runs it. 0, or -1: exit 3 when fio is missing, cannot start, fails or hangs,
 * exit 4 as above, WP_EXIT_INTERRUPTED after a signal.
 */
int wp_fio_run(const struct wp_fio_job *job, struct wp_fio_figures *figures, struct wp_watch *watch,
	       struct wp_error *error) WP_MUST_USE;

#endif
