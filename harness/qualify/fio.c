/* Starting fio and fetching what it wrote. What that means is fio_json.c's. */
#include "harness/qualify/fio.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/files/input_file.h"
#include "harness/tool.h"

#define OUTPUT_FILE	 "worldpager-fio-output"
#define OUTPUT_BYTES_MAX (16u << 20)

/* 0 once it has ended, -EINTR after a signal, -ETIMEDOUT when it had to be killed. */
static int wait_limited(struct wp_process *process, struct wp_watch *watch, unsigned limit_s)
{
	bool killed = false;

	for (unsigned seconds = 0; !wp_process_ended(process);) {
		if (wp_watch_wait(watch, 1000)) {
			wp_process_signal(process, wp_watch_forward(watch));
		} else if (seconds++ >= limit_s && !killed) {
			/* Children that end early wake the wait: a little early is no matter. */
			wp_process_signal(process, SIGKILL);
			killed = true;
		}
	}
	return watch->signal ? -EINTR : killed ? -ETIMEDOUT : 0;
}

/* fio gives its reason among its output, or on standard error. */
static int explain_failure(const struct wp_fio_job *job, const struct wp_process *process,
			   const char *output, struct wp_error *error)
{
	char reason[WP_FIO_REASON] = "";
	struct wp_error ignored;
	size_t size;
	char *text = wp_input_read(output, "fio's output", WP_EXIT_CONTENT, OUTPUT_BYTES_MAX, &size,
				   &ignored);
	bool certain = text && wp_fio_reason(reason, text, size);

	free(text);
	return wp_error_set(error, WP_EXIT_ENVIRONMENT, "fio failed on %s with status %d: %s",
			    job->name, process->exit_code,
			    process->text[0] && !certain ? process->text
			    : reason[0]			 ? reason
							 : "it gives no reason");
}

static int explain(const struct wp_fio_job *job, int result, struct wp_error *error)
{
	if (result == -ENOENT)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT,
				    "%s is not there (Debian: apt-get install fio)", job->program);
	if (result == -EINTR)
		return wp_error_set(error, WP_EXIT_INTERRUPTED, "interrupted");
	if (result == -ETIMEDOUT)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT,
				    "fio's job %s was not over after %u s", job->name,
				    job->limit_s);
	return wp_error_set(error, WP_EXIT_ENVIRONMENT, "cannot start %s: %s", job->program,
			    strerror(-result));
}

int wp_fio_run(const struct wp_fio_job *job, struct wp_fio_figures *figures, struct wp_watch *watch,
	       struct wp_error *error)
{
	char file[WP_PATH_MAX], output[WP_PATH_MAX];
	char output_option[] = "--output=" OUTPUT_FILE;
	char *words[] = {(char *)job->program, "--output-format=json", output_option, file, NULL};
	struct wp_process process;
	char *text = NULL;
	size_t size;
	int result;

	if (snprintf(output, sizeof(output), "%s/" OUTPUT_FILE, job->folder) >=
		(int)sizeof(output) ||
	    snprintf(file, sizeof(file), "%s", job->file) >= (int)sizeof(file))
		return wp_error_set(error, WP_EXIT_USAGE, "the path %.100s... is too long",
				    job->folder);
	/* What an earlier run left would be read as this one's. */
	unlink(output);
	result = wp_process_start(&process, words, job->folder, watch);
	if (result == 0)
		result = wait_limited(&process, watch, job->limit_s);
	if (result == 0 && process.exit_code == 0 && access(output, F_OK) != 0)
		return wp_error_set(error, WP_EXIT_CONTENT,
				    "%s wrote no result for job %s: is it fio?", job->program,
				    job->name);
	if (result != 0 || process.exit_code != 0) {
		result = result != 0 ? explain(job, result, error)
				     : explain_failure(job, &process, output, error);
		unlink(output);
		return result;
	}
	text =
	    wp_input_read(output, "fio's output", WP_EXIT_CONTENT, OUTPUT_BYTES_MAX, &size, error);
	unlink(output);
	if (!text)
		return -1;
	result = wp_fio_parse(figures, text, size, job->name, error);
	free(text);
	return result;
}
