/*
 * `worldpager threshold`: from which read rate on an arm's median, 99th
 * percentile and maximum stall are zero. Reads options, replays in the virtual
 * world at the rates that threshold.c asks for, prints a table; --confirm measures on
 * this machine's drive on both sides of what was found.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/experiments/threshold_json.h"
#include "harness/experiments/threshold_replay.h"
#include "harness/files/output.h"
#include "harness/system/interrupt.h"
#include "harness/units.h"
#include "harness/verbs/verb.h"

#define NAMES_MAX 16u

struct names {
	const char *name[NAMES_MAX];
	uint32_t count;
};

enum threshold_option {
	OPTION_TRACE = 256,
	OPTION_ARM,
	OPTION_CODEC,
	OPTION_COPY_RATE,
	OPTION_MODEL,
	OPTION_MACHINE,
	OPTION_DRIVE,
	OPTION_CONFIRM,
	OPTION_CONFIRM_SCALE,
	OPTION_STAGING,
	OPTION_FRAMES,
	OPTION_WARMUP,
	OPTION_FROM,
	OPTION_TO,
	OPTION_STEP,
	OPTION_JSON,
};

static const struct argp_option options[] = {
    {"trace", OPTION_TRACE, "NAME|FILE", 0, "may be given several times (needed)", 0},
    {"arm", OPTION_ARM, "ARM", 0, "may be given several times [all]", 0},
    {"codec", OPTION_CODEC, "CODEC", 0, "bf16 int4 [int4]", 0},
    {"copy-rate", OPTION_COPY_RATE, "RATE", 0, "to the device, or unlimited [profile]", 0},
    {"model", OPTION_MODEL, "NAME|FILE", 0, "model profile [mg2]", 0},
    {"machine", OPTION_MACHINE, "NAME|FILE", 0, "machine profile [rtx4090]", 0},
    {"drive", OPTION_DRIVE, "NAME|FILE", 0, "drive profile [ideal]", 0},
    {"confirm", OPTION_CONFIRM, "DIR", 0, "replay beside what was found, on a store there", 0},
    {"confirm-scale", OPTION_CONFIRM_SCALE, "S", 0, "of those replays [1/16]", 0},
    {"staging-blocks", OPTION_STAGING, "N", 0, "guesses held at once [2k; hedged 8k]", 0},
    {"frames", OPTION_FRAMES, "N", 0, "play the first N [all]", 0},
    {"warmup", OPTION_WARMUP, "N", 0, "frames left out of the figures [20]", 0},
    {"from", OPTION_FROM, "RATE", 0, "lowest rate tried [0.01GB/s]", 0},
    {"to", OPTION_TO, "RATE", 0, "highest rate tried [16GB/s]", 0},
    {"step", OPTION_STEP, "RATE", 0, "how closely [0.1MB/s]", 0},
    {"json", OPTION_JSON, "FILE", 0, "write the thresholds there; - is standard output", 0},
    {0},
};

struct command {
	struct wp_threshold_replay replay;
	struct wp_threshold_config config;
	struct names traces, arms;
	const char *json;
	const char *confirm, *confirm_scale;
	struct wp_error error; /* of a value; exit_code 0: none */
};

static void add_name(struct names *names, const char *name, struct argp_state *state)
{
	if (names->count == NAMES_MAX)
		argp_error(state, "more than %u of a kind", NAMES_MAX);
	else
		names->name[names->count++] = name;
}

static int parse_u32(const char *what, const char *text, uint64_t least, uint64_t most,
		     uint32_t *value, struct wp_error *error)
{
	uint64_t count;

	if (wp_units_parse_count(what, text, least, most, &count, error) != 0)
		return -1;
	*value = (uint32_t)count;
	return 0;
}

static int parse_number(struct command *command, int key, const char *text)
{
	struct wp_replay_settings *settings = &command->replay.settings;
	struct wp_threshold_config *config = &command->config;
	struct wp_error *error = &command->error;

	switch (key) {
	case OPTION_STAGING:
		settings->has_staging = true;
		return parse_u32("--staging-blocks", text, 0, WP_STAGING_MAX,
				 &settings->staging_blocks, error);
	case OPTION_FRAMES:
		return parse_u32("--frames", text, 1, WP_BLOCKS_MAX, &settings->frames, error);
	case OPTION_WARMUP:
		return parse_u32("--warmup", text, 0, WP_BLOCKS_MAX, &settings->warmup_frames,
				 error);
	case OPTION_FROM:
		return wp_units_parse_rate("--from", text, &config->min_bytes_per_s, error);
	case OPTION_TO:
		return wp_units_parse_rate("--to", text, &config->max_bytes_per_s, error);
	default:
		return wp_units_parse_rate("--step", text, &config->step_bytes_per_s, error);
	}
}

static const char **text_option(struct command *command, int key)
{
	switch (key) {
	case OPTION_CODEC:
		return &command->replay.settings.codec;
	case OPTION_COPY_RATE:
		return &command->replay.settings.copy_rate;
	case OPTION_MODEL:
		return &command->replay.settings.model;
	case OPTION_MACHINE:
		return &command->replay.settings.machine;
	case OPTION_DRIVE:
		return &command->replay.settings.drive;
	case OPTION_CONFIRM:
		return &command->confirm;
	case OPTION_CONFIRM_SCALE:
		return &command->confirm_scale;
	case OPTION_JSON:
		return &command->json;
	default:
		return NULL;
	}
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct command *command = state->input;
	const char **place = text_option(command, key);

	if (place) {
		*place = text;
	} else if (key == OPTION_TRACE) {
		add_name(&command->traces, text, state);
	} else if (key == OPTION_ARM) {
		add_name(&command->arms, text, state);
	} else if (key >= OPTION_STAGING && key <= OPTION_STEP) {
		if (!command->error.exit_code)
			(void)!parse_number(command, key, text);
	} else {
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .doc = "Find the smallest read rate at which an arm's median, 99th percentile and "
	   "maximum stall are zero, by bisection in the virtual world.\v"
	   "Defaults are in brackets. Exit: 0 done, 2 options and config files, 3 the machine "
	   "(--confirm), 4 contents of a trace and I/O errors, 130 interrupted.",
};

static void print_rate(FILE *stream, const struct wp_threshold *threshold,
		       const struct wp_threshold_config *config)
{
	char text[WP_UNITS_TEXT];
	bool below = threshold->state == WP_THRESHOLD_BELOW;
	uint64_t rate = threshold->state == WP_THRESHOLD_ABOVE ? config->max_bytes_per_s
							       : threshold->zero_bytes_per_s;

	wp_units_fixed(text, (double)rate / 1e9, 4);
	fprintf(stream, "  %s%8s", below ? "<=" : threshold->zero_bytes_per_s ? "  " : "> ", text);
}

static void print_table(FILE *stream, const struct wp_threshold_report *report)
{
	fprintf(stream, "GB/s from which the stall is zero\n%-16s  %-10s", "trace", "arm");
	for (unsigned i = 0; i < WP_THRESHOLD_FIGURES; i++)
		fprintf(stream, "  %10s", wp_threshold_figure_name(i));
	fputc('\n', stream);
	for (uint32_t i = 0; i < report->row_count; i++) {
		const struct wp_threshold_row *row = &report->rows[i];

		fprintf(stream, "%-16s  %-10s", row->trace, row->arm);
		for (unsigned j = 0; j < WP_THRESHOLD_FIGURES; j++)
			print_rate(stream, &row->thresholds[j], &report->config);
		fputc('\n', stream);
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int find_rows(struct command *command, struct wp_threshold_report *report,
		     struct wp_threshold_row *rows)
{
	for (uint32_t i = 0; i < command->traces.count; i++)
		for (uint32_t j = 0; j < command->arms.count; j++) {
			struct wp_threshold_row *row = &rows[report->row_count];

			command->replay.settings.trace = command->traces.name[i];
			command->replay.settings.arm = command->arms.name[j];
			if (wp_threshold_find(&command->config, wp_threshold_replay,
					      &command->replay, row->thresholds, &row->runs,
					      &command->error) != 0)
				return -1;
			row->trace = base_name(command->traces.name[i]);
			row->arm = command->arms.name[j];
			row->frames = command->replay.frames;
			report->row_count++;
		}
	return 0;
}

/* On this machine's drive, 5 % above and 5 % below. */
static int confirm(struct command *command, struct wp_threshold_row *row,
		   enum wp_threshold_figure figure)
{
	struct wp_threshold_confirmation *confirmation = &row->confirmations[figure];
	struct wp_threshold_replay replay = command->replay;
	uint64_t zero = row->thresholds[figure].zero_bytes_per_s;
	struct wp_threshold_stall above, below;

	if (row->thresholds[figure].state != WP_THRESHOLD_FOUND)
		return 0;
	confirmation->above_bytes_per_s = zero + zero / 20;
	confirmation->below_bytes_per_s = zero - zero / 20;
	replay.settings.world = "model";
	replay.settings.throttle = "auto";
	replay.settings.store = command->confirm;
	replay.settings.scale = command->confirm_scale;
	if (wp_threshold_replay(&replay, confirmation->above_bytes_per_s, &above,
				&command->error) != 0)
		return -1;
	confirmation->valid = replay.valid;
	if (wp_threshold_replay(&replay, confirmation->below_bytes_per_s, &below,
				&command->error) != 0)
		return -1;
	confirmation->valid &= replay.valid;
	confirmation->above_stall_ns = above.stall_ns[figure];
	confirmation->below_stall_ns = below.stall_ns[figure];
	confirmation->made = true;
	return 0;
}

static int confirm_rows(struct command *command, struct wp_threshold_report *report,
			struct wp_threshold_row *rows)
{
	for (uint32_t i = 0; i < report->row_count; i++) {
		command->replay.settings.trace = command->traces.name[i / command->arms.count];
		command->replay.settings.arm = rows[i].arm;
		for (unsigned j = 0; j < WP_THRESHOLD_FIGURES; j++)
			if (confirm(command, &rows[i], (enum wp_threshold_figure)j) != 0)
				return -1;
	}
	return 0;
}

static void print_confirmations(FILE *stream, const struct wp_threshold_report *report)
{
	char rate[WP_UNITS_TEXT], other[WP_UNITS_TEXT];

	fprintf(stream, "on this machine's drive at scale %s, ms at full scale\n",
		report->confirm_scale);
	for (uint32_t i = 0; i < report->row_count; i++) {
		const struct wp_threshold_row *row = &report->rows[i];

		for (unsigned j = 0; j < WP_THRESHOLD_FIGURES; j++) {
			const struct wp_threshold_confirmation *at = &row->confirmations[j];

			if (!at->made)
				continue;
			fprintf(stream, "%-16s  %-10s  %-4s %8.1f at %s, %8.1f at %s GB/s%s\n",
				row->trace, row->arm, wp_threshold_figure_name(j),
				(double)at->below_stall_ns / 1e6,
				wp_units_fixed(rate, (double)at->below_bytes_per_s / 1e9, 4),
				(double)at->above_stall_ns / 1e6,
				wp_units_fixed(other, (double)at->above_bytes_per_s / 1e9, 4),
				at->valid ? "" : "  NOT VALID");
		}
	}
}

static int check_command(struct command *command)
{
	const struct wp_threshold_config *config = &command->config;

	if (command->error.exit_code)
		return -1;
	if (command->traces.count == 0)
		return wp_error_set(&command->error, WP_EXIT_USAGE, "--trace is needed");
	if (config->min_bytes_per_s >= config->max_bytes_per_s)
		return wp_error_set(&command->error, WP_EXIT_USAGE, "--from must be below --to");
	if (command->arms.count == 0)
		command->arms = (struct names){{"on_demand", "prefetch", "deadline", "hedged"}, 4};
	return wp_output_check(command->json, &command->error);
}

static int run_command(struct command *command)
{
	static struct wp_threshold_row rows[NAMES_MAX * NAMES_MAX];
	struct wp_threshold_report report = {
	    .codec = command->replay.settings.codec,
	    .confirm_scale = command->confirm ? command->confirm_scale : NULL,
	    .warmup_frames = command->replay.settings.warmup_frames,
	    .config = command->config,
	    .rows = rows,
	};
	bool to_stdout = command->json && strcmp(command->json, "-") == 0;

	if (find_rows(command, &report, rows) != 0)
		return -1;
	print_table(to_stdout ? stderr : stdout, &report);
	if (command->confirm) {
		if (confirm_rows(command, &report, rows) != 0)
			return -1;
		print_confirmations(to_stdout ? stderr : stdout, &report);
	}
	return command->json ? wp_threshold_write(&report, command->json, &command->error) : 0;
}

int wp_cmd_threshold(int argc, char **argv)
{
	struct command command = {
	    .replay.settings = {.world = "virtual",
				.codec = "int4",
				.residency = "forced-nvme",
				.positions = "managed",
				.throttle = "bucket",
				.model = "mg2",
				.machine = "rtx4090",
				.drive = "ideal",
				.seed = 1,
				.warmup_frames = 20,
				.read_depth = 16},
	    .confirm_scale = "1/16",
	    .config = {.min_bytes_per_s = 10000000,
		       .max_bytes_per_s = 16000000000,
		       .step_bytes_per_s = 100000},
	};

	wp_verb_parse(&argp, argc, argv, &command);
	wp_interrupt_install();
	if (check_command(&command) != 0 || run_command(&command) != 0) {
		wp_error_print(stderr, &command.error);
		return command.error.exit_code;
	}
	return WP_EXIT_OK;
}
