/*
 * Numbers with units as a user writes and reads them. Independent of the
 * locale; decimal fractions are exact (0.25GB/s is 250,000,000 bytes a second,
 * and so is 238.4185791015625MiB/s).
 *
 * Units: B kB MB GB TB (powers of 1000; KB is kB), KiB MiB GiB TiB (of 1024),
 * for rates followed by /s. A unit is required. Exponents, hexadecimal, signs,
 * bits (Mb), NaN and infinities are refused. `what` names the option or key in
 * the message. All return 0, or -1 with `error` set (exit code 2).
 */
#ifndef WP_UNITS_H
#define WP_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/error.h"

/* Bytes a second, at least 1. Fractions of a byte are rounded to the nearest. */
int wp_units_parse_rate(const char *what, const char *text, uint64_t *bytes_per_s,
			struct wp_error *error) WP_MUST_USE;

/* The same; "unlimited" gives 0. */
int wp_units_parse_rate_or_unlimited(const char *what, const char *text, uint64_t *bytes_per_s,
				     struct wp_error *error) WP_MUST_USE;

/* Bytes, at least 1. */
int wp_units_parse_bytes(const char *what, const char *text, uint64_t *bytes,
			 struct wp_error *error) WP_MUST_USE;

/* "1/16", "0.5" or "1": a number in (0, 1]. */
int wp_units_parse_ratio(const char *what, const char *text, double *ratio,
			 struct wp_error *error) WP_MUST_USE;

/* A whole decimal number in [minimum, maximum]. */
int wp_units_parse_count(const char *what, const char *text, uint64_t minimum, uint64_t maximum,
			 uint64_t *count, struct wp_error *error) WP_MUST_USE;

/* Seconds with a decimal fraction, "1740553426.194021", in ns, to the nearest. */
int wp_units_parse_seconds(const char *what, const char *text, uint64_t *duration_ns,
			   struct wp_error *error) WP_MUST_USE;

/* Room for any text that the functions below make. */
#define WP_UNITS_TEXT 64

/* Each fills `text` (at least WP_UNITS_TEXT bytes) and returns it. */
char *wp_units_bytes(char *text, uint64_t bytes);	     /* "129.3 MB (123.3 MiB)" */
char *wp_units_rate(char *text, uint64_t bytes_per_s);	     /* "250.0 MB/s (238.4 MiB/s)" */
char *wp_units_rate_in_gb(char *text, uint64_t bytes_per_s); /* "0.25": GB/s, no unit, no zeros */
char *wp_units_duration(char *text, uint64_t duration_ns); /* "1.200 s", "45.0 s", "37 min 30 s" */
char *wp_units_count(char *text, uint64_t count);	   /* "129,254,400" */
char *wp_units_counted(char *text, uint64_t count, const char *noun); /* "1 block", "2 blocks" */

/* `value` with `decimals` (0..9) digits after the point, rounded to nearest even at
 * halves, decimal point whatever the locale; |value| < 9e9 / 10^-9 (checked). */
char *wp_units_fixed(char *text, double value, unsigned decimals);

#endif
