/*
 * `worldpager walls`: the capacity walls, run to the wall, and the session that
 * passes them all.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/experiments/claims.h"
#include "harness/experiments/folder.h"
#include "harness/experiments/walls.h"
#include "harness/plot/gnuplot.h"
#include "harness/plot/plot.h"
#include "harness/replay/replay.h"
#include "harness/system/interrupt.h"
#include "harness/tool.h"
#include "harness/units.h"
#include "harness/verbs/verb.h"

enum walls_option {
	OPTION_TRACE = 256,
	OPTION_BANDWIDTH,
	OPTION_WORLD,
	OPTION_SCALE,
	OPTION_STORE,
	OPTION_MODEL,
	OPTION_MACHINE,
	OPTION_ARM,
	OPTION_OUT,
	OPTION_NO_FIGURES,
};

static const struct argp_option options[] = {
    {"trace", OPTION_TRACE, "NAME|FILE", 0, "a long one [explore_return]", 0},
    {"arm", OPTION_ARM, "ARM", 0, "of all four sessions [prefetch]", 0},
    {"bandwidth", OPTION_BANDWIDTH, "RATE", 0, "read limit [0.25GB/s; model world: none]", 0},
    {"world", OPTION_WORLD, "WORLD", 0, "virtual model [virtual]", 0},
    {"scale", OPTION_SCALE, "S", 0, "share of full size [1; model: 1/16]", 0},
    {"store", OPTION_STORE, "DIR", 0, "folder of stores (model world)", 0},
    {"model", OPTION_MODEL, "NAME|FILE", 0, "model profile [mg2]", 0},
    {"machine", OPTION_MACHINE, "NAME|FILE", 0, "machine profile [rtx4090]", 0},
    {"out", OPTION_OUT, "DIR", 0, "document and figure go there", 0},
    {"no-figures", OPTION_NO_FIGURES, NULL, 0, "leave gnuplot out", 0},
    {0},
};

struct command {
	struct wp_replay_settings settings;
	const char *out;
	bool no_figures;
	struct wp_error error; /* of a value; exit_code 0: none */
};

static const char **text_option(struct command *command, int key)
{
	switch (key) {
	case OPTION_TRACE:
		return &command->settings.trace;
	case OPTION_ARM:
		return &command->settings.arm;
	case OPTION_WORLD:
		return &command->settings.world;
	case OPTION_SCALE:
		return &command->settings.scale;
	case OPTION_STORE:
		return &command->settings.store;
	case OPTION_MODEL:
		return &command->settings.model;
	case OPTION_MACHINE:
		return &command->settings.machine;
	case OPTION_OUT:
		return &command->out;
	default:
		return NULL;
	}
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct command *command = state->input;
	const char **place = text_option(command, key);

	if (place)
		*place = text;
	else if (key == OPTION_NO_FIGURES)
		command->no_figures = true;
	else if (key == OPTION_BANDWIDTH)
		(void)!wp_units_parse_rate(
		    "--bandwidth", text, &command->settings.bandwidth_bytes_per_s, &command->error);
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .doc = "Play one trace with less than the full system until it ends, then with all of it "
	   "(claims P5, P6 and P9).\v"
	   "Defaults are in brackets. In the model world each session replaces the one before it "
	   "in --store. Exit: 0 done, 1 a verdict differs from the paper, 2 options and config "
	   "files, 3 rights, space or no gnuplot, 4 contents and I/O errors, 130 interrupted.",
};

static void print_table(const struct wp_walls *walls, FILE *stream)
{
	char video[WP_UNITS_TEXT], fps[WP_UNITS_TEXT], written[WP_UNITS_TEXT];

	fprintf(stream, "%-18s %8s %10s %12s %8s %10s  %s\n", "session", "blocks", "video s",
		"from NVMe", "fps", "written", "ended by");
	for (uint32_t i = 0; i < WP_WALLS_SESSIONS; i++) {
		const struct wp_walls_session *session = &walls->sessions[i];

		fprintf(stream, "%-18s %8u %10s %12u %8s %10s  %s\n", session->name,
			session->blocks, wp_units_fixed(video, session->video_s, 2),
			session->blocks_nvme, wp_units_fixed(fps, session->generated_fps, 2),
			wp_units_bytes(written, session->written_bytes),
			session->wall[0] ? session->wall : "the trace");
	}
}

/* Whether a verdict differs. */
static bool print_verdicts(const struct wp_walls *walls, const struct wp_claims *claims,
			   FILE *stream)
{
	static const enum wp_claim order[] = {WP_CLAIM_P5, WP_CLAIM_P6, WP_CLAIM_P9};
	bool differs = false;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		struct wp_finding finding = wp_claims_check_walls(claims, order[i], walls);

		fprintf(stream, "%s  %s\n    %s (%s)\n", wp_claim_id(order[i]),
			claims->text[order[i]], wp_verdict_text(finding.verdict), finding.text);
		differs |= finding.verdict == WP_VERDICT_DIFFERS;
	}
	return differs;
}

static int write_folder(const struct command *command, const struct wp_walls *walls,
			const struct wp_claims *claims, struct wp_error *error)
{
	char path[WP_PATH_MAX];

	if (!command->out)
		return 0;
	if (snprintf(path, sizeof(path), "%s/walls_%s.json", command->out, walls->world) >=
	    (int)sizeof(path))
		return wp_error_set(error, WP_EXIT_USAGE, "--out: the path is too long");
	if (wp_folder_make(command->out, error) != 0 || wp_walls_write(walls, path, error) != 0)
		return -1;
	return command->no_figures ? 0 : wp_plot_walls_write(walls, claims, command->out, error);
}

static int run(struct command *command, struct wp_walls *walls, struct wp_claims *claims)
{
	struct wp_error *error = &command->error;
	bool virtual = strcmp(command->settings.world, "virtual") == 0;
	bool drawn = command->out && !command->no_figures;

	/* Walls are of memory and positions: a GPU would show the same, hours later. */
	if (strcmp(command->settings.world, "real") == 0)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--world: walls are run in the virtual and the model world");
	if (command->settings.store && virtual)
		return wp_error_set(error, WP_EXIT_USAGE, "--store needs --world model");
	if (!command->settings.bandwidth_bytes_per_s && virtual)
		command->settings.bandwidth_bytes_per_s = 250000000;
	if (error->exit_code || wp_claims_load(claims, error) != 0 ||
	    (command->out && wp_folder_check(command->out, error) != 0) ||
	    (drawn && wp_gnuplot_check(error) != 0) ||
	    wp_walls_run(walls, &command->settings, error) != 0)
		return -1;
	print_table(walls, stdout);
	if (print_verdicts(walls, claims, stdout))
		error->exit_code = WP_EXIT_VERDICT;
	return write_folder(command, walls, claims, error);
}

int wp_cmd_walls(int argc, char **argv)
{
	struct wp_walls *walls = calloc(1, sizeof(*walls));
	struct wp_claims *claims = calloc(1, sizeof(*claims));
	struct command command = {
	    .settings =
		{
		    .trace = "explore_return",
		    .arm = "prefetch",
		    .world = "virtual",
		    .throttle = "auto",
		    .model = "mg2",
		    .machine = "rtx4090",
		    .drive = "ideal",
		    .seed = 1,
		    .read_depth = 16,
		    .session = {.eviction = "lru", .replace = true},
		},
	};

	WP_CHECK(walls && claims);
	wp_verb_parse(&argp, argc, argv, &command);
	wp_interrupt_install();
	if (run(&command, walls, claims) != 0)
		wp_error_print(stderr, &command.error);
	wp_walls_done(walls);
	free(walls);
	free(claims);
	return (int)command.error.exit_code;
}
