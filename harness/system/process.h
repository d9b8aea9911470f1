/*
 * Child processes, without a shell in between, and the signals that end them.
 *
 * Children run in process groups of their own with standard input and output
 * on /dev/null; what they write to standard error is kept. A terminal's Ctrl-C
 * therefore reaches the parent alone, which hands it on once.
 */
#ifndef WP_PROCESS_H
#define WP_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "pager/check.h"

/* From begin to end SIGINT, SIGTERM, SIGHUP (unless it is ignored) and SIGCHLD are taken by
 * wp_watch_wait. */
struct wp_watch {
	sigset_t before;
	int signal;	       /* the last of SIGINT, SIGTERM, SIGHUP that came; 0: none */
	struct timespec since; /* when the first of them came */
};

void wp_watch_begin(struct wp_watch *watch);

/* A signal that came and was not taken does now what it does elsewhere. */
void wp_watch_end(struct wp_watch *watch);

/* Waits until a child ends, a signal comes (true) or `timeout_ms` have passed. */
bool wp_watch_wait(struct wp_watch *watch, unsigned timeout_ms);

/* What to send to children after it was true: the signal, or, to who asks again because nothing
 * has ended for a while, SIGKILL, after which children may leave things behind. */
int wp_watch_forward(const struct wp_watch *watch);

struct wp_process {
	pid_t pid;	/* 0: none */
	int text_fd;	/* its standard error so far */
	int exit_code;	/* 128 + n after signal n */
	char text[512]; /* the last line it wrote there, once ended */
};

/* Starts argv[0] (looked up in PATH unless it holds a "/") in `folder` (NULL:
 * the current one). 0 or -errno; -ENOENT: no such program. */
int wp_process_start(struct wp_process *process, char *const argv[], const char *folder,
		     const struct wp_watch *watch) WP_MUST_USE;

/* True once it has ended and exit_code and text are there. */
bool wp_process_ended(struct wp_process *process);

void wp_process_signal(const struct wp_process *process, int signal);

/* Waits for it, handing signals on, or sending SIGKILL for each to one that `can_be_killed`
 * because it leaves nothing behind. 0, or -EINTR when a signal came. */
int wp_process_wait(struct wp_process *process, struct wp_watch *watch,
		    bool can_be_killed) WP_MUST_USE;

#endif
