/* Fault plans as text, there and back. Decides nothing about when they strike. */
#include "pager/fault_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ERRNO_MAX	 4095u
#define DELAY_DEFAULT_NS 1000000000u

static const char *const op_names[WP_OP_COUNT + 1] = {
    [WP_OP_READ] = "read",     [WP_OP_VERIFY] = "verify", [WP_OP_WRITE] = "write",
    [WP_OP_COMMIT] = "commit", [WP_OP_COPY] = "copy",	  [WP_OP_FETCH] = "fetch",
    [WP_OP_ENCODE] = "encode", [WP_OP_DECODE] = "decode", [WP_OP_COMPUTE] = "compute",
    [WP_OP_COUNT] = "any",
};

static const char *const kind_names[WP_FAULT_KINDS] = {
    [WP_FAULT_ERROR] = "error",		[WP_FAULT_SHORT] = "short", [WP_FAULT_FLIP] = "flip",
    [WP_FAULT_MISDIRECT] = "misdirect", [WP_FAULT_DELAY] = "delay", [WP_FAULT_NEVER] = "never",
};

static uint64_t value_default(enum wp_fault_kind kind)
{
	return kind == WP_FAULT_ERROR ? EIO : kind == WP_FAULT_DELAY ? DELAY_DEFAULT_NS : 0;
}

/* Takes a word of the list from the front of the text; its index, or -1. */
static int take_name(const char **text, const char *const *names, int count)
{
	size_t length = strspn(*text, "abcdefghijklmnopqrstuvwxyz");

	for (int i = 0; i < count; i++) {
		if (strlen(names[i]) == length && !strncmp(*text, names[i], length)) {
			*text += length;
			return i;
		}
	}
	return -1;
}

/* Takes a whole number of at least 1; false if there is none. */
static bool take_number(const char **text, uint64_t *number)
{
	const char *at = *text;
	uint64_t value = 0;

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return false;
	if (value == 0)
		return false;
	*number = value;
	*text = at;
	return true;
}

static bool take_char(const char **text, char wanted)
{
	if (**text != wanted)
		return false;
	++*text;
	return true;
}

static bool can_be_damaged(enum wp_op op)
{
	return op == WP_OP_READ || op == WP_OP_COPY || op == WP_OP_FETCH;
}

static const char *parse_when(struct wp_fault_rule *rule, const char **at)
{
	if (take_char(at, '@')) {
		if (!take_number(at, &rule->nth))
			return "a number of at least 1 is needed after @";
	} else if (take_char(at, '~')) {
		if (!take_number(at, &rule->chance) || !take_char(at, '/') ||
		    !take_number(at, &rule->chance_of) || rule->chance > rule->chance_of)
			return "a chance such as 1/200 is needed after ~";
	} else {
		return "@N or ~A/B is needed";
	}
	rule->lasting = take_char(at, '+');
	return NULL;
}

static const char *parse_rule(struct wp_fault_rule *rule, const char **at)
{
	int op = take_name(at, op_names, WP_OP_COUNT + 1);
	const char *wrong;
	int kind;

	if (op < 0 || !take_char(at, '.'))
		return "an operation and a point are needed";
	kind = take_name(at, kind_names, WP_FAULT_KINDS);
	if (kind < 0)
		return "a kind of fault is needed";
	rule->op = (enum wp_op)op;
	rule->kind = (enum wp_fault_kind)kind;
	if ((rule->kind == WP_FAULT_SHORT || rule->kind == WP_FAULT_FLIP) &&
	    !can_be_damaged(rule->op))
		return "only reads, copies and fetches are damaged";
	if (rule->kind == WP_FAULT_MISDIRECT && rule->op != WP_OP_READ)
		return "only reads are misdirected";
	wrong = parse_when(rule, at);
	if (wrong)
		return wrong;
	rule->value = value_default(rule->kind);
	if (!take_char(at, '='))
		return NULL;
	if (!rule->value)
		return "that kind takes no value";
	if (!take_number(at, &rule->value) ||
	    (rule->kind == WP_FAULT_ERROR && rule->value > ERRNO_MAX))
		return "that value is no number, or too large";
	return NULL;
}

int wp_fault_plan_parse(struct wp_fault_plan *plan, const char *text, char *why, size_t why_bytes)
{
	const char *at = text;
	const char *wrong = NULL;

	memset(plan, 0, sizeof(*plan));
	while (*at && !wrong) {
		if (plan->count == WP_FAULT_RULES_MAX)
			wrong = "too many rules";
		else
			wrong = parse_rule(&plan->rules[plan->count++], &at);
		if (!wrong && *at && !(take_char(&at, ',') && *at))
			wrong = "a comma and another rule, or the end, are needed";
	}
	if (!wrong)
		return 0;
	snprintf(why, why_bytes, "at character %zu: %s", (size_t)(at - text) + 1, wrong);
	memset(plan, 0, sizeof(*plan));
	return -EINVAL;
}

char *wp_fault_plan_text(const struct wp_fault_plan *plan, char text[WP_FAULT_PLAN_BYTES])
{
	size_t length = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct wp_fault_rule *rule = &plan->rules[i];
		char when[64], value[32] = "";

		if (rule->nth)
			snprintf(when, sizeof(when), "@%" PRIu64, rule->nth);
		else
			snprintf(when, sizeof(when), "~%" PRIu64 "/%" PRIu64, rule->chance,
				 rule->chance_of);
		if (rule->value != value_default(rule->kind))
			snprintf(value, sizeof(value), "=%" PRIu64, rule->value);
		length +=
		    (size_t)snprintf(text + length, WP_FAULT_PLAN_BYTES - length, "%s%s.%s%s%s%s",
				     i ? "," : "", op_names[rule->op], kind_names[rule->kind], when,
				     rule->lasting ? "+" : "", value);
		WP_CHECK(length < WP_FAULT_PLAN_BYTES);
	}
	return text;
}
