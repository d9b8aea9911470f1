/*
 * The index of a folder of results. Reading it, nothing that it names is
 * followed out of the folder.
 */
#include "harness/experiments/index.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/files/json_file.h"
#include "harness/files/json_value.h"
#include "harness/files/output.h"
#include "harness/tool.h"

#define INDEX_KIND	"worldpager-sweep"
#define INDEX_VERSION	1
#define INDEX_BYTES_MAX (64u << 20)

static int index_path(char *path, const char *folder, struct wp_error *error)
{
	if ((size_t)snprintf(path, WP_PATH_MAX, "%s/%s", folder, WP_INDEX_FILE) < WP_PATH_MAX)
		return 0;
	return wp_error_set(error, WP_EXIT_USAGE, "the folder's name is too long");
}

bool wp_index_exists(const char *folder)
{
	struct wp_error error;
	char path[WP_PATH_MAX];

	return index_path(path, folder, &error) == 0 && access(path, F_OK) == 0;
}

static json_t *texts_json(const char *items, size_t size, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		WP_CHECK(json_array_append_new(array, wp_json_argument(items + i * size)) == 0);
	return array;
}

static json_t *experiment_json(const struct wp_experiment *experiment)
{
	json_t *object = json_object();
	json_t *options = json_object();
	json_t *k = json_array();

	wp_json_put(object, "name", wp_json_text(experiment->name));
	wp_json_put(object, "what", wp_json_text(experiment->what));
	wp_json_put(object, "world", wp_json_text(experiment->world));
	wp_json_put(object, "traces",
		    texts_json(experiment->traces[0], sizeof(experiment->traces[0]),
			       experiment->trace_count));
	wp_json_put(
	    object, "arms",
	    texts_json(experiment->arms[0], sizeof(experiment->arms[0]), experiment->arm_count));
	wp_json_put(object, "bandwidths",
		    texts_json(experiment->bandwidths[0], sizeof(experiment->bandwidths[0]),
			       experiment->bandwidth_count));
	wp_json_put(object, "codecs",
		    texts_json(experiment->codecs[0], sizeof(experiment->codecs[0]),
			       experiment->codec_count));
	for (uint32_t i = 0; i < experiment->k_count; i++)
		WP_CHECK(json_array_append_new(k, wp_json_count_or_null(experiment->k[i])) == 0);
	wp_json_put(object, "k", k);
	wp_json_put(object, "repeats", wp_json_count(experiment->repeats));
	wp_json_put(object, "shuffle_seed", wp_json_count(experiment->shuffle_seed));
	for (int i = 0; i < WP_PASSED_COUNT; i++) {
		if (experiment->passed[i][0])
			wp_json_put(options, wp_experiment_option((enum wp_passed)i) + 2,
				    wp_json_argument(experiment->passed[i]));
	}
	wp_json_put(object, "options", options);
	return object;
}

static const char *state_text(enum wp_point_state state)
{
	return state == WP_POINT_DONE ? "done" : state == WP_POINT_FAILED ? "failed" : "not run";
}

static json_t *point_json(const struct wp_experiment *experiment, const struct wp_point *point)
{
	json_t *object = json_object();
	char document[192];

	snprintf(document, sizeof(document), "replays/%s.json", point->name);
	wp_json_put(object, "document", point->document ? wp_json_text(document) : json_null());
	wp_json_put(object, "trace", wp_json_argument(experiment->traces[point->trace]));
	wp_json_put(object, "k", wp_json_count_or_null(experiment->k[point->k]));
	wp_json_put(object, "codec", wp_json_text(experiment->codecs[point->codec]));
	wp_json_put(object, "arm", wp_json_text(experiment->arms[point->arm]));
	wp_json_put(object, "bandwidth", wp_json_text(experiment->bandwidths[point->bandwidth]));
	wp_json_put(object, "repeat", wp_json_count(point->repeat));
	wp_json_put(object, "state", wp_json_text(state_text(point->state)));
	wp_json_put(object, "exit_code",
		    point->state == WP_POINT_DONE || point->state == WP_POINT_FAILED
			? wp_json_count((uint64_t)point->exit_code)
			: json_null());
	wp_json_put(object, "error", wp_json_text(point->error));
	return object;
}

int wp_index_write(const char *folder, const struct wp_experiment *experiment,
		   const struct wp_point *points, uint32_t count, bool interrupted,
		   struct wp_error *error)
{
	struct wp_output output;
	char path[WP_PATH_MAX];
	json_t *root, *array;

	/* Read and written again as the sweep goes on, in its own folder. */
	if (index_path(path, folder, error) != 0 || wp_output_open_again(&output, path, error) != 0)
		return -1;
	root = json_object();
	array = json_array();
	for (uint32_t i = 0; i < count; i++)
		WP_CHECK(json_array_append_new(array, point_json(experiment, &points[i])) == 0);
	wp_json_put(root, "kind", wp_json_text(INDEX_KIND));
	wp_json_put(root, "schema_version", wp_json_count(INDEX_VERSION));
	wp_json_put(root, "version", wp_json_text(wp_tool_version()));
	wp_json_put(root, "commit", wp_json_text(wp_tool_commit()));
	wp_json_put(root, "experiment", experiment_json(experiment));
	wp_json_put(root, "interrupted", json_boolean(interrupted));
	wp_json_put(root, "points", array);
	(void)!json_dumpf(root, output.stream, JSON_INDENT(1));
	fputc('\n', output.stream);
	json_decref(root);
	return wp_output_commit(&output, error);
}

/* A text that may be null: then "". */
static void text_or_null(struct wp_json *object, const char *key, char *text, size_t size)
{
	text[0] = '\0';
	if (object->value && wp_json_has(object, key) &&
	    json_is_null(json_object_get(object->value, key)))
		return;
	wp_json_string(object, key, text, size);
}

static void read_point(struct wp_json *object, struct wp_index_point *point)
{
	text_or_null(object, "document", point->document, sizeof(point->document));
	wp_json_string(object, "trace", point->trace, sizeof(point->trace));
	wp_json_string(object, "arm", point->arm, sizeof(point->arm));
	wp_json_string(object, "codec", point->codec, sizeof(point->codec));
	wp_json_string(object, "bandwidth", point->bandwidth, sizeof(point->bandwidth));
	if (object->value && !json_is_null(json_object_get(object->value, "k")))
		point->k = wp_json_u32_or(object, "k", 0, UINT32_MAX, 0);
	point->repeat = wp_json_u32_or(object, "repeat", 0, UINT32_MAX, 0);
	wp_json_string(object, "state", point->state, sizeof(point->state));
	text_or_null(object, "error", point->error, sizeof(point->error));
	if (object->value && !json_is_null(json_object_get(object->value, "exit_code")))
		point->exit_code = (int)wp_json_u64(object, "exit_code", 0, 255);
	if (!object->reader->failed && point->document[0] &&
	    (strncmp(point->document, "replays/", 8) != 0 || strchr(point->document + 8, '/')))
		wp_json_fail(object, "document", "is not a file in replays/");
}

static void read_index(struct wp_json *root, struct wp_index *index)
{
	struct wp_json experiment, points;
	char kind[64];

	wp_json_string(root, "kind", kind, sizeof(kind));
	if (!root->reader->failed && strcmp(kind, INDEX_KIND) != 0)
		wp_json_fail(root, "kind", "is not \"%s\"", INDEX_KIND);
	(void)wp_json_u64(root, "schema_version", INDEX_VERSION, INDEX_VERSION);
	wp_json_object(root, "experiment", &experiment);
	wp_json_string(&experiment, "name", index->name, sizeof(index->name));
	text_or_null(&experiment, "what", index->what, sizeof(index->what));
	wp_json_string(&experiment, "world", index->world, sizeof(index->world));
	index->interrupted = wp_json_bool_or(root, "interrupted", false);
	index->count = wp_json_array(root, "points", 1, WP_EXPERIMENT_POINTS_MAX, &points);
	if (root->reader->failed)
		return;
	index->points = calloc(index->count, sizeof(*index->points));
	WP_CHECK(index->points);
	for (uint32_t i = 0; i < index->count && !root->reader->failed; i++) {
		struct wp_json point;

		wp_json_at_object(&points, i, &point);
		read_point(&point, &index->points[i]);
	}
}

int wp_index_load(const char *folder, struct wp_index *index, struct wp_error *error)
{
	struct wp_json_reader reader = {.exit_code = WP_EXIT_CONTENT, .error = error};
	char path[WP_PATH_MAX];
	struct json_t *document;
	struct wp_json root;

	memset(index, 0, sizeof(*index));
	if (index_path(path, folder, error) != 0)
		return -1;
	reader.file = path;
	document = wp_json_load(&reader, "an index of results", INDEX_BYTES_MAX);
	if (!document)
		return -1;
	wp_json_root(&root, &reader, document);
	read_index(&root, index);
	wp_json_free(document);
	if (!reader.failed)
		return 0;
	wp_index_close(index);
	return -1;
}

void wp_index_close(struct wp_index *index)
{
	free(index->points);
	memset(index, 0, sizeof(*index));
}

static bool has_text(const char *items, size_t size, uint32_t count, const char *text)
{
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(items + i * size, text) == 0)
			return true;
	}
	return false;
}

/* A trace's file is in an index without its folders. */
static bool has_trace(const struct wp_experiment *experiment, const char *trace)
{
	bool found = false;

	for (uint32_t i = 0; i < experiment->trace_count && !found; i++) {
		json_t *text = wp_json_argument(experiment->traces[i]);

		found = strcmp(json_string_value(text), trace) == 0;
		json_decref(text);
	}
	return found;
}

/* An experiment's points are all combinations of what it lists. */
bool wp_index_has_point(const struct wp_experiment *experiment, const struct wp_index_point *point)
{
	bool k = false;

	for (uint32_t i = 0; i < experiment->k_count; i++)
		k |= experiment->k[i] == point->k;
	return k && point->repeat < experiment->repeats && has_trace(experiment, point->trace) &&
	       has_text(experiment->arms[0], sizeof(experiment->arms[0]), experiment->arm_count,
			point->arm) &&
	       has_text(experiment->codecs[0], sizeof(experiment->codecs[0]),
			experiment->codec_count, point->codec) &&
	       has_text(experiment->bandwidths[0], sizeof(experiment->bandwidths[0]),
			experiment->bandwidth_count, point->bandwidth);
}
