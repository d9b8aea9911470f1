/*
 * The figures of a measured point on both sides, and what their tests say. A
 * frame's figure on a side is the median over the side's runs: one disturbed run
 * of three does not count.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/compare/compare.h"

static const struct wp_result *run_of(const struct wp_compare *compare,
				      const struct wp_compare_point *point, int side, uint32_t i)
{
	return &compare->runs[side][point->runs[side][i]].result;
}

static int compare_numbers(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Sorts; the mean of the middle two of an even number. */
static double median(double *values, uint32_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare_numbers);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static double frame_number(const struct wp_result *result, uint32_t frame, const char *key)
{
	json_t *frames = json_object_get(result->document, "frames");

	return (double)json_integer_value(json_object_get(json_array_get(frames, frame), key));
}

/* At full scale, ns; NAN where the frame read nothing. */
static double frame_figure(const struct wp_result *result, uint32_t frame,
			   enum wp_compare_figure figure)
{
	double bytes;

	if (figure == WP_COMPARE_STALL)
		return frame_number(result, frame, "stall_ns") / result->scale;
	bytes = frame_number(result, frame, "bytes_nvme");
	if (bytes <= 0)
		return NAN;
	return frame_number(result, frame, "read_ns") / bytes *
	       (double)result->block_full_scale_bytes;
}

/* Of one frame on one side; NAN when a run has none. */
static double side_figure(const struct wp_compare *compare, const struct wp_compare_point *point,
			  int side, uint32_t frame, enum wp_compare_figure figure)
{
	double values[WP_COMPARE_RUNS_MAX];

	for (uint32_t i = 0; i < point->count[side]; i++) {
		values[i] = frame_figure(run_of(compare, point, side, i), frame, figure);
		if (isnan(values[i]))
			return NAN;
	}
	return median(values, point->count[side]);
}

static struct wp_compare_limit limit_of(const struct wp_compare *compare,
					const struct wp_compare_point *point)
{
	return (struct wp_compare_limit){
	    .share = compare->tolerance,
	    .floor_ns = WP_COMPARE_FLOOR_NS / run_of(compare, point, WP_COMPARE_BASE, 0)->scale,
	};
}

static void test_frames(const struct wp_compare *compare, struct wp_compare_point *point,
			enum wp_compare_figure figure)
{
	struct wp_compare_limit limit = limit_of(compare, point);
	struct wp_compare_test *test = &point->tests[figure];
	uint32_t first = 0, end = UINT32_MAX, count = 0;
	double *base, *next;

	for (int side = 0; side < WP_COMPARE_SIDES; side++) {
		for (uint32_t i = 0; i < point->count[side]; i++) {
			const struct wp_result *run = run_of(compare, point, side, i);

			first = first > run->warmup_frames ? first : (uint32_t)run->warmup_frames;
			end = end < run->frame_count ? end : (uint32_t)run->frame_count;
		}
	}
	end = end > first ? end : first;
	base = calloc((size_t)(end - first) + 1, sizeof(*base));
	next = calloc((size_t)(end - first) + 1, sizeof(*next));
	WP_CHECK(base && next);
	for (uint32_t frame = first; frame < end; frame++) {
		base[count] = side_figure(compare, point, WP_COMPARE_BASE, frame, figure);
		next[count] = side_figure(compare, point, WP_COMPARE_NEW, frame, figure);
		count += !isnan(base[count]) && !isnan(next[count]);
	}
	test->p = wp_compare_frames(base, next, count, &limit);
	test->p_better = wp_compare_frames(next, base, count, &limit);
	test->p_least = wp_compare_frames_least(count);
	test->value_ns[WP_COMPARE_BASE] = median(base, count);
	test->value_ns[WP_COMPARE_NEW] = median(next, count);
	free(base);
	free(next);
}

static void test_runs(const struct wp_compare *compare, struct wp_compare_point *point,
		      enum wp_compare_figure figure)
{
	struct wp_compare_limit limit = limit_of(compare, point);
	double values[WP_COMPARE_SIDES][WP_COMPARE_RUNS_MAX];
	struct wp_compare_test *test = &point->tests[figure];
	const uint32_t *count = point->count;

	for (int side = 0; side < WP_COMPARE_SIDES; side++) {
		for (uint32_t i = 0; i < count[side]; i++) {
			const struct wp_stats *stall =
			    &run_of(compare, point, side, i)->stall_full_scale_ns;

			values[side][i] =
			    (double)(figure == WP_COMPARE_P99 ? stall->p99 : stall->max);
		}
	}
	test->p = wp_compare_runs(values[0], count[0], values[1], count[1], &limit);
	test->p_better = wp_compare_runs(values[1], count[1], values[0], count[0], &limit);
	test->p_least = wp_compare_runs_least(count[0], count[1]);
	for (int side = 0; side < WP_COMPARE_SIDES; side++)
		test->value_ns[side] = median(values[side], count[side]);
}

void wp_compare_measure(const struct wp_compare *compare, struct wp_compare_point *point)
{
	test_frames(compare, point, WP_COMPARE_STALL);
	test_frames(compare, point, WP_COMPARE_READ);
	test_runs(compare, point, WP_COMPARE_P99);
	test_runs(compare, point, WP_COMPARE_MAX);
}

static bool is_measured(const struct wp_compare_point *point)
{
	return !point->is_virtual && point->count[0] && point->count[1];
}

static enum wp_compare_outcome outcome_of(const struct wp_compare_test *test)
{
	if (test->p_least > test->alpha)
		return WP_COMPARE_UNDECIDED;
	if (test->p <= test->alpha)
		return WP_COMPARE_WORSE;
	return test->p_better <= test->alpha ? WP_COMPARE_BETTER : WP_COMPARE_SAME;
}

void wp_compare_judge(struct wp_compare *compare)
{
	uint32_t measured = 0;

	for (uint32_t i = 0; i < compare->point_count; i++)
		measured += is_measured(&compare->points[i]);
	for (uint32_t i = 0; i < compare->point_count; i++) {
		struct wp_compare_point *point = &compare->points[i];

		for (int figure = 0; figure < WP_COMPARE_FIGURES && is_measured(point); figure++) {
			struct wp_compare_test *test = &point->tests[figure];

			/* Two tests over frames and two over runs a point. */
			test->alpha = WP_COMPARE_ALPHA / 2 / (2.0 * measured);
			test->outcome = outcome_of(test);
			compare->worse += test->outcome == WP_COMPARE_WORSE;
			compare->better += test->outcome == WP_COMPARE_BETTER;
			compare->undecided += test->outcome == WP_COMPARE_UNDECIDED;
		}
	}
}
