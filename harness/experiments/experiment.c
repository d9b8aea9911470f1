/*
 * Experiment files. Checks what an experiment itself may say; what an arm or a
 * codec may be called is the replay's business, whose plans sweep_check.c makes.
 */
#include "harness/experiments/experiment.h"

#include <string.h>

#include "harness/files/json_file.h"
#include "harness/tool.h"
#include "harness/units.h"

#define EXPERIMENT_BYTES_MAX (1u << 20)
#define K_MAX		     64u

static const struct {
	const char *key, *option;
	bool count; /* a whole number in the file */
} passed[WP_PASSED_COUNT] = {
    [WP_PASSED_SCALE] = {"scale", "--scale", false},
    [WP_PASSED_FRAMES] = {"frames", "--frames", true},
    [WP_PASSED_WARMUP] = {"warmup", "--warmup", true},
    [WP_PASSED_SEED] = {"seed", "--seed", true},
    [WP_PASSED_STAGING_BLOCKS] = {"staging_blocks", "--staging-blocks", true},
    [WP_PASSED_RESIDENCY] = {"residency", "--residency", false},
    [WP_PASSED_POSITIONS] = {"positions", "--positions", false},
    [WP_PASSED_HINTS] = {"hints", "--hints", false},
    [WP_PASSED_COPY_RATE] = {"copy_rate", "--copy-rate", false},
    [WP_PASSED_THROTTLE] = {"throttle", "--throttle", false},
    [WP_PASSED_THROTTLE_DEVICE] = {"throttle_device", "--throttle-device", false},
    [WP_PASSED_MODEL] = {"model", "--model", false},
    [WP_PASSED_MACHINE] = {"machine", "--machine", false},
    [WP_PASSED_DRIVE] = {"drive", "--drive", false},
};

const char *wp_experiment_option(enum wp_passed which)
{
	return passed[which].option;
}

const char *wp_experiment_key(enum wp_passed which)
{
	return passed[which].key;
}

/* A list of distinct strings; `size` is that of one item. */
static uint32_t read_list(struct wp_json *root, const char *key, const char *fallback, char *items,
			  size_t size)
{
	struct wp_json array;
	uint32_t count;

	if (fallback && !wp_json_has(root, key)) {
		snprintf(items, size, "%s", fallback);
		return 1;
	}
	count = wp_json_array(root, key, 1, WP_EXPERIMENT_ITEMS_MAX, &array);
	for (uint32_t i = 0; i < count; i++) {
		wp_json_at_string(&array, i, items + i * size, size);
		for (uint32_t j = 0; j < i && !root->reader->failed; j++) {
			if (strcmp(items + i * size, items + j * size) == 0)
				wp_json_fail(root, key, "has \"%s\" twice", items + i * size);
		}
	}
	return count;
}

static void read_bandwidths(struct wp_json *root, struct wp_experiment *experiment)
{
	struct wp_error reason = {0};

	experiment->bandwidth_count = read_list(root, "bandwidths", NULL, experiment->bandwidths[0],
						sizeof(experiment->bandwidths[0]));
	for (uint32_t i = 0; i < experiment->bandwidth_count && !root->reader->failed; i++) {
		if (wp_units_parse_rate("bandwidth", experiment->bandwidths[i],
					&experiment->bandwidth_bytes_per_s[i], &reason) != 0)
			wp_json_fail(root, "bandwidths", "%s", reason.text);
	}
	for (uint32_t i = 0; i < experiment->bandwidth_count; i++) {
		for (uint32_t j = 0; j < i && !root->reader->failed; j++) {
			if (experiment->bandwidth_bytes_per_s[i] ==
			    experiment->bandwidth_bytes_per_s[j])
				wp_json_fail(root, "bandwidths", "\"%s\" and \"%s\" are the same",
					     experiment->bandwidths[j], experiment->bandwidths[i]);
		}
	}
}

static void read_k(struct wp_json *root, struct wp_experiment *experiment)
{
	struct wp_json array;

	experiment->k_count = 1;
	if (!wp_json_has(root, "k"))
		return;
	experiment->k_count = wp_json_array(root, "k", 1, WP_EXPERIMENT_ITEMS_MAX, &array);
	for (uint32_t i = 0; i < experiment->k_count; i++) {
		experiment->k[i] = (uint32_t)wp_json_at_u64(&array, i, 1, K_MAX);
		for (uint32_t j = 0; j < i && !root->reader->failed; j++) {
			if (experiment->k[i] == experiment->k[j])
				wp_json_fail(root, "k", "has %u twice", experiment->k[i]);
		}
	}
}

static void read_passed(struct wp_json *root, struct wp_experiment *experiment)
{
	for (int i = 0; i < WP_PASSED_COUNT; i++) {
		char *text = experiment->passed[i];

		if (!wp_json_has(root, passed[i].key))
			continue;
		if (passed[i].count)
			snprintf(
			    text, WP_EXPERIMENT_TEXT, "%llu",
			    (unsigned long long)wp_json_u64(root, passed[i].key, 0, INT64_MAX));
		else
			wp_json_string(root, passed[i].key, text, WP_EXPERIMENT_TEXT);
	}
}

static void read_experiment(struct wp_json *root, struct wp_experiment *experiment)
{
	wp_json_name(root, "name", experiment->name, sizeof(experiment->name));
	wp_json_string_or(root, "what", experiment->what, sizeof(experiment->what), "");
	wp_json_string(root, "world", experiment->world, sizeof(experiment->world));
	if (!root->reader->failed && strcmp(experiment->world, "virtual") != 0 &&
	    strcmp(experiment->world, "model") != 0 && strcmp(experiment->world, "real") != 0)
		wp_json_fail(root, "world", "must be \"virtual\", \"model\" or \"real\"");
	experiment->trace_count =
	    read_list(root, "traces", NULL, experiment->traces[0], sizeof(experiment->traces[0]));
	experiment->arm_count =
	    read_list(root, "arms", NULL, experiment->arms[0], sizeof(experiment->arms[0]));
	experiment->codec_count =
	    read_list(root, "codecs", "int4", experiment->codecs[0], sizeof(experiment->codecs[0]));
	read_bandwidths(root, experiment);
	read_k(root, experiment);
	experiment->repeats = wp_json_u32_or(root, "repeats", 1, 1000, 1);
	experiment->shuffle_seed = wp_json_u64_or(root, "shuffle_seed", 0, INT64_MAX, 1);
	read_passed(root, experiment);
	if (!root->reader->failed && strcmp(experiment->world, "real") == 0 &&
	    experiment->passed[WP_PASSED_COPY_RATE][0])
		wp_json_fail(root, "copy_rate", "in the real world the machine decides");
	wp_json_only(root);
}

int wp_experiment_load(struct wp_experiment *experiment, const char *name_or_path,
		       struct wp_error *error)
{
	char path[WP_PATH_MAX];
	struct wp_json_reader reader = {.exit_code = WP_EXIT_USAGE, .error = error};
	struct json_t *document;
	struct wp_json root;
	uint64_t points;

	memset(experiment, 0, sizeof(*experiment));
	if (wp_tool_resolve(path, WP_RESOURCE_EXPERIMENT, name_or_path, error) != 0)
		return -1;
	reader.file = path;
	snprintf(experiment->file, sizeof(experiment->file), "%.255s", path);
	document = wp_json_load(&reader, "an experiment", EXPERIMENT_BYTES_MAX);
	if (!document)
		return -1;
	wp_json_root(&root, &reader, document);
	read_experiment(&root, experiment);
	wp_json_free(document);
	if (reader.failed)
		return -1;
	points = (uint64_t)experiment->trace_count * experiment->arm_count *
		 experiment->bandwidth_count * experiment->codec_count * experiment->k_count *
		 experiment->repeats;
	if (points > WP_EXPERIMENT_POINTS_MAX)
		return wp_error_at(error, WP_EXIT_USAGE, path, 0, 0,
				   "makes %llu replays, at most %d are allowed",
				   (unsigned long long)points, WP_EXPERIMENT_POINTS_MAX);
	return 0;
}
