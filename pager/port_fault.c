/*
 * Faults in front of a port: see port_fault.h and fault_plan.h.
 *
 * The one idea: a request that a fault hits comes back to this decorator
 * instead of to its owner, is spoilt, and then goes home.
 *
 *   owner --submit--> [hit?] --no-----------------> next --> owner's queue
 *                       |yes: a slot remembers the owner
 *                       v
 *                     next --> own queue --spoil, hold--> owner's queue
 */
#include "pager/port_fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pager/limits.h"
#include "pager/random.h"

#define POISON 0xa5 /* what a short transfer leaves behind, as in the virtual store */

enum hold {
	HOLD_FREE,
	HOLD_NEXT,  /* with the port behind */
	HOLD_UNTIL, /* answered, but not before release_ns */
	HOLD_NEVER,
};

struct slot {
	enum hold hold;
	const struct wp_fault_rule *rule;
	struct wp_request *request;
	struct wp_queue *owner;
	uint64_t release_ns;
	uint32_t block;	     /* of the owner, while another one is read */
	uint32_t generation; /* the same */
};

struct rule_state {
	uint64_t seen;
	bool lasts; /* has struck and goes on */
	struct wp_random random;
};

struct port_fault {
	struct wp_port port;
	struct wp_port *next;
	struct wp_clock *clock;
	struct wp_port_fault_config config;
	struct rule_state rules[WP_FAULT_RULES_MAX];
	struct wp_random details; /* which bit, which block */
	bool disarmed;
	uint64_t struck;
	struct wp_queue done; /* what the port behind has answered */
	struct slot slots[];
};

/* Every rule counts and draws at every operation of its own, whatever the others do. */
static const struct wp_fault_rule *strike(struct port_fault *fault, enum wp_op op)
{
	const struct wp_fault_rule *hit = NULL;

	for (uint32_t i = 0; i < fault->config.plan.count; i++) {
		const struct wp_fault_rule *rule = &fault->config.plan.rules[i];
		struct rule_state *state = &fault->rules[i];
		bool strikes;

		if (rule->op != WP_OP_COUNT && rule->op != op)
			continue;
		state->seen++;
		strikes = rule->nth
			      ? state->seen == rule->nth
			      : wp_random_below(&state->random, rule->chance_of) < rule->chance;
		if (strikes && rule->lasting)
			state->lasts = true;
		if ((strikes || state->lasts) && !hit)
			hit = rule;
	}
	return hit;
}

static struct slot *find_slot(struct port_fault *fault)
{
	for (uint32_t i = 0; i < fault->config.capacity; i++)
		if (fault->slots[i].hold == HOLD_FREE)
			return &fault->slots[i];
	return NULL;
}

static struct slot *slot_of(struct port_fault *fault, const struct wp_request *request)
{
	for (uint32_t i = 0; i < fault->config.capacity; i++)
		if (fault->slots[i].hold == HOLD_NEXT && fault->slots[i].request == request)
			return &fault->slots[i];
	WP_ABORT("a request that was never taken");
}

static void go_home(struct slot *slot)
{
	slot->hold = HOLD_FREE;
	slot->request->owner = slot->owner;
	wp_queue_push(slot->owner, slot->request);
}

static void flip(struct port_fault *fault, unsigned char *bytes, uint64_t length)
{
	bytes[wp_random_below(&fault->details, length)] ^=
	    (unsigned char)(1u << wp_random_below(&fault->details, 8));
}

static void cut(struct port_fault *fault, unsigned char *bytes, uint64_t length)
{
	uint64_t arrived = wp_random_below(&fault->details, length);

	memset(bytes + arrived, POISON, length - arrived);
}

static void spoil(struct port_fault *fault, const struct wp_fault_rule *rule, void *bytes,
		  uint64_t length)
{
	if (length == 0 || !bytes)
		return;
	if (rule->kind == WP_FAULT_FLIP)
		flip(fault, bytes, length);
	else if (rule->kind == WP_FAULT_SHORT)
		cut(fault, bytes, length);
}

/* Before the port behind sees it: another block. */
static void divert(struct port_fault *fault, struct slot *slot)
{
	struct wp_request *request = slot->request;
	uint32_t count = fault->config.block_count;

	if (slot->rule->kind != WP_FAULT_MISDIRECT || count < 2)
		return;
	request->block =
	    (request->block + 1 + (uint32_t)wp_random_below(&fault->details, count - 1)) % count;
	request->generation = 0;
}

static void restore(struct slot *slot)
{
	slot->request->block = slot->block;
	slot->request->generation = slot->generation;
}

static struct slot *take(struct port_fault *fault, const struct wp_fault_rule *rule,
			 struct wp_request *request)
{
	struct slot *slot = find_slot(fault);

	if (!slot)
		return NULL;
	*slot = (struct slot){
	    .rule = rule,
	    .request = request,
	    .owner = request->owner,
	    .block = request->block,
	    .generation = request->generation,
	};
	return slot;
}

/* Answered without the port behind: an error, or not at all. */
static void withhold(struct port_fault *fault, struct slot *slot)
{
	struct wp_request *request = slot->request;

	request->submit_ns = wp_clock_now_ns(fault->clock);
	request->retries = 0;
	slot->hold = HOLD_NEVER;
	if (slot->rule->kind == WP_FAULT_NEVER)
		return;
	request->result = -(int)slot->rule->value;
	request->done_ns = request->submit_ns;
	request->fault_offset = (uint64_t)request->chunk_first * WP_CHUNK_BYTES;
	request->end_missing = 0;
	slot->hold = HOLD_UNTIL;
	slot->release_ns = request->submit_ns;
}

static int pass_on(struct port_fault *fault, struct slot *slot)
{
	int error;

	divert(fault, slot);
	slot->request->owner = &fault->done;
	slot->hold = HOLD_NEXT;
	error = wp_port_submit(fault->next, slot->request);
	if (error) {
		restore(slot);
		slot->request->owner = slot->owner;
		slot->hold = HOLD_FREE;
	}
	return error;
}

static int fault_submit(struct wp_port *port, struct wp_request *request)
{
	struct port_fault *fault = (struct port_fault *)port;
	struct rule_state before[WP_FAULT_RULES_MAX];
	const struct wp_fault_rule *rule;
	struct slot *slot;
	int error = 0;

	if (fault->disarmed || !fault->config.plan.count)
		return wp_port_submit(fault->next, request);
	memcpy(before, fault->rules, sizeof(before));
	rule = strike(fault, request->op);
	slot = rule ? take(fault, rule, request) : NULL;
	if (!rule)
		error = wp_port_submit(fault->next, request);
	else if (!slot)
		error = -EAGAIN;
	else if (rule->kind == WP_FAULT_NEVER || rule->kind == WP_FAULT_ERROR)
		withhold(fault, slot);
	else
		error = pass_on(fault, slot);
	/* What was not taken was no operation: it comes again. */
	if (error)
		memcpy(fault->rules, before, sizeof(before));
	else
		fault->struck += rule != NULL;
	return error;
}

/* The port behind has answered. */
static void answer(struct port_fault *fault, struct wp_request *request)
{
	struct slot *slot = slot_of(fault, request);
	const struct wp_fault_rule *rule = slot->rule;

	restore(slot);
	if (rule->kind == WP_FAULT_MISDIRECT && request->result != 0) {
		/* That block was never stored: some bytes or other come back all the same. */
		memset(request->host, POISON, request->payload_bytes);
		request->result = 0;
	}
	if (request->result == 0)
		spoil(fault, rule, request->op == WP_OP_COPY ? request->device : request->host,
		      request->payload_bytes);
	if (rule->kind == WP_FAULT_DELAY) {
		request->done_ns += rule->value;
		slot->release_ns = request->done_ns;
		slot->hold = HOLD_UNTIL;
	} else {
		go_home(slot);
	}
}

/* A drive that comes back to life: what it kept to itself goes its way. */
static void revive(struct port_fault *fault, struct slot *slot)
{
	if (wp_port_submit(fault->next, slot->request) == 0)
		slot->hold = HOLD_FREE;
}

static void fault_poll(struct wp_port *port)
{
	struct port_fault *fault = (struct port_fault *)port;
	uint64_t now_ns = wp_clock_now_ns(fault->clock);
	struct wp_request *request;

	wp_port_poll(fault->next);
	while ((request = wp_queue_pop(&fault->done)))
		answer(fault, request);
	for (uint32_t i = 0; i < fault->config.capacity; i++) {
		struct slot *slot = &fault->slots[i];

		if (slot->hold == HOLD_UNTIL && slot->release_ns <= now_ns)
			go_home(slot);
		else if (slot->hold == HOLD_NEVER && fault->disarmed)
			revive(fault, slot);
	}
}

static uint64_t fault_next_ns(const struct wp_port *port)
{
	const struct port_fault *fault = (const struct port_fault *)port;
	uint64_t next_ns = wp_port_next_ns(fault->next);

	if (fault->done.head)
		return 0; /* something is here already */
	for (uint32_t i = 0; i < fault->config.capacity; i++) {
		const struct slot *slot = &fault->slots[i];

		if (slot->hold == HOLD_UNTIL && slot->release_ns < next_ns)
			next_ns = slot->release_ns;
	}
	return next_ns;
}

static int fault_fd(const struct wp_port *port)
{
	return wp_port_fd(((const struct port_fault *)port)->next);
}

static void fault_close(struct wp_port *port)
{
	struct port_fault *fault = (struct port_fault *)port;

	wp_port_close(fault->next);
	free(fault);
}

static const struct wp_port_ops fault_ops = {
    .name = "fault",
    .submit = fault_submit,
    .poll = fault_poll,
    .next_ns = fault_next_ns,
    .fd = fault_fd,
    .close = fault_close,
};

int wp_port_fault_open(struct wp_port **port, struct wp_port *next, struct wp_clock *clock,
		       const struct wp_port_fault_config *config)
{
	struct wp_random seeds = {config->seed};
	struct port_fault *fault;

	WP_CHECK(config->capacity > 0);
	fault = calloc(1, sizeof(*fault) + config->capacity * sizeof(fault->slots[0]));
	if (!fault)
		return -ENOMEM;
	fault->port.ops = &fault_ops;
	fault->next = next;
	fault->clock = clock;
	fault->config = *config;
	fault->details.state = wp_random_next(&seeds);
	for (uint32_t i = 0; i < WP_FAULT_RULES_MAX; i++)
		fault->rules[i].random.state = wp_random_next(&seeds);
	*port = &fault->port;
	return 0;
}

static const struct port_fault *fault_of(const struct wp_port *port)
{
	WP_CHECK(port->ops == &fault_ops);
	return (const struct port_fault *)port;
}

uint64_t wp_port_fault_struck(const struct wp_port *port)
{
	return fault_of(port)->struck;
}

uint32_t wp_port_fault_withheld(const struct wp_port *port)
{
	const struct port_fault *fault = fault_of(port);
	uint32_t count = 0;

	for (uint32_t i = 0; i < fault->config.capacity; i++)
		count += fault->slots[i].hold == HOLD_UNTIL || fault->slots[i].hold == HOLD_NEVER;
	return count;
}

void wp_port_fault_disarm(struct wp_port *port)
{
	WP_CHECK(port->ops == &fault_ops);
	((struct port_fault *)port)->disarmed = true;
}
