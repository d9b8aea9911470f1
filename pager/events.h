/*
 * The virtual world's only source of time: requests waiting for their instant,
 * ordered by (time, sequence), and the clock that jumps from one to the next.
 */
#ifndef WP_EVENTS_H
#define WP_EVENTS_H

#include <stdint.h>

#include "pager/check.h"
#include "pager/clock.h"
#include "pager/request.h"

struct wp_events;

/* Called when the instant has come, before the request is handed back: does
 * the work (moves bytes, verifies) and returns the request's result. */
typedef int (*wp_event_work)(void *context, struct wp_request *request);

/* Room for `capacity` requests at once; more aborts. */
int wp_events_open(struct wp_events **events, uint32_t capacity) WP_MUST_USE;
void wp_events_close(struct wp_events *events);

/* The world's clock; owned by `events`, its close does nothing. */
struct wp_clock *wp_events_clock(struct wp_events *events);

uint64_t wp_events_now_ns(const struct wp_events *events);
uint64_t wp_events_next_ns(const struct wp_events *events);

void wp_events_add(struct wp_events *events, uint64_t at_ns, struct wp_request *request,
		   wp_event_work work, void *context);

/* Completes everything that is due. */
void wp_events_run(struct wp_events *events);

#endif
