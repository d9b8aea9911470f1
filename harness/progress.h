/*
 * A progress line on standard error: share done and time left, rewritten in
 * place a few times a second. Only on a terminal; elsewhere nothing is printed.
 * When nothing is done for some seconds, the line says for how long: a slow limit
 * does not look like a program that hangs. That takes the process's SIGALRM.
 * One at a time.
 */
#ifndef WP_PROGRESS_H
#define WP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct wp_progress {
	const char *what;
	uint64_t start_ns;
	uint64_t shown_ns;
	bool terminal; /* between begin and end */
};

/* `what` stays the caller's until end. */
void wp_progress_begin(struct wp_progress *progress, const char *what);
void wp_progress_update(struct wp_progress *progress, uint64_t done, uint64_t total);
/* Clears the line. */
void wp_progress_end(struct wp_progress *progress);

#endif
