/*
 * Claims against cells. Each check walks the rates of one trace and arm,
 * collects what contradicts the claim and what carries it, and says both in
 * figures. A rate that the drive does not reach neither carries nor contradicts,
 * nor does one that lies so near the need that the stall it would cause is within
 * the tolerance. Without a rate that can decide, no claim agrees: what was not
 * tried is named.
 */
#include <inttypes.h>
#include <string.h>

#include "harness/experiments/claims.h"
#include "harness/units.h"

struct view {
	const struct wp_claims *claims;
	const struct wp_collection *collection;
	bool measured;
};

static bool is_measured(const struct wp_cell *cell)
{
	return strcmp(cell->world, "virtual") != 0;
}

/* A cell of the claims' setup; cells without a document have no k and model to differ in. */
static bool belongs(const struct view *view, const struct wp_cell *cell, const char *trace,
		    const char *arm)
{
	return is_measured(cell) == view->measured && strcmp(cell->trace, trace) == 0 &&
	       strcmp(cell->arm, arm) == 0 && strcmp(cell->codec, view->claims->codec) == 0 &&
	       (!cell->k ||
		(cell->k == view->claims->k && strcmp(cell->model, view->claims->model) == 0));
}

/* Too few frames to say anything of the trace. */
static bool is_short(const struct view *view, const struct wp_cell *cell)
{
	return wp_cell_counts(cell) && cell->stall.n < view->claims->frames_least;
}

/* The cell of another arm beside `like`, whether it counts or not; NULL: not tried. */
static const struct wp_cell *beside(const struct view *view, const char *arm,
				    const struct wp_cell *like)
{
	const struct wp_cell *found = NULL;

	for (uint32_t i = 0; i < view->collection->count; i++) {
		const struct wp_cell *cell = &view->collection->cells[i];

		if (!belongs(view, cell, like->trace, arm) ||
		    cell->bytes_per_s != like->bytes_per_s || strcmp(cell->world, like->world) != 0)
			continue;
		/* Without a document the scale is not known either. */
		if (cell->k && like->k && strcmp(cell->scale, like->scale) != 0)
			continue;
		if (wp_cell_counts(cell))
			return cell;
		found = cell;
	}
	return found;
}

/* The same, where it counts and is long enough. */
static const struct wp_cell *find(const struct view *view, const char *arm,
				  const struct wp_cell *like)
{
	const struct wp_cell *cell = beside(view, arm, like);

	return cell && wp_cell_counts(cell) && !is_short(view, cell) ? cell : NULL;
}

/* What has to be read in time, of the cell or, where it left no document, of any other of the
 * claims' setup; 0: nothing is known. */
static uint64_t need_of(const struct view *view, const struct wp_cell *cell)
{
	if (cell->need_bytes_per_s)
		return cell->need_bytes_per_s;
	for (uint32_t i = 0; i < view->collection->count; i++) {
		const struct wp_cell *other = &view->collection->cells[i];

		if (other->need_bytes_per_s && belongs(view, other, other->trace, other->arm))
			return other->need_bytes_per_s;
	}
	return 0;
}

/* The largest stall that still counts as none. */
static uint64_t tolerance_ns(const struct view *view, const struct wp_cell *cell)
{
	const struct wp_claim_tolerance *tolerance =
	    view->measured ? &view->claims->measured_tolerance : &view->claims->virtual_tolerance;
	const struct wp_cell *on_demand = find(view, view->claims->p2_arm, cell);
	double share_ns =
	    on_demand ? tolerance->share_of_on_demand * (double)on_demand->stall.p50 : 0;

	return tolerance->stall_ns + (uint64_t)share_ns;
}

/* Whether a rate below the need has to cause a stall beyond the tolerance. */
static bool has_to_stall(const struct view *view, const struct wp_cell *cell)
{
	double need = (double)need_of(view, cell), rate = (double)cell->bytes_per_s;
	double stall_ns = (need / rate - 1) * (double)view->claims->p4_compute_ns;

	return rate > 0 && rate < need && stall_ns > (double)tolerance_ns(view, cell);
}

/* "1385.1 ms at 0.2 GB/s" */
static void describe(char *text, size_t size, uint64_t stall_ns, uint64_t bytes_per_s)
{
	char ms[WP_UNITS_TEXT], rate[WP_UNITS_TEXT];

	snprintf(text, size, "%s ms at %s GB/s", wp_units_fixed(ms, (double)stall_ns / 1e6, 1),
		 wp_units_rate_in_gb(rate, bytes_per_s));
}

/* What the walk over the rates of one claim has found. */
struct tally {
	uint32_t asked, unreached; /* cells of the claim; those that do not count */
	uint32_t brief;		   /* cells of too few frames */
	uint32_t against;
	bool decided;		     /* a cell that the claim stands or falls with carries it */
	bool decider_failed;	     /* one was asked for and does not count */
	const struct wp_cell *worst; /* contradicts most */
	uint64_t worst_ns;
};

static void contradict(struct tally *tally, const struct wp_cell *cell, uint64_t ns)
{
	if (!tally->against++ || ns > tally->worst_ns) {
		tally->worst = cell;
		tally->worst_ns = ns;
	}
}

static enum wp_verdict verdict_of(const struct tally *tally)
{
	if (tally->against)
		return WP_VERDICT_DIFFERS;
	if (tally->decided)
		return WP_VERDICT_AGREES;
	return tally->decider_failed ? WP_VERDICT_NOT_MEASURABLE : WP_VERDICT_NOT_COVERED;
}

/* Counts a cell in; whether its figures may be used. `decider`: the claim needs such a one. */
static bool take(const struct view *view, const struct wp_cell *cell, bool decider,
		 struct tally *tally)
{
	tally->asked++;
	if (is_short(view, cell)) {
		tally->brief++;
		return false;
	}
	if (wp_cell_counts(cell))
		return true;
	tally->unreached++;
	tally->decider_failed |= decider;
	return false;
}

static void add_text(struct wp_finding *finding, const char *text)
{
	size_t used = strlen(finding->text);

	snprintf(finding->text + used, sizeof(finding->text) - used, "%s%s", used ? "; " : "",
		 text);
}

static void add_stall(struct wp_finding *finding, const char *before, uint64_t stall_ns,
		      const struct wp_cell *cell)
{
	char figure[2 * WP_UNITS_TEXT + 32];
	char text[sizeof(figure) + 64];

	describe(figure, sizeof(figure), stall_ns, cell->bytes_per_s);
	snprintf(text, sizeof(text), "%s %s", before, figure);
	add_text(finding, text);
}

/* "not tried: b1_ws at 0.215424 GB/s or more" */
static void add_missing(struct wp_finding *finding, const char *trace, const char *relation,
			uint64_t bytes_per_s, const char *after)
{
	char rate[WP_UNITS_TEXT], text[WP_UNITS_TEXT + 2 * WP_CLAIM_NAME + 64];

	snprintf(text, sizeof(text), "not tried: %s%s%s GB/s%s", trace, relation,
		 wp_units_rate_in_gb(rate, bytes_per_s), after);
	add_text(finding, text);
}

static void add_uncounted(const struct view *view, struct wp_finding *finding,
			  const struct tally *tally)
{
	char text[64];

	if (tally->unreached) {
		snprintf(text, sizeof(text), "%u of %u rates not measurable here", tally->unreached,
			 tally->asked);
		add_text(finding, text);
	}
	if (tally->brief) {
		snprintf(text, sizeof(text), "%u of %u rates with fewer than %u frames",
			 tally->brief, tally->asked, view->claims->frames_least);
		add_text(finding, text);
	}
}

static struct wp_finding check_p1(const struct view *view)
{
	const struct wp_claims *claims = view->claims;
	const struct wp_cell *lowest = NULL, *below = NULL;
	struct wp_finding finding = {0};
	struct tally tally = {0};

	for (uint32_t i = 0; i < view->collection->count; i++) {
		const struct wp_cell *cell = &view->collection->cells[i];
		uint64_t rate = cell->bytes_per_s, need = need_of(view, cell);
		/* "Down to": what is zero from there on may well be zero further down, too. */
		bool decider = rate >= need && rate <= claims->p1_zero_from_bytes_per_s;
		bool zero;

		if (!belongs(view, cell, claims->p1_trace, claims->p1_arm) ||
		    !take(view, cell, decider, &tally))
			continue;
		zero = cell->stall.p50 <= tolerance_ns(view, cell);
		if (rate >= claims->p1_zero_from_bytes_per_s && !zero)
			contradict(&tally, cell, cell->stall.p50);
		if (rate >= need && zero) {
			tally.decided |= decider;
			if (!lowest || rate < lowest->bytes_per_s)
				lowest = cell;
		}
		if (zero && has_to_stall(view, cell))
			contradict(&tally, cell, cell->stall.p50);
		if (!zero && rate < need && (!below || rate > below->bytes_per_s))
			below = cell;
	}
	finding.verdict = verdict_of(&tally);
	if (tally.worst)
		add_stall(&finding, "against it: median", tally.worst_ns, tally.worst);
	if (lowest)
		add_stall(&finding, "median", lowest->stall.p50, lowest);
	if (below)
		add_stall(&finding, "median", below->stall.p50, below);
	if (finding.verdict == WP_VERDICT_NOT_COVERED && tally.asked > tally.brief)
		add_missing(&finding, claims->p1_trace, " at ", claims->p1_zero_from_bytes_per_s,
			    "");
	add_uncounted(view, &finding, &tally);
	return finding;
}

/* One trace of P2. Below the need every arm stalls: only a rate from there on can decide. */
static void walk_p2(const struct view *view, const char *trace, struct tally *tally,
		    const struct wp_cell **least)
{
	for (uint32_t i = 0; i < view->collection->count; i++) {
		const struct wp_cell *cell = &view->collection->cells[i];
		bool decider = cell->bytes_per_s >= need_of(view, cell);

		if (!belongs(view, cell, trace, view->claims->p2_arm) ||
		    !take(view, cell, decider, tally))
			continue;
		if (cell->stall.p50 == 0) {
			contradict(tally, cell, 0);
		} else if (cell->stall.p50 > tolerance_ns(view, cell)) {
			tally->decided |= decider;
			if (!*least || cell->stall.p50 < (*least)->stall.p50)
				*least = cell;
		}
	}
}

static void add_tally(struct tally *sum, const struct tally *part)
{
	sum->asked += part->asked;
	sum->unreached += part->unreached;
	sum->brief += part->brief;
	if (part->against)
		contradict(sum, part->worst, part->worst_ns);
}

static struct wp_finding check_p2(const struct view *view)
{
	const struct wp_claims *claims = view->claims;
	const struct wp_cell *least = NULL;
	struct wp_finding finding = {0};
	struct tally tally = {.decided = true};
	uint64_t need = need_of(view, &(struct wp_cell){0});
	const char *missing = NULL;

	for (uint32_t trace = 0; trace < claims->p2_trace_count; trace++) {
		struct tally part = {0};

		walk_p2(view, claims->p2_traces[trace], &part, &least);
		add_tally(&tally, &part);
		tally.decided &= part.decided;
		if (!part.decided && !part.decider_failed && !part.brief)
			missing = claims->p2_traces[trace];
		tally.decider_failed |= part.decider_failed;
	}
	if (missing || tally.brief)
		tally.decider_failed = false;
	finding.verdict = verdict_of(&tally);
	if (tally.worst)
		add_stall(&finding, "against it: median", 0, tally.worst);
	if (least)
		add_stall(&finding, "smallest median", least->stall.p50, least);
	if (finding.verdict == WP_VERDICT_NOT_COVERED && missing && need && tally.asked)
		add_missing(&finding, missing, " at ", need, " or more");
	add_uncounted(view, &finding, &tally);
	return finding;
}

/*
 * The longest stalls of a cell. Any drive hesitates now and then, and one frame's
 * bad luck says nothing of an arm: measured, a tenth of the frames has to wait so long.
 */
static uint64_t longest_ns(const struct view *view, const struct wp_cell *cell)
{
	return view->measured ? cell->stall.p90 : cell->stall.max;
}

/* The remedy's longest stall against on_demand's, where it was run. */
static void check_remedy(const struct view *view, const struct wp_cell *cell,
			 const struct wp_cell *against, struct tally *tally, uint32_t *removed)
{
	const struct wp_cell *remedy = find(view, view->claims->p3_remedy, cell);
	/* One small read may already be on its way when a needed block comes: 1 %. */
	uint64_t limit_ns = longest_ns(view, against) + longest_ns(view, against) / 100 +
			    (view->measured ? tolerance_ns(view, cell) : 0);

	if (!remedy)
		return;
	if (longest_ns(view, remedy) > limit_ns)
		contradict(tally, remedy, longest_ns(view, remedy));
	else
		*removed += 1;
}

/* The rates of P3: below the need, with both arms. */
struct pairs {
	uint32_t compared, exceeded, removed;
	bool alone; /* one was tried without the arm to compare with */
	const struct wp_cell *best, *best_against;
};

static void compare_p3(const struct view *view, const struct wp_cell *cell, struct tally *tally,
		       struct pairs *pairs)
{
	const struct wp_cell *against = beside(view, view->claims->p3_against, cell);
	bool decider;

	if (!against) {
		tally->asked++;
		pairs->alone = true;
		return;
	}
	decider = has_to_stall(view, cell);
	if (!take(view, wp_cell_counts(cell) && !is_short(view, cell) ? against : cell,
		  decider || !need_of(view, cell), tally) ||
	    !decider)
		return;
	pairs->compared++;
	if (cell->stall.p50 <= tolerance_ns(view, cell))
		contradict(tally, cell, cell->stall.p50);
	if (longest_ns(view, cell) > longest_ns(view, against)) {
		pairs->exceeded++;
		if (!pairs->best || cell->bytes_per_s > pairs->best->bytes_per_s) {
			pairs->best = cell;
			pairs->best_against = against;
		}
	}
	check_remedy(view, cell, against, tally, &pairs->removed);
}

static void describe_pairs(const struct view *view, const struct pairs *pairs,
			   struct wp_finding *finding)
{
	char text[64];

	if (pairs->best) {
		add_stall(finding, view->measured ? "longest tenth of frames from" : "longest",
			  longest_ns(view, pairs->best), pairs->best);
		add_stall(finding, "on demand", longest_ns(view, pairs->best_against),
			  pairs->best_against);
	}
	if (pairs->compared) {
		snprintf(text, sizeof(text), "longer at %u of %u rates below the need",
			 pairs->exceeded, pairs->compared);
		add_text(finding, text);
	}
	if (pairs->removed) {
		snprintf(text, sizeof(text), "not with %.32s", view->claims->p3_remedy);
		add_text(finding, text);
	}
}

static struct wp_finding check_p3(const struct view *view)
{
	const struct wp_claims *claims = view->claims;
	struct wp_finding finding = {0};
	struct tally tally = {0};
	struct pairs pairs = {0};
	uint64_t need = need_of(view, &(struct wp_cell){0});
	char text[2 * WP_CLAIM_NAME];

	for (uint32_t i = 0; i < view->collection->count; i++) {
		const struct wp_cell *cell = &view->collection->cells[i];

		if (belongs(view, cell, claims->p3_trace, claims->p3_arm) &&
		    (!need || cell->bytes_per_s < need_of(view, cell)))
			compare_p3(view, cell, &tally, &pairs);
	}
	tally.decided = pairs.exceeded > 0;
	finding.verdict =
	    pairs.compared && !pairs.exceeded ? WP_VERDICT_DIFFERS : verdict_of(&tally);
	if (tally.worst)
		add_stall(&finding, "against it:", tally.worst_ns, tally.worst);
	describe_pairs(view, &pairs, &finding);
	if (finding.verdict == WP_VERDICT_NOT_COVERED && pairs.alone) {
		snprintf(text, sizeof(text), "not tried: %s at the same rate", claims->p3_against);
		add_text(&finding, text);
	} else if (finding.verdict == WP_VERDICT_NOT_COVERED && need && !tally.brief) {
		add_missing(&finding, claims->p3_trace, " below ", need,
			    tally.asked ? " by more than the tolerance" : "");
	}
	add_uncounted(view, &finding, &tally);
	return finding;
}

struct wp_finding wp_claims_check(const struct wp_claims *claims, enum wp_claim claim,
				  const struct wp_collection *collection, bool measured)
{
	struct view view = {claims, collection, measured};
	struct wp_finding finding = claim == WP_CLAIM_P1   ? check_p1(&view)
				    : claim == WP_CLAIM_P2 ? check_p2(&view)
							   : check_p3(&view);

	if (!finding.text[0])
		snprintf(finding.text, sizeof(finding.text), "%s",
			 wp_verdict_text(finding.verdict));
	return finding;
}
