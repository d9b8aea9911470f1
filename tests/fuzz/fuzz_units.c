/*
 * Fuzzes numbers with units: what parses is in range, and what is written back
 * by the formatters fits its room.
 */
#include <string.h>

#include "harness/units.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_error error;
	char text[256], out[WP_UNITS_TEXT];
	uint64_t value;
	double ratio;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (wp_units_parse_rate("rate", text, &value, &error) == 0) {
		WP_CHECK(value >= 1);
		WP_CHECK(strlen(wp_units_rate(out, value)) < WP_UNITS_TEXT);
	} else {
		WP_CHECK(error.exit_code == WP_EXIT_USAGE && error.text[0]);
	}
	if (wp_units_parse_rate_or_unlimited("rate", text, &value, &error) == 0 && value == 0)
		WP_CHECK(strcmp(text, "unlimited") == 0);
	if (wp_units_parse_bytes("bytes", text, &value, &error) == 0) {
		WP_CHECK(value >= 1);
		WP_CHECK(strlen(wp_units_bytes(out, value)) < WP_UNITS_TEXT);
		WP_CHECK(strlen(wp_units_count(out, value)) < WP_UNITS_TEXT);
		WP_CHECK(strlen(wp_units_duration(out, value)) < WP_UNITS_TEXT);
	}
	if (wp_units_parse_ratio("ratio", text, &ratio, &error) == 0)
		WP_CHECK(ratio > 0 && ratio <= 1);
	if (wp_units_parse_count("count", text, 3, 1000, &value, &error) == 0)
		WP_CHECK(value >= 3 && value <= 1000);
	return 0;
}
