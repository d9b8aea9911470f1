/*
 * Work done off the caller's thread: a first-in-first-out queue, threads that
 * serve it, and a descriptor that is readable while results wait. Nothing is
 * allocated after open; jobs are embedded in whatever they are for.
 */
#ifndef WP_JOBS_H
#define WP_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/check.h"

struct wp_job {
	struct wp_job *link;
};

struct wp_jobs;

/* Runs on one of the threads. `list` is one job, or all that waited when jobs
 * are taken together, linked, oldest first. */
typedef void (*wp_job_run)(void *context, struct wp_job *list);

/* `together`: a thread takes everything that waits at once. 0 or -errno. */
int wp_jobs_open(struct wp_jobs **jobs, uint32_t threads, bool together, wp_job_run run,
		 void *context) WP_MUST_USE;

/* Nothing may be under way. NULL is allowed. */
void wp_jobs_close(struct wp_jobs *jobs);

void wp_jobs_add(struct wp_jobs *jobs, struct wp_job *job);

/* Everything that is done, linked, in the order of completion; NULL: nothing. Never blocks. */
struct wp_job *wp_jobs_take(struct wp_jobs *jobs);

/* Readable while wp_jobs_take has something. */
int wp_jobs_fd(const struct wp_jobs *jobs);

#endif
