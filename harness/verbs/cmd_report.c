/* `worldpager report`: a folder of results as one page for a browser. */
#include <argp.h>
#include <stdio.h>

#include "harness/error.h"
#include "harness/files/output.h"
#include "harness/report/report_html.h"
#include "harness/tool.h"
#include "harness/verbs/verb.h"

struct command {
	const char *folder, *out;
};

static const struct argp_option options[] = {
    {"out", 'o', "FILE", 0, "where the page goes, \"-\" is standard output [DIR/report.html]", 0},
    {0},
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct command *command = state->input;

	if (key == 'o') {
		command->out = text;
	} else if (key == ARGP_KEY_ARG) {
		if (command->folder)
			argp_error(state, "one folder at a time, not '%s' too", text);
		command->folder = text;
	} else if (key == ARGP_KEY_END && !command->folder) {
		argp_error(state, "name a folder of results");
	} else {
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "DIR",
    .doc = "Write what a folder of results holds to one HTML page: claims, figures, every "
	   "frame's stall, the limits and their proof, the machine, notes.\v"
	   "DIR is what `sweep` or `make reproduce` made; figures are shown as they lie there "
	   "(`plot` draws them). The page needs no network and no other file. "
	   "Exit: 0 done, whatever the verdicts; 2 options; 4 results or figures that cannot be "
	   "read.",
};

int wp_cmd_report(int argc, char **argv)
{
	struct wp_report_html shown = {0};
	struct command command = {0};
	struct wp_error error = {0};
	char path[WP_PATH_MAX];
	const char *out = path;
	int length;

	wp_verb_parse(&argp, argc, argv, &command);
	length = snprintf(path, sizeof(path), "%s/report.html", command.folder);
	if (command.out)
		out = command.out;
	if (out == path && length >= (int)sizeof(path))
		wp_error_set(&error, WP_EXIT_CONTENT, "the folder's name is too long");
	else if ((!command.out || wp_output_check(out, &error) == 0) &&
		 wp_report_html_write(command.folder, out, &shown, &error) == 0)
		fprintf(stderr, "%s: %u replays, %u points, %u figures\n", out, shown.documents,
			shown.points, shown.figures);
	if (error.exit_code)
		wp_error_print(stderr, &error);
	return (int)error.exit_code;
}
