/* Folders that results go to. */
#include "harness/experiments/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/experiments/index.h"
#include "harness/tool.h"

static char **made; /* in the order of making: what lies in a folder comes after it */
static size_t made_count;

static void note_made(const char *path)
{
	char **more = realloc(made, (made_count + 1) * sizeof(*made));

	WP_CHECK(more);
	made = more;
	made[made_count] = strdup(path);
	WP_CHECK(made[made_count]);
	made_count++;
}

void wp_folder_remove_empty(void)
{
	while (made_count) {
		rmdir(made[--made_count]);
		free(made[made_count]);
	}
	free(made);
	made = NULL;
}

int wp_folder_make(const char *path, struct wp_error *error)
{
	char part[WP_PATH_MAX];
	size_t length = strlen(path);

	if (length == 0 || length >= sizeof(part))
		return wp_error_set(error, WP_EXIT_USAGE, "not the name of a folder: \"%.100s\"",
				    path);
	memcpy(part, path, length + 1);
	for (char *at = part + 1;; at++) {
		char end = *at;
		struct stat status;

		if (end != '/' && end != '\0')
			continue;
		*at = '\0';
		if (mkdir(part, 0777) == 0)
			note_made(part);
		else if (errno != EEXIST || stat(part, &status) != 0 || !S_ISDIR(status.st_mode))
			return wp_error_at(error, WP_EXIT_CONTENT, part, 0, 0, "cannot be made: %s",
					   strerror(errno == EEXIST ? ENOTDIR : errno));
		*at = end;
		if (end == '\0')
			return 0;
	}
}

int wp_folder_check(const char *path, struct wp_error *error)
{
	char part[WP_PATH_MAX];
	struct stat status;
	char *slash;

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
		return wp_error_set(error, WP_EXIT_USAGE, "not the name of a folder: \"%.100s\"",
				    path);
	memset(&status, 0, sizeof(status));
	while (stat(part, &status) != 0 && errno == ENOENT) {
		slash = strrchr(part, '/');
		if (slash == part)
			slash++;
		if (slash)
			*slash = '\0';
		else
			snprintf(part, sizeof(part), ".");
	}
	if (!S_ISDIR(status.st_mode))
		errno = ENOTDIR;
	else if (access(part, W_OK | X_OK) == 0)
		return 0;
	return wp_error_at(error, WP_EXIT_CONTENT, part, 0, 0, "nothing can be made there: %s",
			   strerror(errno));
}

static bool is_empty(DIR *folder)
{
	for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return false;
	}
	return true;
}

int wp_folder_claim(const char *path, struct wp_error *error)
{
	DIR *folder = opendir(path);
	struct wp_index index;
	bool empty;

	if (!folder && errno == ENOENT)
		return wp_folder_make(path, error);
	if (!folder)
		return wp_error_at(error, WP_EXIT_USAGE, path, 0, 0, "is no folder to write to: %s",
				   strerror(errno));
	empty = is_empty(folder);
	closedir(folder);
	if (empty)
		return 0;
	if (!wp_index_exists(path))
		return wp_error_at(error, WP_EXIT_USAGE, path, 0, 0,
				   "holds something else than results; name a new or empty folder");
	if (wp_index_load(path, &index, error) != 0)
		return -1;
	wp_index_close(&index);
	return 0;
}

void wp_folder_remove(const char *path)
{
	DIR *folder = opendir(path);

	if (!folder)
		return;
	for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
		unlinkat(dirfd(folder), entry->d_name, 0);
	closedir(folder);
	rmdir(path);
}
