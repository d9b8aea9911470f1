/*
 * The bucket: a store decorator that lets reads through at a rate and grants no
 * credit for idle time.
 *
 *   busy since base            release of a piece: base + accrued / R
 *   |--piece 1--|--piece 2--|--piece 3--|   idle   |--piece--|
 *   base                                           new base
 *
 * One piece accrues at a time; a second one is refused (-EAGAIN) until the
 * first is released, so that whoever orders the reads can still change its
 * mind. The store is idle when it is polled and nothing is accruing: its user
 * had the chance to submit after the last release and did not.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "pager/duration.h"
#include "pager/limits.h"
#include "pager/store.h"

#define CATCH_UP_NS 20000000ull /* a poll that comes later than this loses the difference */

struct store_rate {
	struct wp_port port;
	struct wp_port *next;
	struct wp_clock *clock;
	uint64_t bytes_per_s;
	bool busy;
	uint64_t base_ns;	    /* since when bytes accrue */
	uint64_t accrued_bytes;	    /* of all pieces since then, the pending one included */
	struct wp_request *pending; /* accruing */
	uint64_t release_ns;	    /* when the pending piece will have accrued */
	uint64_t lost_bytes;
};

static int rate_submit(struct wp_port *port, struct wp_request *request)
{
	struct store_rate *rate = (struct store_rate *)port;

	if (request->op != WP_OP_READ)
		return wp_port_submit(rate->next, request);
	if (rate->pending)
		return -EAGAIN;
	request->submit_ns = wp_clock_now_ns(rate->clock);
	if (!rate->busy) {
		rate->busy = true;
		rate->base_ns = request->submit_ns;
		rate->accrued_bytes = 0;
	}
	rate->accrued_bytes += request->bytes;
	rate->release_ns = rate->base_ns + wp_duration_ns(rate->accrued_bytes, rate->bytes_per_s);
	rate->pending = request;
	return 0;
}

/* Passes the pending piece on; the time it accrued counts as part of the read. */
static void release_pending(struct store_rate *rate, uint64_t now_ns)
{
	uint64_t submit_ns = rate->pending->submit_ns;
	uint64_t late_ns = now_ns - rate->release_ns;

	if (wp_port_submit(rate->next, rate->pending) == -EAGAIN)
		return;
	rate->pending->submit_ns = submit_ns;
	rate->pending = NULL;
	if (late_ns > CATCH_UP_NS) {
		rate->lost_bytes += wp_duration_bytes(late_ns - CATCH_UP_NS, rate->bytes_per_s);
		rate->base_ns += late_ns - CATCH_UP_NS;
	}
}

static void rate_poll(struct wp_port *port)
{
	struct store_rate *rate = (struct store_rate *)port;
	uint64_t now_ns = wp_clock_now_ns(rate->clock);

	wp_port_poll(rate->next);
	if (!rate->pending)
		rate->busy = false;
	else if (now_ns >= rate->release_ns)
		release_pending(rate, now_ns);
}

static uint64_t rate_next_ns(const struct wp_port *port)
{
	const struct store_rate *rate = (const struct store_rate *)port;
	uint64_t next_ns = wp_port_next_ns(rate->next);

	if (rate->pending && rate->release_ns < next_ns)
		next_ns = rate->release_ns;
	return next_ns;
}

static int rate_fd(const struct wp_port *port)
{
	return wp_port_fd(((const struct store_rate *)port)->next);
}

static void rate_close(struct wp_port *port)
{
	struct store_rate *rate = (struct store_rate *)port;

	wp_port_close(rate->next);
	free(rate);
}

static const struct wp_port_ops rate_ops = {
    .name = "rate",
    .submit = rate_submit,
    .poll = rate_poll,
    .next_ns = rate_next_ns,
    .fd = rate_fd,
    .close = rate_close,
};

int wp_store_rate_open(struct wp_port **store, struct wp_port *next, struct wp_clock *clock,
		       uint64_t bytes_per_s)
{
	struct store_rate *rate;

	WP_CHECK(bytes_per_s > 0);
	rate = calloc(1, sizeof(*rate));
	if (!rate)
		return -ENOMEM;
	rate->port.ops = &rate_ops;
	rate->next = next;
	rate->clock = clock;
	rate->bytes_per_s = bytes_per_s;
	*store = &rate->port;
	return 0;
}

uint64_t wp_store_rate_lost_bytes(const struct wp_port *store)
{
	WP_CHECK(store->ops == &rate_ops);
	return ((const struct store_rate *)store)->lost_bytes;
}
