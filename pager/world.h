/*
 * A world is a clock, a store and a device. Three ship: `virtual` (all three
 * on one event queue), `model` (io_uring and synthetic GPU timing) and `real`
 * (io_uring and CUDA). The pager cannot tell them apart.
 */
#ifndef WP_WORLD_H
#define WP_WORLD_H

#include "pager/clock.h"
#include "pager/limits.h"
#include "pager/port.h"

struct wp_world {
	struct wp_clock *clock;
	struct wp_port *store;	/* READ VERIFY WRITE COMMIT */
	struct wp_port *device; /* COPY FETCH ENCODE DECODE COMPUTE */
};

/* Moves everything that is over in store and device to the owners' queues. */
static inline void wp_world_poll(struct wp_world *world)
{
	wp_port_poll(world->store);
	wp_port_poll(world->device);
}

/* Sleeps until `deadline_ns` or until store or device may have something. */
static inline int WP_MUST_USE wp_world_wait(struct wp_world *world, uint64_t deadline_ns)
{
	uint64_t store_ns = wp_port_next_ns(world->store);
	uint64_t device_ns = wp_port_next_ns(world->device);

	if (store_ns < deadline_ns)
		deadline_ns = store_ns;
	if (device_ns < deadline_ns)
		deadline_ns = device_ns;
	return wp_clock_wait_until(world->clock, deadline_ns);
}

static inline void wp_world_close(struct wp_world *world)
{
	wp_port_close(world->store);
	wp_port_close(world->device);
	if (world->clock)
		world->clock->ops->close(world->clock);
	world->store = world->device = NULL;
	world->clock = NULL;
}

#endif
