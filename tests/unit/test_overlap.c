/*
 * The overlap experiment in the virtual world, where every figure follows from
 * volume, rate and compute; its document read back; and the verdict on P4.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/experiments/claims.h"
#include "harness/experiments/overlap_plan.h"
#include "pager/duration.h"

#define RATE 25000000000u

static struct wp_overlap overlap;
static struct wp_overlaps overlaps;
static struct wp_error error;

static const struct wp_overlap_settings defaults = {
    .world = "virtual",
    .model = "mg2",
    .machine = "rtx4090",
    .frames = 3,
    .warmup_frames = 1,
    .memory_bytes = 64u << 20,
    .seed = 5,
};

static void run(const struct wp_overlap_settings *settings)
{
	struct wp_overlap_world_config config;
	struct wp_overlap_world world;

	assert_int_equal(wp_overlap_plan(settings, &overlap, &config, &error), 0);
	assert_int_equal(wp_overlap_world_open(&world, &config, &overlap, &error), 0);
	for (uint32_t i = 0; i < overlap.count; i++)
		assert_int_equal(wp_overlap_measure(&world, &overlap, &overlap.points[i], &error),
				 0);
	wp_overlap_world_close(&world);
}

/* One buffer shows the copy, two hide it for as long as compute lasts. */
static void test_stalls(void **state)
{
	(void)state;
	run(&defaults);
	assert_int_equal(overlap.count, 22);
	for (uint32_t i = 0; i < overlap.count; i++) {
		const struct wp_overlap_point *point = &overlap.points[i];
		uint64_t copy_ns = wp_duration_ns(point->bytes, RATE);
		uint64_t hidden_ns = point->buffers == 2 ? overlap.compute_ns : 0;
		uint64_t due_ns = copy_ns > hidden_ns ? copy_ns - hidden_ns : 0;

		/* Each piece is rounded up to whole nanoseconds. */
		assert_in_range(point->stall.p50, due_ns,
				due_ns + (due_ns ? point->bytes / WP_COPY_BYTES_MAX + 1 : 0));
		assert_int_equal(point->stall.min, point->stall.max);
		assert_int_equal(point->stall.n, 3);
		assert_in_range(point->copy.p50, copy_ns, copy_ns + point->bytes / 1000000);
	}
	assert_int_equal(overlap.points[4].bytes_full, 1459814400);
	assert_int_equal(overlap.points[4].stall.max, 0);
}

/* Odd volumes: a byte, less than a piece, one over a whole number of rings. */
static void test_odd_volumes(void **state)
{
	struct wp_overlap_settings settings = defaults;

	(void)state;
	settings.volumes_bytes[0] = 1;
	settings.volumes_bytes[1] = 4194303;
	settings.volumes_bytes[2] = (64u << 20) * 3ull + 1;
	settings.volume_count = 3;
	settings.copy_rate = "unlimited";
	run(&settings);
	assert_int_equal(overlap.count, 6);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(overlap.points[i].stall.max, 0);
	settings.world = "model";
	settings.scale = "1/880";
	settings.buffers = 1;
	run(&settings); /* every byte that arrived is compared */
	assert_int_equal(overlap.count, 3);
}

static void test_refusals(void **state)
{
	struct wp_overlap_settings settings = defaults;
	struct wp_overlap_world_config config;

	(void)state;
	settings.memory_bytes = 1 << 20;
	assert_int_equal(wp_overlap_plan(&settings, &overlap, &config, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_USAGE);
	settings = defaults;
	settings.world = "imagined";
	assert_int_equal(wp_overlap_plan(&settings, &overlap, &config, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_USAGE);
	settings.world = "real";
	settings.copy_rate = "1GB/s";
	assert_int_equal(wp_overlap_plan(&settings, &overlap, &config, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_USAGE);
}

static void test_document(void **state)
{
	char folder[4096], path[4200];
	const char *base = getenv("TMPDIR");
	FILE *stream;

	(void)state;
	snprintf(folder, sizeof(folder), "%s/overlap-XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/overlap_virtual.json", folder);
	run(&defaults);
	assert_int_equal(wp_overlap_write(&overlap, path, &error), 0);
	memset(&overlaps, 0, sizeof(overlaps));
	assert_int_equal(wp_overlaps_load(&overlaps, folder, &error), 0);
	assert_int_equal(overlaps.count, 1);
	assert_int_equal(overlaps.runs[0].count, overlap.count);
	assert_string_equal(overlaps.runs[0].model, "mg2");
	for (uint32_t i = 0; i < overlap.count; i++) {
		const struct wp_overlap_point *read = &overlaps.runs[0].points[i];

		assert_int_equal(read->bytes_full, overlap.points[i].bytes_full);
		assert_int_equal(read->stall.p50, overlap.points[i].stall.p50);
		assert_int_equal(read->buffers, overlap.points[i].buffers);
	}
	stream = fopen(path, "w");
	assert_non_null(stream);
	fputs("{\"schema_version\": 1, \"world\": \"virtual\"}\n", stream);
	fclose(stream);
	assert_int_equal(wp_overlaps_load(&overlaps, folder, &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_CONTENT);
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
}

static enum wp_verdict verdict(const struct wp_claims *claims, bool measured)
{
	struct wp_finding finding = wp_claims_check_overlap(claims, &overlaps, measured);

	assert_true(finding.text[0] != '\0');
	return finding.verdict;
}

static void test_verdict(void **state)
{
	struct wp_overlap *run_0 = &overlaps.runs[0];
	struct wp_claims claims;

	(void)state;
	assert_int_equal(wp_claims_load(&claims, &error), 0);
	memset(&overlaps, 0, sizeof(overlaps));
	assert_int_equal(verdict(&claims, false), WP_VERDICT_NOT_COVERED);
	run(&defaults);
	overlaps.count = 1;
	*run_0 = overlap;
	assert_int_equal(verdict(&claims, false), WP_VERDICT_AGREES);
	assert_int_equal(verdict(&claims, true), WP_VERDICT_NOT_COVERED);
	/* A nanosecond is a stall in the virtual world, and none where it is measured. */
	run_0->points[4].stall.p50 = 1;
	assert_int_equal(verdict(&claims, false), WP_VERDICT_DIFFERS);
	strcpy(run_0->world, "model");
	assert_int_equal(verdict(&claims, true), WP_VERDICT_AGREES);
	run_0->points[4].stall.p50 = 6000000;
	assert_int_equal(verdict(&claims, true), WP_VERDICT_DIFFERS);
	run_0->points[4].stall.p50 = 0;
	/* A shorter compute, another model or too small volumes say nothing about the claim. */
	run_0->compute_full_ns /= 2;
	assert_int_equal(verdict(&claims, true), WP_VERDICT_NOT_COVERED);
	run_0->compute_full_ns *= 2;
	run_0->count = 4;
	assert_int_equal(verdict(&claims, true), WP_VERDICT_NOT_COVERED);
	run_0->count = 22;
	/* A copy that stalls nothing with one buffer either is too short to tell. */
	for (uint32_t i = 0; i < run_0->count; i++)
		if (run_0->points[i].buffers == 1)
			run_0->points[i].stall.p50 = 0;
	assert_int_equal(verdict(&claims, true), WP_VERDICT_NOT_COVERED);
	strcpy(run_0->model, "other");
	assert_int_equal(verdict(&claims, true), WP_VERDICT_NOT_COVERED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_stalls),   cmocka_unit_test(test_odd_volumes),
	    cmocka_unit_test(test_refusals), cmocka_unit_test(test_document),
	    cmocka_unit_test(test_verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
