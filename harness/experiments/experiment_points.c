/*
 * The points of an experiment and their order. Pure: the same experiment gives
 * the same list on every machine.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/experiments/experiment.h"
#include "pager/random.h"

/* Appends `text` with everything a file name should not hold replaced. */
static void append_safe(char *name, size_t size, const char *text)
{
	static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_.";
	size_t used = strlen(name);

	for (; *text && used + 1 < size; text++) {
		if (strcmp(text, "/s") == 0) { /* the end of a rate: 0.25GBps */
			snprintf(name + used, size - used, "ps");
			return;
		}
		name[used++] = strchr(kept, *text) ? *text : '-';
		name[used] = '\0';
	}
}

/* The number in front makes the name unique whatever was replaced. */
static void name_point(const struct wp_experiment *experiment, struct wp_point *point,
		       uint32_t number)
{
	const char *trace = experiment->traces[point->trace];
	const char *slash = strrchr(trace, '/');
	char tail[64] = "";

	snprintf(point->name, sizeof(point->name), "%04u-", number);
	append_safe(point->name, 60, slash ? slash + 1 : trace);
	if (experiment->k[point->k])
		snprintf(tail, sizeof(tail), "-k%u", experiment->k[point->k]);
	strcat(point->name, tail);
	strcat(point->name, "-");
	append_safe(point->name, 90, experiment->codecs[point->codec]);
	strcat(point->name, "-");
	append_safe(point->name, 120, experiment->arms[point->arm]);
	strcat(point->name, "-");
	append_safe(point->name, 145, experiment->bandwidths[point->bandwidth]);
	snprintf(tail, sizeof(tail), "-%u", point->repeat + 1);
	if (experiment->repeats > 1)
		strcat(point->name, tail);
}

/* Groups of one repeat: everything but the arm, in plain order. */
static uint32_t fill_group_order(const struct wp_experiment *experiment, uint32_t *order)
{
	uint32_t groups = experiment->trace_count * experiment->codec_count * experiment->k_count *
			  experiment->bandwidth_count;

	for (uint32_t i = 0; i < groups; i++)
		order[i] = i;
	return groups;
}

static void shuffle(uint32_t *order, uint32_t count, struct wp_random *random)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t j = (uint32_t)wp_random_below(random, i);
		uint32_t swap = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swap;
	}
}

static void fill_point(const struct wp_experiment *experiment, struct wp_point *point,
		       uint32_t group, uint32_t arm, uint32_t repeat)
{
	uint32_t groups = experiment->trace_count * experiment->codec_count * experiment->k_count *
			  experiment->bandwidth_count;

	point->arm = arm;
	point->repeat = repeat;
	point->bandwidth = group % experiment->bandwidth_count;
	point->trace = group / experiment->bandwidth_count % experiment->trace_count;
	point->k =
	    group / experiment->bandwidth_count / experiment->trace_count % experiment->k_count;
	point->codec =
	    group / experiment->bandwidth_count / experiment->trace_count / experiment->k_count;
	name_point(experiment, point, (repeat * groups + group) * experiment->arm_count + arm + 1);
}

struct wp_point *wp_experiment_points(const struct wp_experiment *experiment, uint32_t *count)
{
	struct wp_random random = {.state = experiment->shuffle_seed};
	struct wp_point *points;
	uint32_t *order;
	uint32_t groups, made = 0;

	order = calloc(WP_EXPERIMENT_POINTS_MAX, sizeof(*order));
	points = calloc(WP_EXPERIMENT_POINTS_MAX, sizeof(*points));
	WP_CHECK(order && points);
	for (uint32_t repeat = 0; repeat < experiment->repeats; repeat++) {
		groups = fill_group_order(experiment, order);
		shuffle(order, groups, &random);
		for (uint32_t i = 0; i < groups; i++) {
			for (uint32_t j = 0; j < experiment->arm_count; j++) {
				uint32_t arm = (i + j + repeat) % experiment->arm_count;

				fill_point(experiment, &points[made++], order[i], arm, repeat);
			}
		}
	}
	free(order);
	*count = made;
	return points;
}
