/*
 * worldpager trace import: options and messages only. What the formats mean is
 * trace_import.c's and its readers' business.
 */
#include <argp.h>
#include <string.h>

#include "harness/error.h"
#include "harness/files/output.h"
#include "harness/tool.h"
#include "harness/trace/trace_import.h"
#include "harness/units.h"
#include "harness/verbs/verb.h"

enum {
	KEY_FORMAT = 256,
	KEY_OUT,
	KEY_NAME,
	KEY_K,
	KEY_FRAMES,
	KEY_COMPUTE,
	KEY_BLOCK_TOKENS,
	KEY_BLOCK_BYTES,
};

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "FORMAT", 0, "mooncake mlperf-kv (needed)", 0},
    {"out", KEY_OUT, "TRACE", 0, "the trace (-: standard output; needed)", 0},
    {"name", KEY_NAME, "NAME", 0, "its name [the format's]", 0},
    {"k", KEY_K, "N", 0, "most blocks that one frame retrieves [64]", 0},
    {"frames", KEY_FRAMES, "N", 0, "stop after so many frames [all]", 0},
    {"compute", KEY_COMPUTE, "FROM", 0,
     "how long frames compute: timestamps (until the next access) or profile [timestamps]", 0},
    {"block-tokens", KEY_BLOCK_TOKENS, "N", 0, "mooncake: tokens of a hash id [512]", 0},
    {"block-bytes", KEY_BLOCK_BYTES, "BYTES", 0,
     "mlperf-kv: cut objects into blocks of this [an object is one block]", 0},
    {0},
};

struct command {
	struct wp_import_settings settings;
	const char *out;
	struct wp_error error; /* of a value; exit_code 0: none */
};

static void parse_count(struct command *command, const char *what, const char *text, uint64_t most,
			uint32_t *value)
{
	uint64_t count;

	if (wp_units_parse_count(what, text, 1, most, &count, &command->error) == 0)
		*value = (uint32_t)count;
}

static void parse_words(struct command *command, int key, const char *text)
{
	if (key == KEY_COMPUTE) {
		command->settings.has_compute = strcmp(text, "timestamps") == 0;
		if (!command->settings.has_compute && strcmp(text, "profile") != 0)
			wp_error_set(&command->error, WP_EXIT_USAGE,
				     "--compute: \"%.60s\" is none of timestamps profile", text);
		return;
	}
	command->settings.name = text;
	if (!wp_tool_name_valid(text) || strlen(text) > 63)
		wp_error_set(&command->error, WP_EXIT_USAGE,
			     "--name: \"%.80s\" is not a name (letters, digits, \"_\", \"-\", "
			     "\".\"; at most 63)",
			     text);
}

static void parse_value(struct command *command, int key, const char *text)
{
	struct wp_import_settings *settings = &command->settings;

	if (command->error.exit_code)
		return;
	if (key == KEY_K)
		parse_count(command, "--k", text, WP_SET_BLOCKS_MAX, &settings->k);
	else if (key == KEY_FRAMES)
		parse_count(command, "--frames", text, WP_BLOCKS_MAX, &settings->frames_max);
	else if (key == KEY_BLOCK_TOKENS)
		parse_count(command, "--block-tokens", text, 1u << 24, &settings->block_tokens);
	else if (key == KEY_BLOCK_BYTES)
		(void)!wp_units_parse_bytes("--block-bytes", text, &settings->block_bytes,
					    &command->error);
	else
		parse_words(command, key, text);
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case KEY_FORMAT:
		command->settings.format = text;
		return 0;
	case KEY_OUT:
		command->out = text;
		return 0;
	case KEY_NAME:
	case KEY_K:
	case KEY_FRAMES:
	case KEY_COMPUTE:
	case KEY_BLOCK_TOKENS:
	case KEY_BLOCK_BYTES:
		parse_value(command, key, text);
		return 0;
	case ARGP_KEY_ARG:
		if (command->settings.path)
			argp_error(state, "one file at a time");
		command->settings.path = text;
		return 0;
	case ARGP_KEY_END:
		if (!command->settings.path || !command->settings.format || !command->out)
			argp_error(state, "--format, --out and a file are needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int import(struct command *command)
{
	struct wp_output output = {0};
	struct wp_import_figures figures;
	struct wp_trace trace;
	int result = -1;

	if (wp_output_check(command->out, &command->error) < 0 ||
	    wp_trace_import(&trace, &command->settings, &figures, &command->error) < 0)
		return -1;
	if (wp_output_open(&output, command->out, &command->error) == 0) {
		wp_trace_write(output.stream, &trace);
		result = wp_output_commit(&output, &command->error);
	}
	wp_output_abandon(&output);
	if (result == 0)
		wp_trace_import_print(stderr, &trace, &command->settings, &figures);
	wp_trace_done(&trace);
	return result;
}

int wp_cmd_trace_import(int argc, char **argv)
{
	static const struct argp argp = {
	    .options = options,
	    .parser = parse_option,
	    .args_doc = "FILE",
	    .doc = "Makes a trace of what another tool recorded: Mooncake's JSONL, or the CSV that "
		   "MLPerf Storage's KV-cache benchmark writes. traces/import.md says what "
		   "becomes of each column.",
	};
	struct command command = {
	    .settings = {.k = WP_SET_BLOCKS_MAX, .has_compute = true},
	};

	wp_verb_parse(&argp, argc, argv, &command);
	if (command.error.exit_code || import(&command) < 0) {
		wp_error_print(stderr, &command.error);
		return (int)command.error.exit_code;
	}
	return WP_EXIT_OK;
}
