/*
 * Gathering the runs of the two sides of a comparison from files and folders,
 * and closing them. Judges nothing but whether a document can be read.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/compare/compare.h"
#include "harness/experiments/index.h"
#include "harness/tool.h"

void wp_compare_open(struct wp_compare *compare, double tolerance, bool force)
{
	memset(compare, 0, sizeof(*compare));
	compare->tolerance = tolerance;
	compare->force = force;
}

void wp_compare_close(struct wp_compare *compare)
{
	for (int side = 0; side < WP_COMPARE_SIDES; side++) {
		for (uint32_t i = 0; i < compare->run_count[side]; i++)
			wp_result_close(&compare->runs[side][i].result);
		free(compare->runs[side]);
	}
	free(compare->points);
	memset(compare, 0, sizeof(*compare));
}

/* `any`: a document that is no replay's is passed over. */
static int add_file(struct wp_compare *compare, enum wp_compare_side side, const char *path,
		    bool any, struct wp_error *error)
{
	uint32_t count = compare->run_count[side];
	const char *name = strrchr(path, '/');
	struct wp_compare_run *run;
	int found;

	compare->runs[side] = realloc(compare->runs[side], (count + 1) * sizeof(*run));
	WP_CHECK(compare->runs[side]);
	run = &compare->runs[side][count];
	snprintf(run->name, sizeof(run->name), "%s", name ? name + 1 : path);
	if (any)
		found = wp_result_load_if(path, &run->result, error);
	else
		found = wp_result_load(path, &run->result, error) == 0 ? 1 : -1;
	if (found < 0)
		return -1;
	compare->run_count[side] += (uint32_t)found;
	return 0;
}

static int join(char path[WP_PATH_MAX], const char *folder, const char *name,
		struct wp_error *error)
{
	if (snprintf(path, WP_PATH_MAX, "%s/%s", folder, name) >= WP_PATH_MAX)
		return wp_error_set(error, WP_EXIT_CONTENT, "a name in %s is too long", folder);
	return 0;
}

/* A point that failed has no figures, and leaving it out would hide that. */
static int add_results(struct wp_compare *compare, enum wp_compare_side side, const char *folder,
		       struct wp_error *error)
{
	char path[WP_PATH_MAX];
	struct wp_index index;
	int result = 0;

	if (wp_index_load(folder, &index, error) != 0)
		return -1;
	for (uint32_t i = 0; i < index.count && result == 0; i++) {
		const struct wp_index_point *point = &index.points[i];

		if (point->document[0]) {
			result = join(path, folder, point->document, error);
			result = result ? result : add_file(compare, side, path, false, error);
		} else if (!compare->force) {
			result = wp_error_at(error, WP_EXIT_CONTENT, folder, 0, 0,
					     "the replay of %s with %s at %s left no result%s%s",
					     point->trace, point->arm, point->bandwidth,
					     point->error[0] ? ": " : "", point->error);
		}
	}
	wp_index_close(&index);
	return result;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static bool is_document(const char *name)
{
	size_t length = strlen(name);

	return length > 5 && strcmp(name + length - 5, ".json") == 0;
}

static int add_below(struct wp_compare *compare, enum wp_compare_side side, const char *folder,
		     struct wp_error *error)
{
	struct dirent **entries;
	char path[WP_PATH_MAX];
	int result = 0, count = scandir(folder, &entries, is_visible, alphasort);

	for (int i = 0; i < count; i++) {
		if (result == 0)
			result = join(path, folder, entries[i]->d_name, error);
		if (result == 0 && is_document(entries[i]->d_name))
			result = add_file(compare, side, path, true, error);
		else if (result == 0 && wp_index_exists(path))
			result = add_results(compare, side, path, error);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return result;
}

int wp_compare_add(struct wp_compare *compare, enum wp_compare_side side, const char *path,
		   struct wp_error *error)
{
	uint32_t before = compare->run_count[side];
	struct stat status;
	int result;

	if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))
		result = add_file(compare, side, path, false, error);
	else if (wp_index_exists(path))
		result = add_results(compare, side, path, error);
	else
		result = add_below(compare, side, path, error);
	if (result == 0 && compare->run_count[side] == before)
		return wp_error_at(error, WP_EXIT_CONTENT, path, 0, 0, "holds no replay's result");
	return result;
}
