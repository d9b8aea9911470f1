/*
 * Bisection for the three thresholds of one arm and trace. It does not run
 * anything itself and does not print. The idea: rates are numbered by steps; for
 * each figure keep the highest rate with stall and the lowest without, and let
 * every run move all three pairs.
 */
#include "harness/experiments/threshold.h"

const char *wp_threshold_figure_name(enum wp_threshold_figure figure)
{
	static const char *const names[] = {"p50", "p99", "max"};

	WP_CHECK((unsigned)figure < WP_THRESHOLD_FIGURES);
	return names[figure];
}

struct search {
	const struct wp_threshold_config *config;
	wp_threshold_run run;
	void *context;
	struct wp_threshold *thresholds;
	uint32_t runs;
};

/* Keeps `stall_bytes_per_s` below `zero_bytes_per_s`, whatever a run shows. */
static void take(struct wp_threshold *threshold, uint64_t rate, uint64_t max_rate,
		 uint64_t stall_ns)
{
	uint64_t zero = threshold->zero_bytes_per_s;

	if (stall_ns > 0 && rate > threshold->stall_bytes_per_s) {
		threshold->stall_bytes_per_s = rate;
		threshold->stall_ns = stall_ns;
		/* Stall above a rate that had none: what counts begins higher up. */
		if (zero && zero <= rate)
			threshold->zero_bytes_per_s = rate < max_rate ? max_rate : 0;
	} else if (stall_ns == 0 && rate > threshold->stall_bytes_per_s && (!zero || rate < zero)) {
		threshold->zero_bytes_per_s = rate;
	}
}

/* One run, and what it says about each figure. */
static int measure(struct search *search, uint64_t rate, struct wp_error *error)
{
	struct wp_threshold_stall stall = {0};

	if (search->run(search->context, rate, &stall, error) < 0)
		return -1;
	search->runs++;
	for (unsigned i = 0; i < WP_THRESHOLD_FIGURES; i++)
		take(&search->thresholds[i], rate, search->config->max_bytes_per_s,
		     stall.stall_ns[i]);
	return 0;
}

/* Halfway between the two, on the grid of steps; 0 when nothing lies between them. */
static uint64_t between(const struct search *search, const struct wp_threshold *threshold)
{
	const struct wp_threshold_config *config = search->config;
	uint64_t low = threshold->stall_bytes_per_s, high = threshold->zero_bytes_per_s;
	uint64_t low_step, high_step;

	if (low == 0 || high == 0)
		return 0;
	low_step = (low - config->min_bytes_per_s) / config->step_bytes_per_s;
	high_step = (high - config->min_bytes_per_s + config->step_bytes_per_s - 1) /
		    config->step_bytes_per_s;
	if (high_step - low_step < 2)
		return 0;
	return config->min_bytes_per_s +
	       (low_step + (high_step - low_step) / 2) * config->step_bytes_per_s;
}

static enum wp_threshold_state state_of(const struct wp_threshold *threshold)
{
	if (!threshold->zero_bytes_per_s)
		return WP_THRESHOLD_ABOVE;
	return threshold->stall_bytes_per_s ? WP_THRESHOLD_FOUND : WP_THRESHOLD_BELOW;
}

/* A rate that still has to be measured, for the first figure that lacks one; 0: all found. */
static uint64_t next_rate(const struct search *search)
{
	uint64_t rate = 0;

	for (unsigned i = 0; i < WP_THRESHOLD_FIGURES && !rate; i++)
		rate = between(search, &search->thresholds[i]);
	return rate;
}

int wp_threshold_find(const struct wp_threshold_config *config, wp_threshold_run run, void *context,
		      struct wp_threshold thresholds[WP_THRESHOLD_FIGURES], uint32_t *runs,
		      struct wp_error *error)
{
	struct search search = {config, run, context, thresholds, 0};
	uint64_t rate;
	int result;

	WP_CHECK(config->min_bytes_per_s >= 1 && config->step_bytes_per_s >= 1);
	WP_CHECK(config->max_bytes_per_s > config->min_bytes_per_s);
	for (unsigned i = 0; i < WP_THRESHOLD_FIGURES; i++)
		thresholds[i] = (struct wp_threshold){0};
	result = measure(&search, config->min_bytes_per_s, error);
	if (result == 0)
		result = measure(&search, config->max_bytes_per_s, error);
	while (result == 0 && (rate = next_rate(&search)) != 0)
		result = measure(&search, rate, error);
	for (unsigned i = 0; i < WP_THRESHOLD_FIGURES; i++)
		thresholds[i].state = state_of(&thresholds[i]);
	*runs = search.runs;
	return result;
}
