/* Limits on memory: see memory_limit.h. */
#include "harness/system/memory_limit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A group can stay busy for a moment after its last process has left. */
#define REMOVE_TRIES   40
#define REMOVE_WAIT_NS 5000000

static int refuse(struct wp_error *error, const char *what, const char *path, int code)
{
	return wp_error_set(error, WP_EXIT_ENVIRONMENT, "no memory limit: cannot %s %.160s: %s%s",
			    what, path, strerror(-code),
			    code == -EACCES || code == -EPERM || code == -EROFS
				? ": run as root or have the memory controller delegated"
				: "");
}

static int set(struct wp_memory_limit *limit, const char *file, uint64_t bytes,
	       struct wp_error *error)
{
	char text[32], path[WP_CGROUP_PATH_MAX + 32];
	int code;

	snprintf(text, sizeof(text), "%" PRIu64, bytes);
	code = wp_cgroup_write(limit->kernel, limit->path, file, text);
	if (code < 0)
		return refuse(error, "set a limit in", limit->path, code);
	snprintf(path, sizeof(path), "%s/%s", limit->path, file);
	code = wp_kernel_read_number(limit->kernel, path, &limit->bytes);
	if (code < 0)
		return refuse(error, "read the limit back from", path, code);
	if (limit->bytes > bytes)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT,
				    "no memory limit: asked for %" PRIu64 " B, but the kernel "
				    "lists %" PRIu64 " B",
				    bytes, limit->bytes);
	return 0;
}

static int open_v1(struct wp_memory_limit *limit, const struct wp_cgroup_place *place,
		   uint64_t bytes, struct wp_error *error)
{
	uint32_t removed = 0;
	int code;

	memcpy(limit->origin, place->directory, sizeof(limit->origin));
	code = wp_cgroup_make(limit->kernel, place->directory, limit->path, sizeof(limit->path),
			      &removed);
	if (code < 0)
		return refuse(error, "make a control group in", place->directory, code);
	limit->version = "v1";
	if (set(limit, "memory.limit_in_bytes", bytes, error) != 0)
		return -1;
	code = wp_cgroup_enter(limit->kernel, limit->path);
	return code < 0 ? refuse(error, "enter", limit->path, code) : 0;
}

static int open_v2(struct wp_memory_limit *limit, struct wp_cgroup_place *place, uint64_t bytes,
		   struct wp_error *error)
{
	const char *name = strrchr(place->directory, '/');
	int code;

	if (place->top || !name || strncmp(name, "/worldpager-", 12) != 0)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT,
				    "no memory limit: control groups v2 need a --bandwidth, whose "
				    "group then holds both limits");
	memcpy(limit->path, place->directory, sizeof(limit->path));
	if (wp_cgroup_parent(place, limit->origin, sizeof(limit->origin)) < 0)
		return refuse(error, "find the parent of", limit->path, -ENOENT);
	limit->version = "v2";
	if (!wp_cgroup_has(limit->kernel, limit->path, "memory.max")) {
		code = wp_cgroup_write(limit->kernel, limit->origin, "cgroup.subtree_control",
				       "+memory");
		if (code < 0)
			return refuse(error, "hand the memory controller down in", limit->origin,
				      code);
		limit->handed_down = true;
	}
	return set(limit, "memory.max", bytes, error);
}

int wp_memory_limit_open(struct wp_memory_limit *limit, const struct wp_kernel *kernel,
			 uint64_t bytes, struct wp_error *error)
{
	struct wp_cgroup_place place;
	int result;

	memset(limit, 0, sizeof(*limit));
	limit->kernel = kernel;
	if (wp_cgroup_find_v1(&place, kernel, "memory") == 0)
		result = open_v1(limit, &place, bytes, error);
	else if (wp_cgroup_find_v2(&place, kernel) == 0)
		result = open_v2(limit, &place, bytes, error);
	else
		result = wp_error_set(error, WP_EXIT_ENVIRONMENT,
				      "no memory limit: no control groups are mounted");
	if (result != 0)
		wp_memory_limit_close(limit);
	return result;
}

static void leave_v1(struct wp_memory_limit *limit)
{
	const struct timespec wait = {.tv_nsec = REMOVE_WAIT_NS};

	(void)!wp_cgroup_enter(limit->kernel, limit->origin);
	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (wp_kernel_remove(limit->kernel, limit->path) != -EBUSY)
			return;
		nanosleep(&wait, NULL);
	}
}

void wp_memory_limit_close(struct wp_memory_limit *limit)
{
	if (limit->version && strcmp(limit->version, "v1") == 0)
		leave_v1(limit);
	else if (limit->handed_down)
		(void)!wp_cgroup_write(limit->kernel, limit->origin, "cgroup.subtree_control",
				       "-memory");
	memset(limit, 0, sizeof(*limit));
}
