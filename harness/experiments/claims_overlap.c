/*
 * P4 against documents of the overlap experiment: with two buffers the median
 * stall is none up to the paper's volume; with one it shows the copy, or the copy
 * is too short for the claim to be decided by it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/experiments/claims.h"
#include "harness/units.h"

/* Shares within which a document speaks of the paper's compute and reaches its volume. */
#define COMPUTE_SHARE 0.05
#define VOLUME_SHARE  0.005

static bool belongs(const struct wp_claims *claims, const struct wp_overlap *overlap, bool measured)
{
	double compute = (double)claims->p4_compute_ns;

	return (strcmp(overlap->world, "virtual") != 0) == measured &&
	       strcmp(overlap->model, claims->model) == 0 &&
	       (double)overlap->compute_full_ns >= compute * (1 - COMPUTE_SHARE) &&
	       (double)overlap->compute_full_ns <= compute * (1 + COMPUTE_SHARE);
}

/* The median stall at the same volume with one buffer; false where that was not measured. */
static bool single(const struct wp_overlap *overlap, const struct wp_overlap_point *like,
		   uint64_t *stall_ns)
{
	*stall_ns = 0;
	for (uint32_t i = 0; i < overlap->count; i++) {
		const struct wp_overlap_point *point = &overlap->points[i];

		if (point->buffers == 1 && point->bytes_full == like->bytes_full) {
			*stall_ns = wp_overlap_full_ns(overlap, point->stall.p50);
			return true;
		}
	}
	return false;
}

struct tally {
	uint32_t carried, against;
	uint64_t largest_bytes; /* within the paper's range, without a stall */
	uint64_t largest_ns, largest_single_ns;
	bool shows_nothing;		  /* one buffer does not stall there either */
	uint64_t worst_bytes, worst_ns;	  /* contradicts most */
	uint64_t beyond_bytes, beyond_ns; /* the first stall beyond the paper's range */
};

static void take(const struct wp_claims *claims, const struct wp_overlap *overlap,
		 const struct wp_overlap_point *point, bool measured, struct tally *tally)
{
	const struct wp_claim_tolerance *tolerance =
	    measured ? &claims->measured_tolerance : &claims->virtual_tolerance;
	uint64_t stall_ns = wp_overlap_full_ns(overlap, point->stall.p50);
	bool within = (double)point->bytes_full <= (double)claims->p4_bytes * (1 + VOLUME_SHARE);
	bool none = stall_ns <= tolerance->stall_ns;

	if (within && none) {
		tally->carried++;
		if (point->bytes_full >= tally->largest_bytes) {
			tally->largest_bytes = point->bytes_full;
			tally->largest_ns = stall_ns;
			tally->shows_nothing = single(overlap, point, &tally->largest_single_ns) &&
					       tally->largest_single_ns <= tolerance->stall_ns;
		}
	} else if (within) {
		if (!tally->against++ || stall_ns > tally->worst_ns) {
			tally->worst_bytes = point->bytes_full;
			tally->worst_ns = stall_ns;
		}
	} else if (!none && (!tally->beyond_bytes || point->bytes_full < tally->beyond_bytes)) {
		tally->beyond_bytes = point->bytes_full;
		tally->beyond_ns = stall_ns;
	}
}

static void add_text(struct wp_finding *finding, const char *text)
{
	size_t used = strlen(finding->text);

	snprintf(finding->text + used, sizeof(finding->text) - used, "%s%s", used ? "; " : "",
		 text);
}

/* "; median 58.4 ms at 1.46 GB" */
static void add(struct wp_finding *finding, const char *before, uint64_t stall_ns, uint64_t bytes)
{
	char ms[WP_UNITS_TEXT], volume[WP_UNITS_TEXT], text[2 * WP_UNITS_TEXT + 64];

	snprintf(text, sizeof(text), "%.40s %s ms at %s GB", before,
		 wp_units_fixed(ms, (double)stall_ns / 1e6, 1),
		 wp_units_fixed(volume, (double)bytes / 1e9, 2));
	add_text(finding, text);
}

/* Why nothing decides, where there were points of the claim's setup. */
static void add_missing(struct wp_finding *finding, const struct wp_claims *claims, bool reached)
{
	char volume[WP_UNITS_TEXT], text[WP_UNITS_TEXT + 64];

	snprintf(text, sizeof(text), "not tried: %s GB",
		 wp_units_fixed(volume, (double)claims->p4_bytes / 1e9, 2));
	add_text(finding, reached ? "one buffer does not stall there either" : text);
}

struct wp_finding wp_claims_check_overlap(const struct wp_claims *claims,
					  const struct wp_overlaps *overlaps, bool measured)
{
	struct wp_finding finding = {0};
	struct tally tally = {0};
	bool reached;

	for (uint32_t i = 0; i < overlaps->count; i++) {
		const struct wp_overlap *overlap = &overlaps->runs[i];

		if (!belongs(claims, overlap, measured))
			continue;
		for (uint32_t j = 0; j < overlap->count; j++)
			if (overlap->points[j].buffers == claims->p4_buffers)
				take(claims, overlap, &overlap->points[j], measured, &tally);
	}
	reached = (double)tally.largest_bytes >= (double)claims->p4_bytes * (1 - VOLUME_SHARE);
	if (tally.against)
		finding.verdict = WP_VERDICT_DIFFERS;
	else if (reached && !tally.shows_nothing)
		finding.verdict = WP_VERDICT_AGREES;
	else
		finding.verdict = WP_VERDICT_NOT_COVERED;
	if (tally.against)
		add(&finding, "against it: median", tally.worst_ns, tally.worst_bytes);
	if (tally.carried)
		add(&finding, "median", tally.largest_ns, tally.largest_bytes);
	if (tally.largest_single_ns)
		add(&finding, "one buffer:", tally.largest_single_ns, tally.largest_bytes);
	if (finding.verdict == WP_VERDICT_NOT_COVERED && (tally.carried || tally.beyond_bytes))
		add_missing(&finding, claims, reached);
	if (tally.beyond_bytes)
		add(&finding, "first stall", tally.beyond_ns, tally.beyond_bytes);
	if (!finding.text[0])
		snprintf(finding.text, sizeof(finding.text), "%s",
			 wp_verdict_text(finding.verdict));
	return finding;
}
