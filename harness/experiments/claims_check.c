/*
 * Claims against cells. Each check walks the rates of one trace and arm,
 * collects what contradicts the claim and what carries it, and says both in
 * figures. A rate that the drive does not reach neither carries nor contradicts.
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

static const struct wp_cell *find(const struct view *view, const char *trace, const char *arm,
				  const struct wp_cell *like)
{
	for (uint32_t i = 0; i < view->collection->count; i++) {
		const struct wp_cell *cell = &view->collection->cells[i];

		if (belongs(view, cell, trace, arm) && cell->bytes_per_s == like->bytes_per_s &&
		    strcmp(cell->scale, like->scale) == 0 && wp_cell_counts(cell))
			return cell;
	}
	return NULL;
}

/* The largest stall that still counts as none. */
static uint64_t tolerance_ns(const struct view *view, const struct wp_cell *cell)
{
	const struct wp_claim_tolerance *tolerance =
	    view->measured ? &view->claims->measured_tolerance : &view->claims->virtual_tolerance;
	const struct wp_cell *on_demand = find(view, cell->trace, view->claims->p2_arm, cell);
	double share_ns =
	    on_demand ? tolerance->share_of_on_demand * (double)on_demand->stall.p50 : 0;

	return tolerance->stall_ns + (uint64_t)share_ns;
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
	uint32_t carried, against;
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
	if (tally->carried)
		return WP_VERDICT_AGREES;
	return tally->asked && tally->asked == tally->unreached ? WP_VERDICT_NOT_MEASURABLE
								: WP_VERDICT_NOT_COVERED;
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

static void add_unreached(struct wp_finding *finding, const struct tally *tally)
{
	char text[64];

	if (!tally->unreached)
		return;
	snprintf(text, sizeof(text), "%u of %u rates not measurable here", tally->unreached,
		 tally->asked);
	add_text(finding, text);
}

static struct wp_finding check_p1(const struct view *view)
{
	const struct wp_claims *claims = view->claims;
	const struct wp_cell *lowest = NULL, *below = NULL;
	struct wp_finding finding = {0};
	struct tally tally = {0};

	for (uint32_t i = 0; i < view->collection->count; i++) {
		const struct wp_cell *cell = &view->collection->cells[i];
		bool zero;

		if (!belongs(view, cell, claims->p1_trace, claims->p1_arm))
			continue;
		tally.asked++;
		if (!wp_cell_counts(cell)) {
			tally.unreached++;
			continue;
		}
		zero = cell->stall.p50 <= tolerance_ns(view, cell);
		if (cell->bytes_per_s >= claims->p1_zero_from_bytes_per_s) {
			if (!zero)
				contradict(&tally, cell, cell->stall.p50);
			tally.carried += zero;
			if (zero && (!lowest || cell->bytes_per_s < lowest->bytes_per_s))
				lowest = cell;
		} else if (cell->bytes_per_s < cell->need_bytes_per_s) {
			if (zero)
				contradict(&tally, cell, cell->stall.p50);
			if (!zero && (!below || cell->bytes_per_s > below->bytes_per_s))
				below = cell;
		}
	}
	finding.verdict = verdict_of(&tally);
	if (tally.worst)
		add_stall(&finding, "against it: median", tally.worst_ns, tally.worst);
	if (lowest)
		add_stall(&finding, "median", lowest->stall.p50, lowest);
	if (below)
		add_stall(&finding, "median", below->stall.p50, below);
	add_unreached(&finding, &tally);
	return finding;
}

static struct wp_finding check_p2(const struct view *view)
{
	const struct wp_claims *claims = view->claims;
	const struct wp_cell *least = NULL;
	struct wp_finding finding = {0};
	struct tally tally = {0};
	uint32_t covered = 0;

	for (uint32_t trace = 0; trace < claims->p2_trace_count; trace++) {
		uint32_t before = tally.carried;

		for (uint32_t i = 0; i < view->collection->count; i++) {
			const struct wp_cell *cell = &view->collection->cells[i];

			if (!belongs(view, cell, claims->p2_traces[trace], claims->p2_arm))
				continue;
			tally.asked++;
			if (!wp_cell_counts(cell)) {
				tally.unreached++;
			} else if (cell->stall.p50 == 0) {
				contradict(&tally, cell, 0);
			} else {
				tally.carried++;
				if (!least || cell->stall.p50 < least->stall.p50)
					least = cell;
			}
		}
		covered += tally.carried > before;
	}
	finding.verdict = verdict_of(&tally);
	if (finding.verdict == WP_VERDICT_AGREES && covered < claims->p2_trace_count)
		finding.verdict =
		    tally.unreached ? WP_VERDICT_NOT_MEASURABLE : WP_VERDICT_NOT_COVERED;
	if (tally.worst)
		add_stall(&finding, "against it: median", 0, tally.worst);
	if (least)
		add_stall(&finding, "smallest median", least->stall.p50, least);
	add_unreached(&finding, &tally);
	return finding;
}

/* The remedy's longest stall against on_demand's, where it was run. */
static void check_remedy(const struct view *view, const struct wp_cell *cell,
			 const struct wp_cell *against, struct tally *tally, uint32_t *removed)
{
	const struct wp_cell *remedy = find(view, cell->trace, view->claims->p3_remedy, cell);
	/* One small read may already be on its way when a needed block comes: 1 %. */
	uint64_t limit_ns = against->stall.max + against->stall.max / 100 +
			    (view->measured ? tolerance_ns(view, cell) : 0);

	if (!remedy)
		return;
	if (remedy->stall.max > limit_ns)
		contradict(tally, remedy, remedy->stall.max);
	else
		*removed += 1;
}

static struct wp_finding check_p3(const struct view *view)
{
	const struct wp_claims *claims = view->claims;
	const struct wp_cell *best = NULL, *best_against = NULL;
	struct wp_finding finding = {0};
	struct tally tally = {0};
	uint32_t compared = 0, exceeded = 0, removed = 0;
	char text[64];

	for (uint32_t i = 0; i < view->collection->count; i++) {
		const struct wp_cell *cell = &view->collection->cells[i], *against;

		if (!belongs(view, cell, claims->p3_trace, claims->p3_arm) ||
		    (cell->need_bytes_per_s && cell->bytes_per_s >= cell->need_bytes_per_s))
			continue;
		tally.asked++;
		against = find(view, cell->trace, claims->p3_against, cell);
		if (!wp_cell_counts(cell) || !against) {
			tally.unreached++;
			continue;
		}
		compared++;
		if (cell->stall.p50 <= tolerance_ns(view, cell))
			contradict(&tally, cell, cell->stall.p50);
		if (cell->stall.max > against->stall.max) {
			exceeded++;
			if (!best || cell->bytes_per_s > best->bytes_per_s) {
				best = cell;
				best_against = against;
			}
		}
		check_remedy(view, cell, against, &tally, &removed);
	}
	tally.carried = exceeded;
	finding.verdict = compared && !exceeded ? WP_VERDICT_DIFFERS : verdict_of(&tally);
	if (tally.worst)
		add_stall(&finding, "against it:", tally.worst_ns, tally.worst);
	if (best) {
		add_stall(&finding, "longest", best->stall.max, best);
		add_stall(&finding, "on demand", best_against->stall.max, best_against);
	}
	if (compared) {
		snprintf(text, sizeof(text), "longer at %u of %u rates below the need", exceeded,
			 compared);
		add_text(&finding, text);
	}
	if (removed) {
		snprintf(text, sizeof(text), "not with %.32s", claims->p3_remedy);
		add_text(&finding, text);
	}
	add_unreached(&finding, &tally);
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
