/* doctor: options, and where the findings go. */
#include <argp.h>
#include <stdio.h>

#include "harness/machine/doctor.h"
#include "harness/verbs/verb.h"

enum { KEY_STORE = 256, KEY_JSON };

struct options {
	const char *store;
	const char *json;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_STORE:
		options->store = argument;
		return 0;
	case KEY_JSON:
		options->json = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int wp_cmd_doctor(int argc, char **argv)
{
	static const struct argp_option known[] = {
	    {"store", KEY_STORE, "DIR", 0, "where stores would lie (default: here)", 0},
	    {"json", KEY_JSON, "FILE", 0, "write JSON instead of text (-: standard output)", 0},
	    {0},
	};
	static const struct argp argp = {
	    .options = known,
	    .parser = parse_option,
	    .doc = "What this machine can measure and what to change, a line for each "
		   "capability. Exit status 3 when real storage cannot be measured.",
	};
	struct options options = {.store = "."};
	struct wp_doctor doctor;
	struct wp_error error;

	wp_verb_parse(&argp, argc, argv, &options);
	wp_doctor_examine(&doctor, &wp_kernel_host, options.store);
	if (!options.json) {
		wp_doctor_print(stderr, &doctor);
	} else if (wp_doctor_write(&doctor, options.json, &error) != 0) {
		wp_error_print(stderr, &error);
		return (int)error.exit_code;
	}
	return wp_doctor_able(&doctor) ? WP_EXIT_OK : WP_EXIT_ENVIRONMENT;
}
