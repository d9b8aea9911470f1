/* `worldpager compare`: reads the options, has two sets of results compared, reports. */
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/compare/compare.h"
#include "harness/files/output.h"
#include "harness/units.h"
#include "harness/verbs/verb.h"

#define MORE_MAX 64

enum compare_option {
	OPTION_BASE = 256,
	OPTION_NEW,
	OPTION_TOLERANCE,
	OPTION_FORCE,
	OPTION_JUNIT,
	OPTION_MARKDOWN,
};

static const struct argp_option options[] = {
    {"base", OPTION_BASE, "PATH", 0, "more runs of the base; may be given several times", 0},
    {"new", OPTION_NEW, "PATH", 0, "more runs of the new side; the same", 0},
    {"tolerance", OPTION_TOLERANCE, "SHARE", 0, "slower by this much is no fault [0.05]", 0},
    {"force", OPTION_FORCE, 0, 0, "compare although machines, settings or points differ", 0},
    {"junit", OPTION_JUNIT, "FILE", 0, "write JUnit XML there; - is standard output", 0},
    {"markdown", OPTION_MARKDOWN, "FILE", 0, "write Markdown there; - is standard output", 0},
    {0},
};

struct more {
	enum wp_compare_side side;
	const char *path;
};

struct command {
	struct more paths[MORE_MAX];
	uint32_t path_count, argument_count;
	double tolerance;
	bool force;
	const char *junit, *markdown;
	struct wp_error error;
};

static void add_path(struct command *command, enum wp_compare_side side, const char *path,
		     struct argp_state *state)
{
	if (command->path_count == MORE_MAX)
		argp_error(state, "at most %d paths", MORE_MAX);
	else
		command->paths[command->path_count++] = (struct more){.side = side, .path = path};
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct command *command = state->input;

	WP_CHECK(command);
	switch (key) {
	case OPTION_BASE:
		add_path(command, WP_COMPARE_BASE, text, state);
		return 0;
	case OPTION_NEW:
		add_path(command, WP_COMPARE_NEW, text, state);
		return 0;
	case OPTION_TOLERANCE:
		if (!command->error.exit_code)
			(void)!wp_units_parse_ratio("--tolerance", text, &command->tolerance,
						    &command->error);
		return 0;
	case OPTION_FORCE:
		command->force = true;
		return 0;
	case OPTION_JUNIT:
		command->junit = text;
		return 0;
	case OPTION_MARKDOWN:
		command->markdown = text;
		return 0;
	case ARGP_KEY_ARG:
		if (command->argument_count == 2)
			argp_error(state, "two paths, BASE and NEW; more runs with --base, --new");
		add_path(command, command->argument_count++ ? WP_COMPARE_NEW : WP_COMPARE_BASE,
			 text, state);
		return 0;
	case ARGP_KEY_END:
		if (command->argument_count < 2)
			argp_error(state, "name BASE and NEW");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "BASE NEW",
    .doc =
	"Tell whether results got worse. BASE and NEW are a replay's result, a folder of results "
	"or a folder of either.\v"
	"Virtual results must be the same bit for bit. Measured ones are tested, point by point, "
	"on stall and read time of each frame (a sign test over up to 20 blocks of consecutive "
	"frames, paired by frame) and on each run's p99 and maximum (a rank test over runs: 6 runs "
	"a side tell one point). The tests together raise a false alarm with a chance of at most "
	"1 %, if a disturbance does not last for all of one side's runs: take turns with them. "
	"Machines are told apart by a fingerprint that updates of kernel or firmware keep.\n\n"
	"Exit: 0 nothing worse, 1 something is, 2 options, 4 results that cannot be read or must "
	"not be compared; --junit then gets an error and --markdown the reason.",
};

/* What a CI step collects must not be an older verdict. Files that are inputs stay. */
static int refuse(const struct command *command, const struct wp_error *why)
{
	struct wp_error unwritten;

	if (command->markdown &&
	    wp_compare_refuse_markdown(why, command->markdown, &unwritten) != 0 &&
	    unwritten.exit_code != WP_EXIT_USAGE)
		wp_error_print(stderr, &unwritten);
	if (command->junit && wp_compare_refuse_junit(why, command->junit, &unwritten) != 0 &&
	    unwritten.exit_code != WP_EXIT_USAGE)
		wp_error_print(stderr, &unwritten);
	return (int)why->exit_code;
}

/* A place that cannot be written to is left out of `command`. */
static int check_outputs(struct command *command, struct wp_error *error)
{
	struct wp_error second = {0};

	if (wp_output_check(command->junit, error) != 0)
		command->junit = NULL;
	if (wp_output_check(command->markdown, &second) != 0)
		command->markdown = NULL;
	if (!error->exit_code)
		*error = second;
	return error->exit_code ? -1 : 0;
}

static int add_paths(const struct command *command, struct wp_compare *compared,
		     struct wp_error *error)
{
	for (uint32_t i = 0; i < command->path_count; i++) {
		if (wp_compare_add(compared, command->paths[i].side, command->paths[i].path,
				   error) != 0)
			return -1;
	}
	return 0;
}

static int compare(struct command *command, struct wp_compare *compared, struct wp_error *error)
{
	struct wp_error value = *error; /* of an option; it comes first */

	*error = (struct wp_error){0};
	if (check_outputs(command, error) != 0 || value.exit_code) {
		if (value.exit_code)
			*error = value;
		return refuse(command, error);
	}
	if (add_paths(command, compared, error) != 0 || wp_compare_run(compared, error) != 0)
		return refuse(command, error);
	wp_compare_print(compared, stderr);
	if (command->markdown && wp_compare_write_markdown(compared, command->markdown, error) != 0)
		return error->exit_code;
	if (command->junit && wp_compare_write_junit(compared, command->junit, error) != 0)
		return error->exit_code;
	return compared->worse ? WP_EXIT_VERDICT : WP_EXIT_OK;
}

int wp_cmd_compare(int argc, char **argv)
{
	struct command command = {.tolerance = WP_COMPARE_TOLERANCE};
	struct wp_error *error = &command.error;
	struct wp_compare compared;
	int exit_code = 0;

	wp_verb_parse(&argp, argc, argv, &command);
	wp_compare_open(&compared, command.tolerance, command.force);
	exit_code = compare(&command, &compared, error);
	wp_compare_close(&compared);
	if (error->exit_code) {
		wp_error_print(stderr, error);
		return error->exit_code;
	}
	return exit_code;
}
