/*
 * `worldpager overlap`: how much copying to the device a frame's compute hides.
 * Options, files and the table; overlap.c measures.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/experiments/claims.h"
#include "harness/experiments/folder.h"
#include "harness/experiments/overlap_plan.h"
#include "harness/files/output.h"
#include "harness/plot/gnuplot.h"
#include "harness/plot/plot.h"
#include "harness/progress.h"
#include "harness/system/interrupt.h"
#include "harness/tool.h"
#include "harness/units.h"
#include "harness/verbs/verb.h"
#include "pager/device.h"

enum overlap_option {
	OPTION_WORLD = 256,
	OPTION_SCALE,
	OPTION_COPY_RATE,
	OPTION_MODEL,
	OPTION_MACHINE,
	OPTION_OUT,
	OPTION_JSON,
	OPTION_VOLUME,
	OPTION_BUFFERS,
	OPTION_FRAMES,
	OPTION_WARMUP,
	OPTION_MEMORY,
	OPTION_SEED,
	OPTION_PRODUCTS,
	OPTION_NO_FIGURES,
	OPTION_DRY_RUN,
};

static const struct argp_option options[] = {
    {"world", OPTION_WORLD, "WORLD", 0, "virtual, model or real [virtual]", 0},
    {"scale", OPTION_SCALE, "S", 0, "of bytes and compute [1; model 1/16]", 0},
    {"volume", OPTION_VOLUME, "BYTES", 0,
     "copied for each frame, at scale 1; may be given several times [1, 2 blocks in Int4, 1 to 96 "
     "in bf16]",
     0},
    {"buffers", OPTION_BUFFERS, "N", 0, "1 or 2 [both]", 0},
    {"frames", OPTION_FRAMES, "N", 0, "measured at each volume [10]", 0},
    {"warmup", OPTION_WARMUP, "N", 0, "played before them [1]", 0},
    {"memory", OPTION_MEMORY, "BYTES", 0, "slots a side, used again and again [256MiB]", 0},
    {"copy-rate", OPTION_COPY_RATE, "RATE", 0, "to the device, or unlimited [profile]", 0},
    {"model", OPTION_MODEL, "NAME|FILE", 0, "model profile [mg2]", 0},
    {"machine", OPTION_MACHINE, "NAME|FILE", 0, "machine profile [rtx4090]", 0},
    {"products", OPTION_PRODUCTS, NULL, 0,
     "real: compute matrix products, which load the device's memory too", 0},
    {"seed", OPTION_SEED, "N", 0, "of the bytes that are copied [1]", 0},
    {"out", OPTION_OUT, "DIR", 0, "write overlap_WORLD.json and figures/ there", 0},
    {"json", OPTION_JSON, "FILE", 0, "write the document there; - is standard output", 0},
    {"no-figures", OPTION_NO_FIGURES, NULL, 0, "leave gnuplot out", 0},
    {"dry-run", OPTION_DRY_RUN, NULL, 0, "print the plan and stop", 0},
    {0},
};

struct command {
	struct wp_overlap_settings settings;
	const char *out, *json;
	bool no_figures, dry_run;
	struct wp_error error; /* of a value; exit_code 0: none */
};

static int add_volume(struct command *command, const char *text)
{
	struct wp_overlap_settings *settings = &command->settings;

	if (settings->volume_count == WP_OVERLAP_POINTS_MAX / 2)
		return wp_error_set(&command->error, WP_EXIT_USAGE, "--volume: at most %u",
				    WP_OVERLAP_POINTS_MAX / 2);
	return wp_units_parse_bytes(
	    "--volume", text, &settings->volumes_bytes[settings->volume_count++], &command->error);
}

static int parse_u32(struct command *command, const char *what, const char *text, uint64_t least,
		     uint64_t most, uint32_t *value)
{
	uint64_t count = 0;
	int result = wp_units_parse_count(what, text, least, most, &count, &command->error);

	*value = (uint32_t)count;
	return result;
}

static int parse_number(struct command *command, int key, const char *text)
{
	struct wp_overlap_settings *settings = &command->settings;

	switch (key) {
	case OPTION_VOLUME:
		return add_volume(command, text);
	case OPTION_BUFFERS:
		return parse_u32(command, "--buffers", text, 1, 2, &settings->buffers);
	case OPTION_FRAMES:
		return parse_u32(command, "--frames", text, 1, 100000, &settings->frames);
	case OPTION_WARMUP:
		return parse_u32(command, "--warmup", text, 0, 100000, &settings->warmup_frames);
	case OPTION_MEMORY:
		return wp_units_parse_bytes("--memory", text, &settings->memory_bytes,
					    &command->error);
	default:
		return wp_units_parse_count("--seed", text, 0, INT64_MAX, &settings->seed,
					    &command->error);
	}
}

static const char **text_option(struct command *command, int key)
{
	switch (key) {
	case OPTION_WORLD:
		return &command->settings.world;
	case OPTION_SCALE:
		return &command->settings.scale;
	case OPTION_COPY_RATE:
		return &command->settings.copy_rate;
	case OPTION_MODEL:
		return &command->settings.model;
	case OPTION_MACHINE:
		return &command->settings.machine;
	case OPTION_OUT:
		return &command->out;
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
	} else if (key >= OPTION_VOLUME && key <= OPTION_SEED) {
		if (!command->error.exit_code)
			(void)!parse_number(command, key, text);
	} else if (key == OPTION_PRODUCTS) {
		command->settings.products = true;
	} else if (key == OPTION_NO_FIGURES) {
		command->no_figures = true;
	} else if (key == OPTION_DRY_RUN) {
		command->dry_run = true;
	} else {
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .doc = "Measure how long frames wait for copies to the device, with one buffer and with two, "
	   "against the volume copied for each (claim P4).\v"
	   "Defaults are in brackets. `worldpager plot DIR` puts the document of --out DIR among "
	   "its claims and figures. Exit: 0 done, 2 options and config files, 3 no memory, no "
	   "GPU or no gnuplot, 4 a failed copy and I/O errors, 130 interrupted.",
};

static void print_plan(const struct wp_overlap *overlap)
{
	uint64_t rate = overlap->copy_bytes_per_s;
	char compute[WP_UNITS_TEXT], memory[WP_UNITS_TEXT], time[WP_UNITS_TEXT];

	fprintf(stderr,
		"%u points of %u + %u frames, %s of compute a frame; slots of %s a side;\n"
		"about %s where copies run at the profile's rate\n",
		overlap->count, overlap->warmup_frames, overlap->frames,
		wp_units_duration(compute, overlap->compute_ns),
		wp_units_bytes(memory, overlap->memory_bytes),
		strcmp(overlap->world, "virtual") == 0
		    ? "no time"
		    : wp_units_duration(time, wp_overlap_estimate_ns(overlap, rate)));
}

static void print_table(const struct wp_overlap *overlap, FILE *stream)
{
	char volume[WP_UNITS_TEXT], p50[WP_UNITS_TEXT], most[WP_UNITS_TEXT], copy[WP_UNITS_TEXT];

	fprintf(stream,
		"stalls in ms at full scale, %s world%s%s\n"
		"%8s  %-8s  %10s  %10s  %12s\n",
		overlap->world, overlap->gpu[0] ? ", " : "", overlap->gpu, "GB", "buffered", "p50",
		"max", "copy GB/s");
	for (uint32_t i = 0; i < overlap->count; i++) {
		const struct wp_overlap_point *point = &overlap->points[i];
		double seconds = (double)point->copy.p50 / 1e9;

		fprintf(stream, "%8s  %-8s  %10s  %10s  %12s\n",
			wp_units_fixed(volume, (double)point->bytes_full / 1e9, 3),
			point->buffers == 2 ? "double" : "single",
			wp_units_fixed(
			    p50, (double)wp_overlap_full_ns(overlap, point->stall.p50) / 1e6, 1),
			wp_units_fixed(
			    most, (double)wp_overlap_full_ns(overlap, point->stall.max) / 1e6, 1),
			seconds > 0 ? wp_units_fixed(copy, (double)point->bytes / 1e9 / seconds, 2)
				    : "-");
	}
	if (overlap->memcpy_governed)
		fputs("copies took longer than the modelled rate: this machine's memcpy governs\n",
		      stream);
}

static int measure(const struct wp_overlap_world_config *config, struct wp_overlap *overlap,
		   struct wp_error *error)
{
	struct wp_overlap_world world;
	struct wp_progress progress;
	int result = wp_overlap_world_open(&world, config, overlap, error);

	if (result != 0)
		return -1;
	wp_progress_begin(&progress, "overlap");
	for (uint32_t i = 0; i < overlap->count && result == 0; i++) {
		result = wp_overlap_measure(&world, overlap, &overlap->points[i], error);
		wp_progress_update(&progress, i + 1, overlap->count);
	}
	wp_progress_end(&progress);
	if (result == 0 && config->kind == WP_WORLD_MODEL)
		overlap->memcpy_governed = wp_device_model_memcpy_governed(world.device);
	wp_overlap_world_close(&world);
	return result;
}

static int document_path(char path[WP_PATH_MAX], const struct command *command,
			 const struct wp_overlap *overlap, struct wp_error *error)
{
	if (snprintf(path, WP_PATH_MAX, "%s/overlap_%s.json", command->out, overlap->world) >=
	    WP_PATH_MAX)
		return wp_error_set(error, WP_EXIT_USAGE, "--out: the path is too long");
	return 0;
}

/* Measured for minutes, then no file or no figure: better before. */
static int check_outputs(const struct command *command, const struct wp_overlap *overlap,
			 struct wp_error *error)
{
	char path[WP_PATH_MAX];

	if (wp_output_check(command->json, error) != 0)
		return -1;
	if (!command->out)
		return 0;
	if (wp_folder_check(command->out, error) != 0 ||
	    document_path(path, command, overlap, error) != 0)
		return -1;
	/* In a folder that is there, --json may name the same file. */
	if (access(command->out, F_OK) == 0 && wp_output_check(path, error) != 0)
		return -1;
	return command->no_figures ? 0 : wp_gnuplot_check(error);
}

/* The document in the folder, then the figure from all documents there. */
static int write_folder(const struct command *command, const struct wp_overlap *overlap,
			struct wp_error *error)
{
	struct wp_overlaps *overlaps;
	struct wp_claims *claims;
	char path[WP_PATH_MAX];
	int result;

	if (document_path(path, command, overlap, error) != 0 ||
	    wp_folder_make(command->out, error) != 0 || wp_overlap_write(overlap, path, error) != 0)
		return -1;
	if (command->no_figures)
		return 0;
	overlaps = calloc(1, sizeof(*overlaps));
	claims = calloc(1, sizeof(*claims));
	WP_CHECK(overlaps && claims);
	result = wp_claims_load(claims, error);
	if (result == 0)
		result = wp_overlaps_load(overlaps, command->out, error);
	if (result == 0)
		result = wp_plot_overlap_write(overlaps, claims, command->out, error);
	free(overlaps);
	free(claims);
	return result;
}

static int run(struct command *command, struct wp_overlap *overlap)
{
	struct wp_overlap_world_config config;
	struct wp_error *error = &command->error;
	bool to_stdout = command->json && strcmp(command->json, "-") == 0;

	if (error->exit_code || wp_overlap_plan(&command->settings, overlap, &config, error) != 0)
		return -1;
	if (command->dry_run) {
		print_plan(overlap);
		return 0;
	}
	if (check_outputs(command, overlap, error) != 0)
		return -1;
	if (measure(&config, overlap, error) != 0)
		return -1;
	print_table(overlap, to_stdout ? stderr : stdout);
	if (command->json && wp_overlap_write(overlap, command->json, error) != 0)
		return -1;
	return command->out ? write_folder(command, overlap, error) : 0;
}

int wp_cmd_overlap(int argc, char **argv)
{
	struct wp_overlap *overlap = calloc(1, sizeof(*overlap));
	struct command command = {
	    .settings = {.world = "virtual",
			 .model = "mg2",
			 .machine = "rtx4090",
			 .frames = 10,
			 .warmup_frames = 1,
			 .memory_bytes = 256ull << 20,
			 .seed = 1},
	};
	int exit_code = WP_EXIT_OK;

	WP_CHECK(overlap);
	wp_verb_parse(&argp, argc, argv, &command);
	wp_interrupt_install();
	if (run(&command, overlap) != 0) {
		wp_error_print(stderr, &command.error);
		exit_code = (int)command.error.exit_code;
	}
	free(overlap);
	return exit_code;
}
