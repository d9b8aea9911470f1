/* Signals as an end or as a flag: a handler can reach nothing but globals. */
#include "harness/system/interrupt.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/error.h"

static volatile sig_atomic_t arrived, only_flag;
static char unfinished[PATH_MAX]; /* changed with signals held back */

static void on_signal(int number)
{
	static const char text[] = "worldpager: interrupted\n";

	arrived = number;
	if (only_flag)
		return;
	if (unfinished[0])
		unlink(unfinished);
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(WP_EXIT_INTERRUPTED);
}

/* A terminal that is closed sends SIGHUP; `nohup` asks to outlive it. */
static bool outlives_hangup(void)
{
	struct sigaction hangup;

	return sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
}

static void taken_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

void wp_interrupt_begin(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	/* One after the other: the second must not cut the first one's work short. */
	taken_signals(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (!outlives_hangup())
		sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

void wp_interrupt_install(void)
{
	only_flag = 1;
}

const volatile sig_atomic_t *wp_interrupt_flag(void)
{
	return &arrived;
}

void wp_interrupt_hold(sigset_t *before)
{
	sigset_t set;

	taken_signals(&set);
	WP_CHECK(pthread_sigmask(SIG_BLOCK, &set, before) == 0);
}

void wp_interrupt_release(const sigset_t *before)
{
	WP_CHECK(pthread_sigmask(SIG_SETMASK, before, NULL) == 0);
}

void wp_interrupt_unfinished(const char *path)
{
	snprintf(unfinished, sizeof(unfinished), "%s", path ? path : "");
}
