/* Memory of a run: see memory.h. No policy: who needs how much is the caller's. */
#include "harness/system/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/units.h"

#define TEXT_MAX 8192

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t mem_available_bytes(const struct wp_kernel *kernel)
{
	char text[TEXT_MAX];
	const char *at;

	if (wp_kernel_read(kernel, "/proc/meminfo", text, sizeof(text)) != 0)
		return UINT64_MAX;
	at = strstr(text, "MemAvailable:");
	return at ? strtoull(at + strlen("MemAvailable:"), NULL, 10) * 1024 : UINT64_MAX;
}

/* What a group leaves: limit less usage; UINT64_MAX without a limit ("max"). */
static uint64_t group_left_bytes(const struct wp_kernel *kernel, const char *group,
				 const char *limit_file, const char *usage_file)
{
	char path[WP_KERNEL_PATH_MAX + 64];
	uint64_t limit_bytes, usage_bytes;

	snprintf(path, sizeof(path), "%s/%s", group, limit_file);
	if (wp_kernel_read_number(kernel, path, &limit_bytes) != 0)
		return UINT64_MAX;
	snprintf(path, sizeof(path), "%s/%s", group, usage_file);
	if (wp_kernel_read_number(kernel, path, &usage_bytes) != 0)
		usage_bytes = 0;
	return limit_bytes > usage_bytes ? limit_bytes - usage_bytes : 0;
}

/* The group and every one above it: any of them may be the one that binds. */
static uint64_t groups_left_bytes(const struct wp_kernel *kernel, const char *mount,
				  const char *group, const char *limit_file, const char *usage_file)
{
	char path[WP_KERNEL_PATH_MAX];
	uint64_t left_bytes = UINT64_MAX;
	size_t mount_length = strlen(mount);

	if (snprintf(path, sizeof(path), "%s%s", mount, group) >= (int)sizeof(path))
		return UINT64_MAX;
	for (;;) {
		char *slash;

		left_bytes =
		    least(left_bytes, group_left_bytes(kernel, path, limit_file, usage_file));
		slash = strrchr(path, '/');
		if (!slash || (size_t)(slash - path) < mount_length)
			return left_bytes;
		*slash = '\0';
	}
}

/* One line of /proc/self/cgroup: "4:memory:/group" (v1) or "0::/group" (v2). */
static uint64_t line_left_bytes(const struct wp_kernel *kernel, const char *line)
{
	const char *controllers = strchr(line, ':');
	const char *group = controllers ? strchr(controllers + 1, ':') : NULL;
	size_t length;

	if (!group)
		return UINT64_MAX;
	controllers++;
	length = (size_t)(group - controllers);
	group++;
	if (strcmp(group, "/") == 0)
		group = "";
	if (length == strlen("memory") && strncmp(controllers, "memory", length) == 0)
		return groups_left_bytes(kernel, "/sys/fs/cgroup/memory", group,
					 "memory.limit_in_bytes", "memory.usage_in_bytes");
	if (length == 0)
		return groups_left_bytes(kernel, "/sys/fs/cgroup", group, "memory.max",
					 "memory.current");
	return UINT64_MAX;
}

uint64_t wp_memory_available_bytes(const struct wp_kernel *kernel)
{
	uint64_t available_bytes = mem_available_bytes(kernel);
	char text[TEXT_MAX];
	char *rest = text;
	char *line;

	if (wp_kernel_read(kernel, "/proc/self/cgroup", text, sizeof(text)) != 0)
		return available_bytes;
	while ((line = strsep(&rest, "\n")))
		available_bytes = least(available_bytes, line_left_bytes(kernel, line));
	return available_bytes;
}

int wp_arena_open(struct wp_arena *arena, uint64_t bytes, const char *what, struct wp_error *error)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	char text[WP_UNITS_TEXT];

	if (base == MAP_FAILED)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "%s needs %s of memory: %s", what,
				    wp_units_bytes(text, bytes), strerror(errno));
	arena->base = base;
	arena->bytes = bytes;
	return 0;
}

void wp_arena_close(struct wp_arena *arena)
{
	if (arena->base)
		munmap(arena->base, arena->bytes);
	arena->base = NULL;
	arena->bytes = 0;
}
