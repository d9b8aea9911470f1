/*
 * The host's clock: CLOCK_MONOTONIC counted from open, and a wait that sleeps
 * in ppoll on the watched descriptors. Timer slack is set to 1 ns: the default
 * lets sleeps arrive 50 us and more after they were due.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "pager/device.h"
#include "pager/duration.h"
#include "pager/limits.h"

#define WATCH_MAX 4

struct clock_host {
	struct wp_clock clock;
	uint64_t start_ns;
	struct pollfd watched[WATCH_MAX];
	nfds_t watched_count;
};

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	WP_CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
	return (uint64_t)now.tv_sec * WP_NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t host_now_ns(struct wp_clock *clock)
{
	return monotonic_ns() - ((struct clock_host *)clock)->start_ns;
}

static int host_wait_until(struct wp_clock *clock, uint64_t deadline_ns)
{
	struct clock_host *host = (struct clock_host *)clock;
	struct timespec timeout = {0};
	int ready;

	if (deadline_ns == WP_TIME_NEVER && !host->watched_count)
		return -EDEADLK;
	if (deadline_ns != WP_TIME_NEVER) {
		uint64_t now_ns = host_now_ns(clock);

		if (now_ns >= deadline_ns)
			return 0;
		timeout.tv_sec = (time_t)((deadline_ns - now_ns) / WP_NS_PER_S);
		timeout.tv_nsec = (long)((deadline_ns - now_ns) % WP_NS_PER_S);
	}
	ready = ppoll(host->watched, host->watched_count,
		      deadline_ns == WP_TIME_NEVER ? NULL : &timeout, NULL);
	return ready < 0 ? -errno : 0;
}

static void host_watch(struct wp_clock *clock, int fd)
{
	struct clock_host *host = (struct clock_host *)clock;

	if (fd < 0)
		return;
	WP_CHECK(host->watched_count < WATCH_MAX);
	host->watched[host->watched_count++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static void host_close(struct wp_clock *clock)
{
	free(clock);
}

static const struct wp_clock_ops host_ops = {
    .name = "host",
    .now_ns = host_now_ns,
    .wait_until = host_wait_until,
    .watch = host_watch,
    .close = host_close,
};

int wp_clock_host_open(struct wp_clock **clock)
{
	struct clock_host *host = calloc(1, sizeof(*host));

	if (!host)
		return -ENOMEM;
	host->clock.ops = &host_ops;
	host->start_ns = monotonic_ns();
	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0); /* refused: sleeps are coarser, no more */
	*clock = &host->clock;
	return 0;
}
