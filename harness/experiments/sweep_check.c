/*
 * Whether a sweep's replays could begin, before the first of them does. Plans
 * them as `replay` itself would: what may be said is known in one place. Not
 * every point: one for each arm, codec, trace and bandwidth, as faults come from
 * one of these.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/experiments/sweep.h"
#include "harness/replay/option_needs.h"
#include "harness/replay/replay.h"
#include "harness/units.h"

/* The options that take lists of the experiment, and their keys. */
static const struct {
	const char *option, *key;
} lists[] = {
    {"--arm", "arms"},	   {"--codec", "codecs"},
    {"--trace", "traces"}, {"--bandwidth", "bandwidths"},
    {"--world", "world"},
};

static const char *given(const struct wp_experiment *experiment, enum wp_passed which,
			 const char *fallback)
{
	return experiment->passed[which][0] ? experiment->passed[which] : fallback;
}

static int read_counts(struct wp_replay_settings *settings, const struct wp_experiment *experiment,
		       struct wp_error *error)
{
	const struct {
		enum wp_passed which;
		uint32_t least, most;
		uint32_t *value;
	} counts[] = {
	    {WP_PASSED_FRAMES, 1, WP_BLOCKS_MAX, &settings->frames},
	    {WP_PASSED_WARMUP, 0, WP_BLOCKS_MAX, &settings->warmup_frames},
	    {WP_PASSED_STAGING_BLOCKS, 0, WP_STAGING_MAX, &settings->staging_blocks},
	};

	settings->has_staging = experiment->passed[WP_PASSED_STAGING_BLOCKS][0] != '\0';
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		const char *text = experiment->passed[counts[i].which];
		uint64_t value;

		if (!text[0])
			continue;
		if (wp_units_parse_count(wp_experiment_option(counts[i].which), text,
					 counts[i].least, counts[i].most, &value, error) != 0)
			return -1;
		*counts[i].value = (uint32_t)value;
	}
	return 0;
}

static int make_settings(struct wp_replay_settings *settings, const struct wp_sweep *sweep,
			 const struct wp_point *point, struct wp_error *error)
{
	const struct wp_experiment *experiment = sweep->experiment;

	wp_replay_settings_init(settings);
	settings->trace = experiment->traces[point->trace];
	settings->arm = experiment->arms[point->arm];
	settings->codec = experiment->codecs[point->codec];
	settings->bandwidth_bytes_per_s = experiment->bandwidth_bytes_per_s[point->bandwidth];
	settings->world = experiment->world;
	settings->store = sweep->store ? sweep->store : sweep->folder;
	settings->scale = given(experiment, WP_PASSED_SCALE, NULL);
	settings->residency = given(experiment, WP_PASSED_RESIDENCY, settings->residency);
	settings->positions = given(experiment, WP_PASSED_POSITIONS, settings->positions);
	settings->session.positions = settings->positions;
	settings->hints = given(experiment, WP_PASSED_HINTS, NULL);
	settings->copy_rate = given(experiment, WP_PASSED_COPY_RATE, NULL);
	settings->throttle = given(experiment, WP_PASSED_THROTTLE, settings->throttle);
	settings->throttle_device = given(experiment, WP_PASSED_THROTTLE_DEVICE, NULL);
	settings->model = given(experiment, WP_PASSED_MODEL, settings->model);
	settings->machine = given(experiment, WP_PASSED_MACHINE, settings->machine);
	settings->drive = given(experiment, WP_PASSED_DRIVE, settings->drive);
	return read_counts(settings, experiment, error);
}

static int check_needs(const struct wp_experiment *experiment, const struct wp_replay_plan *plan,
		       struct wp_error *error)
{
	for (int i = 0; i < WP_PASSED_COUNT; i++)
		if (experiment->passed[i][0] &&
		    wp_option_needs_check(wp_experiment_option((enum wp_passed)i) + 2, plan,
					  error) != 0)
			return -1;
	return 0;
}

static int check_point(const struct wp_sweep *sweep, const struct wp_point *point,
		       struct wp_error *error)
{
	struct wp_replay_settings settings;
	struct wp_replay_plan plan;
	int result;

	if (make_settings(&settings, sweep, point, error) != 0 ||
	    wp_replay_plan_open(&plan, &settings, error) != 0)
		return -1;
	result = check_needs(sweep->experiment, &plan, error);
	if (result == 0 && sweep->store)
		result = wp_option_needs_check("store", &plan, error);
	wp_replay_plan_close(&plan);
	return result;
}

/* Whether `text` is about the option: "--arm: ...", "--arm needs ...". */
static bool is_about(const char *text, const char *option)
{
	size_t length = strlen(option);

	return strncmp(text, option, length) == 0 && strchr(": ", text[length]) != NULL;
}

/* An option's fault is the file's, whose key it comes from, unless the user gave the option. */
static void name_source(const struct wp_experiment *experiment, struct wp_error *error)
{
	const char *key = NULL, *option = NULL, *text;
	struct wp_error told = *error;

	if (error->file[0] || is_about(error->text, "--store"))
		return;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (is_about(error->text, lists[i].option)) {
			option = lists[i].option;
			key = lists[i].key;
		}
	for (int i = 0; i < WP_PASSED_COUNT; i++)
		if (is_about(error->text, wp_experiment_option((enum wp_passed)i))) {
			if (experiment->overridden[i])
				return;
			option = wp_experiment_option((enum wp_passed)i);
			key = wp_experiment_key((enum wp_passed)i);
		}
	text = told.text;
	if (key && text[strlen(option)] == ':')
		text += strlen(option) + 2;
	wp_error_at(error, told.exit_code, experiment->file, 0, 0, "%s%s%s", key ? key : "",
		    key ? ": " : "", text);
}

int wp_sweep_check(const struct wp_sweep *sweep, struct wp_error *error)
{
	const struct wp_experiment *experiment = sweep->experiment;
	const uint32_t counts[] = {experiment->arm_count, experiment->codec_count,
				   experiment->trace_count, experiment->bandwidth_count};

	for (int list = 0; list < 4; list++)
		for (uint32_t i = list ? 1 : 0; i < counts[list]; i++) {
			struct wp_point point = {.arm = list == 0 ? i : 0,
						 .codec = list == 1 ? i : 0,
						 .trace = list == 2 ? i : 0,
						 .bandwidth = list == 3 ? i : 0};

			if (check_point(sweep, &point, error) == 0)
				continue;
			name_source(experiment, error);
			return -1;
		}
	return 0;
}
