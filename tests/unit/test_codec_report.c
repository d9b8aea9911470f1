/*
 * The codec report: its errors must be those that the codecs' arithmetic
 * predicts, and moving keys must not add to them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/experiments/codec_report.h"

#define SEED 7u

static struct wp_codec_report report;

static int make(void **state)
{
	struct wp_error error;

	(void)state;
	return wp_codec_report_make(&report, SEED, &error);
}

static void test_bf16_rounds_only(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < report.count; i++) {
		const struct wp_codec_report_row *row = &report.rows[i];

		if (row->codec != &wp_codec_bf16)
			continue;
		/* A rounding errs by at most 2^-9; moved keys are rounded twice. */
		assert_true(row->value_error > 0 && row->value_error < 1.0 / 512);
		assert_true(row->key_error < 2.0 / 512);
		assert_true(row->attention_error_max < 0.01);
	}
}

static void test_int4_costs_what_a_step_costs(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < report.count; i++) {
		const struct wp_codec_report_row *row = &report.rows[i];

		if (row->codec != &wp_codec_int4)
			continue;
		/* Uniform in +-scale / 2; of 64 normal values the largest is about 2.5: */
		/* 2.5 / 7 / sqrt(12) = 0.10. Outlier channels make keys worse. */
		assert_true(row->value_error > 0.08 && row->value_error < 0.13);
		assert_true(row->key_error > row->value_error && row->key_error < 0.3);
		assert_true(row->key_cosine > 0.95 && row->key_cosine < 1.0);
		assert_true(row->key_cosine_min <= row->key_cosine);
		assert_true(row->attention_error_max >= row->attention_error_mean);
	}
}

static void test_gap_adds_nothing(void **state)
{
	const struct wp_codec_report_row *still = NULL;

	(void)state;
	for (uint32_t i = 0; i < report.count; i++) {
		const struct wp_codec_report_row *row = &report.rows[i];

		if (row->gap_latents == 0)
			still = row;
		assert_non_null(still);
		assert_ptr_equal(row->codec, still->codec);
		assert_true(row->key_error < 1.3 * still->key_error);
		assert_true(row->attention_error_mean < 1.3 * still->attention_error_mean);
		assert_true(row->value_error == still->value_error);
	}
	assert_int_equal(report.rows[report.count - 1].gap_latents, 9000);
}

static void assert_close(double found, double expected)
{
	if (!(fabs(found - expected) <= 1e-4 * expected))
		fail_msg("%.9g instead of %.9g", found, expected);
}

/* Worked out for this seed by another program: all that is drawn, softmax attention, both
 * codecs and the local block, without a line of this one. */
static void test_figures_of_another_model(void **state)
{
	static const struct {
		const struct wp_codec *codec;
		double key, value, attention_mean, attention_max;
	} expected[] = {
	    {&wp_codec_bf16, 0.00169882, 0.00166252, 0.00217671, 0.00241626},
	    {&wp_codec_int4, 0.180093, 0.107718, 0.131424, 0.165798},
	};
	uint32_t found = 0;

	(void)state;
	for (uint32_t i = 0; i < report.count; i++) {
		const struct wp_codec_report_row *row = &report.rows[i];

		for (uint32_t c = 0; c < 2; c++) {
			if (row->codec != expected[c].codec || row->gap_latents != 0)
				continue;
			assert_close(row->key_error, expected[c].key);
			assert_close(row->value_error, expected[c].value);
			assert_close(row->attention_error_mean, expected[c].attention_mean);
			assert_close(row->attention_error_max, expected[c].attention_max);
			found++;
		}
	}
	assert_int_equal(found, 2);
}

static void test_forms(void **state)
{
	char text[65536] = "";
	FILE *stream = fmemopen(text, sizeof(text), "w");
	struct wp_error error;

	(void)state;
	assert_non_null(stream);
	wp_codec_report_markdown(&report, stream);
	wp_codec_report_table(&report, stream);
	assert_int_equal(wp_codec_report_json(&report, stream, &error), 0);
	assert_int_equal(fclose(stream), 0);
	assert_non_null(strstr(text, "not the\npaper's image score"));
	assert_non_null(strstr(text, "| int4 | 4.25 | 9000 |"));
	assert_non_null(strstr(text, "\nint4 9000 "));
	assert_non_null(strstr(text, "\"attention_relative_error_heads\": ["));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bf16_rounds_only),
	    cmocka_unit_test(test_int4_costs_what_a_step_costs),
	    cmocka_unit_test(test_gap_adds_nothing),
	    cmocka_unit_test(test_figures_of_another_model),
	    cmocka_unit_test(test_forms),
	};

	printf("test_codec_report: seed %u\n", SEED);
	return cmocka_run_group_tests(tests, make, NULL);
}
