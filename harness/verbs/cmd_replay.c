/*
 * `worldpager replay`: reads the options, prints the plan or plays it, writes
 * the result. What an option means is replay_plan.c's business.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/error.h"
#include "harness/files/output.h"
#include "harness/machine/machine.h"
#include "harness/replay/option_needs.h"
#include "harness/replay/prepare.h"
#include "harness/replay/replay.h"
#include "harness/replay/replay_world.h"
#include "harness/result/result.h"
#include "harness/system/interrupt.h"
#include "harness/trace/hints.h"
#include "harness/units.h"
#include "harness/verbs/verb.h"

#define READ_DEADLINE_MOST_S 86400u

enum replay_option {
	OPTION_TRACE = 256,
	OPTION_ARM,
	OPTION_HINTS,
	OPTION_BANDWIDTH,
	OPTION_WORLD,
	OPTION_SCALE,
	OPTION_CODEC,
	OPTION_RESIDENCY,
	OPTION_TIERS,
	OPTION_EVICTION,
	OPTION_GPU_BUDGET,
	OPTION_HOST_BUDGET,
	OPTION_NVME_BUDGET,
	OPTION_FORGET,
	OPTION_RESUME,
	OPTION_REPLACE,
	OPTION_ACK_LOG,
	OPTION_POSITIONS,
	OPTION_COPY_RATE,
	OPTION_STAGING,
	OPTION_FRAMES,
	OPTION_WARMUP,
	OPTION_STORE,
	OPTION_THROTTLE,
	OPTION_THROTTLE_DEVICE,
	OPTION_MODEL,
	OPTION_MACHINE,
	OPTION_DRIVE,
	OPTION_SEED,
	OPTION_READ_SIZE,
	OPTION_READ_DEPTH,
	OPTION_READ_DEADLINE,
	OPTION_FAULTS,
	OPTION_ALLOW_UNPROVEN,
	OPTION_IOLOG,
	OPTION_JSON,
	OPTION_DRY_RUN,
};

static const struct argp_option options[] = {
    {"trace", OPTION_TRACE, "NAME|FILE", 0, "which blocks every frame retrieves (needed)", 0},
    {"arm", OPTION_ARM, "ARM", 0, "on_demand prefetch deadline hedged os_paging [prefetch]", 0},
    {"hints", OPTION_HINTS, "KIND", 0, "what is staged for the coming frame [the arm's]", 0},
    {"bandwidth", OPTION_BANDWIDTH, "RATE", 0, "read limit with unit, 0.25GB/s [none]", 0},
    {"world", OPTION_WORLD, "WORLD", 0, "virtual model real [virtual]", 0},
    {"scale", OPTION_SCALE, "S", 0, "share of full size, 1/16 [1; model, real: 1/16]", 0},
    {"codec", OPTION_CODEC, "CODEC", 0, "bf16 int4 [int4]", 0},
    {"residency", OPTION_RESIDENCY, "KIND", 0, "forced-nvme tiered [forced-nvme]", 0},
    {"tiers", OPTION_TIERS, "LIST", 0, "of a session: gpu+dram+nvme gpu+dram [gpu+dram+nvme]", 0},
    {"eviction", OPTION_EVICTION, "POLICY", 0, "lru farthest next_use [lru]", 0},
    {"gpu-budget", OPTION_GPU_BUDGET, "BYTES", 0, "for blocks, at full scale [profile]", 0},
    {"host-budget", OPTION_HOST_BUDGET, "BYTES", 0, "the same of host memory [profile]", 0},
    {"nvme-budget", OPTION_NVME_BUDGET, "BYTES", 0, "the same of the store [all frames]", 0},
    {"forget-oldest", OPTION_FORGET, 0, 0, "a full store drops its oldest block [ends]", 0},
    {"resume", OPTION_RESUME, 0, 0, "go on with the session in --store", 0},
    {"replace-session", OPTION_REPLACE, 0, 0, "remove an earlier session in --store first", 0},
    {"ack-log", OPTION_ACK_LOG, "FILE", 0, "one line a block that is durable", 0},
    {"positions", OPTION_POSITIONS, "KIND", 0, "managed native [managed]", 0},
    {"copy-rate", OPTION_COPY_RATE, "RATE", 0, "to the device, or unlimited [profile]", 0},
    {"staging-blocks", OPTION_STAGING, "N", 0, "guesses held at once [2k; hedged 8k]", 0},
    {"frames", OPTION_FRAMES, "N", 0, "play the first N [all]", 0},
    {"warmup", OPTION_WARMUP, "N", 0, "frames left out of the summary [20]", 0},
    {"store", OPTION_STORE, "DIR", 0, "folder of stores (model and real world)", 0},
    {"throttle", OPTION_THROTTLE, "HOW", 0, "auto cgroup bucket none [auto]", 0},
    {"throttle-device", OPTION_THROTTLE_DEVICE, "MAJ:MIN", 0, "limit this disk [detected]", 0},
    {"model", OPTION_MODEL, "NAME|FILE", 0, "model profile [mg2]", 0},
    {"machine", OPTION_MACHINE, "NAME|FILE", 0, "machine profile [rtx4090]", 0},
    {"drive", OPTION_DRIVE, "NAME|FILE", 0, "drive profile, virtual world [ideal]", 0},
    {"seed", OPTION_SEED, "N", 0, "of contents [1]", 0},
    {"read-size", OPTION_READ_SIZE, "BYTES", 0, "one small read, 256KiB..4MiB [by block]", 0},
    {"read-depth", OPTION_READ_DEPTH, "N", 0, "small reads in flight [16]", 0},
    {"read-deadline", OPTION_READ_DEADLINE, "S", 0,
     "seconds until an unanswered read ends the run [60, or more under a low limit]", 0},
    {"faults", OPTION_FAULTS, "PLAN", 0,
     "make the store go wrong, read.flip~1/200,read.never@40; the result is then not valid", 0},
    {"allow-unproven", OPTION_ALLOW_UNPROVEN, 0, 0,
     "accept page cache, tmpfs and holes; the result is then not valid", 0},
    {"iolog", OPTION_IOLOG, "FILE", 0, "note the store's reads as a fio iolog, version 3", 0},
    {"json", OPTION_JSON, "FILE", 0, "write the result there; - is standard output", 0},
    {"dry-run", OPTION_DRY_RUN, 0, 0, "print the plan and stop", 0},
    {0},
};

struct command {
	struct wp_replay_settings settings;
	const char *json;
	const char *iolog;
	bool dry_run;
	uint64_t given;	       /* a bit an option, in the order of replay_option */
	struct wp_error error; /* of a value; exit_code 0: none */
};

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
	struct wp_replay_settings *settings = &command->settings;
	struct wp_error *error = &command->error;

	switch (key) {
	case OPTION_BANDWIDTH:
		return wp_units_parse_rate("--bandwidth", text, &settings->bandwidth_bytes_per_s,
					   error);
	case OPTION_STAGING:
		settings->has_staging = true;
		return parse_u32("--staging-blocks", text, 0, WP_STAGING_MAX,
				 &settings->staging_blocks, error);
	case OPTION_FRAMES:
		return parse_u32("--frames", text, 1, WP_BLOCKS_MAX, &settings->frames, error);
	case OPTION_WARMUP:
		return parse_u32("--warmup", text, 0, WP_BLOCKS_MAX, &settings->warmup_frames,
				 error);
	case OPTION_SEED:
		return wp_units_parse_count("--seed", text, 0, INT64_MAX, &settings->seed, error);
	case OPTION_READ_SIZE:
		return wp_units_parse_bytes("--read-size", text, &settings->read_bytes, error);
	case OPTION_GPU_BUDGET:
		return wp_units_parse_bytes("--gpu-budget", text,
					    &settings->session.gpu_budget_bytes, error);
	case OPTION_HOST_BUDGET:
		return wp_units_parse_bytes("--host-budget", text,
					    &settings->session.host_budget_bytes, error);
	case OPTION_NVME_BUDGET:
		return wp_units_parse_bytes("--nvme-budget", text,
					    &settings->session.nvme_budget_bytes, error);
	case OPTION_READ_DEADLINE:
		return parse_u32("--read-deadline", text, 1, READ_DEADLINE_MOST_S,
				 &settings->read_deadline_s, error);
	default:
		return parse_u32("--read-depth", text, 1, WP_READ_DEPTH_MAX, &settings->read_depth,
				 error);
	}
}

/* Where an option's text goes as it is; NULL for the others. */
static const char **text_option(struct command *command, int key)
{
	struct wp_replay_settings *settings = &command->settings;

	switch (key) {
	case OPTION_TRACE:
		return &settings->trace;
	case OPTION_ARM:
		return &settings->arm;
	case OPTION_HINTS:
		return &settings->hints;
	case OPTION_WORLD:
		return &settings->world;
	case OPTION_SCALE:
		return &settings->scale;
	case OPTION_CODEC:
		return &settings->codec;
	case OPTION_RESIDENCY:
		return &settings->residency;
	case OPTION_TIERS:
		return &settings->session.tiers;
	case OPTION_EVICTION:
		return &settings->session.eviction;
	case OPTION_ACK_LOG:
		return &settings->session.ack_log;
	case OPTION_POSITIONS:
		return &settings->positions;
	case OPTION_COPY_RATE:
		return &settings->copy_rate;
	case OPTION_STORE:
		return &settings->store;
	case OPTION_THROTTLE:
		return &settings->throttle;
	case OPTION_THROTTLE_DEVICE:
		return &settings->throttle_device;
	case OPTION_MODEL:
		return &settings->model;
	case OPTION_MACHINE:
		return &settings->machine;
	case OPTION_DRIVE:
		return &settings->drive;
	case OPTION_FAULTS:
		return &settings->faults;
	case OPTION_IOLOG:
		return &command->iolog;
	case OPTION_JSON:
		return &command->json;
	default:
		return NULL;
	}
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct command *command = state->input;
	const char **place;

	WP_CHECK(command);
	if (key >= OPTION_TRACE && key <= OPTION_DRY_RUN)
		command->given |= 1ull << (key - OPTION_TRACE);
	place = text_option(command, key);
	if (place) {
		*place = text;
	} else if (key == OPTION_DRY_RUN) {
		command->dry_run = true;
	} else if (key == OPTION_FORGET) {
		command->settings.session.forget_oldest = true;
	} else if (key == OPTION_RESUME) {
		command->settings.session.resume = true;
	} else if (key == OPTION_REPLACE) {
		command->settings.session.replace = true;
	} else if (key == OPTION_ALLOW_UNPROVEN) {
		command->settings.allow_unproven = true;
	} else if (key >= OPTION_TRACE && key <= OPTION_DRY_RUN) {
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
    .doc = "Run one trace through the pager and log every frame's stall.\v"
	   "Defaults are in brackets. Exit: 0 done, 2 options and config files, 3 rights, "
	   "space, device or an unproven limit, 4 contents of trace or store and I/O errors, "
	   "130 interrupted.",
};

static void print_plan(const struct wp_replay_plan *plan)
{
	const struct wp_replay_settings *settings = plan->settings;
	uint64_t compute_ns = plan->frames * plan->compute_ns;
	char text[WP_UNITS_TEXT];

	fprintf(stderr, "replay of %s (%s), %s, k = %u, %s, world %s\n", plan->trace.name,
		plan->trace.origin, wp_units_counted(text, plan->frames, "frame"),
		plan->trace.rule.k, plan->arm->name, settings->world);
	fprintf(stderr, "  block      %s, %s\n", wp_units_bytes(text, plan->geometry.block_bytes),
		plan->codec->name);
	fprintf(stderr, "  memory     %s for slots%s\n",
		wp_units_bytes(text, plan->host_memory_bytes),
		plan->gpu_memory_bytes ? " on the host" : " on both sides");
	if (plan->gpu_memory_bytes)
		fprintf(stderr, "  gpu        %s for slots and a decoded set\n",
			wp_units_bytes(text, plan->gpu_memory_bytes));
	fprintf(stderr, "  reads      %s retrieved in all\n",
		wp_units_bytes(text, plan->read_total_bytes_max));
	if (plan->tiered)
		fprintf(stderr, "  slots      %s in GPU memory, %u in DRAM\n",
			wp_units_counted(text, plan->session.tiers.device_slots, "block"),
			plan->session.tiers.host_slots);
	if (plan->world != WP_WORLD_VIRTUAL)
		fprintf(stderr, "  store      %s in %s\n",
			wp_units_bytes(text, wp_store_host_bytes(plan->geometry.block_bytes,
								 plan->store_blocks)),
			plan->store_path);
	fprintf(stderr, "  compute    %s, without stalls\n", wp_units_duration(text, compute_ns));
}

/* What preparing the store would write, beside the plan. */
static int print_store_plan(const struct wp_replay_plan *plan, struct wp_error *error)
{
	struct wp_prepare_config config = {
	    .directory = plan->store_path,
	    .block_count = plan->store_blocks,
	    .allow_unproven = plan->settings->allow_unproven,
	};
	struct wp_prepare_plan store;
	char write[WP_UNITS_TEXT], free_space[WP_UNITS_TEXT];

	if (plan->world == WP_WORLD_VIRTUAL || plan->tiered)
		return 0; /* a session writes its store as it goes */
	wp_replay_store_identity(plan, &config.identity);
	if (wp_prepare_plan(&config, &store, error) != 0)
		return -1;
	fprintf(stderr, "  to write   %s, %s free%s%s\n",
		store.reusable ? "nothing: the store is there"
			       : wp_units_bytes(write, store.write_bytes),
		wp_units_bytes(free_space, store.free_bytes), store.difference[0] ? "; " : "",
		store.difference);
	return 0;
}

/* What a finished run leaves: result and iolog, or an error in `command`. */
static int write_run(struct command *command, const struct wp_replay_plan *plan,
		     const struct wp_run *run)
{
	struct wp_error *error = &command->error;

	if (command->json && wp_result_write(run, command->json, error) != 0)
		return (int)error->exit_code;
	if (plan->iolog && wp_iolog_commit(plan->iolog, error) != 0)
		return (int)error->exit_code;
	if (run->error[0])
		wp_error_set(error, wp_run_exit(run), "%s", run->error);
	else if (!run->throttle.valid && !run->interrupted) /* which leaves reads uncounted */
		wp_error_set(error, WP_EXIT_ENVIRONMENT, "the limit is not proven: %s",
			     run->throttle.reason);
	if (!command->json)
		wp_result_print(run, stderr);
	for (uint32_t i = 0; command->json && wp_run_exit(run) == 0 && i < run->note_count; i++)
		fprintf(stderr, "worldpager: note: %s\n", run->notes[i]);
	return (int)wp_run_exit(run);
}

static int play(struct command *command, struct wp_replay_plan *plan, int argc, char **argv)
{
	struct wp_run run = {.argc = argc, .argv = argv};
	struct wp_error *error = &command->error;
	int exit_code;

	if (wp_output_check(command->json, error) != 0)
		return (int)error->exit_code;
	if (command->iolog &&
	    wp_iolog_open(&plan->iolog, command->iolog, plan->geometry.block_bytes,
			  plan->store_blocks, error) != 0)
		return (int)error->exit_code;
	run.has_machine_facts = plan->world != WP_WORLD_VIRTUAL;
	if (run.has_machine_facts)
		wp_machine_facts_read(&run.machine_facts, &wp_kernel_host, plan->settings->store);
	exit_code = wp_replay_run(plan, &run, error) == 0 ? write_run(command, plan, &run)
							  : (int)error->exit_code;
	wp_iolog_close(plan->iolog);
	plan->iolog = NULL;
	wp_run_done(&run);
	return exit_code;
}

static int check_iolog_options(const struct command *command, struct wp_error *error)
{
	if (!command->iolog)
		return 0;
	if (strcmp(command->settings.residency, "forced-nvme") != 0)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--iolog: for --residency forced-nvme, whose store is there to "
				    "be read again");
	if (command->json && strcmp(command->json, command->iolog) == 0)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--json and --iolog cannot both go to the same place");
	return 0;
}

static int check_session_options(const struct wp_replay_settings *settings, struct wp_error *error)
{
	const struct wp_session_settings *session = &settings->session;

	if (session->forget_oldest && !session->nvme_budget_bytes)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--forget-oldest: needs the --nvme-budget that fills up");
	if (session->resume && session->replace)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--resume and --replace-session exclude each other");
	return 0;
}

/* Options that mean nothing for what else was asked are a mistake. */
static int check_needs(const struct command *command, const struct wp_replay_plan *plan,
		       struct wp_error *error)
{
	for (const struct argp_option *option = options; option->name; option++)
		if ((command->given >> (option->key - OPTION_TRACE) & 1) &&
		    wp_option_needs_check(option->name, plan, error) != 0)
			return -1;
	return 0;
}

int wp_cmd_replay(int argc, char **argv)
{
	struct command command = {0};
	struct wp_error *error = &command.error;
	struct wp_replay_plan plan;
	int exit_code = 0;

	wp_replay_settings_init(&command.settings);
	wp_verb_parse(&argp, argc, argv, &command);
	if (!error->exit_code && !command.settings.trace)
		wp_error_set(error, WP_EXIT_USAGE, "--trace NAME or FILE is needed");
	command.settings.session.positions = command.settings.positions;
	if (!error->exit_code && check_session_options(&command.settings, error) == 0)
		(void)!check_iolog_options(&command, error);
	wp_interrupt_install();
	if (!error->exit_code && wp_replay_plan_open(&plan, &command.settings, error) == 0) {
		if (check_needs(&command, &plan, error) != 0) {
			exit_code = error->exit_code;
		} else if (command.dry_run) {
			print_plan(&plan);
			(void)!print_store_plan(&plan, error);
		} else {
			exit_code = play(&command, &plan, argc, argv);
		}
		wp_replay_plan_close(&plan);
	}
	if (error->exit_code) {
		wp_error_print(stderr, error);
		return error->exit_code;
	}
	return exit_code;
}
