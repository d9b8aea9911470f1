/*
 * What a replay's settings mean: names become tables' rows, profiles and a
 * trace; scale, codec and profile become sizes. Takes no memory to speak of and
 * touches no store, so that --dry-run is this and nothing else.
 */
#include "harness/replay/replay.h"

#include <stdio.h>
#include <string.h>

#include "harness/replay/os_paging.h"
#include "harness/replay/replay_plan_real.h"
#include "harness/replay/replay_plan_times.h"
#include "harness/system/blockdev.h"
#include "harness/units.h"

#define READS_PER_BLOCK	    128u /* aimed at: giving way costs under 1 % of a block */
#define READ_CHUNKS_MAX	    4u	 /* beyond 1 MiB a drive gains nothing */
#define BLOCK_BYTES_MIN	    WP_CHUNK_BYTES
#define VIRTUAL_CHUNK_BYTES 8u /* moved a chunk in the virtual world */

void wp_replay_settings_init(struct wp_replay_settings *settings)
{
	*settings = (struct wp_replay_settings){
	    .arm = "prefetch",
	    .world = "virtual",
	    .codec = "int4",
	    .residency = "forced-nvme",
	    .positions = "managed",
	    .session = {.tiers = "gpu+dram+nvme", .eviction = "lru", .positions = "managed"},
	    .throttle = "auto",
	    .model = "mg2",
	    .machine = "rtx4090",
	    .drive = "ideal",
	    .seed = 1,
	    .warmup_frames = 20,
	    .read_depth = 16,
	};
}

static int find_world(struct wp_replay_plan *plan, struct wp_error *error)
{
	static const char *const names[] = {"virtual", "model", "real"};

	for (unsigned i = 0; i < 3; i++)
		if (strcmp(plan->settings->world, names[i]) == 0) {
			plan->world = (enum wp_world_kind)i;
			return 0;
		}
	return wp_error_set(error, WP_EXIT_USAGE, "--world: '%s' is none of virtual model real",
			    plan->settings->world);
}

static int find_names(struct wp_replay_plan *plan, struct wp_error *error)
{
	const struct wp_replay_settings *settings = plan->settings;
	struct wp_error why;

	plan->arm = wp_arm_find(settings->arm);
	if (!plan->arm)
		return wp_error_set(error, WP_EXIT_USAGE, "--arm: '%s' is none of %s",
				    settings->arm, wp_arm_names());
	/* Where the kernel pages, the order is the kernel's; the rest still has sizes. */
	plan->order = wp_order_find(plan->arm->order ? plan->arm->order : "fifo");
	WP_CHECK(plan->order);
	plan->hints_name = settings->hints ? settings->hints : plan->arm->hints;
	plan->codec = wp_codec_find(settings->codec);
	if (!plan->codec)
		return wp_error_set(error, WP_EXIT_USAGE, "--codec: '%s' is none of bf16 int4",
				    settings->codec);
	if (!wp_throttle_method_find(settings->throttle, &plan->throttle))
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--throttle: '%s' is none of auto cgroup bucket none",
				    settings->throttle);
	/* Now, not when a store has been written. */
	if (settings->throttle_device && wp_blockdev_check(settings->throttle_device, &why) != 0)
		return wp_error_set(error, why.exit_code, "--throttle-device: %s", why.text);
	plan->tiered = strcmp(settings->residency, "tiered") == 0;
	if (!plan->tiered && strcmp(settings->residency, "forced-nvme") != 0)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--residency: '%s' is none of forced-nvme tiered",
				    settings->residency);
	if (strcmp(settings->positions, "managed") != 0 &&
	    strcmp(settings->positions, "native") != 0)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--positions: '%s' is none of managed native",
				    settings->positions);
	return wp_session_check_names(&settings->session, error);
}

static int load_profiles(struct wp_replay_plan *plan, struct wp_error *error)
{
	const struct wp_replay_settings *settings = plan->settings;

	if (wp_model_load(&plan->model, settings->model, error) != 0 ||
	    wp_machine_load(&plan->machine, settings->machine, error) != 0 ||
	    wp_drive_load(&plan->drive, settings->drive, error) != 0)
		return -1;
	plan->rates.copy_bytes_per_s = plan->machine.copy_bytes_per_s;
	plan->rates.decode_bytes_per_s = plan->machine.device_decode_bytes_per_s;
	if (settings->copy_rate)
		return wp_units_parse_rate_or_unlimited("--copy-rate", settings->copy_rate,
							&plan->rates.copy_bytes_per_s, error);
	return 0;
}

static int load_trace(struct wp_replay_plan *plan, struct wp_error *error)
{
	const struct wp_trace *trace = &plan->trace;

	if (wp_trace_load(&plan->trace, plan->settings->trace, plan->settings->frames, error) != 0)
		return -1;
	plan->frames = trace->frames;
	plan->set_blocks_max = trace->rule.k;
	for (uint32_t frame = 0; frame < trace->frames; frame++) {
		const uint32_t *blocks;
		uint32_t count = wp_trace_retrieved(trace, frame, &blocks);

		for (uint32_t i = 0; i < count; i++)
			if (blocks[i] >= plan->store_blocks)
				plan->store_blocks = blocks[i] + 1;
		plan->read_total_bytes_max += count; /* blocks; becomes bytes in size_up */
	}
	/* Hints reach every candidate of the last frame, retrieved or not. */
	if (plan->frames > plan->store_blocks)
		plan->store_blocks = plan->frames;
	return wp_hints_open(&plan->hints, trace, plan->hints_name, error);
}

static uint32_t read_chunks(const struct wp_replay_plan *plan)
{
	uint64_t chunks = plan->geometry.block_bytes / READS_PER_BLOCK / WP_CHUNK_BYTES;

	if (plan->settings->read_bytes)
		return (uint32_t)(plan->settings->read_bytes / WP_CHUNK_BYTES);
	return chunks < 1 ? 1 : chunks > READ_CHUNKS_MAX ? READ_CHUNKS_MAX : (uint32_t)chunks;
}

static int check_read_bytes(const struct wp_replay_settings *settings, struct wp_error *error)
{
	if (settings->read_bytes % WP_CHUNK_BYTES == 0 && settings->read_bytes <= WP_COPY_BYTES_MAX)
		return 0;
	return wp_error_set(error, WP_EXIT_USAGE,
			    "--read-size: a multiple of 256KiB up to 4MiB, not %llu bytes",
			    (unsigned long long)settings->read_bytes);
}

static int size_up(struct wp_replay_plan *plan, struct wp_error *error)
{
	const struct wp_replay_settings *settings = plan->settings;
	const char *scale = settings->scale;
	double asked;

	if (!scale)
		scale = plan->world == WP_WORLD_VIRTUAL ? "1" : "1/16";
	if (wp_units_parse_ratio("--scale", scale, &asked, error) != 0)
		return -1;
	plan->scale = wp_scale_make(&plan->model, asked);
	plan->block_full_bytes =
	    wp_codec_block_bytes(plan->codec, wp_model_elements(&plan->model, NULL));
	plan->geometry.block_bytes =
	    wp_codec_block_bytes(plan->codec, wp_model_elements(&plan->model, &plan->scale));
	plan->geometry.chunk_payload_bytes =
	    plan->world == WP_WORLD_VIRTUAL ? VIRTUAL_CHUNK_BYTES : WP_CHUNK_BYTES;
	plan->geometry.read_chunks = read_chunks(plan);
	plan->compute_ns = wp_scale_apply(&plan->scale, plan->model.compute_ns);
	if (plan->world != WP_WORLD_VIRTUAL && plan->geometry.block_bytes < BLOCK_BYTES_MIN)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--scale %s: blocks of %llu bytes are under the 256 KiB that a "
				    "real store is measured with; take a larger scale",
				    scale, (unsigned long long)plan->geometry.block_bytes);
	if (plan->geometry.block_bytes > WP_BLOCK_BYTES_MAX)
		return wp_error_set(error, WP_EXIT_USAGE, "blocks of %llu bytes are over the limit",
				    (unsigned long long)plan->geometry.block_bytes);
	plan->read_total_bytes_max *= plan->geometry.block_bytes;
	return 0;
}

static int size_staging(struct wp_replay_plan *plan, struct wp_error *error)
{
	const struct wp_replay_settings *settings = plan->settings;

	plan->staging_blocks = plan->arm->staging_per_k * plan->set_blocks_max;
	if (strcmp(plan->hints_name, "alternatives") == 0 && plan->arm->staging_per_k < 8)
		plan->staging_blocks = 8 * plan->set_blocks_max;
	if (settings->has_staging)
		plan->staging_blocks = settings->staging_blocks;
	if (plan->set_blocks_max > WP_SET_BLOCKS_MAX || plan->staging_blocks > WP_STAGING_MAX)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "k = %u with %u staging blocks is over the limits of %u and %u",
				    plan->set_blocks_max, plan->staging_blocks, WP_SET_BLOCKS_MAX,
				    WP_STAGING_MAX);
	return 0;
}

static int size_session(struct wp_replay_plan *plan, struct wp_error *error)
{
	return plan->tiered ? wp_session_plan(&plan->session, &plan->settings->session,
					      &plan->model, &plan->machine, &plan->scale,
					      plan->geometry.block_bytes, &plan->trace, error)
			    : 0;
}

/* What the pager is opened with, but for memory and callbacks. */
static void set_pager(struct wp_replay_plan *plan)
{
	plan->pager = (struct wp_pager_config){
	    .geometry = plan->geometry,
	    .order = plan->order,
	    .residency = plan->tiered ? WP_RESIDENCY_TIERED : WP_RESIDENCY_FORCED_NVME,
	    .set_blocks_max = plan->set_blocks_max,
	    .staging_blocks = plan->staging_blocks,
	    .read_depth = plan->settings->read_depth,
	    .read_retries_max = WP_READ_RETRIES_MAX,
	    .read_deadline_ns = plan->read_deadline_ns,
	    .tiers = plan->session.tiers,
	};
	plan->host_memory_bytes = wp_pager_host_bytes(&plan->pager);
	if (plan->world == WP_WORLD_REAL)
		plan->gpu_memory_bytes = wp_pager_device_bytes(&plan->pager) +
					 plan->set_blocks_max * wp_replay_elements_bytes(plan);
	else
		plan->host_memory_bytes += wp_pager_device_bytes(&plan->pager);
}

static int read_faults(struct wp_replay_plan *plan, struct wp_error *error)
{
	char why[160];

	if (!plan->settings->faults)
		return 0;
	if (wp_fault_plan_parse(&plan->faults, plan->settings->faults, why, sizeof(why)) < 0)
		return wp_error_set(error, WP_EXIT_USAGE, "--faults: %s", why);
	for (uint32_t i = 0; i < plan->faults.count; i++)
		if (plan->faults.rules[i].op > WP_OP_COMMIT &&
		    plan->faults.rules[i].op != WP_OP_COUNT)
			return wp_error_set(error, WP_EXIT_USAGE,
					    "--faults: only the store's operations: read verify "
					    "write commit any");
	return 0;
}

/* One folder a geometry, so that sweeps over scales and codecs share a parent. */
static int name_store(struct wp_replay_plan *plan, struct wp_error *error)
{
	const struct wp_replay_settings *settings = plan->settings;
	char model[sizeof(plan->model.name)];
	int length;

	if (plan->world == WP_WORLD_VIRTUAL)
		return 0;
	if (!settings->store)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--world %s needs --store DIR: where the blocks are kept",
				    settings->world);
	snprintf(model, sizeof(model), "%s", plan->model.name);
	for (char *at = model; *at; at++)
		if (*at == '/' || (unsigned char)*at <= ' ')
			*at = '_';
	length = snprintf(plan->store_path, sizeof(plan->store_path), "%s/%s-%s-%ut-seed%llu%s",
			  settings->store, model, plan->codec->name, plan->scale.tokens,
			  (unsigned long long)settings->seed, plan->tiered ? "-session" : "");
	if (length >= (int)sizeof(plan->store_path))
		return wp_error_set(error, WP_EXIT_USAGE, "--store: the path is too long");
	return 0;
}

int wp_replay_plan_open(struct wp_replay_plan *plan, const struct wp_replay_settings *settings,
			struct wp_error *error)
{
	memset(plan, 0, sizeof(*plan));
	plan->settings = settings;
	if (find_world(plan, error) != 0 || find_names(plan, error) != 0 ||
	    check_read_bytes(settings, error) != 0 || load_profiles(plan, error) != 0 ||
	    load_trace(plan, error) != 0 || size_up(plan, error) != 0 ||
	    size_staging(plan, error) != 0 || size_session(plan, error) != 0 ||
	    (plan->world == WP_WORLD_REAL && wp_replay_plan_real(plan, error) != 0) ||
	    name_store(plan, error) != 0 || read_faults(plan, error) != 0 ||
	    (!plan->arm->order && wp_os_paging_plan(plan, error) != 0) ||
	    wp_replay_plan_times(plan, error) != 0) {
		wp_replay_plan_close(plan);
		return -1;
	}
	set_pager(plan);
	return 0;
}

void wp_replay_plan_close(struct wp_replay_plan *plan)
{
	wp_hints_close(plan->hints);
	plan->hints = NULL;
	wp_trace_done(&plan->trace);
}

static void describe_trace(const struct wp_replay_plan *plan, struct wp_run *run)
{
	run->trace_name = plan->trace.name;
	run->trace_origin = plan->trace.origin;
	run->trace_model = plan->trace.model;
	snprintf(run->trace_digest, sizeof(run->trace_digest), "%s", plan->trace.digest);
	run->k = plan->trace.rule.k;
	run->exclude_recent = plan->trace.rule.exclude_recent;
	run->video_frames_per_frame = plan->model.video_frames_per_frame;
}

void wp_replay_describe(const struct wp_replay_plan *plan, struct wp_run *run)
{
	const struct wp_replay_settings *settings = plan->settings;

	describe_trace(plan, run);
	run->world = settings->world;
	run->model_name = plan->model.name;
	run->machine_name = plan->machine.name;
	run->drive_name = plan->world == WP_WORLD_VIRTUAL ? plan->drive.name : "this machine";
	run->arm = plan->arm->name;
	run->hints = plan->hints_name;
	run->residency = settings->residency;
	run->codec = plan->codec->name;
	run->positions = settings->positions;
	run->staging_blocks = plan->staging_blocks;
	run->warmup_frames = settings->warmup_frames;
	run->read_bytes = plan->geometry.read_chunks * WP_CHUNK_BYTES;
	run->read_depth = settings->read_depth;
	run->seed = settings->seed;
	run->scale.asked = plan->scale.asked;
	run->scale.effective = plan->scale.effective;
	snprintf(run->scale.text, sizeof(run->scale.text), "%s",
		 settings->scale		   ? settings->scale
		 : plan->world == WP_WORLD_VIRTUAL ? "1"
						   : "1/16");
	run->block_bytes = plan->geometry.block_bytes;
	run->block_full_bytes = plan->block_full_bytes;
	run->compute_target_ns = plan->compute_ns;
	run->copy_bytes_per_s = plan->rates.copy_bytes_per_s;
	run->decode_bytes_per_s = plan->rates.decode_bytes_per_s;
	run->frame_target = plan->frames;
}
