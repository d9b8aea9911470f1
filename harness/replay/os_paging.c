/* The kernel's page cache as pager; see os_paging.h. */
#include "harness/replay/os_paging.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "harness/progress.h"
#include "harness/replay/device_check.h"
#include "harness/replay/prepare.h"
#include "harness/replay/replay_compute.h"
#include "harness/replay/replay_world.h"
#include "harness/system/interrupt.h"
#include "harness/system/mapped_copy.h"
#include "harness/system/memory_limit.h"
#include "pager/store_files.h"

#define OWN_BYTES (16ull << 20) /* stacks, page tables of the mapping, the result */

struct paging {
	struct wp_replay_plan *plan;
	struct wp_run *run;
	struct wp_replay_world world; /* clock, limits, device; its store stays idle */
	struct wp_memory_limit memory;
	struct wp_store_files files;
	unsigned char **maps; /* one a segment */
	uint64_t slot_bytes;
	struct wp_device_check *check;
	struct wp_replay_compute compute;
	uint32_t hints[WP_STAGING_MAX];
	uint32_t hint_count;
	uint64_t start_ns;
	uint64_t counted_bytes; /* by the kernel, when the last frame was ready */
};

int wp_os_paging_plan(struct wp_replay_plan *plan, struct wp_error *error)
{
	if (plan->world != WP_WORLD_MODEL)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--arm os_paging: needs a kernel to page: --world model");
	if (plan->tiered)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--arm os_paging: only with --residency forced-nvme");
	if (plan->faults.count)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--arm os_paging: its reads do not pass the store, so "
				    "--faults has no effect on them");
	if (plan->settings->bandwidth_bytes_per_s && plan->throttle == WP_THROTTLE_BUCKET)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--arm os_paging: a bucket cannot limit the page cache; take "
				    "--throttle auto or cgroup");
	if (plan->throttle == WP_THROTTLE_AUTO)
		plan->throttle = WP_THROTTLE_CGROUP;
	return 0;
}

static unsigned char *address_of(const struct paging *paging, uint32_t block, uint32_t *segment,
				 uint64_t *offset)
{
	const struct wp_record *record = wp_store_index_find(&paging->files.index, block);
	uint32_t at;

	if (!record)
		return NULL;
	at = (uint32_t)(record - paging->files.index.records);
	*segment = wp_store_files_segment(&paging->files, at);
	*offset = wp_store_files_offset(&paging->files, at);
	return paging->maps[*segment] + *offset;
}

/* No page of the block stays, mapped or cached. */
static void drop(const struct paging *paging, uint32_t block)
{
	uint64_t bytes = paging->files.header.record_bytes, offset;
	uint32_t segment;
	unsigned char *at = address_of(paging, block, &segment, &offset);

	if (!at)
		return;
	(void)!madvise(at, bytes, MADV_DONTNEED);
	(void)!posix_fadvise(paging->files.segments[segment], (off_t)offset, (off_t)bytes,
			     POSIX_FADV_DONTNEED);
}

static void hint(const struct paging *paging, uint32_t block)
{
	uint64_t offset;
	uint32_t segment;
	unsigned char *at = address_of(paging, block, &segment, &offset);

	/* Advice: a kernel that does not take it reads at the fault. */
	if (at)
		(void)!madvise(at, paging->plan->geometry.block_bytes, MADV_WILLNEED);
}

static void *slot(const struct paging *paging, uint32_t index)
{
	return (unsigned char *)paging->world.device_slots + index * paging->slot_bytes;
}

static bool is_listed(const uint32_t *blocks, uint32_t count, uint32_t block)
{
	for (uint32_t i = 0; i < count; i++)
		if (blocks[i] == block)
			return true;
	return false;
}

static uint64_t bytes_read(const struct paging *paging)
{
	uint64_t bytes = 0;

	/* A counter that cannot be read refutes the limit at the end. */
	(void)!wp_throttle_read_bytes(paging->world.throttle, &bytes);
	return bytes;
}

/* Why bytes of the mapped file are not to be had. Returns -EIO. */
static int explain(struct paging *paging, uint32_t block, uint64_t bad_offset)
{
	uint32_t segment;
	uint64_t offset, bytes = paging->plan->geometry.block_bytes, end;
	struct stat file;

	WP_CHECK(address_of(paging, block, &segment, &offset));
	if (fstat(paging->files.segments[segment], &file) != 0 ||
	    (uint64_t)file.st_size >= offset + bytes) {
		wp_run_fail(paging->run, "block %" PRIu32 ", offset %" PRIu64 ": paging: %s", block,
			    bad_offset, strerror(EIO));
		return -EIO;
	}
	end = (uint64_t)file.st_size > offset ? (uint64_t)file.st_size - offset : 0;
	wp_run_fail(paging->run,
		    "block %" PRIu32 ", offset %" PRIu64 ": paging: the store's file ends there: "
		    "%" PRIu64 " bytes wanted, %" PRIu64 " there",
		    block, end, bytes, end);
	return -EIO;
}

/* The frame's blocks on the device, by way of the page cache. */
static int bring_in(struct paging *paging, const uint32_t *set, uint32_t count,
		    struct wp_frame_figures *figures)
{
	uint64_t now_bytes;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t offset, bad_offset;
		uint32_t segment;
		const unsigned char *at = address_of(paging, set[i], &segment, &offset);
		bool guessed = is_listed(paging->hints, paging->hint_count, set[i]);

		if (!at)
			return -ENODATA;
		if (wp_mapped_copy(slot(paging, i), at, paging->plan->geometry.block_bytes,
				   &bad_offset) < 0)
			return explain(paging, set[i], bad_offset);
		figures->hit += guessed;
		figures->missed += !guessed;
		figures->blocks_nvme++;
	}
	now_bytes = bytes_read(paging);
	figures->bytes_nvme = now_bytes - paging->counted_bytes;
	paging->counted_bytes = now_bytes;
	return 0;
}

static void drop_all(struct paging *paging, const uint32_t *set, uint32_t count,
		     struct wp_frame_figures *figures)
{
	for (uint32_t i = 0; i < count; i++)
		drop(paging, set[i]);
	for (uint32_t i = 0; i < paging->hint_count; i++) {
		if (is_listed(set, count, paging->hints[i]))
			continue;
		drop(paging, paging->hints[i]);
		figures->wasted++;
	}
	figures->hinted = paging->hint_count;
	paging->hint_count = 0;
}

/* Hints first, as the inference thread would give them; then until compute is over. */
static int compute(struct paging *paging, uint32_t frame)
{
	struct wp_world *world = &paging->world.world;
	int left;

	if (frame + 1 < paging->plan->frames) {
		paging->hint_count = wp_hints_make(paging->plan->hints, frame + 1, paging->hints,
						   paging->plan->staging_blocks);
		for (uint32_t i = 0; i < paging->hint_count; i++)
			hint(paging, paging->hints[i]);
	}
	for (;;) {
		int error;

		wp_world_poll(world);
		left = wp_replay_compute_take(&paging->compute);
		if (left <= 0)
			return left;
		error = wp_world_wait(world, WP_TIME_NEVER);
		if (error < 0 && (error != -EINTR || wp_interrupted()))
			return error;
	}
}

static int check_end(struct paging *paging, char *text, size_t size)
{
	struct wp_device_check_result result = wp_device_check_end(paging->check);

	if (!result.wrong)
		return 0;
	snprintf(text, size, "block %" PRIu32 ", offset %" PRIu64 ": wrong bytes on the device",
		 result.block, result.offset);
	return -EBADMSG;
}

/* One frame; *needed_ns moves on to the next one's. 0 or -errno. */
static int play_frame(struct paging *paging, uint32_t frame, uint64_t *needed_ns)
{
	struct wp_frame_figures *figures = &paging->run->frames[frame];
	void *addresses[WP_SET_BLOCKS_MAX];
	uint64_t ready_ns = *needed_ns;
	const uint32_t *set;
	uint32_t count = wp_trace_retrieved(&paging->plan->trace, frame, &set);
	int result;

	*figures = (struct wp_frame_figures){.frame = frame};
	result = bring_in(paging, set, count, figures);
	if (result < 0)
		return result;
	if (count)
		ready_ns = wp_clock_now_ns(paging->world.world.clock);
	for (uint32_t i = 0; i < count; i++)
		addresses[i] = slot(paging, i);
	wp_replay_compute_start(&paging->compute, frame, addresses, ready_ns);
	wp_device_check_begin(paging->check, set, addresses, count);
	drop_all(paging, set, count, figures);
	figures->needed_ns = *needed_ns - paging->start_ns;
	figures->ready_ns = ready_ns - paging->start_ns;
	figures->stall_ns = figures->read_ns = ready_ns - *needed_ns;
	result = compute(paging, frame);
	if (check_end(paging, paging->run->error, sizeof(paging->run->error)) < 0)
		return -EBADMSG;
	if (result < 0)
		return result;
	*needed_ns = wp_replay_compute_end_ns(&paging->compute);
	figures->compute_ns = *needed_ns - ready_ns;
	figures->decode_ns = wp_replay_compute_decode_end_ns(&paging->compute) - ready_ns;
	paging->run->wall_ns = *needed_ns - paging->start_ns;
	paging->run->frame_count = frame + 1;
	return 0;
}

static void play_frames(struct paging *paging)
{
	struct wp_run *run = paging->run;
	uint64_t needed_ns = wp_clock_now_ns(paging->world.world.clock);
	struct wp_progress progress;
	int result = 0;

	paging->start_ns = needed_ns;
	wp_progress_begin(&progress, "replay");
	for (uint32_t frame = 0; frame < paging->plan->frames && result == 0; frame++) {
		result = wp_interrupted() ? -EINTR : play_frame(paging, frame, &needed_ns);
		wp_progress_update(&progress, frame + 1, paging->plan->frames);
	}
	wp_progress_end(&progress);
	if (result == -EINTR)
		run->interrupted = true;
	else if (result < 0 && !run->error[0])
		snprintf(run->error, sizeof(run->error), "paging: %s", strerror(-result));
}

static int map_store(struct paging *paging, struct wp_error *error)
{
	const struct wp_store_host_config config = {
	    .directory = paging->plan->store_path,
	    .require_direct = !paging->plan->settings->allow_unproven,
	    .allow_unproven = paging->plan->settings->allow_unproven,
	};
	struct wp_store_identity identity;
	struct wp_store_fault fault;

	wp_replay_store_identity(paging->plan, &identity);
	if (wp_store_files_open(&paging->files, &config, &identity, &fault) < 0)
		return wp_prepare_error(error, &fault);
	paging->maps = calloc(paging->files.segment_count, sizeof(*paging->maps));
	if (!paging->maps)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "os_paging: %s", strerror(ENOMEM));
	for (uint32_t i = 0; i < paging->files.segment_count; i++) {
		uint64_t bytes = wp_store_segment_bytes(&paging->files.header, i);
		void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, paging->files.segments[i], 0);

		if (map == MAP_FAILED)
			return wp_error_set(error, WP_EXIT_ENVIRONMENT, "os_paging: map: %s",
					    strerror(errno));
		paging->maps[i] = map;
		/* What preparing left in the cache is not what is measured. */
		(void)!posix_fadvise(paging->files.segments[i], 0, 0, POSIX_FADV_DONTNEED);
	}
	return 0;
}

static void unmap_store(struct paging *paging)
{
	for (uint32_t i = 0; paging->maps && i < paging->files.segment_count; i++)
		if (paging->maps[i])
			munmap(paging->maps[i], wp_store_segment_bytes(&paging->files.header, i));
	free(paging->maps);
	if (paging->files.path)
		wp_store_files_close(&paging->files);
}

static int open_paging(struct paging *paging, struct wp_error *error)
{
	const struct wp_replay_plan *plan = paging->plan;
	const struct wp_device_check_config check = {
	    .geometry = plan->geometry,
	    .seed = plan->settings->seed,
	    .threaded = true,
	};
	int result;

	if (wp_replay_world_open(&paging->world, plan, &plan->pager, error) != 0)
		return -1;
	wp_replay_compute_open(&paging->compute, plan, &paging->world);
	paging->slot_bytes = wp_geometry_slot_bytes(&plan->geometry);
	if (map_store(paging, error) != 0)
		return -1;
	result = wp_device_check_open(&paging->check, &check);
	if (result < 0)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "os_paging: %s", strerror(-result));
	return wp_memory_limit_open(&paging->memory, &wp_kernel_host,
				    wp_pager_host_bytes(&plan->pager) + OWN_BYTES, error);
}

static void close_paging(struct paging *paging)
{
	wp_device_check_close(paging->check);
	unmap_store(paging);
	wp_memory_limit_close(&paging->memory);
	wp_replay_world_close(&paging->world);
}

static void describe(struct paging *paging)
{
	const struct wp_pager_totals totals = {.bytes_nvme = bytes_read(paging)};
	struct wp_store_figures *store = &paging->run->store;

	wp_replay_world_describe(&paging->world, paging->plan, store);
	wp_replay_world_finish(&paging->world, paging->plan, &totals, &paging->run->throttle);
	store->backend = "mmap";
	store->direct_io = store->registered_buffers = store->registered_file = false;
	wp_run_note(paging->run,
		    "os_paging: %s memory limit of %" PRIu64 " bytes, page cache and "
		    "faults, MADV_WILLNEED on hints; copies at memcpy's rate",
		    paging->memory.version, paging->memory.bytes);
}

int wp_os_paging_run(struct wp_replay_plan *plan, struct wp_run *run, struct wp_error *error)
{
	struct paging *paging = calloc(1, sizeof(*paging));
	int result = -1;

	if (!paging)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "replay: %s", strerror(ENOMEM));
	paging->plan = plan;
	paging->run = run;
	if (open_paging(paging, error) == 0) {
		if (wp_throttle_start(paging->world.throttle) < 0)
			wp_run_note(run, "the counter of the limited device cannot be read");
		if (wp_throttle_proven(paging->world.throttle))
			play_frames(paging);
		describe(paging);
		wp_replay_judge(plan, run);
		result = 0;
	}
	close_paging(paging);
	free(paging);
	return result;
}
