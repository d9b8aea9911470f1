/*
 * What a sweep will take, before anything is touched: bytes, minutes and
 * command lines. Estimates come from the same formulas as the curves: a frame
 * on demand takes compute + bytes / R, with hints the longer of the two.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/experiments/sweep.h"
#include "harness/profile/profile.h"
#include "harness/tool.h"
#include "harness/trace/trace.h"
#include "harness/units.h"
#include "pager/codec.h"

/* Starting, probing the limit, reading results: what a replay takes beyond its frames. */
#define VIRTUAL_REPLAY_NS  40000000ull
#define MEASURED_REPLAY_NS 4000000000ull

static int read_traces(struct wp_sweep *sweep, struct wp_error *error)
{
	const struct wp_experiment *experiment = sweep->experiment;
	uint32_t asked = (uint32_t)strtoul(experiment->passed[WP_PASSED_FRAMES], NULL, 10);

	for (uint32_t i = 0; i < experiment->trace_count; i++) {
		struct wp_sweep_trace *known = &sweep->traces[i];
		struct wp_trace trace;

		if (wp_trace_load(&trace, experiment->traces[i], asked, error) != 0)
			return -1;
		snprintf(known->name, sizeof(known->name), "%s", trace.name);
		known->k = trace.rule.k;
		known->frames = trace.frames;
		known->shipped = !strchr(experiment->traces[i], '/') &&
				 strcmp(experiment->traces[i], trace.name) == 0;
		wp_trace_done(&trace);
		for (uint32_t j = 0; j < experiment->k_count; j++) {
			if (experiment->k[j] && experiment->k[j] != known->k && !known->shipped)
				return wp_error_set(error, WP_EXIT_USAGE,
						    "trace %s has k %u; for another k name a trace "
						    "that a trajectory makes",
						    experiment->traces[i], known->k);
		}
	}
	return 0;
}

static uint32_t point_k(const struct wp_sweep *sweep, const struct wp_point *point)
{
	uint32_t k = sweep->experiment->k[point->k];

	return k ? k : sweep->traces[point->trace].k;
}

static void estimate_point(const struct wp_sweep *sweep, struct wp_point *point,
			   uint64_t block_bytes, uint64_t compute_ns)
{
	const struct wp_experiment *experiment = sweep->experiment;
	uint64_t frames = sweep->traces[point->trace].frames;
	uint64_t set_bytes = point_k(sweep, point) * block_bytes;
	uint64_t rate = experiment->bandwidth_bytes_per_s[point->bandwidth];
	uint64_t read_ns = (uint64_t)((double)set_bytes / (double)rate * 1e9);
	bool waits = strcmp(experiment->arms[point->arm], "on_demand") == 0;
	uint64_t frame_ns = waits		   ? compute_ns + read_ns
			    : read_ns > compute_ns ? read_ns
						   : compute_ns;

	if (strcmp(experiment->world, "virtual") == 0) {
		point->estimate_ns = VIRTUAL_REPLAY_NS + frames * 20000;
		return;
	}
	point->estimate_ns = MEASURED_REPLAY_NS + frames * frame_ns;
	point->read_bytes = frames * set_bytes;
}

static int estimate(struct wp_sweep *sweep, struct wp_error *error)
{
	const struct wp_experiment *experiment = sweep->experiment;
	bool measured = strcmp(experiment->world, "virtual") != 0;
	const char *model_name = experiment->passed[WP_PASSED_MODEL];
	const char *scale_text = experiment->passed[WP_PASSED_SCALE];
	uint64_t blocks = 0, jobs = measured ? 1 : 2;
	double asked = measured ? 1.0 / 16 : 1;
	struct wp_model model;
	struct wp_scale scale;

	if (wp_model_load(&model, model_name[0] ? model_name : "mg2", error) != 0)
		return -1;
	if (scale_text[0] && wp_units_parse_ratio("scale", scale_text, &asked, error) != 0)
		return -1;
	scale = wp_scale_make(&model, asked);
	for (uint32_t i = 0; i < experiment->trace_count; i++)
		blocks = sweep->traces[i].frames > blocks ? sweep->traces[i].frames : blocks;
	for (uint32_t i = 0; i < experiment->codec_count; i++) {
		const struct wp_codec *codec = wp_codec_find(experiment->codecs[i]);
		uint64_t block_bytes;

		if (!codec)
			return wp_error_set(error, WP_EXIT_USAGE, "no codec \"%s\"",
					    experiment->codecs[i]);
		block_bytes = wp_codec_block_bytes(codec, wp_model_elements(&model, &scale));
		if (measured)
			sweep->store_bytes += blocks * block_bytes;
		for (uint32_t j = 0; j < sweep->count; j++) {
			if (sweep->points[j].codec == i)
				estimate_point(sweep, &sweep->points[j], block_bytes,
					       wp_scale_apply(&scale, model.compute_ns));
		}
	}
	for (uint32_t j = 0; j < sweep->count; j++) {
		sweep->estimate_ns += sweep->points[j].estimate_ns / jobs;
		sweep->read_bytes += sweep->points[j].read_bytes;
	}
	return 0;
}

int wp_sweep_open(struct wp_sweep *sweep, const struct wp_experiment *experiment,
		  const char *folder, const char *store, struct wp_error *error)
{
	memset(sweep, 0, sizeof(*sweep));
	sweep->experiment = experiment;
	sweep->folder = folder;
	sweep->store = store;
	sweep->points = wp_experiment_points(experiment, &sweep->count);
	if (read_traces(sweep, error) == 0 && wp_sweep_check(sweep, error) == 0 &&
	    estimate(sweep, error) == 0)
		return 0;
	wp_sweep_close(sweep);
	return -1;
}

void wp_sweep_close(struct wp_sweep *sweep)
{
	free(sweep->points);
	sweep->points = NULL;
}

bool wp_sweep_trace_is_made(const struct wp_sweep *sweep, const struct wp_point *point)
{
	uint32_t k = sweep->experiment->k[point->k];

	return k && k != sweep->traces[point->trace].k;
}

void wp_sweep_trace_path(const struct wp_sweep *sweep, const struct wp_point *point, char *path,
			 size_t size)
{
	if (wp_sweep_trace_is_made(sweep, point))
		snprintf(path, size, "%s/traces/%s-k%u.jsonl", sweep->folder,
			 sweep->traces[point->trace].name, sweep->experiment->k[point->k]);
	else
		snprintf(path, size, "%s", sweep->experiment->traces[point->trace]);
}

static void add_word(struct wp_sweep_command *command, const char *word)
{
	size_t length = strlen(word) + 1;

	WP_CHECK(command->count + 1 < WP_SWEEP_WORDS_MAX);
	WP_CHECK(command->used + length <= sizeof(command->room));
	command->words[command->count++] = memcpy(command->room + command->used, word, length);
	command->words[command->count] = NULL;
	command->used += length;
}

static void add_option(struct wp_sweep_command *command, const char *option, const char *value)
{
	add_word(command, option);
	add_word(command, value);
}

void wp_sweep_command(const struct wp_sweep *sweep, const struct wp_point *point,
		      struct wp_sweep_command *command)
{
	const struct wp_experiment *experiment = sweep->experiment;
	char path[WP_PATH_MAX];

	command->used = 0;
	command->count = 0;
	add_option(command, "/proc/self/exe", "replay");
	wp_sweep_trace_path(sweep, point, path, sizeof(path));
	add_option(command, "--trace", path);
	add_option(command, "--arm", experiment->arms[point->arm]);
	add_option(command, "--bandwidth", experiment->bandwidths[point->bandwidth]);
	add_option(command, "--codec", experiment->codecs[point->codec]);
	add_option(command, "--world", experiment->world);
	if (strcmp(experiment->world, "virtual") != 0) {
		snprintf(path, sizeof(path), "%s/store", sweep->folder);
		add_option(command, "--store", sweep->store ? sweep->store : path);
	}
	for (int i = 0; i < WP_PASSED_COUNT; i++) {
		if (experiment->passed[i][0])
			add_option(command, wp_experiment_option((enum wp_passed)i),
				   experiment->passed[i]);
	}
	snprintf(path, sizeof(path), "%s/replays/%s.json", sweep->folder, point->name);
	add_option(command, "--json", path);
}
