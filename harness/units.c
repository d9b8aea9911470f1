/*
 * Numbers with units: parsing and printing. Not a general number parser: it
 * takes plain decimals only, because a limit that means something else than it
 * says is worse than none. The one idea: a decimal is kept as whole part and
 * fraction over a power of ten and multiplied by its unit in 128-bit integers,
 * so no value ever passes through floating point.
 */
#include "harness/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define FRACTION_DIGITS_MAX 18
#define FIXED_RATE_MAX	    8000000000000000000u

struct decimal {
	uint64_t whole;
	uint64_t fraction; /* in units of 1 / fraction_one */
	uint64_t fraction_one;
	size_t length; /* characters taken */
};

struct unit {
	const char *name;
	uint64_t bytes;
};

static const struct unit units[] = {
    {"B", 1},
    {"kB", 1000},
    {"KB", 1000},
    {"MB", 1000000},
    {"GB", 1000000000},
    {"TB", 1000000000000},
    {"KiB", 1ull << 10},
    {"MiB", 1ull << 20},
    {"GiB", 1ull << 30},
    {"TiB", 1ull << 40},
};

#define UNIT_COUNT (sizeof(units) / sizeof(units[0]))

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int refuse(struct wp_error *error, const char *what, const char *text, const char *why)
{
	return wp_error_set(error, WP_EXIT_USAGE, "%s: \"%.100s\" %s", what, text, why);
}

/* The reason a number cannot be read, or NULL with `decimal` filled. */
static const char *read_decimal(const char *text, struct decimal *decimal)
{
	const char *at = text;
	unsigned digits = 0;

	*decimal = (struct decimal){.fraction_one = 1};
	if (*at == '-')
		return "is negative";
	if (!is_digit(*at))
		return "is not a number (a plain decimal is wanted)";
	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		return "is hexadecimal (a plain decimal is wanted)";
	for (; is_digit(*at); at++) {
		if (__builtin_mul_overflow(decimal->whole, 10u, &decimal->whole) ||
		    __builtin_add_overflow(decimal->whole, (uint64_t)(*at - '0'), &decimal->whole))
			return "is too large";
	}
	if (*at == '.') {
		at++;
		if (!is_digit(*at))
			return "has no digit after its decimal point";
		for (; is_digit(*at); at++) {
			if (digits == FRACTION_DIGITS_MAX) {
				if (*at != '0')
					return "has more than 18 digits after its decimal point";
				continue;
			}
			decimal->fraction = decimal->fraction * 10 + (uint64_t)(*at - '0');
			decimal->fraction_one *= 10;
			digits++;
		}
	} else if (*at == ',') {
		return "has a comma (the decimal point is \".\", and digits are not grouped)";
	}
	if ((*at == 'e' || *at == 'E') && (is_digit(at[1]) || at[1] == '+' || at[1] == '-'))
		return "has an exponent (a plain decimal is wanted)";
	decimal->length = (size_t)(at - text);
	return NULL;
}

static const struct unit *find_unit(const char *text, const char *suffix)
{
	for (size_t i = 0; i < UNIT_COUNT; i++) {
		size_t length = strlen(units[i].name);

		if (!strncmp(text, units[i].name, length) && !strcmp(text + length, suffix))
			return &units[i];
	}
	return NULL;
}

/* "Mb", "Gbit/s", "kbps": bits, or at least likely to be meant as bits. */
static bool looks_like_bits(const char *text)
{
	if (*text && strchr("kKmMgGtT", *text))
		text++;
	if (*text == 'i')
		text++;
	return *text == 'b';
}

static int parse_amount(const char *what, const char *text, const char *suffix, uint64_t *amount,
			struct wp_error *error)
{
	struct decimal decimal;
	const struct unit *unit;
	const char *why = read_decimal(text, &decimal);
	const char *unit_text;
	__uint128_t product;

	if (why)
		return refuse(error, what, text, why);
	unit_text = text + decimal.length;
	if (*unit_text == ' ')
		unit_text++;
	unit = find_unit(unit_text, suffix);
	if (!unit) {
		if (*unit_text == '\0')
			why = *suffix ? "has no unit (GB/s, MB/s, MiB/s, ...)"
				      : "has no unit (GB, MB, GiB, ...)";
		else if (looks_like_bits(unit_text))
			why = "looks like bits; bytes are meant here (capital B: MB, MiB)";
		else
			why = *suffix ? "has no known unit (B/s kB/s MB/s GB/s TB/s KiB/s MiB/s "
					"GiB/s TiB/s)"
				      : "has no known unit (B kB MB GB TB KiB MiB GiB TiB)";
		return refuse(error, what, text, why);
	}
	if (unit->bytes == 1 && decimal.fraction)
		return refuse(error, what, text, "is not a whole number of bytes");
	product = (__uint128_t)decimal.fraction * unit->bytes;
	product = (product + decimal.fraction_one / 2) / decimal.fraction_one;
	product += (__uint128_t)decimal.whole * unit->bytes;
	if (product > INT64_MAX) /* more than a document can say */
		return refuse(error, what, text, "is too large");
	if (product == 0)
		return refuse(error, what, text, "must be greater than zero");
	*amount = (uint64_t)product;
	return 0;
}

int wp_units_parse_rate(const char *what, const char *text, uint64_t *bytes_per_s,
			struct wp_error *error)
{
	return parse_amount(what, text, "/s", bytes_per_s, error);
}

int wp_units_parse_rate_or_unlimited(const char *what, const char *text, uint64_t *bytes_per_s,
				     struct wp_error *error)
{
	if (!strcmp(text, "unlimited")) {
		*bytes_per_s = 0;
		return 0;
	}
	return parse_amount(what, text, "/s", bytes_per_s, error);
}

int wp_units_parse_bytes(const char *what, const char *text, uint64_t *bytes,
			 struct wp_error *error)
{
	return parse_amount(what, text, "", bytes, error);
}

static double decimal_value(const struct decimal *decimal)
{
	return (double)decimal->whole + (double)decimal->fraction / (double)decimal->fraction_one;
}

int wp_units_parse_ratio(const char *what, const char *text, double *ratio, struct wp_error *error)
{
	struct decimal above, below = {.whole = 1, .fraction_one = 1};
	const char *why = read_decimal(text, &above);
	const char *rest;
	double value;

	if (why)
		return refuse(error, what, text, why);
	rest = text + above.length;
	if (*rest == '/') {
		rest++;
		why = read_decimal(rest, &below);
		if (why)
			return refuse(error, what, text, "is not a ratio such as 1/16 or 0.5");
		rest += below.length;
	}
	if (*rest)
		return refuse(error, what, text, "is not a ratio such as 1/16 or 0.5");
	if (below.whole == 0 && below.fraction == 0)
		return refuse(error, what, text, "divides by zero");
	value = decimal_value(&above) / decimal_value(&below);
	if (!(value > 0 && value <= 1))
		return refuse(error, what, text, "must be greater than 0 and at most 1");
	*ratio = value;
	return 0;
}

int wp_units_parse_count(const char *what, const char *text, uint64_t minimum, uint64_t maximum,
			 uint64_t *count, struct wp_error *error)
{
	struct decimal decimal;
	const char *why = read_decimal(text, &decimal);

	if (!why && (text[decimal.length] || decimal.fraction_one != 1))
		why = "is not a whole number";
	if (why)
		return refuse(error, what, text, why);
	if (decimal.whole < minimum || decimal.whole > maximum)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "%s: %.100s is out of range (%llu to %llu)", what, text,
				    (unsigned long long)minimum, (unsigned long long)maximum);
	*count = decimal.whole;
	return 0;
}

int wp_units_parse_seconds(const char *what, const char *text, uint64_t *duration_ns,
			   struct wp_error *error)
{
	struct decimal decimal;
	const char *why = read_decimal(text, &decimal);
	__uint128_t product;

	if (!why && text[decimal.length])
		why = "is not a number of seconds";
	if (why)
		return refuse(error, what, text, why);
	product = (__uint128_t)decimal.fraction * 1000000000u + decimal.fraction_one / 2;
	product = product / decimal.fraction_one + (__uint128_t)decimal.whole * 1000000000u;
	if (product > UINT64_MAX)
		return refuse(error, what, text, "is too large");
	*duration_ns = (uint64_t)product;
	return 0;
}

char *wp_units_fixed(char *text, double value, unsigned decimals)
{
	uint64_t one = 1;
	double scaled;
	uint64_t units_abs;

	WP_CHECK(decimals <= 9);
	for (unsigned i = 0; i < decimals; i++)
		one *= 10;
	scaled = rint(fabs(value) * (double)one);
	WP_CHECK(scaled < 9e18);
	units_abs = (uint64_t)scaled;
	if (decimals)
		snprintf(text, WP_UNITS_TEXT, "%s%llu.%0*llu", value < 0 && units_abs ? "-" : "",
			 (unsigned long long)(units_abs / one), (int)decimals,
			 (unsigned long long)(units_abs % one));
	else
		snprintf(text, WP_UNITS_TEXT, "%s%llu", value < 0 && units_abs ? "-" : "",
			 (unsigned long long)units_abs);
	return text;
}

/* "129.3 MB" with the largest unit that leaves at least 1 before the point. */
static void print_amount(char *text, uint64_t amount, unsigned base, const char *suffix)
{
	static const char *const decimal_names[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
	static const char *const binary_names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)amount;
	unsigned power = 0;
	char number[WP_UNITS_TEXT];

	/* 999.95 would print as 1000.0 of the smaller unit. */
	while (power < 6 && value >= (power ? base - 0.05 : base)) {
		value /= base;
		power++;
	}
	wp_units_fixed(number, value, power ? 1 : 0);
	snprintf(text, WP_UNITS_TEXT, "%.24s %s%s", number,
		 base == 1000 ? decimal_names[power] : binary_names[power], suffix);
}

static char *print_both(char *text, uint64_t amount, const char *suffix)
{
	char decimal[WP_UNITS_TEXT], binary[WP_UNITS_TEXT];

	print_amount(decimal, amount, 1000, suffix);
	print_amount(binary, amount, 1024, suffix);
	if (amount < 1000)
		snprintf(text, WP_UNITS_TEXT, "%.30s", decimal);
	else
		snprintf(text, WP_UNITS_TEXT, "%.30s (%.30s)", decimal, binary);
	return text;
}

char *wp_units_bytes(char *text, uint64_t bytes)
{
	return print_both(text, bytes, "");
}

char *wp_units_rate(char *text, uint64_t bytes_per_s)
{
	return print_both(text, bytes_per_s, "/s");
}

char *wp_units_duration(char *text, uint64_t duration_ns)
{
	char number[WP_UNITS_TEXT];
	uint64_t seconds = duration_ns / 1000000000u;

	if (duration_ns < 1000u)
		snprintf(text, WP_UNITS_TEXT, "%llu ns", (unsigned long long)duration_ns);
	else if (duration_ns < 1000000u)
		snprintf(text, WP_UNITS_TEXT, "%.30s us",
			 wp_units_fixed(number, (double)duration_ns / 1e3, 1));
	else if (seconds < 1)
		snprintf(text, WP_UNITS_TEXT, "%.30s ms",
			 wp_units_fixed(number, (double)duration_ns / 1e6, 1));
	else if (seconds < 100)
		snprintf(text, WP_UNITS_TEXT, "%.30s s",
			 wp_units_fixed(number, (double)duration_ns / 1e9, seconds < 10 ? 3 : 1));
	else if (seconds < 7200)
		snprintf(text, WP_UNITS_TEXT, "%llu min %llu s", (unsigned long long)(seconds / 60),
			 (unsigned long long)(seconds % 60));
	else
		snprintf(text, WP_UNITS_TEXT, "%llu h %llu min",
			 (unsigned long long)(seconds / 3600),
			 (unsigned long long)(seconds / 60 % 60));
	return text;
}

char *wp_units_count(char *text, uint64_t count)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	char *at = text;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*at++ = ',';
		*at++ = digits[i];
	}
	*at = '\0';
	return text;
}

char *wp_units_counted(char *text, uint64_t count, const char *noun)
{
	snprintf(text, WP_UNITS_TEXT, "%" PRIu64 " %s%s", count, noun, count == 1 ? "" : "s");
	return text;
}

char *wp_units_rate_in_gb(char *text, uint64_t bytes_per_s)
{
	size_t end;

	/* More than any text of nine decimals holds is a document's mistake, not a drive's. */
	wp_units_fixed(
	    text, (double)(bytes_per_s < FIXED_RATE_MAX ? bytes_per_s : FIXED_RATE_MAX) / 1e9, 9);
	for (end = strlen(text); text[end - 1] == '0'; end--)
		text[end - 1] = '\0';
	if (text[end - 1] == '.')
		text[end - 1] = '\0';
	return text;
}
