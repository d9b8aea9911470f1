/* `worldpager qualify`: reads the options, says the plan, has the drive judged, shows the verdict.
 */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "harness/qualify/qualify.h"
#include "harness/replay/arm.h"
#include "harness/system/interrupt.h"
#include "harness/units.h"
#include "harness/verbs/verb.h"

#define SECONDS_MAX 600

enum qualify_option {
	OPTION_STORE = 256,
	OPTION_OUT,
	OPTION_MODEL,
	OPTION_MACHINE,
	OPTION_ARM,
	OPTION_CODEC,
	OPTION_SCALE,
	OPTION_FIO,
	OPTION_SECONDS,
	OPTION_RATED_WRITES,
	OPTION_DRY_RUN,
};

static const struct argp_option options[] = {
    {"store", OPTION_STORE, "DIR", 0, "folder on the drive (needed)", 0},
    {"out", OPTION_OUT, "DIR", 0, "folder of the verdict [results/qualify]", 0},
    {"model", OPTION_MODEL, "NAME|FILE", 0, "model profile [mg2]", 0},
    {"machine", OPTION_MACHINE, "NAME|FILE", 0, "machine profile [rtx4090]", 0},
    {"arm", OPTION_ARM, "ARM", 0, "on_demand prefetch deadline hedged [hedged]", 0},
    {"codec", OPTION_CODEC, "CODEC", 0, "bf16 int4 [int4]", 0},
    {"scale", OPTION_SCALE, "S", 0, "of the replays [1/16]", 0},
    {"fio", OPTION_FIO, "PROGRAM", 0, "fio 3 or later [fio]", 0},
    {"seconds", OPTION_SECONDS, "N", 0, "at most for fio's reading [30]", 0},
    {"rated-writes", OPTION_RATED_WRITES, "BYTES", 0, "rated endurance, as in 1200TB", 0},
    {"dry-run", OPTION_DRY_RUN, 0, 0, "print the plan and stop", 0},
    {0},
};

struct command {
	struct wp_qualify_config config;
	bool dry_run;
	struct wp_error error;
};

static const char **text_option(struct wp_qualify_config *config, int key)
{
	switch (key) {
	case OPTION_STORE:
		return &config->store;
	case OPTION_OUT:
		return &config->out;
	case OPTION_MODEL:
		return &config->model;
	case OPTION_MACHINE:
		return &config->machine;
	case OPTION_ARM:
		return &config->arm;
	case OPTION_CODEC:
		return &config->codec;
	case OPTION_SCALE:
		return &config->scale;
	case OPTION_FIO:
		return &config->fio;
	default:
		return NULL;
	}
}

static int parse_number(struct command *command, int key, const char *text)
{
	uint64_t count;

	if (key == OPTION_RATED_WRITES)
		return wp_units_parse_bytes("--rated-writes", text,
					    &command->config.rated_bytes_written, &command->error);
	if (wp_units_parse_count("--seconds", text, 1, SECONDS_MAX, &count, &command->error) != 0)
		return -1;
	command->config.seconds = (uint32_t)count;
	return 0;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct command *command = state->input;
	const char **place;

	WP_CHECK(command);
	place = text_option(&command->config, key);
	if (place) {
		*place = text;
	} else if (key == OPTION_DRY_RUN) {
		command->dry_run = true;
	} else if (key == OPTION_SECONDS || key == OPTION_RATED_WRITES) {
		if (!command->error.exit_code)
			(void)!parse_number(command, key, text);
	} else if (key == ARGP_KEY_END) {
		if (!command->config.store)
			argp_error(state, "--store DIR is needed");
	} else {
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .doc = "Judge whether a drive holds a world-model session without stalls: calibrate it, replay "
	   "two traces and a session on it, find the headroom.\v"
	   "Writes verdict.txt, verdict.json and verdict.html, the drive's profile and the "
	   "replays' documents. Exit: 0 it holds, 1 it does not, 2 options and config files, 3 "
	   "rights, space, device or fio, 4 contents and I/O errors, 130 interrupted.",
};

static int check_arm(const char *name, struct wp_error *error)
{
	const struct wp_arm *arm = wp_arm_find(name);

	if (arm && arm->order)
		return 0;
	return wp_error_set(error, WP_EXIT_USAGE,
			    "--arm: '%s' is none of on_demand prefetch deadline hedged", name);
}

static int qualify(struct command *command)
{
	struct wp_qualify *found = calloc(1, sizeof(*found));
	struct wp_error *error = &command->error;
	int exit_code = 0;

	WP_CHECK(found);
	if (wp_qualify_make(found, &command->config, error) != 0 ||
	    wp_qualify_write(found, &command->config, error) != 0) {
		exit_code = error->exit_code;
	} else {
		wp_qualify_print(found, stdout);
		exit_code = found->verdict == WP_QUALIFY_HOLDS ? WP_EXIT_OK : WP_EXIT_VERDICT;
	}
	free(found);
	return exit_code;
}

int wp_cmd_qualify(int argc, char **argv)
{
	struct command command = {
	    .config = {.out = "results/qualify",
		       .model = "mg2",
		       .machine = "rtx4090",
		       .arm = "hedged",
		       .codec = "int4",
		       .scale = "1/16",
		       .fio = "fio",
		       .seconds = 30},
	};
	int exit_code = 0;

	wp_verb_parse(&argp, argc, argv, &command);
	wp_interrupt_install();
	if (!command.error.exit_code && check_arm(command.config.arm, &command.error) == 0 &&
	    wp_qualify_print_plan(&command.config, stderr, &command.error) == 0 &&
	    wp_qualify_check(&command.config, &command.error) == 0 && !command.dry_run)
		exit_code = qualify(&command);
	if (command.error.exit_code) {
		wp_error_print(stderr, &command.error);
		return command.error.exit_code;
	}
	return exit_code;
}
