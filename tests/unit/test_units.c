/* Numbers with units: what is accepted to the byte, and what is refused and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "harness/units.h"

static void test_rates(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes_per_s;
	} rates[] = {
	    {"0.25GB/s", 250000000},
	    {"250MB/s", 250000000},
	    {"250000000B/s", 250000000},
	    {"250000 kB/s", 250000000},
	    {"238.4185791015625MiB/s", 250000000},
	    {"0.250000000000000000000GB/s", 250000000},
	    {"0.1GB/s", 100000000},
	    {"0.35GB/s", 350000000},
	    {"3.5GB/s", 3500000000},
	    {"1KB/s", 1000},
	    {"1KiB/s", 1024},
	    {"0.3KiB/s", 307},
	    {"8GiB/s", 8589934592},
	    {"5000000000B/s", 5000000000},
	    {"0.000000001GB/s", 1},
	    {"9223372036854775807B/s", INT64_MAX},
	    {"007MB/s", 7000000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct wp_error error = {0};
		uint64_t value = 0;

		if (wp_units_parse_rate("--bandwidth", rates[i].text, &value, &error) < 0)
			fail_msg("%s", error.text);
		if (value != rates[i].bytes_per_s)
			fail_msg("%s is %llu", rates[i].text, (unsigned long long)value);
	}
}

static void test_refused_rates(void **state)
{
	static const struct {
		const char *text, *why;
	} rates[] = {
	    {"", "is not a number"},
	    {"250000000", "has no unit"},
	    {"0.25", "has no unit"},
	    {"0.25GB", "has no known unit"},
	    {"0.25GB/h", "has no known unit"},
	    {"0.25 GB/s ", "has no known unit"},
	    {"0.25  GB/s", "has no known unit"},
	    {"0.25gB/s", "has no known unit"},
	    {"0.25GBps", "has no known unit"},
	    {"1M", "has no known unit"},
	    {"0.25Gb/s", "looks like bits"},
	    {"250Mbit/s", "looks like bits"},
	    {"250mb/s", "looks like bits"},
	    {"2Gibps", "looks like bits"},
	    {"0GB/s", "must be greater than zero"},
	    {"0.0MB/s", "must be greater than zero"},
	    {"0.0001kB/s", "must be greater than zero"},
	    {"-1MB/s", "is negative"},
	    {"+1MB/s", "is not a number"},
	    {" 1MB/s", "is not a number"},
	    {".5MB/s", "is not a number"},
	    {"5.MB/s", "has no digit after its decimal point"},
	    {"nan", "is not a number"},
	    {"NaNMB/s", "is not a number"},
	    {"inf", "is not a number"},
	    {"0x100000B/s", "is hexadecimal"},
	    {"1e6B/s", "has an exponent"},
	    {"1E6B/s", "has an exponent"},
	    {"1e+6B/s", "has an exponent"},
	    {"0,25GB/s", "has a comma"},
	    {"1048576.5B/s", "is not a whole number of bytes"},
	    {"18446744073709551616B/s", "is too large"},
	    {"99999999999999999999999GB/s", "is too large"},
	    {"18446744073709551615TiB/s", "is too large"},
	    {"9223372036854775808B/s", "is too large"}, /* JSON of documents has no such number */
	    {"0.0000000000000000001TB/s", "has more than 18 digits"},
	    {"unlimited", "is not a number"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct wp_error error = {0};
		uint64_t value = 7;

		if (wp_units_parse_rate("--bandwidth", rates[i].text, &value, &error) == 0)
			fail_msg("\"%s\" is taken as %llu", rates[i].text,
				 (unsigned long long)value);
		if (!strstr(error.text, rates[i].why))
			fail_msg("%s: %s", rates[i].text, error.text);
		assert_int_equal(error.exit_code, WP_EXIT_USAGE);
		assert_int_equal(strncmp(error.text, "--bandwidth: ", 13), 0);
		assert_int_equal(value, 7);
	}
}

static void test_unlimited(void **state)
{
	struct wp_error error;
	uint64_t value = 7;

	(void)state;
	assert_int_equal(wp_units_parse_rate_or_unlimited("x", "unlimited", &value, &error), 0);
	assert_int_equal(value, 0);
	assert_int_equal(wp_units_parse_rate_or_unlimited("x", "2B/s", &value, &error), 0);
	assert_int_equal(value, 2);
	assert_int_equal(wp_units_parse_rate_or_unlimited("x", "0B/s", &value, &error), -1);
}

static void test_bytes(void **state)
{
	struct wp_error error;
	uint64_t value;

	(void)state;
	assert_int_equal(wp_units_parse_bytes("x", "32GiB", &value, &error), 0);
	assert_int_equal(value, 34359738368);
	assert_int_equal(wp_units_parse_bytes("x", "1200TB", &value, &error), 0);
	assert_int_equal(value, 1200000000000000);
	assert_int_equal(wp_units_parse_bytes("x", "1GB/s", &value, &error), -1);
	assert_int_equal(wp_units_parse_bytes("x", "4096", &value, &error), -1);
}

static void test_ratios(void **state)
{
	static const char *const refused[] = {"0",  "0/16", "1/0",  "2",    "17/16", "1/",  "/2",
					      "-1", "1e-3", "half", "1/2x", "",	     "1//2"};
	struct wp_error error;
	double ratio;

	(void)state;
	assert_int_equal(wp_units_parse_ratio("x", "1/16", &ratio, &error), 0);
	assert_true(ratio == 0.0625);
	assert_int_equal(wp_units_parse_ratio("x", "0.5", &ratio, &error), 0);
	assert_true(ratio == 0.5);
	assert_int_equal(wp_units_parse_ratio("x", "1", &ratio, &error), 0);
	assert_true(ratio == 1);
	assert_int_equal(wp_units_parse_ratio("x", "1.5/3", &ratio, &error), 0);
	assert_true(ratio == 0.5);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (wp_units_parse_ratio("x", refused[i], &ratio, &error) == 0)
			fail_msg("\"%s\" is taken as %g", refused[i], ratio);
	}
}

static void test_counts(void **state)
{
	static const char *const refused[] = {"0",  "65",  "2.0", "2 ", "two",
					      "-1", "0x2", "1e1", ""};
	struct wp_error error;
	uint64_t value;

	(void)state;
	assert_int_equal(wp_units_parse_count("--k", "64", 1, 64, &value, &error), 0);
	assert_int_equal(value, 64);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (wp_units_parse_count("--k", refused[i], 1, 64, &value, &error) == 0)
			fail_msg("\"%s\" is taken as %llu", refused[i], (unsigned long long)value);
	}
}

static void test_seconds(void **state)
{
	static const char *const refused[] = {"",    "-1",  "1s",    "1.",	    "1e3",
					      "nan", "0x1", "1,000", "18446744074", " 1"};
	struct wp_error error;
	uint64_t value;

	(void)state;
	assert_int_equal(wp_units_parse_seconds("t", "1740553426.194021", &value, &error), 0);
	assert_int_equal(value, 1740553426194021000);
	assert_int_equal(wp_units_parse_seconds("t", "0.0000000005", &value, &error), 0);
	assert_int_equal(value, 1);
	assert_int_equal(wp_units_parse_seconds("t", "0", &value, &error), 0);
	assert_int_equal(value, 0);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (wp_units_parse_seconds("t", refused[i], &value, &error) == 0)
			fail_msg("\"%s\" is taken as %llu", refused[i], (unsigned long long)value);
	}
}

static void test_printing(void **state)
{
	char text[WP_UNITS_TEXT];

	(void)state;
	assert_string_equal(wp_units_bytes(text, 129254400), "129.3 MB (123.3 MiB)");
	assert_string_equal(wp_units_bytes(text, 999), "999 B");
	assert_string_equal(wp_units_bytes(text, 1000), "1.0 kB (1000 B)");
	assert_string_equal(wp_units_bytes(text, 999999), "1.0 MB (976.6 KiB)");
	assert_string_equal(wp_units_bytes(text, UINT64_MAX), "18.4 EB (16.0 EiB)");
	assert_string_equal(wp_units_rate(text, 250000000), "250.0 MB/s (238.4 MiB/s)");
	assert_string_equal(wp_units_duration(text, 999), "999 ns");
	assert_string_equal(wp_units_duration(text, 140000), "140.0 us");
	assert_string_equal(wp_units_duration(text, 1034035200), "1.034 s");
	assert_string_equal(wp_units_duration(text, 92500000), "92.5 ms");
	assert_string_equal(wp_units_duration(text, 45000000000), "45.0 s");
	assert_string_equal(wp_units_duration(text, 2250000000000), "37 min 30 s");
	assert_string_equal(wp_units_duration(text, 7200000000000), "2 h 0 min");
	assert_string_equal(wp_units_count(text, 0), "0");
	assert_string_equal(wp_units_count(text, 243302400), "243,302,400");
	assert_string_equal(wp_units_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(wp_units_counted(text, 0, "block"), "0 blocks");
	assert_string_equal(wp_units_counted(text, 1, "block"), "1 block");
	assert_string_equal(wp_units_counted(text, 2, "block"), "2 blocks");
	assert_string_equal(wp_units_fixed(text, -0.0000004, 6), "0.000000");
	assert_string_equal(wp_units_fixed(text, -1.5, 6), "-1.500000");
	assert_string_equal(wp_units_fixed(text, 2.8125, 2), "2.81");
	assert_string_equal(wp_units_fixed(text, 12, 0), "12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rates),     cmocka_unit_test(test_refused_rates),
	    cmocka_unit_test(test_unlimited), cmocka_unit_test(test_bytes),
	    cmocka_unit_test(test_ratios),    cmocka_unit_test(test_counts),
	    cmocka_unit_test(test_seconds),   cmocka_unit_test(test_printing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
