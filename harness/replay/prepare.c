/*
 * Filling a store for replays: every chunk of every block generated, written
 * and checksummed, then the header. Reads nothing back; that is what replays
 * do, with every byte verified.
 *
 * The idea: preparation is a client of the store port like any other, so what
 * replays read was written by the code that sessions write with. While this
 * thread generates, the store's threads checksum and flush and the ring writes.
 */
#include "harness/replay/prepare.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "harness/units.h"
#include "pager/content.h"
#include "pager/device.h"
#include "pager/store_fault.h"
#include "pager/store_host.h"

#define PIECE_CHUNKS  4u /* chunks of one write: 1 MiB */
#define PIECE_BYTES   (PIECE_CHUNKS * WP_CHUNK_BYTES)
#define WRITES	      16u
#define COMMITS	      64u
#define PROGRESS_STEP (16ull * 1024 * 1024)
#define STOP_WAIT_NS  5000000000ull

struct writing {
	const struct wp_prepare_config *config;
	struct wp_clock *clock;
	struct wp_port *store;
	struct wp_queue done;
	struct wp_request writes[WRITES];
	struct wp_request commits[COMMITS];
	struct wp_queue idle_writes, idle_commits;
	bool write_under_way[WRITES], commit_under_way[COMMITS];
	uint32_t *pieces_left; /* of each block, until it can be committed */
	unsigned char *memory;
	uint64_t done_bytes, total_bytes, told_bytes;
	struct wp_request failed; /* the first that was */
	uint64_t moved_ns;	  /* when something was finished last, or begun after a pause */
	bool dead;		  /* nothing has been for too long */
	struct writing *given_up; /* the one before, kept like this one */
};

/* What dead drives may still read from: kept until the process ends. */
static struct writing *given_up;

int wp_prepare_error(struct wp_error *error, const struct wp_store_fault *fault)
{
	return wp_error_set(error, fault->content ? WP_EXIT_CONTENT : WP_EXIT_ENVIRONMENT, "%s",
			    fault->text);
}

int wp_prepare_folder(const char *path, struct wp_error *error)
{
	struct wp_store_fault fault;

	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	wp_store_fault_errno(&fault, -errno, "folder of stores %s: making the directory", path);
	return wp_prepare_error(error, &fault);
}

static uint32_t piece_count(uint64_t block_bytes)
{
	return (uint32_t)((block_bytes + PIECE_BYTES - 1) / PIECE_BYTES);
}

static bool stopped(const struct writing *writing)
{
	return writing->config->stop && *writing->config->stop;
}

static bool *under_way(struct writing *writing, const struct wp_request *request)
{
	return request->op == WP_OP_COMMIT ? &writing->commit_under_way[request - writing->commits]
					   : &writing->write_under_way[request - writing->writes];
}

static void tell_progress(struct writing *writing)
{
	const struct wp_prepare_config *config = writing->config;

	if (!config->progress || (writing->done_bytes < writing->told_bytes + PROGRESS_STEP &&
				  writing->done_bytes < writing->total_bytes))
		return;
	writing->told_bytes = writing->done_bytes;
	config->progress(config->context, writing->done_bytes, writing->total_bytes);
}

static void take_done(struct writing *writing)
{
	struct wp_request *request;

	wp_port_poll(writing->store);
	while ((request = wp_queue_pop(&writing->done))) {
		bool commit = request->op == WP_OP_COMMIT;

		if (request->result && !writing->failed.result)
			writing->failed = *request;
		*under_way(writing, request) = false;
		writing->moved_ns = wp_clock_now_ns(writing->clock);
		if (!commit) {
			writing->done_bytes += request->bytes;
			if (!request->result)
				writing->pieces_left[request->block]--;
		}
		wp_queue_push(commit ? &writing->idle_commits : &writing->idle_writes, request);
	}
	tell_progress(writing);
}

/* When the drive has to have finished something; whoever stops does not want to wait long. */
static uint64_t dead_ns(const struct writing *writing)
{
	uint64_t deadline_ns = writing->config->deadline_ns;

	if (stopped(writing) && (!deadline_ns || deadline_ns > STOP_WAIT_NS))
		deadline_ns = STOP_WAIT_NS;
	return deadline_ns ? writing->moved_ns + deadline_ns : WP_TIME_NEVER;
}

static int wait_done(struct writing *writing)
{
	uint64_t next_ns = wp_port_next_ns(writing->store);
	uint64_t until_ns = dead_ns(writing);
	int error;

	error = wp_clock_wait_until(writing->clock, next_ns < until_ns ? next_ns : until_ns);
	take_done(writing);
	if (wp_clock_now_ns(writing->clock) >= dead_ns(writing)) {
		writing->dead = true;
		return -ETIMEDOUT;
	}
	return error == -EINTR ? 0 : error; /* whether to stop is looked at elsewhere */
}

/* An idle request of the queue, waited for; NULL: stop, see failed. */
static struct wp_request *await_idle(struct writing *writing, struct wp_queue *idle)
{
	take_done(writing);
	while (!idle->count && !writing->failed.result && !stopped(writing)) {
		if (wait_done(writing) != 0)
			return NULL;
	}
	return writing->failed.result || stopped(writing) ? NULL : wp_queue_pop(idle);
}

static bool submit(struct writing *writing, struct wp_request *request)
{
	request->owner = &writing->done;
	for (;;) {
		int error = wp_port_submit(writing->store, request);

		if (error == 0) {
			*under_way(writing, request) = true;
			return true;
		}
		if (error != -EAGAIN || wait_done(writing) != 0)
			return false;
	}
}

static bool write_piece(struct writing *writing, uint32_t block, uint32_t piece)
{
	const struct wp_prepare_config *config = writing->config;
	uint64_t begin = (uint64_t)piece * PIECE_BYTES;
	uint64_t left = config->identity.block_bytes - begin;
	uint64_t bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
	struct wp_request *request = await_idle(writing, &writing->idle_writes);
	unsigned char *memory;

	if (!request)
		return false;
	memory = writing->memory + (uint64_t)(request - writing->writes) * PIECE_BYTES;
	if (bytes < PIECE_BYTES)
		memset(memory, 0, PIECE_BYTES); /* padding is zeros, not what lay there */
	*request = (struct wp_request){
	    .op = WP_OP_WRITE,
	    .block = block,
	    .chunk_first = piece * PIECE_CHUNKS,
	    .chunk_count = (uint32_t)((bytes + WP_CHUNK_BYTES - 1) / WP_CHUNK_BYTES),
	    .bytes = bytes,
	    .payload_bytes = bytes,
	    .host = memory,
	};
	for (uint32_t i = 0; i < request->chunk_count; i++) {
		uint64_t at = (uint64_t)i * WP_CHUNK_BYTES;

		wp_content_fill(memory + at,
				bytes - at < WP_CHUNK_BYTES ? bytes - at : WP_CHUNK_BYTES,
				config->identity.seed, block, request->chunk_first + i);
	}
	return submit(writing, request);
}

static bool commit_block(struct writing *writing, uint32_t block)
{
	struct wp_request *request;

	while (writing->pieces_left[block] && !writing->failed.result && !stopped(writing)) {
		if (wait_done(writing) != 0)
			return false;
	}
	request = await_idle(writing, &writing->idle_commits);
	if (!request)
		return false;
	*request = (struct wp_request){.op = WP_OP_COMMIT, .block = block};
	return submit(writing, request);
}

/* Waits until nothing is in flight, whatever happened, but not for a drive that has died. */
static void drain(struct writing *writing)
{
	if (writing->dead)
		return;
	take_done(writing);
	while (writing->idle_writes.count < WRITES || writing->idle_commits.count < COMMITS) {
		if (wait_done(writing) != 0)
			break;
	}
}

/*
 * All blocks, each committed a few blocks later, so that its last writes have
 * long come back and nobody waits.
 */
static bool write_blocks(struct writing *writing)
{
	const struct wp_prepare_config *config = writing->config;
	uint32_t pieces = piece_count(config->identity.block_bytes);
	uint32_t committed = 0;

	for (uint32_t block = 0; block < config->block_count; block++) {
		writing->pieces_left[block] = pieces;
		for (uint32_t piece = 0; piece < pieces; piece++) {
			if (!write_piece(writing, block, piece))
				return false;
		}
		while (committed <= block && !writing->pieces_left[committed]) {
			if (!commit_block(writing, committed++))
				return false;
		}
	}
	while (committed < config->block_count) {
		if (!commit_block(writing, committed++))
			return false;
	}
	drain(writing);
	return !writing->failed.result && !writing->dead && !stopped(writing);
}

/* Of the requests that a dead drive has not answered; NULL: all were. */
static const struct wp_request *oldest_under_way(const struct writing *writing)
{
	const struct wp_request *oldest = NULL;

	for (uint32_t i = 0; i < WRITES + COMMITS; i++) {
		bool write = i < WRITES;
		const struct wp_request *request =
		    write ? &writing->writes[i] : &writing->commits[i - WRITES];

		if (!(write ? writing->write_under_way[i] : writing->commit_under_way[i - WRITES]))
			continue;
		if (!oldest || request->block < oldest->block ||
		    (request->block == oldest->block && request->chunk_first < oldest->chunk_first))
			oldest = request;
	}
	return oldest;
}

static int explain(const struct writing *writing, struct wp_error *error)
{
	const struct wp_request *failed = &writing->failed;
	const struct wp_request *oldest = oldest_under_way(writing);
	int result = failed->result;

	if (result)
		return wp_error_set(error, result == -EIO ? WP_EXIT_CONTENT : WP_EXIT_ENVIRONMENT,
				    "store %s: writing block %" PRIu32 " at offset %" PRIu64 ": %s",
				    writing->config->directory, failed->block, failed->fault_offset,
				    strerrordesc_np(-result));
	if (stopped(writing))
		return wp_error_set(error, WP_EXIT_INTERRUPTED, "store %s: preparation interrupted",
				    writing->config->directory);
	if (writing->dead)
		return wp_error_set(error, WP_EXIT_CONTENT,
				    "store %s: writing block %" PRIu32 " at offset %" PRIu64
				    ": not answered within %" PRIu64 " s; the drive has died",
				    writing->config->directory, oldest ? oldest->block : 0,
				    oldest ? (uint64_t)oldest->chunk_first * WP_CHUNK_BYTES : 0,
				    writing->config->deadline_ns / 1000000000u);
	return wp_error_set(error, WP_EXIT_CONTENT, "store %s: preparation cannot go on",
			    writing->config->directory);
}

static int fill_store(struct writing *writing, struct wp_error *error)
{
	int result;

	WP_CHECK(writing->clock && writing->store);
	writing->clock->ops->watch(writing->clock, wp_port_fd(writing->store));
	if (!write_blocks(writing)) {
		drain(writing);
		return explain(writing, error);
	}
	result = wp_store_host_seal(writing->store);
	if (result)
		return wp_error_set(error, WP_EXIT_CONTENT, "store %s: making it complete: %s",
				    writing->config->directory, strerrordesc_np(-result));
	return 0;
}

static int open_writing(struct writing *writing, struct wp_error *error)
{
	const struct wp_prepare_config *config = writing->config;
	struct wp_store_identity identity = config->identity;
	struct wp_store_arena arena = {.bytes = (uint64_t)WRITES * PIECE_BYTES};
	struct wp_store_host_config store_config = {
	    .directory = config->directory,
	    .backend = config->backend,
	    .depth = WRITES,
	    .writable = true,
	    .require_direct = config->require_direct,
	    .allow_unproven = config->allow_unproven,
	    .arenas = &arena,
	    .arena_count = 1,
	};
	struct wp_store_report report;
	struct wp_store_fault fault;

	writing->memory = aligned_alloc(4096, arena.bytes);
	writing->pieces_left = calloc(config->block_count, sizeof(*writing->pieces_left));
	if (!writing->memory || !writing->pieces_left || wp_clock_host_open(&writing->clock) != 0)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "store %s: out of memory",
				    config->directory);
	arena.base = writing->memory;
	identity.kind = WP_STORE_PREPARED;
	for (uint32_t i = 0; i < WRITES; i++)
		wp_queue_push(&writing->idle_writes, &writing->writes[i]);
	for (uint32_t i = 0; i < COMMITS; i++)
		wp_queue_push(&writing->idle_commits, &writing->commits[i]);
	writing->total_bytes = config->identity.block_bytes * config->block_count;
	if (wp_store_host_create(&writing->store, &store_config, &identity, config->block_count,
				 writing->clock, &report, &fault) != 0)
		return wp_prepare_error(error, &fault);
	return 0;
}

static int write_store(const struct wp_prepare_config *config, struct wp_error *error)
{
	struct writing *writing = calloc(1, sizeof(*writing));
	int result;

	if (!writing)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "store %s: out of memory",
				    config->directory);
	writing->config = config;
	result = open_writing(writing, error);
	if (result == 0)
		result = fill_store(writing, error);
	if (writing->dead) {
		writing->given_up = given_up;
		given_up = writing;
		return result;
	}
	wp_port_close(writing->store); /* removes what was not completed */
	if (writing->clock)
		writing->clock->ops->close(writing->clock);
	free(writing->pieces_left);
	free(writing->memory);
	free(writing);
	return result;
}

/* Free space where the directory is or will be: of its nearest ancestor that exists. */
static uint64_t free_bytes(const char *directory)
{
	char path[4096];
	struct statvfs about;

	snprintf(path, sizeof(path), "%s", directory);
	while (statvfs(path, &about) != 0) {
		char *slash = strrchr(path, '/');

		if (!slash)
			snprintf(path, sizeof(path), ".");
		else
			slash[slash == path ? 1 : 0] = 0;
		if (!slash || slash == path) {
			if (statvfs(path, &about) != 0)
				return 0;
			break;
		}
	}
	return (uint64_t)about.f_bavail * about.f_frsize;
}

/* What keeps a store from serving a replay of whatever length; empty: nothing does. */
static void compare(const struct wp_store_identity *is, const struct wp_prepare_config *want,
		    char *difference, size_t size)
{
	if (is->kind != WP_STORE_PREPARED)
		snprintf(difference, size, "it is a session's");
	else if (is->block_bytes != want->identity.block_bytes)
		snprintf(difference, size, "its blocks have %" PRIu64 " B, wanted %" PRIu64,
			 is->block_bytes, want->identity.block_bytes);
	else if (strcmp(is->codec, want->identity.codec) != 0)
		snprintf(difference, size, "its codec is %s, wanted %s", is->codec,
			 want->identity.codec);
	else if (is->geometry_hash != want->identity.geometry_hash)
		snprintf(difference, size, "it was made for the geometry of %s, wanted %s",
			 is->model, want->identity.model);
	else if (is->seed != want->identity.seed)
		snprintf(difference, size, "its seed is %" PRIu64 ", wanted %" PRIu64, is->seed,
			 want->identity.seed);
	else
		difference[0] = 0;
}

int wp_prepare_plan(const struct wp_prepare_config *config, struct wp_prepare_plan *plan,
		    struct wp_error *error)
{
	struct wp_store_identity identity;
	struct wp_store_fault fault;
	char has[WP_UNITS_TEXT];
	uint32_t blocks;
	int result;

	WP_CHECK(config->block_count > 0 && config->block_count <= WP_BLOCKS_MAX);
	memset(plan, 0, sizeof(*plan));
	plan->store_bytes = wp_store_host_bytes(config->identity.block_bytes, config->block_count);
	plan->write_bytes = plan->store_bytes;
	plan->free_bytes = free_bytes(config->directory);
	result = wp_store_host_identify(config->directory, &identity, &blocks, &fault);
	if (result == -ENOENT)
		return 0;
	if (result == -EBADMSG)
		snprintf(plan->difference, sizeof(plan->difference), "%s", fault.text);
	else if (result)
		return wp_prepare_error(error, &fault);
	else
		compare(&identity, config, plan->difference, sizeof(plan->difference));
	if (!plan->difference[0] && blocks < config->block_count) {
		plan->too_short = true;
		snprintf(plan->difference, sizeof(plan->difference), "it has %s, wanted %" PRIu32,
			 wp_units_counted(has, blocks, "block"), config->block_count);
	}
	plan->reusable = !plan->difference[0];
	if (plan->reusable) {
		plan->store_bytes = wp_store_host_bytes(identity.block_bytes, blocks);
		plan->write_bytes = 0;
	}
	return 0;
}

int wp_prepare(const struct wp_prepare_config *config, struct wp_error *error)
{
	struct wp_store_fault fault;
	struct wp_prepare_plan plan;

	if (wp_prepare_plan(config, &plan, error) != 0)
		return -1;
	if (plan.reusable)
		return 0;
	/* The same seed gives the same blocks: of a short store nothing is lost. */
	if (plan.difference[0] && !plan.too_short && !config->replace)
		return wp_error_set(error, WP_EXIT_CONTENT,
				    "store %s cannot serve this run: %s; remove it or name "
				    "another directory",
				    config->directory, plan.difference);
	if (plan.difference[0] && wp_store_host_remove(config->directory, &fault) != 0)
		return wp_prepare_error(error, &fault);
	return write_store(config, error);
}
