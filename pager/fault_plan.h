/*
 * What is to go wrong with a store or a device, as one line that can be put
 * into a bug report and read back:
 *
 *   read.flip~1/200,read.never@40,copy.delay@3+=5000000
 *
 *   OPERATION  read verify write commit copy fetch encode decode compute any
 *   KIND       error      answered with an error, nothing done; =N: errno [EIO]
 *              short      bytes of the end are missing, and nobody says so
 *              flip       one bit is another
 *              misdirect  the bytes of another block
 *              delay      answered later; =N: by so many nanoseconds [1 s]
 *              never      not answered
 *   WHEN       @N    the N-th of its operations, counted from 1
 *              ~A/B  each with that chance
 *              +     behind either: from the first one that was hit on, all
 *
 * short and flip belong to read, copy and fetch, misdirect to read. Writes are
 * not damaged: the store takes their checksums behind this seam, so that it would
 * vouch for the damage; a drive that garbles what it keeps shows when it is read.
 */
#ifndef WP_FAULT_PLAN_H
#define WP_FAULT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pager/check.h"
#include "pager/request.h"

#define WP_FAULT_RULES_MAX  8u
#define WP_FAULT_PLAN_BYTES 512u

enum wp_fault_kind {
	WP_FAULT_ERROR,
	WP_FAULT_SHORT,
	WP_FAULT_FLIP,
	WP_FAULT_MISDIRECT,
	WP_FAULT_DELAY,
	WP_FAULT_NEVER,
	WP_FAULT_KINDS
};

struct wp_fault_rule {
	enum wp_op op; /* WP_OP_COUNT: any */
	enum wp_fault_kind kind;
	uint64_t nth; /* 0: by chance */
	uint64_t chance, chance_of;
	bool lasting;
	uint64_t value; /* error: errno; delay: ns; else 0 */
};

/* All zero: nothing goes wrong. */
struct wp_fault_plan {
	struct wp_fault_rule rules[WP_FAULT_RULES_MAX];
	uint32_t count;
};

/* 0, or -EINVAL with `why` filled: what is wrong, and where. An empty text is an empty plan. */
int wp_fault_plan_parse(struct wp_fault_plan *plan, const char *text, char *why,
			size_t why_bytes) WP_MUST_USE;

/* The same line in its one form; parses back to the same plan. Returns `text`. */
char *wp_fault_plan_text(const struct wp_fault_plan *plan, char text[WP_FAULT_PLAN_BYTES]);

#endif
