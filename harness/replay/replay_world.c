/* Opens and closes the world of one replay; see replay_world.h. No frames here. */
#include "harness/replay/replay_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <xxhash.h>

#include "harness/files/used_files.h"
#include "harness/progress.h"
#include "harness/replay/prepare.h"
#include "harness/system/interrupt.h"
#include "harness/units.h"
#include "pager/device.h"
#include "pager/duration.h"
#include "pager/port_fault.h"
#include "pager/random.h"
#include "pager/store_files.h"

#define MEMORY_MARGIN_BYTES (64ull << 20) /* code, stacks, trace, index, ring */
#define EVENTS_MARGIN	    64u		  /* compute, decode, writes beside the reads */
#define FAULTS_HELD_MAX	    1024u

static int set_errno(struct wp_error *error, int result, const char *what)
{
	return wp_error_set(error, WP_EXIT_ENVIRONMENT, "%s: %s", what, strerror(-result));
}

static int open_arenas(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
		       const struct wp_pager_config *pager, struct wp_error *error)
{
	bool gpu = plan->world == WP_WORLD_REAL;
	uint64_t available_bytes = wp_memory_available_bytes(&wp_kernel_host);
	char need[WP_UNITS_TEXT], have[WP_UNITS_TEXT];

	if (plan->host_memory_bytes + MEMORY_MARGIN_BYTES > available_bytes && plan->tiered)
		return wp_error_set(
		    error, WP_EXIT_ENVIRONMENT,
		    "the budgets for blocks (--gpu-budget, --host-budget, or those of machine "
		    "profile %s) are %u slots in GPU memory and %u in DRAM, which need %s of "
		    "memory "
		    "here with the rest; %s are available; take smaller ones or a smaller --scale",
		    plan->machine.name, plan->session.tiers.device_slots,
		    plan->session.tiers.host_slots,
		    wp_units_bytes(need, plan->host_memory_bytes + MEMORY_MARGIN_BYTES),
		    wp_units_bytes(have, available_bytes));
	if (plan->host_memory_bytes + MEMORY_MARGIN_BYTES > available_bytes)
		return wp_error_set(
		    error, WP_EXIT_ENVIRONMENT,
		    "slots for blocks and the rest need %s of memory, %s are available; take a "
		    "smaller --scale or fewer --staging-blocks",
		    wp_units_bytes(need, plan->host_memory_bytes + MEMORY_MARGIN_BYTES),
		    wp_units_bytes(have, available_bytes));
	if (wp_arena_open(&opened->host, wp_pager_host_bytes(pager), "host slots", error) != 0)
		return -1;
	if (gpu)
		return 0;
	if (wp_arena_open(&opened->stand_in, wp_pager_device_bytes(pager), "device slots", error) !=
	    0)
		return -1;
	opened->device_slots = opened->stand_in.base;
	return 0;
}

/* The bucket stands in front of whatever store the world has. */
static int add_bucket(struct wp_replay_world *opened, uint64_t bytes_per_s, struct wp_error *error)
{
	int result = wp_store_rate_open(&opened->bucket, opened->world.store, opened->world.clock,
					bytes_per_s);

	if (result < 0)
		return set_errno(error, result, "token bucket");
	opened->world.store = opened->bucket;
	return 0;
}

/* Right in front of the store: what reaches the drive. */
static int add_iolog(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
		     struct wp_error *error)
{
	int result = plan->iolog
			 ? wp_iolog_watch(plan->iolog, &opened->world.store, opened->world.clock)
			 : 0;

	return result < 0 ? set_errno(error, result, "iolog") : 0;
}

/* Behind the bucket: it is the drive that fails. */
static int add_faults(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
		      struct wp_error *error)
{
	const struct wp_port_fault_config config = {
	    .plan = plan->faults,
	    .seed = wp_mix64(plan->settings->seed),
	    .block_count = plan->store_blocks,
	    .capacity = FAULTS_HELD_MAX,
	};
	int result;

	if (!plan->faults.count)
		return 0;
	result =
	    wp_port_fault_open(&opened->faults, opened->world.store, opened->world.clock, &config);
	if (result < 0)
		return set_errno(error, result, "faults");
	opened->world.store = opened->faults;
	return 0;
}

static int open_virtual_store(struct wp_replay_world *opened, const struct wp_replay_plan *plan)
{
	return (plan->tiered ? wp_store_virtual_open_session : wp_store_virtual_open)(
	    &opened->world.store, opened->events, &plan->geometry, &plan->drive.drive,
	    plan->settings->seed, plan->store_blocks);
}

/* Copies and made-up blocks run at these. */
static struct wp_device_rates device_rates(const struct wp_replay_plan *plan)
{
	struct wp_device_rates rates = plan->rates;

	rates.content_seed = plan->settings->seed;
	return rates;
}

static int open_virtual(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
			const struct wp_pager_config *pager, struct wp_error *error)
{
	const struct wp_device_rates rates = device_rates(plan);
	uint32_t transfers =
	    pager->set_blocks_max + pager->staging_blocks + pager->tiers.write_blocks;
	uint32_t capacity = transfers * wp_geometry_reads(&plan->geometry) + EVENTS_MARGIN;
	int result = wp_events_open(&opened->events, capacity);

	if (result == 0) {
		opened->world.clock = wp_events_clock(opened->events);
		result = open_virtual_store(opened, plan);
	}
	if (result == 0)
		result = wp_device_virtual_open(&opened->world.device, opened->events, &rates);
	if (result < 0)
		return set_errno(error, result, "virtual world");
	if (add_iolog(opened, plan, error) != 0 || add_faults(opened, plan, error) != 0)
		return -1;
	if (plan->settings->bandwidth_bytes_per_s)
		return add_bucket(opened, plan->settings->bandwidth_bytes_per_s, error);
	return 0;
}

void wp_replay_store_identity(const struct wp_replay_plan *plan, struct wp_store_identity *identity)
{
	const struct wp_model *model = &plan->model;
	char shape[160];

	snprintf(shape, sizeof(shape), "%u layers %u heads %u dims %u tokens %u latents",
		 model->layers, model->heads, model->head_dim, plan->scale.tokens,
		 model->latents_per_frame);
	memset(identity, 0, sizeof(*identity));
	identity->kind = plan->tiered ? WP_STORE_SESSION : WP_STORE_PREPARED;
	identity->block_bytes = plan->geometry.block_bytes;
	identity->geometry_hash = XXH3_64bits(shape, strlen(shape));
	identity->seed = plan->settings->seed;
	snprintf(identity->codec, sizeof(identity->codec), "%s", plan->codec->name);
	snprintf(identity->model, sizeof(identity->model), "%.*s", (int)sizeof(identity->model) - 1,
		 model->name);
}

static void show_progress(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
	wp_progress_update(context, done_bytes, total_bytes);
}

static int prepare_store(const struct wp_replay_plan *plan, const char *directory,
			 uint32_t block_count, struct wp_error *error)
{
	struct wp_progress progress;
	struct wp_prepare_config config = {
	    .directory = directory,
	    .block_count = block_count,
	    .require_direct = !plan->settings->allow_unproven,
	    .allow_unproven = plan->settings->allow_unproven,
	    .progress = show_progress,
	    .context = &progress,
	    .stop = wp_interrupt_flag(),
	    .deadline_ns = plan->read_deadline_ns,
	};
	int result;

	wp_replay_store_identity(plan, &config.identity);
	config.identity.kind = WP_STORE_PREPARED;
	if (wp_prepare_folder(plan->settings->store, error) != 0)
		return -1;
	wp_progress_begin(&progress, "preparing the store");
	result = wp_prepare(&config, error);
	wp_progress_end(&progress);
	return result;
}

/* Decides, sets and probes the limit, on the files that will be read. */
static int open_throttle(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
			 const struct wp_store_host_config *store,
			 const struct wp_store_identity *identity, struct wp_error *error)
{
	struct wp_throttle_request request = {
	    .kernel = &wp_kernel_host,
	    .asked = plan->settings->bandwidth_bytes_per_s ? plan->throttle : WP_THROTTLE_NONE,
	    .bytes_per_s = plan->settings->bandwidth_bytes_per_s,
	    .device = plan->settings->throttle_device,
	    .frame_bytes = plan->set_blocks_max * plan->geometry.block_bytes,
	    .read_deadline_ns = plan->read_deadline_ns,
	    .stop = wp_interrupt_flag(),
	};
	struct wp_probe_extent *extents;
	struct wp_store_files files;
	struct wp_store_fault fault;
	int result;

	if (wp_store_files_open(&files, store, identity, &fault) < 0)
		return wp_prepare_error(error, &fault);
	extents = calloc(files.segment_count, sizeof(*extents));
	if (!extents) {
		wp_store_files_close(&files);
		return set_errno(error, -ENOMEM, "probe");
	}
	for (uint32_t i = 0; i < files.segment_count; i++) {
		struct stat status;

		extents[i].fd = files.segments[i];
		if (fstat(extents[i].fd, &status) == 0)
			extents[i].bytes = (uint64_t)status.st_size;
	}
	request.extents = extents;
	request.extent_count = files.segment_count;
	request.alignment_bytes = files.alignment_bytes;
	result = wp_throttle_open(&opened->throttle, &request, error);
	if (result && error->exit_code == WP_EXIT_CONTENT && !error->file[0])
		snprintf(error->file, sizeof(error->file), "%s", plan->store_path);
	free(extents);
	wp_store_files_close(&files);
	return result;
}

/* The store that is read: prepared, or the session's own. */
static int open_host_store(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
			   const struct wp_store_host_config *config,
			   const struct wp_store_identity *identity, struct wp_error *error)
{
	struct wp_store_fault fault;

	if (plan->tiered)
		return wp_replay_session_store_open(opened, plan, error);
	if (wp_store_host_open(&opened->world.store, config, identity, opened->world.clock,
			       &opened->store, &fault) < 0)
		return wp_prepare_error(error, &fault);
	if (opened->store.stored_blocks == opened->store.record_count)
		return 0;
	return wp_error_set(
	    error, WP_EXIT_CONTENT,
	    "%s: damaged: its index knows %u of %u blocks; remove the folder to have "
	    "it prepared anew",
	    plan->store_path, opened->store.stored_blocks, opened->store.record_count);
}

/* After the store: what io_uring has registered, the GPU pins. */
static int open_device(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
		       struct wp_error *error)
{
	const struct wp_device_rates rates = device_rates(plan);
	int result;

	if (plan->world == WP_WORLD_REAL)
		return wp_replay_gpu_open(opened, plan, error);
	result = wp_device_model_open(&opened->world.device, opened->world.clock, &rates);
	return result < 0 ? set_errno(error, result, "device model") : 0;
}

/* The ring comes after the limit: its requests are charged to the group it was made in. */
static int open_host_ports(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
			   const struct wp_store_host_config *config,
			   const struct wp_store_identity *identity, struct wp_error *error)
{
	int result = wp_clock_host_open(&opened->world.clock);

	if (result < 0)
		return set_errno(error, result, "clock");
	if (open_host_store(opened, plan, config, identity, error) != 0)
		return -1;
	opened->host_store = opened->world.store;
	if (open_device(opened, plan, error) != 0)
		return -1;
	opened->world.clock->ops->watch(opened->world.clock, wp_port_fd(opened->world.store));
	opened->world.clock->ops->watch(opened->world.clock, wp_port_fd(opened->world.device));
	if (add_iolog(opened, plan, error) != 0 || add_faults(opened, plan, error) != 0)
		return -1;
	if (opened->throttle && wp_throttle_wants_bucket(opened->throttle))
		return add_bucket(opened, plan->settings->bandwidth_bytes_per_s, error);
	return 0;
}

/* Where a session has written nothing yet there is nothing to read: the limit is proven on a
 * prepared store beside it, of as many blocks as the probe reads. */
static void proving_store(const struct wp_replay_plan *plan, char path[WP_KERNEL_PATH_MAX],
			  uint32_t *block_count)
{
	uint64_t bytes = plan->settings->bandwidth_bytes_per_s;

	if (!plan->tiered) {
		snprintf(path, WP_KERNEL_PATH_MAX, "%s", plan->store_path);
		*block_count = plan->store_blocks;
		return;
	}
	snprintf(path, WP_KERNEL_PATH_MAX, "%.*s",
		 (int)(strlen(plan->store_path) - strlen("-session")), plan->store_path);
	*block_count = (uint32_t)(bytes / plan->geometry.block_bytes) + 1;
}

/* No result may go where the store is. */
static int hold_files(const char *folder, struct wp_error *error)
{
	char name[WP_KERNEL_PATH_MAX + 256];

	if (wp_used_read_folder(folder, name, sizeof(name)))
		return 0;
	return wp_error_at(error, WP_EXIT_USAGE, name, 0, 0,
			   "is not written to: it is a file of the store");
}

/* model and real: they differ in the device alone. */
static int open_measured(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
			 struct wp_error *error)
{
	const struct wp_store_arena arena = {opened->host.base, opened->host.bytes};
	char directory[WP_KERNEL_PATH_MAX];
	struct wp_store_host_config config = {
	    .directory = directory,
	    .depth = plan->settings->read_depth,
	    .require_direct = !plan->settings->allow_unproven,
	    .allow_unproven = plan->settings->allow_unproven,
	    .arenas = &arena,
	    .arena_count = 1,
	};
	bool limited = plan->settings->bandwidth_bytes_per_s != 0;
	struct wp_store_identity identity;
	uint32_t block_count;

	wp_replay_store_identity(plan, &identity);
	identity.kind = WP_STORE_PREPARED;
	proving_store(plan, directory, &block_count);
	if (hold_files(directory, error) != 0 ||
	    (plan->tiered && hold_files(plan->store_path, error) != 0))
		return -1;
	if (plan->tiered && wp_replay_session_store_check(plan, error) != 0)
		return -1;
	if (!plan->tiered || limited) {
		if (prepare_store(plan, directory, block_count, error) != 0 ||
		    open_throttle(opened, plan, &config, &identity, error) != 0)
			return -1;
	}
	return open_host_ports(opened, plan, &config, &identity, error);
}

int wp_replay_world_open(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
			 const struct wp_pager_config *pager, struct wp_error *error)
{
	int result = 0;

	memset(opened, 0, sizeof(*opened));
	if (plan->world == WP_WORLD_REAL)
		result = wp_replay_gpu_check(opened, plan, error);
	if (result == 0)
		result = open_arenas(opened, plan, pager, error);
	if (result == 0)
		result = plan->world == WP_WORLD_VIRTUAL ? open_virtual(opened, plan, pager, error)
							 : open_measured(opened, plan, error);
	if (result != 0)
		wp_replay_world_close(opened);
	return result;
}

void wp_replay_world_close(struct wp_replay_world *opened)
{
	wp_world_close(&opened->world);
	wp_events_close(opened->events);
	wp_throttle_close(opened->throttle);
	wp_arena_close(&opened->host);
	wp_arena_close(&opened->stand_in);
	memset(opened, 0, sizeof(*opened));
}

bool wp_replay_world_give_up(struct wp_replay_world *opened, uint32_t in_flight)
{
	if (opened->throttle)
		(void)!wp_throttle_undo(opened->throttle);
	return opened->faults && wp_port_fault_withheld(opened->faults) == in_flight;
}

bool wp_replay_world_stored(const struct wp_replay_world *opened, uint32_t block)
{
	struct wp_stored_block found;

	return opened->host_store && wp_store_host_find(opened->host_store, block, &found);
}

void wp_replay_world_describe(const struct wp_replay_world *opened,
			      const struct wp_replay_plan *plan, struct wp_store_figures *store)
{
	if (plan->world == WP_WORLD_VIRTUAL) {
		store->backend = "virtual";
		snprintf(store->filesystem, sizeof(store->filesystem), "virtual");
		store->record_bytes = plan->geometry.block_bytes;
		return;
	}
	store->backend = opened->store.backend;
	snprintf(store->filesystem, sizeof(store->filesystem), "%s", opened->store.filesystem);
	store->direct_io = opened->store.direct_io;
	store->registered_buffers = opened->store.registered_buffers;
	store->registered_file = opened->store.registered_file;
	store->alignment_bytes = opened->store.alignment_bytes;
	store->record_bytes = opened->store.record_bytes;
	snprintf(store->fallback, sizeof(store->fallback), "%s", opened->store.fallback);
}

void wp_replay_world_finish(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
			    const struct wp_pager_totals *totals,
			    struct wp_throttle_figures *throttle)
{
	uint64_t achieved = wp_duration_rate(totals->bytes_nvme, totals->read_busy_ns);

	if (opened->throttle) {
		wp_throttle_finish(opened->throttle, totals->bytes_nvme, achieved, throttle);
	} else {
		throttle->asked = plan->settings->throttle;
		throttle->method = opened->bucket ? "bucket" : "none";
		throttle->asked_bytes_per_s = plan->settings->bandwidth_bytes_per_s;
		throttle->achieved_bytes_per_s = achieved;
		throttle->device_bytes = totals->bytes_nvme;
		throttle->expected_bytes = totals->bytes_nvme;
		throttle->valid = true;
	}
	if (opened->bucket)
		throttle->lost_credit_bytes = wp_store_rate_lost_bytes(opened->bucket);
}
