/*
 * worldpager codec-report: options and files only; the figures are
 * codec_report.c, the drawing scripts/codec_report.gp.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/experiments/codec_report.h"
#include "harness/experiments/folder.h"
#include "harness/files/output.h"
#include "harness/verbs/verb.h"

enum {
	KEY_OUT = 256,
	KEY_SEED,
};

struct options {
	const char *out;
	uint64_t seed;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	char *end;

	switch (key) {
	case KEY_OUT:
		options->out = argument;
		return 0;
	case KEY_SEED:
		errno = 0;
		options->seed = strtoull(argument, &end, 10);
		if (errno || *end || end == argument || *argument < '0' || *argument > '9' ||
		    options->seed > INT64_MAX)
			argp_error(state, "--seed: not a whole number: %s", argument);
		return 0;
	case ARGP_KEY_END:
		if (!options->out)
			argp_error(state, "--out is needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

enum form { JSON, MARKDOWN, TABLE };

static int write_form(const struct wp_codec_report *report, const char *folder, const char *name,
		      enum form form, struct wp_error *error)
{
	struct wp_output output;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return wp_error_set(error, WP_EXIT_USAGE, "--out: too long");
	if (wp_output_open(&output, path, error) < 0)
		return -1;
	if (form == JSON && wp_codec_report_json(report, output.stream, error) < 0) {
		wp_output_abandon(&output);
		return -1;
	}
	if (form == MARKDOWN)
		wp_codec_report_markdown(report, output.stream);
	if (form == TABLE)
		wp_codec_report_table(report, output.stream);
	return wp_output_commit(&output, error);
}

static int run(const struct options *options, struct wp_error *error)
{
	static struct wp_codec_report report;

	if (wp_folder_make(options->out, error) < 0)
		return -1;
	if (wp_codec_report_make(&report, options->seed, error) < 0)
		return -1;
	if (write_form(&report, options->out, "codec_report.json", JSON, error) < 0 ||
	    write_form(&report, options->out, "codec_report.md", MARKDOWN, error) < 0)
		return -1;
	return write_form(&report, options->out, "codec_report.tsv", TABLE, error);
}

int wp_cmd_codec_report(int argc, char **argv)
{
	static const struct argp_option list[] = {
	    {"out", KEY_OUT, "DIR", 0, "folder for codec_report.json, .md and .tsv", 0},
	    {"seed", KEY_SEED, "N", 0, "of the drawn data (1)", 0},
	    {0},
	};
	static const struct argp argp = {
	    .options = list,
	    .parser = parse,
	    .doc = "Measures what each codec costs in accuracy: keys, values and attention "
		   "outputs, against the distance over which keys are moved. Drawn data; not the "
		   "paper's image score.",
	};
	struct options options = {.out = NULL, .seed = 1};
	struct wp_error error = {0};

	wp_verb_parse(&argp, argc, argv, &options);
	if (run(&options, &error) < 0) {
		wp_error_print(stderr, &error);
		return error.exit_code;
	}
	return WP_EXIT_OK;
}
