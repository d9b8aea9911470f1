/* Reading the options of a verb; see verb.h. */
#include "harness/verbs/verb.h"

#include <argp.h>
#include <stdlib.h>

#include "harness/error.h"

/* A verb's own parser, behind what holds for every value. */
struct behind {
	const struct argp *argp;
	void *input;
};

/* As on the command line; NULL: the key is no option's. */
static const char *name_of(const struct argp *argp, int key)
{
	for (const struct argp_option *option = argp->options; option && option->name; option++)
		if (option->key == key)
			return option->name;
	return NULL;
}

/* In one line, as everything else that is wrong with a value. */
static void refuse_empty(const struct argp *argp, int key)
{
	const char *name = name_of(argp, key);
	struct wp_error error;

	if (name)
		wp_error_set(&error, WP_EXIT_USAGE, "--%s: the value is empty", name);
	else if (key == ARGP_KEY_ARG)
		wp_error_set(&error, WP_EXIT_USAGE, "an argument is empty");
	else
		return;
	wp_error_print(stderr, &error);
	exit(WP_EXIT_USAGE);
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct behind *behind = state->input;
	error_t result;

	if (text && !*text)
		refuse_empty(behind->argp, key);
	if (key == ARGP_KEY_ARG && !behind->argp->args_doc)
		argp_error(state, "'%s' is not an option", text);
	state->input = behind->input;
	result = behind->argp->parser(key, text, state);
	state->input = behind;
	return result;
}

void wp_verb_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	struct behind behind = {.argp = argp, .input = input};
	struct argp checked = *argp;

	checked.parser = parse_option;
	argp_err_exit_status = WP_EXIT_USAGE;
	(void)!argp_parse(&checked, argc, argv, 0, NULL, &behind);
}
