/* Notes, errors and the end of a run; see run.h. */
#include "harness/replay/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void wp_run_note(struct wp_run *run, const char *format, ...)
{
	va_list arguments;

	if (run->note_count == WP_NOTES_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(run->notes[run->note_count++], sizeof(run->notes[0]), format, arguments);
	va_end(arguments);
}

void wp_run_fail(struct wp_run *run, const char *format, ...)
{
	va_list arguments;

	if (run->error[0])
		return;
	va_start(arguments, format);
	vsnprintf(run->error, sizeof(run->error), format, arguments);
	va_end(arguments);
}

enum wp_exit wp_run_exit(const struct wp_run *run)
{
	if (run->error[0])
		return run->out_of_space ? WP_EXIT_ENVIRONMENT : WP_EXIT_CONTENT;
	if (run->interrupted)
		return WP_EXIT_INTERRUPTED;
	return run->throttle.valid ? WP_EXIT_OK : WP_EXIT_ENVIRONMENT;
}

void wp_run_done(struct wp_run *run)
{
	free(run->frames);
	free(run->tier_frames);
	run->frames = NULL;
	run->tier_frames = NULL;
}
