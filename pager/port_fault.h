/*
 * A port's decorator that makes things go wrong by a plan (fault_plan.h), in
 * front of a store or a device. Draws from a generator of its own and touches
 * only the requests that it hits: take a fault away, and the rest of the run
 * stays as it was.
 */
#ifndef WP_PORT_FAULT_H
#define WP_PORT_FAULT_H

#include <stdint.h>

#include "pager/clock.h"
#include "pager/fault_plan.h"
#include "pager/port.h"

struct wp_port_fault_config {
	struct wp_fault_plan plan;
	uint64_t seed;
	uint32_t block_count; /* misdirected reads get one of these blocks */
	uint32_t capacity;    /* requests that faults hold at once; more get -EAGAIN */
};

/* 0 or -ENOMEM. Takes `next` over (closes it on close). */
int wp_port_fault_open(struct wp_port **port, struct wp_port *next, struct wp_clock *clock,
		       const struct wp_port_fault_config *config) WP_MUST_USE;

/* Faults that have struck so far. */
uint64_t wp_port_fault_struck(const struct wp_port *port);

/*
 * Requests that were taken, that the port behind does not have (any more), and that are answered
 * late or never; closing forgets them.
 */
uint32_t wp_port_fault_withheld(const struct wp_port *port);

/* From now on nothing goes wrong; what was withheld is passed on at the next poll. */
void wp_port_fault_disarm(struct wp_port *port);

#endif
