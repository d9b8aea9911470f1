/* A progress line on a terminal; see progress.h. */
#include "harness/progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "harness/units.h"

#define SHOW_EVERY_NS 200000000ull

/* Seconds without an update after which the line says so. */
#define SILENT_S      2

/* What the handler writes: this, a number, and what comes after it. */
static char line[128];
static volatile sig_atomic_t line_is_whole, silent_s;

static void on_second(int number)
{
	static const char unit[] = " s";
	char digits[16];
	size_t at = sizeof(digits);

	(void)number;
	silent_s = silent_s + 1;
	if (!line_is_whole || silent_s < SILENT_S)
		return;
	for (int left = silent_s; left > 0; left /= 10)
		digits[--at] = (char)('0' + left % 10);
	(void)!write(STDERR_FILENO, line, strlen(line));
	(void)!write(STDERR_FILENO, digits + at, sizeof(digits) - at);
	(void)!write(STDERR_FILENO, unit, sizeof(unit) - 1);
}

/* Every second, or, with 0, no more. System calls are restarted, but for waits. */
static void tick(int seconds)
{
	const struct itimerval timer = {.it_interval.tv_sec = seconds, .it_value.tv_sec = seconds};
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_second;
	action.sa_flags = SA_RESTART;
	if (seconds)
		sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void set_line(const char *what, unsigned percent)
{
	line_is_whole = 0;
	silent_s = 0;
	snprintf(line, sizeof(line), "\r\033[K%s: %u %%, nothing more for ", what, percent);
	line_is_whole = 1;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

void wp_progress_begin(struct wp_progress *progress, const char *what)
{
	memset(progress, 0, sizeof(*progress));
	progress->what = what;
	progress->terminal = isatty(STDERR_FILENO) == 1;
	if (!progress->terminal)
		return;
	progress->start_ns = now_ns();
	set_line(what, 0);
	tick(1);
}

void wp_progress_update(struct wp_progress *progress, uint64_t done, uint64_t total)
{
	char left[WP_UNITS_TEXT];
	uint64_t at_ns, left_ns;
	unsigned percent;

	if (!progress->terminal || !total)
		return;
	at_ns = now_ns();
	if (at_ns - progress->shown_ns < SHOW_EVERY_NS)
		return;
	progress->shown_ns = at_ns;
	percent = (unsigned)((double)done * 100 / (double)total);
	set_line(progress->what, percent);
	if (!done) {
		fprintf(stderr, "\r\033[K%s: 0 %%", progress->what);
		return;
	}
	left_ns = (uint64_t)((double)(at_ns - progress->start_ns) * (double)(total - done) /
			     (double)done);
	fprintf(stderr, "\r\033[K%s: %u %%, %s left", progress->what, percent,
		wp_units_duration(left, left_ns));
}

void wp_progress_end(struct wp_progress *progress)
{
	if (!progress->terminal)
		return;
	tick(0);
	fputs("\r\033[K", stderr);
	progress->terminal = false;
}
