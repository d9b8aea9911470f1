/* worldpager plan: options only; the arithmetic is plan.c. */
#include <argp.h>
#include <stdlib.h>

#include "harness/error.h"
#include "harness/files/output.h"
#include "harness/profile/plan.h"
#include "harness/units.h"
#include "harness/verbs/verb.h"

enum {
	KEY_MODEL = 256,
	KEY_MACHINE,
	KEY_CODEC,
	KEY_K,
	KEY_FRAMES,
	KEY_TRACE,
	KEY_DRIVE,
	KEY_RATED_WRITES,
	KEY_JSON,
};

struct options {
	const char *model, *machine, *codec, *k, *frames, *json;
	const char *trace, *drive, *rated_writes; /* NULL: not given */
};

static const struct argp_option known[] = {
    {"model", KEY_MODEL, "NAME", 0, "model profile, name or path (mg2)", 0},
    {"machine", KEY_MACHINE, "NAME", 0, "machine profile, name or path (rtx4090)", 0},
    {"codec", KEY_CODEC, "NAME", 0, "stored form of the blocks (int4)", 0},
    {"k", KEY_K, "N", 0, "blocks that a frame retrieves (2)", 0},
    {"frames", KEY_FRAMES, "N", 0, "length of a session (3000)", 0},
    {"trace", KEY_TRACE, "NAME", 0, "also the rates that the arms need on this trace", 0},
    {"drive", KEY_DRIVE, "NAME", 0, "drive profile whose rated endurance is used", 0},
    {"rated-writes", KEY_RATED_WRITES, "BYTES", 0, "rated endurance, as in 1200TB", 0},
    {"json", KEY_JSON, "FILE", 0, "write JSON instead of text (-: standard output)", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const char **const slots[] = {
	    &options->model, &options->machine,	     &options->codec,
	    &options->k,     &options->frames,	     &options->trace,
	    &options->drive, &options->rated_writes, &options->json,
	};

	if (key >= KEY_MODEL && key <= KEY_JSON) {
		*slots[key - KEY_MODEL] = argument;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

struct inputs {
	struct wp_model model;
	struct wp_machine machine;
	struct wp_trace trace;
	uint64_t k, frames, rated_bytes_written;
};

static int load_inputs(const struct options *options, struct inputs *inputs, struct wp_error *error)
{
	struct wp_drive_profile drive;

	if (wp_units_parse_count("--k", options->k, 1, WP_SET_BLOCKS_MAX, &inputs->k, error) < 0 ||
	    wp_units_parse_count("--frames", options->frames, 1, WP_BLOCKS_MAX, &inputs->frames,
				 error) < 0 ||
	    wp_model_load(&inputs->model, options->model, error) < 0 ||
	    wp_machine_load(&inputs->machine, options->machine, error) < 0)
		return -1;
	if (options->drive) {
		if (wp_drive_load(&drive, options->drive, error) < 0)
			return -1;
		inputs->rated_bytes_written = drive.rated_bytes_written;
	}
	if (options->rated_writes && wp_units_parse_bytes("--rated-writes", options->rated_writes,
							  &inputs->rated_bytes_written, error) < 0)
		return -1;
	if (!options->trace)
		return 0;
	if (wp_trace_load(&inputs->trace, options->trace, 0, error) < 0)
		return -1;
	return wp_trace_set_k(&inputs->trace, (uint32_t)inputs->k, error);
}

static int show(const struct options *options, const struct inputs *inputs, struct wp_error *error)
{
	struct wp_output output = {0};
	struct wp_plan plan;
	int result;

	if (wp_plan_make(&plan, &inputs->model, &inputs->machine, options->codec,
			 (uint32_t)inputs->k, (uint32_t)inputs->frames, error) < 0)
		return -1;
	plan.rated_bytes_written = inputs->rated_bytes_written;
	if (options->trace && wp_plan_add_trace(&plan, &inputs->trace, error) < 0)
		return -1;
	if (!options->json) {
		wp_plan_print(stderr, &plan);
		return 0;
	}
	if (wp_output_open(&output, options->json, error) < 0)
		return -1;
	wp_plan_write(output.stream, &plan);
	result = wp_output_commit(&output, error);
	wp_output_abandon(&output);
	return result;
}

int wp_cmd_plan(int argc, char **argv)
{
	static const struct argp argp = {
	    .options = known,
	    .parser = parse,
	    .doc = "Capacity walls, read and write rates and bytes written, for a model and a "
		   "machine profile. Nothing is run.",
	};
	struct options options = {
	    .model = "mg2", .machine = "rtx4090", .codec = "int4", .k = "2", .frames = "3000"};
	struct inputs inputs = {0};
	struct wp_error error;
	int result;

	wp_verb_parse(&argp, argc, argv, &options);
	result = wp_output_check(options.json, &error);
	if (result == 0)
		result = load_inputs(&options, &inputs, &error);
	if (result == 0)
		result = show(&options, &inputs, &error);
	wp_trace_done(&inputs.trace);
	if (result == 0)
		return WP_EXIT_OK;
	wp_error_print(stderr, &error);
	return error.exit_code;
}
