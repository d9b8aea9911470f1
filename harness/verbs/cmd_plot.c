/* `worldpager plot`: figures and summary.md from folders of results, alone and again. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/error.h"
#include "harness/experiments/folder.h"
#include "harness/report/report.h"
#include "harness/verbs/verb.h"

#define SOURCES_MAX 16

struct command {
	const char *sources[SOURCES_MAX];
	uint32_t source_count;
	const char *out;
};

static const struct argp_option options[] = {
    {"out", 'o', "DIR", 0, "write summary.md and figures/ there [the first DIR]", 0},
    {0},
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct command *command = state->input;

	if (key == 'o') {
		command->out = text;
	} else if (key == ARGP_KEY_ARG) {
		if (command->source_count == SOURCES_MAX)
			argp_error(state, "at most %d folders", SOURCES_MAX);
		command->sources[command->source_count++] = text;
	} else if (key == ARGP_KEY_END && !command->source_count) {
		argp_error(state, "name a folder of results");
	} else {
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "DIR...",
    .doc = "Draw the figures of results and write their table and verdicts to summary.md.\v"
	   "DIR is what `sweep` made, or a folder of such folders: measured points are laid over "
	   "simulated lines. Each figure's script stays beside it and runs alone. "
	   "Exit: 0 done, 1 a simulated verdict differs from the paper, 2 options, "
	   "3 gnuplot is missing, 4 results that cannot be read.",
};

int wp_cmd_plot(int argc, char **argv)
{
	struct wp_report *report = calloc(1, sizeof(*report));
	struct command command = {0};
	struct wp_error error = {0};
	const char *out;
	int exit_code;

	WP_CHECK(report);
	wp_verb_parse(&argp, argc, argv, &command);
	out = command.out ? command.out : command.sources[0];
	if ((command.out && wp_folder_make(out, &error) != 0) ||
	    wp_report_make(report, command.sources, command.source_count, out, true, &error) != 0) {
		wp_error_print(stderr, &error);
		exit_code = error.exit_code;
	} else {
		wp_report_print(report, stderr);
		fprintf(stderr, "%s/summary.md, %u figures\n", out, report->figures.count);
		exit_code = report->failed ? WP_EXIT_VERDICT : WP_EXIT_OK;
	}
	wp_report_done(report);
	free(report);
	return exit_code;
}
