/*
 * Gathering documents into curves. The figures are the documents' own; merging
 * repeats takes medians and extremes of them and nothing else.
 */
#include "harness/experiments/collection.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/experiments/index.h"
#include "harness/result/result.h"
#include "harness/tool.h"
#include "harness/units.h"

static void cut(char *text, size_t size, const char *source)
{
	snprintf(text, size, "%.*s", (int)size - 1, source);
}

static struct wp_cell *add_cell(struct wp_collection *collection)
{
	if (collection->count == collection->room) {
		collection->room = collection->room ? collection->room * 2 : 64;
		collection->cells =
		    realloc(collection->cells, collection->room * sizeof(*collection->cells));
		WP_CHECK(collection->cells);
	}
	memset(&collection->cells[collection->count], 0, sizeof(*collection->cells));
	return &collection->cells[collection->count++];
}

static void fill_from_document(struct wp_cell *cell, const struct wp_result *result)
{
	cut(cell->world, sizeof(cell->world), result->world);
	cut(cell->scale, sizeof(cell->scale), result->scale_text[0] ? result->scale_text : "1");
	cut(cell->model, sizeof(cell->model), result->model);
	cut(cell->trace, sizeof(cell->trace), result->trace);
	cut(cell->codec, sizeof(cell->codec), result->codec);
	cut(cell->arm, sizeof(cell->arm), result->arm);
	cell->k = (uint32_t)result->k;
	cell->bytes_per_s = result->asked_bytes_per_s;
	cell->stall = result->stall_full_scale_ns;
	cell->repeats = 1;
	cell->device_limited = result->device_limited;
	cell->unthrottled_bytes_per_s = result->unthrottled_bytes_per_s;
	cell->achieved_bytes_per_s = result->achieved_bytes_per_s;
	cell->warmup_frames = (uint32_t)result->warmup_frames;
	cell->has_bound = result->has_bound;
	cell->bound_max_ns = result->bound_max_full_scale_ns;
	cell->bound_sum_ns = result->bound_sum_full_scale_ns;
	if (result->compute_ns)
		cell->need_bytes_per_s =
		    (uint64_t)((double)result->k * (double)result->block_bytes * 1e9 /
				   (double)result->compute_ns +
			       0.5);
	if (result->valid && !result->interrupted && result->stall_full_scale_ns.n) {
		cell->frame_count = (uint32_t)result->frame_count;
		cell->frame_stall_ns = calloc(cell->frame_count, sizeof(uint64_t));
		WP_CHECK(cell->frame_stall_ns);
		for (uint32_t i = 0; i < cell->frame_count; i++)
			cell->frame_stall_ns[i] = wp_result_frame_stall_ns(result, i);
		return;
	}
	memset(&cell->stall, 0, sizeof(cell->stall));
	cell->repeats = 0;
	cut(cell->why, sizeof(cell->why),
	    result->reason[0]	  ? result->reason
	    : result->error[0]	  ? result->error
	    : result->interrupted ? "interrupted"
	    : result->valid	  ? "no frame after warm-up"
				  : "not valid");
}

/* What is known of a point that left no document. */
static void fill_from_index(struct wp_cell *cell, const struct wp_index *index,
			    const struct wp_index_point *point)
{
	struct wp_error ignored;

	cut(cell->world, sizeof(cell->world), index->world);
	cut(cell->trace, sizeof(cell->trace), point->trace);
	cut(cell->codec, sizeof(cell->codec), point->codec);
	cut(cell->arm, sizeof(cell->arm), point->arm);
	if (wp_units_parse_rate("bandwidth", point->bandwidth, &cell->bytes_per_s, &ignored) != 0)
		cell->bytes_per_s = 0;
	cut(cell->why, sizeof(cell->why), point->error);
}

static int load_point(struct wp_collection *collection, const char *folder,
		      const struct wp_index *index, const struct wp_index_point *point,
		      const struct wp_collection_visitor *visitor, struct wp_error *error)
{
	char path[WP_PATH_MAX];
	struct wp_result result;

	collection->failed += strcmp(point->state, "failed") == 0;
	if (strcmp(point->state, "not run") == 0) {
		collection->missing++;
		return 0;
	}
	if (!point->document[0]) {
		fill_from_index(add_cell(collection), index, point);
		return 0;
	}
	if (snprintf(path, sizeof(path), "%s/%s", folder, point->document) >= (int)sizeof(path))
		return wp_error_set(error, WP_EXIT_CONTENT, "the folder's name is too long");
	if (wp_result_load(path, &result, error) != 0)
		return -1;
	fill_from_document(add_cell(collection), &result);
	if (visitor)
		visitor->visit(visitor->context, &result);
	if (!collection->machine[0])
		cut(collection->machine, sizeof(collection->machine), result.machine);
	wp_result_close(&result);
	return 0;
}

static int load_folder(struct wp_collection *collection, const char *folder,
		       const struct wp_collection_visitor *visitor, struct wp_error *error)
{
	size_t used = strlen(collection->title);
	struct wp_index index;
	int result = 0;

	if (wp_index_load(folder, &index, error) != 0)
		return -1;
	snprintf(collection->title + used, sizeof(collection->title) - used, "%s%s",
		 used ? " + " : "", index.name);
	collection->interrupted |= index.interrupted;
	for (uint32_t i = 0; i < index.count && result == 0; i++)
		result = load_point(collection, folder, &index, &index.points[i], visitor, error);
	wp_index_close(&index);
	return result;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Folders with an index one level below; 0 when there was one. */
static int load_below(struct wp_collection *collection, const char *folder,
		      const struct wp_collection_visitor *visitor, struct wp_error *error)
{
	struct dirent **entries;
	char path[WP_PATH_MAX];
	uint32_t found = 0;
	int result = 0, count = scandir(folder, &entries, is_visible, alphasort);

	for (int i = 0; i < count; i++) {
		if (result == 0 &&
		    snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) <
			(int)sizeof(path) &&
		    wp_index_exists(path)) {
			found++;
			result = load_folder(collection, path, visitor, error);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	if (result == 0 && !found)
		return wp_error_at(error, WP_EXIT_CONTENT, folder, 0, 0,
				   "no folder of results: it holds no %s, nor does a folder in it",
				   WP_INDEX_FILE);
	return result;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_groups(const struct wp_cell *a, const struct wp_cell *b)
{
	int order = strcmp(a->trace, b->trace);

	order = order ? order : compare_numbers(a->k, b->k);
	order = order ? order : strcmp(a->codec, b->codec);
	return order ? order : strcmp(a->model, b->model);
}

static int compare_cells(const void *left, const void *right)
{
	const struct wp_cell *a = left, *b = right;
	int order = compare_groups(a, b);

	/* "virtual" before "model" and "real": the lines lie under the points. */
	order = order ? order : -strcmp(a->world, b->world);
	order = order ? order : strcmp(a->scale, b->scale);
	order = order ? order : strcmp(a->arm, b->arm);
	return order ? order : compare_numbers(a->bytes_per_s, b->bytes_per_s);
}

/* Nearest rank, as everywhere; `values` is sorted in place. */
static uint64_t median(uint64_t *values, uint32_t count)
{
	struct wp_stats stats;

	wp_stats_compute(values, count, &stats);
	return stats.p50;
}

static void spread(const uint64_t *p50, uint32_t count, struct wp_cell *cell)
{
	double mean = 0, squares = 0;

	cell->p50_min_ns = cell->p50_max_ns = p50[0];
	for (uint32_t i = 0; i < count; i++) {
		mean += (double)p50[i] / count;
		cell->p50_min_ns = p50[i] < cell->p50_min_ns ? p50[i] : cell->p50_min_ns;
		cell->p50_max_ns = p50[i] > cell->p50_max_ns ? p50[i] : cell->p50_max_ns;
	}
	for (uint32_t i = 0; i < count; i++)
		squares += ((double)p50[i] - mean) * ((double)p50[i] - mean);
	cell->p50_cv = count > 1 && mean > 0 ? sqrt(squares / (count - 1)) / mean : 0;
}

/* Merges cells first[0 .. count), repeats of each other, into `cell`. */
static void merge(const struct wp_cell *first, uint32_t count, struct wp_cell *cell)
{
	uint64_t *columns = calloc((size_t)count * 4, sizeof(*columns));
	uint64_t *p50 = columns, *p90 = columns + count;
	uint64_t *p99 = columns + 2 * count, *sum = columns + 3 * count;
	uint32_t counted = 0;

	WP_CHECK(columns);
	for (uint32_t i = 0; i < count; i++) {
		const struct wp_cell *one = &first[i];

		if (!one->stall.n)
			continue;
		if (!counted)
			*cell = *one;
		cell->stall.min =
		    one->stall.min < cell->stall.min ? one->stall.min : cell->stall.min;
		cell->stall.max =
		    one->stall.max > cell->stall.max ? one->stall.max : cell->stall.max;
		cell->device_limited |= one->device_limited;
		if (one->unthrottled_bytes_per_s < cell->unthrottled_bytes_per_s)
			cell->unthrottled_bytes_per_s = one->unthrottled_bytes_per_s;
		p50[counted] = one->stall.p50;
		p90[counted] = one->stall.p90;
		p99[counted] = one->stall.p99;
		sum[counted++] = one->stall.sum;
	}
	if (counted) {
		spread(p50, counted, cell);
		cell->stall.p50 = median(p50, counted);
		cell->stall.p90 = median(p90, counted);
		cell->stall.p99 = median(p99, counted);
		cell->stall.sum = median(sum, counted);
	} else {
		*cell = *first;
	}
	cell->repeats = counted;
	for (uint32_t i = 0; i < count; i++) {
		if (first[i].frame_stall_ns != cell->frame_stall_ns)
			free(first[i].frame_stall_ns);
	}
	free(columns);
}

static void merge_repeats(struct wp_collection *collection)
{
	uint32_t kept = 0;

	for (uint32_t first = 0, end; first < collection->count; first = end) {
		struct wp_cell merged;

		for (end = first + 1; end < collection->count; end++) {
			if (compare_cells(&collection->cells[first], &collection->cells[end]) != 0)
				break;
		}
		merge(&collection->cells[first], end - first, &merged);
		collection->cells[kept++] = merged;
	}
	collection->count = kept;
}

int wp_collection_load(struct wp_collection *collection, const char *const *folders,
		       uint32_t folder_count, const struct wp_collection_visitor *visitor,
		       struct wp_error *error)
{
	memset(collection, 0, sizeof(*collection));
	for (uint32_t i = 0; i < folder_count; i++) {
		int result = wp_index_exists(folders[i])
				 ? load_folder(collection, folders[i], visitor, error)
				 : load_below(collection, folders[i], visitor, error);

		if (result != 0) {
			wp_collection_close(collection);
			return -1;
		}
	}
	if (collection->count)
		qsort(collection->cells, collection->count, sizeof(*collection->cells),
		      compare_cells);
	merge_repeats(collection);
	return 0;
}

void wp_collection_close(struct wp_collection *collection)
{
	for (uint32_t i = 0; i < collection->count; i++)
		free(collection->cells[i].frame_stall_ns);
	free(collection->cells);
	memset(collection, 0, sizeof(*collection));
}

uint32_t wp_collection_group_end(const struct wp_collection *collection, uint32_t first)
{
	uint32_t end = first + 1;

	while (end < collection->count &&
	       compare_groups(&collection->cells[first], &collection->cells[end]) == 0)
		end++;
	return end;
}
