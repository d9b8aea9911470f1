/* Exact tests for `compare`: figures in, p out. No randomness, no normal curve. */
#include "harness/compare/compare_stats.h"

#include <math.h>
#include <stdlib.h>

#include "pager/check.h"

/* P(at least `least` heads in `n` fair throws). */
static double coin_tail(uint32_t n, uint32_t least)
{
	double term = ldexp(1, -(int)n); /* P(0 heads) */
	double tail = 0;

	for (uint32_t heads = 0; heads <= n; heads++) {
		if (heads >= least)
			tail += term;
		term = term * (n - heads) / (heads + 1);
	}
	return tail < 1 ? tail : 1;
}

/* Frames of a block: odd, so that votes are seldom equal; the last one takes the rest. */
static uint32_t block_frames(uint32_t frames)
{
	return ((frames + WP_COMPARE_BLOCKS - 1) / WP_COMPARE_BLOCKS) | 1;
}

static uint32_t block_count(uint32_t frames)
{
	uint32_t blocks = frames / block_frames(frames);

	return frames && !blocks ? 1 : blocks;
}

static int vote(double base, double next, const struct wp_compare_limit *limit)
{
	if (base <= limit->floor_ns && next <= limit->floor_ns)
		return 0;
	return next > base * (1 + limit->share) + limit->floor_ns ? 1 : -1;
}

double wp_compare_frames(const double *base, const double *next, uint32_t count,
			 const struct wp_compare_limit *limit)
{
	uint32_t blocks = block_count(count);
	uint32_t slower = 0;

	for (uint32_t block = 0; block < blocks; block++) {
		uint32_t first = block * block_frames(count);
		uint32_t end = block + 1 < blocks ? first + block_frames(count) : count;
		int votes = 0;

		for (uint32_t i = first; i < end; i++)
			votes += vote(base[i], next[i], limit);
		slower += votes > 0;
	}
	return coin_tail(blocks, slower);
}

double wp_compare_frames_least(uint32_t count)
{
	return ldexp(1, -(int)block_count(count));
}

struct ranked {
	double value;
	bool is_next;
};

static int compare_values(const void *left, const void *right)
{
	double a = ((const struct ranked *)left)->value, b = ((const struct ranked *)right)->value;

	return (a > b) - (a < b);
}

/* Twice the rank of each of `count` sorted values, so that mean ranks stay whole. */
static void double_ranks(const struct ranked *all, uint32_t count, uint32_t *ranks)
{
	for (uint32_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && all[end].value <= all[first].value; end++)
			continue;
		for (uint32_t i = first; i < end; i++)
			ranks[i] = first + 1 + end;
	}
}

/* Share of all choices of `chosen` from `count` ranks whose sum reaches `least`. */
static double share_reaching(const uint32_t *ranks, uint32_t count, uint32_t chosen, uint32_t least)
{
	uint32_t sum_max = count * (count + 1);
	size_t width = (size_t)sum_max + 1;
	double *ways = calloc((size_t)(chosen + 1) * width, sizeof(*ways));
	double all = 0, reaching = 0;

	WP_CHECK(ways);
	ways[0] = 1;
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t taken = chosen; taken >= 1; taken--) {
			double *to = ways + taken * width, *from = to - width;

			for (uint32_t sum = ranks[i]; sum <= sum_max; sum++)
				to[sum] += from[sum - ranks[i]];
		}
	}
	for (uint32_t sum = 0; sum <= sum_max; sum++) {
		all += ways[chosen * width + sum];
		reaching += sum >= least ? ways[chosen * width + sum] : 0;
	}
	free(ways);
	return reaching / all;
}

double wp_compare_runs(const double *base, uint32_t base_count, const double *next,
		       uint32_t next_count, const struct wp_compare_limit *limit)
{
	struct ranked all[WP_COMPARE_RUNS_MAX];
	uint32_t ranks[WP_COMPARE_RUNS_MAX];
	uint32_t count = base_count + next_count, sum = 0;

	WP_CHECK(count <= WP_COMPARE_RUNS_MAX);
	if (!base_count || !next_count)
		return 1;
	for (uint32_t i = 0; i < base_count; i++)
		all[i].value = base[i] * (1 + limit->share) + limit->floor_ns;
	for (uint32_t i = 0; i < next_count; i++)
		all[base_count + i].value = next[i];
	for (uint32_t i = 0; i < count; i++)
		all[i].is_next = i >= base_count;
	qsort(all, count, sizeof(all[0]), compare_values);
	double_ranks(all, count, ranks);
	for (uint32_t i = 0; i < count; i++)
		sum += all[i].is_next ? ranks[i] : 0;
	return share_reaching(ranks, count, next_count, sum);
}

double wp_compare_runs_least(uint32_t base_count, uint32_t next_count)
{
	double least = 1;

	for (uint32_t i = 1; i <= next_count; i++)
		least = least * i / (base_count + i);
	return base_count && next_count ? least : 1;
}
