/*
 * The document a replay leaves: one JSON object, described by
 * results/schema/replay.schema.json. Every kind of run has the same keys; what
 * a run does not have is null. Keys end in their unit.
 *
 * summary.digest covers the figures: XXH3-64 (seed 0, 16 hex digits) over each
 * object of `frames` and then `summary` without `digest`, each dumped compactly
 * with sorted keys, reals with 17 significant digits, and followed by a newline.
 */
#ifndef WP_RESULT_H
#define WP_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/error.h"
#include "harness/replay/run.h"
#include "harness/stats.h"

#define WP_RESULT_SCHEMA_VERSION 1

/*
 * Writes `run` to `path` whole or not at all ("-": standard output). Frames are
 * written one by one, so that memory does not grow with them. Figures that
 * contradict each other (see wp_result_check) make the document invalid and add
 * a note. 0, or -1 with WP_EXIT_CONTENT.
 */
int wp_result_write(const struct wp_run *run, const char *path, struct wp_error *error) WP_MUST_USE;

/*
 * Do the figures add up? Per frame: stall = max(0, ready - needed); no more
 * hits and misses than blocks retrieved, and exactly as many in forced-nvme.
 * Whole run: compute + stalls + write stalls = wall, exactly in the virtual
 * world, within 1 % elsewhere. Writes what does not to `text`.
 */
bool wp_result_check(const struct wp_run *run, char *text, size_t text_size);

/* The figures that matter, a few lines for people. */
void wp_result_print(const struct wp_run *run, FILE *stream);

/* A document read back. Strings belong to `document`; absent figures are 0. */
struct wp_result {
	json_t *document;
	const char *world, *trace, *arm, *hints, *residency, *codec, *scale_text;
	const char *model, *machine, *drive;
	const char *fingerprint, *kernel_release; /* of the machine that measured; "" in virtual */
	const char *digest;			  /* of the figures */
	const char *throttle_method, *reason, *error; /* reason, error: "" when there is none */
	uint64_t k, staging_blocks, warmup_frames, frame_count, seed;
	double scale; /* effective */
	uint64_t block_full_scale_bytes, block_bytes, compute_ns;
	uint64_t asked_bytes_per_s, probe_bytes_per_s, unthrottled_bytes_per_s,
	    achieved_bytes_per_s;
	struct wp_stats stall_ns, stall_full_scale_ns; /* n = 0: the rest is 0 */
	bool has_bound;				       /* lower_bound.told: */
	uint64_t bound_sum_full_scale_ns, bound_max_full_scale_ns;
	bool valid, interrupted, device_limited;
};

/*
 * Strict: every section must be there with the right type and the digest must
 * match. 0, or -1 with WP_EXIT_CONTENT naming file and key. Close after 0 only.
 */
int wp_result_load(const char *path, struct wp_result *result, struct wp_error *error) WP_MUST_USE;
/* The same for a file of any kind in a folder: 1, or 0 where it is a document of another kind. */
int wp_result_load_if(const char *path, struct wp_result *result,
		      struct wp_error *error) WP_MUST_USE;
void wp_result_close(struct wp_result *result);

/* Stall of frame `index` at full scale, ns; index < frame_count. */
uint64_t wp_result_frame_stall_ns(const struct wp_result *result, size_t index);

/* Shared by writer and reader; `digest` holds 17 characters. */
struct wp_digest;
struct wp_digest *wp_digest_open(void);
void wp_digest_add(struct wp_digest *digest, const json_t *value);
void wp_digest_close(struct wp_digest *digest, char *text);

/* A time at scale `scale` as it would be at full scale. */
uint64_t wp_full_scale_ns(uint64_t ns, double scale);

#endif
