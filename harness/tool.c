/*
 * The program itself: version, and where what ships with it lies. Never looks
 * at the current directory or at the environment: a run means the same wherever
 * it is started. The one idea: a tree is recognised by traces/MANIFEST, so that
 * no stray folder called "traces" above an installed program is taken for it.
 */
#include "harness/tool.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TREE_MARK  "traces/MANIFEST"

/* build/obj/VARIANT/tests/unit/test_x stands six levels below its tree. */
#define LEVELS_MAX 8

static const struct {
	const char *noun;
	const char *folder;
	const char *suffix;
	enum wp_exit exit_code;
} resources[WP_RESOURCE_COUNT] = {
    [WP_RESOURCE_TRACE] = {"trace", "traces", ".jsonl", WP_EXIT_CONTENT},
    [WP_RESOURCE_TRAJECTORY] = {"trajectory", "configs/trajectories", ".json", WP_EXIT_USAGE},
    [WP_RESOURCE_MODEL] = {"model", "configs/models", ".json", WP_EXIT_USAGE},
    [WP_RESOURCE_MACHINE] = {"machine", "configs/machines", ".json", WP_EXIT_USAGE},
    [WP_RESOURCE_DRIVE] = {"drive", "configs/drives", ".json", WP_EXIT_USAGE},
    [WP_RESOURCE_EXPERIMENT] = {"experiment", "configs/experiments", ".json", WP_EXIT_USAGE},
};

bool wp_tool_name_valid(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-.";

	return *name && *name != '.' && !name[strspn(name, allowed)];
}

const char *wp_tool_version(void)
{
	return WP_VERSION;
}

const char *wp_tool_commit(void)
{
	return WP_COMMIT;
}

/* The tree that the program stands in, without a final "/"; false if there is none. */
static bool find_tree(char root[WP_PATH_MAX])
{
	char mark[WP_PATH_MAX + sizeof(TREE_MARK) + 1];
	ssize_t length = readlink("/proc/self/exe", root, WP_PATH_MAX - 1);

	if (length <= 0)
		return false;
	root[length] = '\0';
	for (int level = 0; level < LEVELS_MAX; level++) {
		char *slash = strrchr(root, '/');

		if (!slash)
			return false;
		*slash = '\0';
		snprintf(mark, sizeof(mark), "%s/%s", root, TREE_MARK);
		if (access(mark, R_OK) == 0)
			return true;
	}
	return false;
}

/* The data directory, then the tree; `index` 0 or 1. False if there is none. */
static bool find_root(int index, char root[WP_PATH_MAX])
{
	if (index == 1)
		return find_tree(root);
	snprintf(root, WP_PATH_MAX, "%s", WP_DATADIR);
	return true;
}

static bool find_file(char path[WP_PATH_MAX], const char *folder, const char *name,
		      const char *suffix)
{
	char root[WP_PATH_MAX];

	for (int i = 0; i < 2; i++) {
		if (!find_root(i, root))
			continue;
		if (snprintf(path, WP_PATH_MAX, "%s/%s%s%s%s", root, folder, *folder ? "/" : "",
			     name, suffix) < WP_PATH_MAX &&
		    access(path, F_OK) == 0)
			return true;
	}
	return false;
}

static bool ends_with(const char *text, const char *suffix)
{
	size_t length = strlen(text), tail = strlen(suffix);

	return length > tail && !strcmp(text + length - tail, suffix);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* The names there are, as ": a_yaw, b1_ws" in alphabetical order; empty if none. */
static void list_names(enum wp_resource resource, char *text, size_t size)
{
	char root[WP_PATH_MAX], folder[WP_PATH_MAX + 64], names[32][64];
	const char *suffix = resources[resource].suffix;
	size_t count = 0, length = 0;

	for (int i = 0; i < 2; i++) {
		struct dirent *entry;
		DIR *directory;

		if (!find_root(i, root))
			continue;
		snprintf(folder, sizeof(folder), "%s/%s", root, resources[resource].folder);
		directory = opendir(folder);
		while (directory && count < 32 && (entry = readdir(directory))) {
			if (!ends_with(entry->d_name, suffix) || strlen(entry->d_name) > 63)
				continue;
			snprintf(names[count], sizeof(names[count]), "%.*s",
				 (int)(strlen(entry->d_name) - strlen(suffix)), entry->d_name);
			count++;
		}
		if (directory)
			closedir(directory);
	}
	qsort(names, count, sizeof(names[0]), compare_names);
	*text = '\0';
	for (size_t i = 0; i < count; i++) {
		if (i && !strcmp(names[i], names[i - 1]))
			continue;
		length += (size_t)snprintf(text + length, size - length, "%s%s", i ? ", " : ": ",
					   names[i]);
		if (length >= size)
			return;
	}
}

int wp_tool_resolve(char path[WP_PATH_MAX], enum wp_resource resource, const char *name,
		    struct wp_error *error)
{
	const char *noun = resources[resource].noun;
	char known[512];

	if (!*name)
		return wp_error_set(error, WP_EXIT_USAGE, "the %s has an empty name", noun);
	if (strlen(name) >= WP_PATH_MAX)
		return wp_error_set(error, WP_EXIT_USAGE, "the name of the %s is too long", noun);
	if (strchr(name, '/') || ends_with(name, resources[resource].suffix)) {
		snprintf(path, WP_PATH_MAX, "%s", name);
		return 0;
	}
	if (find_file(path, resources[resource].folder, name, resources[resource].suffix))
		return 0;
	list_names(resource, known, sizeof(known));
	return wp_error_set(error, resources[resource].exit_code,
			    "no %s \"%.100s\" (known%s; a path holds a \"/\" or ends in %s)", noun,
			    name, *known ? known : ": none", resources[resource].suffix);
}

int wp_tool_file(char path[WP_PATH_MAX], const char *relative, struct wp_error *error)
{
	if (find_file(path, "", relative, ""))
		return 0;
	return wp_error_set(error, WP_EXIT_CONTENT,
			    "%s is missing (looked in %s and in the tree of the program)", relative,
			    WP_DATADIR);
}
