/* `worldpager calibrate`: reads the options, has fio measure a drive, writes its profile. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness/experiments/folder.h"
#include "harness/files/output.h"
#include "harness/profile/profile.h"
#include "harness/qualify/calibrate.h"
#include "harness/tool.h"
#include "harness/units.h"
#include "harness/verbs/verb.h"
#include "pager/codec.h"

#define SECONDS_MAX 3600

enum calibrate_option {
	OPTION_STORE = 256,
	OPTION_OUT,
	OPTION_NAME,
	OPTION_MODEL,
	OPTION_FIO,
	OPTION_ENGINE,
	OPTION_SIZE,
	OPTION_READ_SIZE,
	OPTION_READ_DEPTH,
	OPTION_SECONDS,
	OPTION_DRY_RUN,
};

static const struct argp_option options[] = {
    {"store", OPTION_STORE, "DIR", 0, "folder on the drive (needed)", 0},
    {"out", OPTION_OUT, "FILE", 0, "write the profile there; - is standard output (needed)", 0},
    {"name", OPTION_NAME, "NAME", 0, "of the profile [measured]", 0},
    {"model", OPTION_MODEL, "NAME|FILE", 0, "whose blocks are read [mg2]", 0},
    {"fio", OPTION_FIO, "PROGRAM", 0, "fio 3 or later [fio]", 0},
    {"engine", OPTION_ENGINE, "NAME", 0, "fio's I/O engine [io_uring]", 0},
    {"size", OPTION_SIZE, "BYTES", 0, "of the file that is written and read [1GiB]", 0},
    {"read-size", OPTION_READ_SIZE, "BYTES", 0, "one small read [1MiB]", 0},
    {"read-depth", OPTION_READ_DEPTH, "N", 0, "small reads in flight [16]", 0},
    {"seconds", OPTION_SECONDS, "N", 0, "at most for reading; the rest in proportion [30]", 0},
    {"dry-run", OPTION_DRY_RUN, 0, 0, "print the plan and stop", 0},
    {0},
};

struct command {
	struct wp_calibrate_config config;
	const char *out, *name, *model;
	bool dry_run;
	struct wp_error error;
};

static int parse_number(struct command *command, int key, const char *text)
{
	struct wp_calibrate_config *config = &command->config;
	struct wp_error *error = &command->error;
	uint64_t count;

	switch (key) {
	case OPTION_SIZE:
		return wp_units_parse_bytes("--size", text, &config->size_bytes, error);
	case OPTION_READ_SIZE:
		return wp_units_parse_bytes("--read-size", text, &config->read_bytes, error);
	case OPTION_READ_DEPTH:
		if (wp_units_parse_count("--read-depth", text, 1, 1024, &count, error) != 0)
			return -1;
		config->read_depth = (uint32_t)count;
		return 0;
	default:
		if (wp_units_parse_count("--seconds", text, 1, SECONDS_MAX, &count, error) != 0)
			return -1;
		config->seconds = (uint32_t)count;
		return 0;
	}
}

static const char **text_option(struct command *command, int key)
{
	switch (key) {
	case OPTION_STORE:
		return &command->config.folder;
	case OPTION_OUT:
		return &command->out;
	case OPTION_NAME:
		return &command->name;
	case OPTION_MODEL:
		return &command->model;
	case OPTION_FIO:
		return &command->config.fio;
	case OPTION_ENGINE:
		return &command->config.engine;
	default:
		return NULL;
	}
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct command *command = state->input;
	const char **place;

	WP_CHECK(command);
	place = text_option(command, key);
	if (place) {
		*place = text;
	} else if (key == OPTION_DRY_RUN) {
		command->dry_run = true;
	} else if (key >= OPTION_SIZE && key <= OPTION_SECONDS) {
		if (!command->error.exit_code)
			(void)!parse_number(command, key, text);
	} else if (key == ARGP_KEY_END) {
		if (!command->config.folder || (!command->out && !command->dry_run))
			argp_error(state, "--store DIR and --out FILE are needed");
	} else {
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .doc =
	"Measure a drive with fio as the pager uses it, and write a drive profile for "
	"`--drive`.\v"
	"The jobs are configs/fio/*.fio. DIR gets a file of --size bytes while they run. Exit: 0 "
	"done, 2 options and config files, 3 fio, space or device, 4 what fio wrote and I/O "
	"errors, 130 interrupted.",
};

/* A path, unlike a name, is meant from here and not from the folder fio runs in. */
static int resolve_program(struct wp_calibrate_config *config, char path[PATH_MAX],
			   struct wp_error *error)
{
	if (!strchr(config->fio, '/'))
		return 0;
	if (!realpath(config->fio, path))
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "%s: %s", config->fio,
				    strerror(errno));
	config->fio = path;
	return 0;
}

static int prepare(struct command *command, char program[PATH_MAX], struct wp_error *error)
{
	struct wp_model model;

	if (!wp_tool_name_valid(command->name))
		return wp_error_set(error, WP_EXIT_USAGE, "--name '%s' is not a name",
				    command->name);
	if (wp_model_load(&model, command->model, error) != 0)
		return -1;
	/* Before anything is measured. */
	if (wp_output_check(command->out, error) != 0 ||
	    wp_folder_check(command->config.folder, error) != 0)
		return -1;
	command->config.block_bytes =
	    wp_codec_block_bytes(&wp_codec_int4, wp_model_elements(&model, NULL));
	return resolve_program(&command->config, program, error);
}

static void print_plan(const struct wp_calibrate_config *config)
{
	char size[WP_UNITS_TEXT], read[WP_UNITS_TEXT];

	fprintf(stderr,
		"calibration in %s: %s written, then at most %u s of reads of %s, %u in flight\n",
		config->folder, wp_units_bytes(size, config->size_bytes),
		wp_calibrate_seconds(config), wp_units_bytes(read, config->read_bytes),
		config->read_depth);
}

int wp_cmd_calibrate(int argc, char **argv)
{
	struct command command = {
	    .config = {.fio = "fio",
		       .engine = "io_uring",
		       .size_bytes = 1ull << 30,
		       .has_size_option = true,
		       .read_bytes = 1u << 20,
		       .read_depth = 16,
		       .seconds = 30,
		       .progress = stderr},
	    .name = "measured",
	    .model = "mg2",
	};
	struct wp_error *error = &command.error;
	struct wp_calibration calibration;
	char program[PATH_MAX];

	wp_verb_parse(&argp, argc, argv, &command);
	if (!error->exit_code && prepare(&command, program, error) == 0) {
		print_plan(&command.config);
		if (!command.dry_run &&
		    wp_calibrate_run(&command.config, &calibration, error) == 0) {
			wp_calibrate_print(&calibration, stderr);
			(void)!wp_calibrate_write(&command.config, &calibration, command.name,
						  command.out, error);
		}
	}
	if (error->exit_code)
		wp_error_print(stderr, error);
	return error->exit_code;
}
