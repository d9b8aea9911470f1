/*
 * The store that a session writes: made anew, or opened to go on where an
 * earlier process ended, killed or not. What an earlier session wrote is never
 * removed unless that was asked for.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "harness/replay/prepare.h"
#include "harness/replay/replay_world.h"
#include "harness/units.h"

#define SESSION_SUFFIX "-session"
#define SESSIONS_SHOWN 16

static int check_space(const struct wp_replay_plan *plan, uint32_t records, struct wp_error *error)
{
	uint64_t need_bytes = wp_store_host_bytes(plan->geometry.block_bytes, records);
	char need[WP_UNITS_TEXT], have[WP_UNITS_TEXT];
	struct statvfs space;
	uint64_t free_bytes;

	if (statvfs(plan->settings->store, &space) != 0)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "%s: %s", plan->settings->store,
				    strerror(errno));
	free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
	if (free_bytes >= need_bytes)
		return 0;
	return wp_error_set(error, WP_EXIT_ENVIRONMENT,
			    "%s: the session needs %s, %s are free; take a smaller --scale, fewer "
			    "--frames or another --store",
			    plan->settings->store, wp_units_bytes(need, need_bytes),
			    wp_units_bytes(have, free_bytes));
}

/* Whether a session is there, and its room; -1 with `error` for what is there and is none. */
static int look(const struct wp_replay_plan *plan, bool *there, uint32_t *records,
		struct wp_error *error)
{
	struct wp_store_identity identity;
	struct wp_store_fault fault;
	int result = wp_store_host_identify(plan->store_path, &identity, records, &fault);

	*there = result == 0;
	if (result == -ENOENT)
		return 0;
	return result < 0 ? wp_prepare_error(error, &fault) : 0;
}

/* A host-only session stores nothing, but the world has to have a store: one record. */
static uint32_t record_count(const struct wp_replay_plan *plan)
{
	return plan->session.tiers.nvme_blocks ? plan->session.tiers.nvme_blocks : 1;
}

/* A session that has lost what it had acknowledged does not go on as if nothing were. */
static int check_found(const struct wp_replay_world *opened, const struct wp_replay_plan *plan,
		       struct wp_error *error)
{
	const struct wp_store_report *found = &opened->store;

	if (!found->lost_blocks)
		return 0;
	return wp_error_set(error, WP_EXIT_CONTENT,
			    "%s: index, offset %llu: the entry of block %u is damaged, which had "
			    "been acknowledged; %u such blocks are lost. --replace-session begins "
			    "anew",
			    plan->store_path, (unsigned long long)found->lost_offset,
			    found->lost_block, found->lost_blocks);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool is_session(const char *folder, const char *name)
{
	size_t bytes = strlen(name), tail = strlen(SESSION_SUFFIX);
	struct wp_store_identity identity;
	struct wp_store_fault ignored;
	char path[WP_KERNEL_PATH_MAX];
	uint32_t records;

	return bytes > tail && strcmp(name + bytes - tail, SESSION_SUFFIX) == 0 &&
	       snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) &&
	       wp_store_host_identify(path, &identity, &records, &ignored) == 0;
}

/* Beside the one that was looked for, in alphabetical order: "a-session, b-session". */
static void list_sessions(const char *folder, char *text, size_t size)
{
	char names[SESSIONS_SHOWN][NAME_MAX + 1];
	DIR *directory = opendir(folder);
	size_t count = 0, length = 0;

	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		if (count < SESSIONS_SHOWN && is_session(folder, entry->d_name))
			snprintf(names[count++], sizeof(names[0]), "%s", entry->d_name);
	}
	if (directory)
		closedir(directory);
	qsort(names, count, sizeof(names[0]), compare_names);
	snprintf(text, size, "none");
	for (size_t i = 0; i < count && length < size; i++)
		length +=
		    (size_t)snprintf(text + length, size - length, "%s%s", i ? ", " : "", names[i]);
}

/* What is there against what was asked for. */
static int check_earlier(const struct wp_replay_plan *plan, bool there, uint32_t records,
			 struct wp_error *error)
{
	const struct wp_session_settings *settings = &plan->settings->session;
	uint32_t wanted = record_count(plan);
	char room[WP_UNITS_TEXT], others[256];

	if (there && !settings->resume && !settings->replace)
		return wp_error_set(error, WP_EXIT_CONTENT,
				    "%s: holds an earlier session; --resume goes on with it, "
				    "--replace-session removes it",
				    plan->store_path);
	if (!settings->resume)
		return 0;
	if (!there) {
		list_sessions(plan->settings->store, others, sizeof(others));
		return wp_error_set(error, WP_EXIT_CONTENT,
				    "--resume: no session in %.300s; sessions beside it: %s",
				    plan->store_path, others);
	}
	if (records < wanted || (plan->session.tiers.forget_oldest && records != wanted))
		return wp_error_set(
		    error, WP_EXIT_CONTENT,
		    "%s: a session with room for %s, where these options ask "
		    "for %u; --resume needs a --trace as long and the same --nvme-budget",
		    plan->store_path, wp_units_counted(room, records, "block"), wanted);
	return 0;
}

int wp_replay_session_store_check(const struct wp_replay_plan *plan, struct wp_error *error)
{
	uint32_t records;
	bool there;

	return look(plan, &there, &records, error) != 0
		   ? -1
		   : check_earlier(plan, there, records, error);
}

int wp_replay_session_store_open(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
				 struct wp_error *error)
{
	const struct wp_session_settings *settings = &plan->settings->session;
	const struct wp_store_arena arena = {opened->host.base, opened->host.bytes};
	const struct wp_store_host_config config = {
	    .directory = plan->store_path,
	    .depth = WP_READ_DEPTH_MAX,
	    .writable = true,
	    .forget_oldest = plan->session.tiers.forget_oldest,
	    .write_blocks_max = plan->session.tiers.write_blocks,
	    .require_direct = !plan->settings->allow_unproven,
	    .allow_unproven = plan->settings->allow_unproven,
	    .arenas = &arena,
	    .arena_count = 1,
	};
	struct wp_store_identity identity;
	struct wp_store_fault fault;
	uint32_t records;
	bool there;
	int result;

	wp_replay_store_identity(plan, &identity);
	if (look(plan, &there, &records, error) != 0)
		return -1;
	if (there && settings->replace && wp_store_host_remove(plan->store_path, &fault) < 0)
		return wp_prepare_error(error, &fault);
	if (there && settings->resume) {
		result = wp_store_host_open(&opened->world.store, &config, &identity,
					    opened->world.clock, &opened->store, &fault);
		if (result == 0)
			return check_found(opened, plan, error);
	} else {
		if (wp_prepare_folder(plan->settings->store, error) != 0 ||
		    check_space(plan, record_count(plan), error) != 0)
			return -1;
		result = wp_store_host_create(&opened->world.store, &config, &identity,
					      record_count(plan), opened->world.clock,
					      &opened->store, &fault);
	}
	return result < 0 ? wp_prepare_error(error, &fault) : 0;
}
