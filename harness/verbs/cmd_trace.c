/*
 * worldpager trace make | info | validate: options and messages only. Making
 * is trajectory.c, checking trace_read.c, figures trace_info.c; importing has a
 * file of its own, cmd_trace_import.c.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/error.h"
#include "harness/files/output.h"
#include "harness/progress.h"
#include "harness/system/interrupt.h"
#include "harness/tool.h"
#include "harness/trace/trace.h"
#include "harness/trace/trace_info.h"
#include "harness/trace/trajectory.h"
#include "harness/units.h"
#include "harness/verbs/verb.h"

enum {
	KEY_TRAJECTORY = 256,
	KEY_OUT,
	KEY_K,
	KEY_FRAMES,
	KEY_EXCLUDE_RECENT,
	KEY_NAME,
	KEY_JSON,
};

struct make_options {
	const char *trajectory, *out, *name;
	const char *k, *frames, *exclude_recent; /* as given; NULL: the config's */
};

static int report(const struct wp_error *error)
{
	wp_error_print(stderr, error);
	return error->exit_code;
}

static error_t parse_make(int key, char *argument, struct argp_state *state)
{
	struct make_options *options = state->input;

	switch (key) {
	case KEY_TRAJECTORY:
		options->trajectory = argument;
		return 0;
	case KEY_OUT:
		options->out = argument;
		return 0;
	case KEY_NAME:
		options->name = argument;
		return 0;
	case KEY_K:
		options->k = argument;
		return 0;
	case KEY_FRAMES:
		options->frames = argument;
		return 0;
	case KEY_EXCLUDE_RECENT:
		options->exclude_recent = argument;
		return 0;
	case ARGP_KEY_END:
		if (!options->trajectory || !options->out)
			argp_error(state, "--trajectory and --out are needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What the command line says differently from the config. */
static int override(struct wp_trajectory *trajectory, const struct make_options *options,
		    struct wp_error *error)
{
	uint64_t value;

	if (options->name) {
		if (!wp_tool_name_valid(options->name) ||
		    strlen(options->name) >= sizeof(trajectory->name))
			return wp_error_set(error, WP_EXIT_USAGE,
					    "--name: \"%.80s\" is not a name (letters, digits, "
					    "\"_\", \"-\", \".\"; at most 63)",
					    options->name);
		strcpy(trajectory->name, options->name);
	}
	if (options->k) {
		if (wp_units_parse_count("--k", options->k, 1, WP_SET_BLOCKS_MAX, &value, error) <
		    0)
			return -1;
		trajectory->rule.k = (uint32_t)value;
	}
	if (options->frames) {
		if (wp_units_parse_count("--frames", options->frames, 1, WP_BLOCKS_MAX, &value,
					 error) < 0)
			return -1;
		trajectory->frames = (uint32_t)value;
	}
	if (options->exclude_recent) {
		if (wp_units_parse_count("--exclude-recent", options->exclude_recent, 0,
					 WP_BLOCKS_MAX, &value, error) < 0)
			return -1;
		trajectory->rule.exclude_recent = (uint32_t)value;
	}
	return 0;
}

static int walk(const struct wp_trajectory *trajectory, struct wp_trace *trace,
		struct wp_error *error)
{
	struct wp_progress progress;
	int result;

	wp_progress_begin(&progress, "trace make");
	result = wp_trajectory_walk_shown(trajectory, trace, &progress);
	wp_progress_end(&progress);
	if (result == -EINTR)
		return wp_error_set(error, WP_EXIT_INTERRUPTED, "interrupted");
	return result == 0 ? 0
			   : wp_error_set(error, WP_EXIT_ENVIRONMENT, "out of memory for %u frames",
					  trajectory->frames);
}

static int make_trace(const struct make_options *options, struct wp_error *error)
{
	struct wp_trajectory trajectory;
	struct wp_trace trace = {0};
	struct wp_output output = {0};
	int result = -1;

	wp_interrupt_install();
	if (wp_output_check(options->out, error) < 0 ||
	    wp_trajectory_load(&trajectory, options->trajectory, error) < 0)
		return -1;
	if (override(&trajectory, options, error) < 0)
		goto out;
	if (walk(&trajectory, &trace, error) < 0 ||
	    wp_output_open(&output, options->out, error) < 0)
		goto out;
	wp_trace_write(output.stream, &trace);
	result = wp_interrupted() ? wp_error_set(error, WP_EXIT_INTERRUPTED, "interrupted")
				  : wp_output_commit(&output, error);
out:
	wp_output_abandon(&output);
	wp_trace_done(&trace);
	wp_trajectory_done(&trajectory);
	return result;
}

static int run_make(int argc, char **argv)
{
	static const struct argp_option known[] = {
	    {"trajectory", KEY_TRAJECTORY, "CONFIG", 0, "name or path of a trajectory", 0},
	    {"out", KEY_OUT, "FILE", 0, "the trace (-: standard output)", 0},
	    {"name", KEY_NAME, "NAME", 0, "its name (the trajectory's)", 0},
	    {"frames", KEY_FRAMES, "N", 0, "its length (the trajectory's)", 0},
	    {"k", KEY_K, "N", 0, "blocks that a frame retrieves (the trajectory's)", 0},
	    {"exclude-recent", KEY_EXCLUDE_RECENT, "N", 0,
	     "most recent blocks left out (the trajectory's)", 0},
	    {0},
	};
	static const struct argp argp = {
	    .options = known,
	    .parser = parse_make,
	    .doc = "Walks a trajectory and writes the trace: poses, and the set that every "
		   "frame retrieves. The same trajectory gives the same bytes.",
	};
	struct make_options options = {0};
	struct wp_error error;

	wp_verb_parse(&argp, argc, argv, &options);
	return make_trace(&options, &error) < 0 ? report(&error) : WP_EXIT_OK;
}

struct file_options {
	const char *json;
	char **files;
	int file_count;
};

static error_t parse_files(int key, char *argument, struct argp_state *state)
{
	struct file_options *options = state->input;

	switch (key) {
	case KEY_JSON:
		options->json = argument;
		return 0;
	case ARGP_KEY_ARGS:
		options->files = state->argv + state->next;
		options->file_count = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "a trace is needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int show_info(const struct file_options *options, struct wp_error *error)
{
	struct wp_output output = {0};
	struct wp_trace trace;
	struct wp_trace_info info;
	int result = -1;

	if (wp_output_check(options->json, error) < 0 ||
	    wp_trace_load(&trace, options->files[0], 0, error) < 0)
		return -1;
	if (wp_trace_info_make(&trace, &info) < 0) {
		wp_error_set(error, WP_EXIT_ENVIRONMENT, "out of memory");
	} else if (!options->json) {
		wp_trace_info_print(stderr, &trace, &info);
		result = 0;
	} else if (wp_output_open(&output, options->json, error) == 0) {
		wp_trace_info_write(output.stream, &trace, &info);
		result = wp_output_commit(&output, error);
	}
	wp_output_abandon(&output);
	wp_trace_done(&trace);
	return result;
}

static int run_info(int argc, char **argv)
{
	static const struct argp_option known[] = {
	    {"json", KEY_JSON, "FILE", 0, "write JSON instead of text (-: standard output)", 0},
	    {0},
	};
	static const struct argp argp = {
	    .options = known,
	    .parser = parse_files,
	    .args_doc = "TRACE",
	    .doc = "Describes a trace (name or path): its sets, how far back they reach, and "
		   "what hints would make of it.",
	};
	struct file_options options = {0};
	struct wp_error error;

	wp_verb_parse(&argp, argc, argv, &options);
	if (options.file_count > 1) {
		wp_error_set(&error, WP_EXIT_USAGE, "trace info describes one trace at a time");
		return report(&error);
	}
	return show_info(&options, &error) < 0 ? report(&error) : WP_EXIT_OK;
}

/* Every file is looked at, so that one call shows all that is wrong. */
static int run_validate(int argc, char **argv)
{
	static const struct argp_option known[] = {{0}};
	static const struct argp argp = {
	    .options = known,
	    .parser = parse_files,
	    .args_doc = "TRACE...",
	    .doc = "Checks traces (names or paths) and names the line of the first fault of "
		   "each. Exit status 4 when one has a fault.",
	};
	struct file_options options = {0};
	struct wp_error error;
	struct wp_trace trace;
	char frames[WP_UNITS_TEXT];
	int status = WP_EXIT_OK;

	wp_verb_parse(&argp, argc, argv, &options);
	for (int i = 0; i < options.file_count; i++) {
		if (wp_trace_load(&trace, options.files[i], 0, &error) < 0) {
			status = report(&error);
			continue;
		}
		fprintf(stderr, "%s: fine: %s, %s, k = %u, digest %s\n", options.files[i],
			trace.name, wp_units_counted(frames, trace.frames, "frame"), trace.rule.k,
			trace.digest);
		wp_trace_done(&trace);
	}
	return status;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} actions[] = {
    {"make", run_make, "walk a trajectory and write the trace"},
    {"info", run_info, "describe a trace"},
    {"validate", run_validate, "check traces, with line numbers"},
    {"import", wp_cmd_trace_import, "make a trace of what another tool recorded"},
};

#define ACTION_COUNT (sizeof(actions) / sizeof(actions[0]))

static void print_usage(FILE *stream)
{
	fputs("Usage: worldpager trace ACTION [OPTION...]\n", stream);
	for (size_t i = 0; i < ACTION_COUNT; i++)
		fprintf(stream, "  %-10s %s\n", actions[i].name, actions[i].summary);
	fputs("`worldpager trace ACTION --help` explains the options of each.\n", stream);
}

int wp_cmd_trace(int argc, char **argv)
{
	char name[64];

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?"))) {
		print_usage(stdout);
		return WP_EXIT_OK;
	}
	for (size_t i = 0; argc > 1 && i < ACTION_COUNT; i++) {
		if (strcmp(argv[1], actions[i].name))
			continue;
		snprintf(name, sizeof(name), "worldpager trace %s", actions[i].name);
		argv[1] = name;
		return actions[i].run(argc - 1, argv + 1);
	}
	if (argc > 1)
		fprintf(stderr, "worldpager trace: no action \"%.60s\"\n", argv[1]);
	print_usage(stderr);
	return WP_EXIT_USAGE;
}
