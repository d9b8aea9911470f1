/*
 * The virtual world's event queue and clock: a binary heap of requests keyed
 * by (time, sequence). Knows nothing of what the requests mean. Time moves only
 * in wait_until, never while something is due.
 */
#include "pager/events.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "pager/limits.h"

struct event {
	uint64_t at_ns;
	uint64_t sequence;
	struct wp_request *request;
	wp_event_work work;
	void *context;
};

struct wp_events {
	struct wp_clock clock; /* first: the clock is the queue */
	uint64_t now_ns;
	uint64_t sequence;
	uint32_t count;
	uint32_t capacity;
	struct event heap[];
};

static uint64_t clock_now_ns(struct wp_clock *clock)
{
	return ((struct wp_events *)clock)->now_ns;
}

static int clock_wait_until(struct wp_clock *clock, uint64_t deadline_ns)
{
	struct wp_events *events = (struct wp_events *)clock;

	if (deadline_ns == WP_TIME_NEVER)
		return -EDEADLK;
	WP_CHECK(deadline_ns <= wp_events_next_ns(events) || deadline_ns <= events->now_ns);
	if (deadline_ns > events->now_ns)
		events->now_ns = deadline_ns;
	return 0;
}

static void clock_watch(struct wp_clock *clock, int fd)
{
	(void)clock;
	WP_CHECK(fd < 0);
}

static void clock_close(struct wp_clock *clock)
{
	(void)clock;
}

static const struct wp_clock_ops clock_ops = {
    .name = "virtual",
    .now_ns = clock_now_ns,
    .wait_until = clock_wait_until,
    .watch = clock_watch,
    .close = clock_close,
};

int wp_events_open(struct wp_events **events, uint32_t capacity)
{
	struct wp_events *opened;

	opened = calloc(1, sizeof(*opened) + capacity * sizeof(opened->heap[0]));
	if (!opened)
		return -ENOMEM;
	opened->clock.ops = &clock_ops;
	opened->capacity = capacity;
	*events = opened;
	return 0;
}

void wp_events_close(struct wp_events *events)
{
	free(events);
}

struct wp_clock *wp_events_clock(struct wp_events *events)
{
	return &events->clock;
}

uint64_t wp_events_now_ns(const struct wp_events *events)
{
	return events->now_ns;
}

uint64_t wp_events_next_ns(const struct wp_events *events)
{
	return events->count ? events->heap[0].at_ns : WP_TIME_NEVER;
}

static bool before(const struct event *a, const struct event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->sequence < b->sequence;
}

/* Puts an event into the free place `at`, or above it. */
static void sift_up(struct wp_events *events, uint32_t at, const struct event *moved)
{
	while (at > 0 && before(moved, &events->heap[(at - 1) / 2])) {
		events->heap[at] = events->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	events->heap[at] = *moved;
}

/* Puts an event into the free place at the top, or below it. */
static void sift_down(struct wp_events *events, const struct event *moved)
{
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= events->count)
			break;
		if (child + 1 < events->count &&
		    before(&events->heap[child + 1], &events->heap[child]))
			child++;
		if (!before(&events->heap[child], moved))
			break;
		events->heap[at] = events->heap[child];
		at = child;
	}
	events->heap[at] = *moved;
}

void wp_events_add(struct wp_events *events, uint64_t at_ns, struct wp_request *request,
		   wp_event_work work, void *context)
{
	struct event added = {
	    .at_ns = at_ns,
	    .sequence = events->sequence,
	    .request = request,
	    .work = work,
	    .context = context,
	};

	WP_CHECK(events->count < events->capacity);
	WP_CHECK(at_ns >= events->now_ns);
	events->sequence++;
	sift_up(events, events->count++, &added);
}

void wp_events_run(struct wp_events *events)
{
	while (events->count && events->heap[0].at_ns <= events->now_ns) {
		struct event due = events->heap[0];
		int result;

		if (--events->count)
			sift_down(events, &events->heap[events->count]);
		result = due.work ? due.work(due.context, due.request) : 0;
		wp_request_complete(due.request, result, due.at_ns);
	}
}
