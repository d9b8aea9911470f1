/*
 * What SIGINT, SIGTERM and, unless it is ignored, SIGHUP do. From the start of
 * the program on they end it with exit status 130, after taking away the file
 * that is being written. Verbs that hold more than that (a limit, a store, a
 * child) install a flag instead, which their loops look at. No handler restarts
 * system calls: waits return -EINTR.
 */
#ifndef WP_INTERRUPT_H
#define WP_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

/* The program's first act. A pipe whose reader has gone is an error of writing from here on. */
void wp_interrupt_begin(void);

/* From here on a signal only sets the flag; again is harmless. */
void wp_interrupt_install(void);

/* Nonzero (the signal's number) once one has arrived. */
const volatile sig_atomic_t *wp_interrupt_flag(void);

static inline bool wp_interrupted(void)
{
	return *wp_interrupt_flag() != 0;
}

/* Between the two no signal comes: for what must not be left half done. */
void wp_interrupt_hold(sigset_t *before);
void wp_interrupt_release(const sigset_t *before);

/* A file that is of no use before it is whole, one at a time; NULL: none any more. To be called
 * under wp_interrupt_hold. */
void wp_interrupt_unfinished(const char *path);

#endif
