/* `worldpager sweep`: reads the options, prints the plan or makes the replays, then the report. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/error.h"
#include "harness/experiments/folder.h"
#include "harness/experiments/sweep.h"
#include "harness/plot/gnuplot.h"
#include "harness/replay/real_gpu.h"
#include "harness/report/report.h"
#include "harness/units.h"
#include "harness/verbs/verb.h"

enum sweep_option {
	OPTION_OUT = 256,
	OPTION_STORE,
	OPTION_SCALE,
	OPTION_FRAMES,
	OPTION_THROTTLE,
	OPTION_THROTTLE_DEVICE,
	OPTION_REPEATS,
	OPTION_RESUME,
	OPTION_NO_FIGURES,
	OPTION_DRY_RUN,
};

static const struct argp_option options[] = {
    {"out", OPTION_OUT, "DIR", 0, "folder of results: new, empty, or of this experiment", 0},
    {"store", OPTION_STORE, "DIR", 0, "folder of stores, where a drive is used [DIR/store]", 0},
    {"scale", OPTION_SCALE, "S", 0, "instead of the experiment's", 0},
    {"frames", OPTION_FRAMES, "N", 0, "instead of the experiment's", 0},
    {"throttle", OPTION_THROTTLE, "HOW", 0, "instead of the experiment's", 0},
    {"throttle-device", OPTION_THROTTLE_DEVICE, "MAJ:MIN", 0, "instead of the experiment's", 0},
    {"repeats", OPTION_REPEATS, "N", 0, "instead of the experiment's", 0},
    {"resume", OPTION_RESUME, 0, 0, "keep what the same command lines have left", 0},
    {"no-figures", OPTION_NO_FIGURES, 0, 0, "do not draw; gnuplot is not needed", 0},
    {"dry-run", OPTION_DRY_RUN, 0, 0, "print the plan and stop", 0},
    {0},
};

struct command {
	const char *experiment, *out, *store;
	const char *passed[WP_PASSED_COUNT]; /* NULL: the experiment's */
	const char *repeats;
	bool resume, no_figures, dry_run;
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case OPTION_OUT:
		command->out = text;
		return 0;
	case OPTION_STORE:
		command->store = text;
		return 0;
	case OPTION_SCALE:
		command->passed[WP_PASSED_SCALE] = text;
		return 0;
	case OPTION_FRAMES:
		command->passed[WP_PASSED_FRAMES] = text;
		return 0;
	case OPTION_THROTTLE:
		command->passed[WP_PASSED_THROTTLE] = text;
		return 0;
	case OPTION_THROTTLE_DEVICE:
		command->passed[WP_PASSED_THROTTLE_DEVICE] = text;
		return 0;
	case OPTION_REPEATS:
		command->repeats = text;
		return 0;
	case OPTION_RESUME:
		command->resume = true;
		return 0;
	case OPTION_NO_FIGURES:
		command->no_figures = true;
		return 0;
	case OPTION_DRY_RUN:
		command->dry_run = true;
		return 0;
	case ARGP_KEY_ARG:
		if (command->experiment)
			argp_error(state, "one experiment at a time, not '%s' too", text);
		command->experiment = text;
		return 0;
	case ARGP_KEY_END:
		if (!command->experiment)
			argp_error(state, "name an experiment or its file");
		if (!command->out && !command->dry_run)
			argp_error(state, "--out DIR is needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .args_doc = "EXPERIMENT",
    .doc = "Make all replays of an experiment, each in a process of its own, and their report."
	   "\vEXPERIMENT is a name in configs/experiments or a file. DIR gets replays/, "
	   "index.json, summary.md and figures/; it is new, empty, or of the same experiment, "
	   "whose replays are then made again: replays of another one, or of points that this "
	   "one no longer has, are not removed. Exit: 0 done, 1 a simulated verdict differs "
	   "from the paper, 2 options and config files, 3 or 4 the first failed replay's, "
	   "130 interrupted.",
};

static int apply(const struct command *command, struct wp_experiment *experiment,
		 struct wp_error *error)
{
	uint64_t count;

	for (int i = 0; i < WP_PASSED_COUNT; i++) {
		if (!command->passed[i])
			continue;
		snprintf(experiment->passed[i], WP_EXPERIMENT_TEXT, "%s", command->passed[i]);
		experiment->overridden[i] = true;
	}
	if (command->passed[WP_PASSED_FRAMES] &&
	    wp_units_parse_count("--frames", command->passed[WP_PASSED_FRAMES], 1, UINT32_MAX,
				 &count, error) != 0)
		return -1;
	if (!command->repeats)
		return 0;
	if (wp_units_parse_count("--repeats", command->repeats, 1, 1000, &count, error) != 0)
		return -1;
	experiment->repeats = (uint32_t)count;
	if ((uint64_t)experiment->trace_count * experiment->arm_count *
		experiment->bandwidth_count * experiment->codec_count * experiment->k_count *
		count >
	    WP_EXPERIMENT_POINTS_MAX)
		return wp_error_set(error, WP_EXIT_USAGE, "--repeats %s makes more than %d replays",
				    command->repeats, WP_EXPERIMENT_POINTS_MAX);
	return 0;
}

static void print_plan(const struct wp_sweep *sweep, bool points)
{
	const struct wp_experiment *experiment = sweep->experiment;
	char text[WP_UNITS_TEXT], count[WP_UNITS_TEXT];

	fprintf(stderr, "%s: %s in the %s world, scale %s, about %s\n", experiment->name,
		wp_units_counted(count, sweep->count, "replay"), experiment->world,
		experiment->passed[WP_PASSED_SCALE][0]	    ? experiment->passed[WP_PASSED_SCALE]
		: strcmp(experiment->world, "virtual") == 0 ? "1"
							    : "1/16",
		wp_units_duration(text, sweep->estimate_ns));
	if (sweep->store_bytes) {
		fprintf(stderr, "  reads      %s\n", wp_units_bytes(text, sweep->read_bytes));
		fprintf(stderr, "  store      %s, written once and reused\n",
			wp_units_bytes(text, sweep->store_bytes));
	}
	for (uint32_t i = 0; points && i < sweep->count; i++) {
		const struct wp_point *point = &sweep->points[i];

		fprintf(stderr, "  %-56s %10s%s", point->name,
			wp_units_duration(text, point->estimate_ns),
			point->read_bytes ? "  " : "\n");
		if (point->read_bytes)
			fprintf(stderr, "%s\n", wp_units_bytes(text, point->read_bytes));
	}
}

static int report(const struct command *command, struct wp_error *error)
{
	struct wp_report *made = calloc(1, sizeof(*made));
	int exit_code;

	WP_CHECK(made);
	if (wp_report_make(made, &command->out, 1, command->out, !command->no_figures, error) !=
	    0) {
		exit_code = error->exit_code;
	} else {
		wp_report_print(made, stderr);
		fprintf(stderr, "%s/summary.md\n", command->out);
		exit_code = made->failed ? WP_EXIT_VERDICT : WP_EXIT_OK;
	}
	wp_report_done(made);
	free(made);
	return exit_code;
}

static int run(const struct command *command, struct wp_sweep *sweep, struct wp_error *error)
{
	struct wp_error later = {0};
	struct wp_gpu_facts gpu;
	int exit_code;

	/* Once, not for each replay. */
	if (strcmp(sweep->experiment->world, "real") == 0 && wp_real_gpu_find(&gpu, error) != 0)
		return error->exit_code;
	/* Not after an hour of replays. */
	if (!command->no_figures && wp_gnuplot_check(error) != 0)
		return error->exit_code;
	print_plan(sweep, false);
	if (wp_sweep_run(sweep, error) != 0 &&
	    (!sweep->begun || error->exit_code == WP_EXIT_INTERRUPTED ||
	     error->exit_code == WP_EXIT_USAGE))
		return error->exit_code;
	/* Points that failed are part of the report. */
	exit_code = report(command, error->exit_code ? &later : error);
	if (!error->exit_code)
		return exit_code;
	if (later.exit_code)
		wp_error_print(stderr, &later);
	return exit_code == WP_EXIT_VERDICT ? exit_code : (int)error->exit_code;
}

int wp_cmd_sweep(int argc, char **argv)
{
	struct wp_experiment *experiment = calloc(1, sizeof(*experiment));
	struct command command = {0};
	struct wp_error error = {0};
	struct wp_sweep sweep;
	int exit_code = 0;

	WP_CHECK(experiment);
	wp_verb_parse(&argp, argc, argv, &command);
	if (wp_experiment_load(experiment, command.experiment, &error) == 0 &&
	    apply(&command, experiment, &error) == 0 &&
	    wp_sweep_open(&sweep, experiment, command.out ? command.out : "DIR", command.store,
			  &error) == 0) {
		sweep.resume = command.resume;
		if (command.dry_run) {
			print_plan(&sweep, true);
			if (command.out)
				(void)!wp_folder_check(command.out, &error);
		} else {
			exit_code = run(&command, &sweep, &error);
		}
		wp_sweep_close(&sweep);
	}
	if (error.exit_code) {
		wp_error_print(stderr, &error);
		exit_code = exit_code ? exit_code : (int)error.exit_code;
	}
	free(experiment);
	return exit_code;
}
