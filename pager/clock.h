/*
 * The clock seam: nanoseconds since an arbitrary start, never going back.
 *
 * wait_until returns when `deadline_ns` has come or, in worlds with
 * descriptors, when a watched one is readable (level-triggered), whichever is
 * first. Returning early is allowed; the caller looks and waits again. With
 * WP_TIME_NEVER and nothing to watch there is nothing to wait for: -EDEADLK.
 */
#ifndef WP_CLOCK_H
#define WP_CLOCK_H

#include <stdint.h>

#include "pager/check.h"

struct wp_clock;

struct wp_clock_ops {
	const char *name;
	uint64_t (*now_ns)(struct wp_clock *clock);
	int (*wait_until)(struct wp_clock *clock, uint64_t deadline_ns);
	void (*watch)(struct wp_clock *clock, int fd);
	void (*close)(struct wp_clock *clock);
};

struct wp_clock {
	const struct wp_clock_ops *ops;
};

static inline uint64_t wp_clock_now_ns(struct wp_clock *clock)
{
	return clock->ops->now_ns(clock);
}

/* 0; -EINTR when a signal arrived; -EDEADLK as above. */
static inline int WP_MUST_USE wp_clock_wait_until(struct wp_clock *clock, uint64_t deadline_ns)
{
	return clock->ops->wait_until(clock, deadline_ns);
}

#endif
