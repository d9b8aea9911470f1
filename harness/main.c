/* The program: finds the verb and hands over. Everything else is in cmd_VERB.c. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/error.h"
#include "harness/experiments/folder.h"
#include "harness/system/interrupt.h"
#include "harness/tool.h"
#include "harness/verbs/verb.h"

struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

static const struct verb verbs[] = {
    {"doctor", wp_cmd_doctor, "what this machine can measure, and what to change"},
    {"trace", wp_cmd_trace, "make, describe or check traces"},
    {"replay", wp_cmd_replay, "run one trace through the pager and log every frame's stall"},
    {"sweep", wp_cmd_sweep, "run an experiment: many replays, one folder of results"},
    {"plot", wp_cmd_plot, "draw the figures and tables of such a folder again"},
    {"report", wp_cmd_report, "such a folder as one page for a browser"},
    {"plan", wp_cmd_plan, "capacity walls, bandwidth and endurance of a model on a machine"},
    {"threshold", wp_cmd_threshold, "find the read rates from which an arm does not stall"},
    {"calibrate", wp_cmd_calibrate, "measure a drive with fio and write its profile"},
    {"qualify", wp_cmd_qualify, "judge whether a drive holds a session without stalls"},
    {"compare", wp_cmd_compare, "tell whether results got worse"},
    {"walls", wp_cmd_walls, "sessions until memory or positions end them, and one that passes"},
    {"overlap", wp_cmd_overlap, "how much copying to the device a frame's compute hides"},
    {"codec-report", wp_cmd_codec_report, "what storing and turning keys and values costs"},
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

static void print_help(FILE *stream)
{
	fputs("Usage: worldpager VERB [OPTION...]\n"
	      "Stall of a world model's frames while its memory is paged from NVMe.\n\n",
	      stream);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(stream, "  %-12s %s\n", verbs[i].name, verbs[i].summary);
	fputs("\n`worldpager VERB --help` lists the options of a verb.\n", stream);
}

/*
 * A program may be started with any of them closed, and the next file that it
 * opens would take the number: a result for standard output would go into a
 * store. What takes the place of standard output cannot be written to.
 */
static void hold_standard_streams(void)
{
	static const int flags[] = {O_WRONLY, O_RDONLY, O_WRONLY};

	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags[fd]) != fd)
			_exit(WP_EXIT_ENVIRONMENT);
	}
}

/* Tables on standard output that did not get there are no success. What failed leaves no empty
 * folders, and an interrupt that no verb has told of is told here. */
static int finish(int exit_code)
{
	struct wp_error error;

	if (exit_code > WP_EXIT_VERDICT)
		wp_folder_remove_empty();
	if (exit_code == WP_EXIT_INTERRUPTED && !wp_error_was_printed()) {
		wp_error_set(&error, WP_EXIT_INTERRUPTED, "interrupted");
		wp_error_print(stderr, &error);
	}
	errno = 0;
	if ((fflush(stdout) == 0 && !ferror(stdout)) || exit_code > WP_EXIT_VERDICT)
		return exit_code;
	wp_error_at(&error, WP_EXIT_CONTENT, "standard output", 0, 0, "could not be written: %s",
		    strerror(errno ? errno : EIO));
	wp_error_print(stderr, &error);
	return WP_EXIT_CONTENT;
}

int main(int argc, char **argv)
{
	const struct verb *verb;
	char name[64];

	hold_standard_streams();
	wp_interrupt_begin();
	signal(SIGXFSZ, SIG_IGN); /* a file grown too large is an error to report, as a full disk */
	setlocale(LC_ALL, "C");	  /* numbers are written and read the same everywhere */
	if (argc < 2) {
		print_help(stderr);
		return WP_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return finish(WP_EXIT_OK);
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("worldpager %s (%s)\n", wp_tool_version(), wp_tool_commit());
		return finish(WP_EXIT_OK);
	}
	verb = find_verb(argv[1]);
	if (!verb) {
		fprintf(stderr, "worldpager: no verb '%s'; see `worldpager --help`\n", argv[1]);
		return WP_EXIT_USAGE;
	}
	snprintf(name, sizeof(name), "worldpager %s", verb->name);
	argv[1] = name;
	return finish(verb->run(argc - 1, argv + 1));
}
