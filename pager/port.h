/*
 * A port takes requests and completes them later: the shape that store and
 * device share, so that decorators (rate, faults) stand in front of either.
 *
 *   submit   0 taken, -EAGAIN full (try again after a completion or at
 *            next_ns), -EINVAL never: misuse aborts. Nothing completes inside.
 *   poll     moves what is over to the owners' queues; never blocks.
 *   next_ns  the next instant at which poll can have something new, as far as
 *            the port knows; WP_TIME_NEVER if it only knows by descriptor.
 *   fd       becomes readable when poll has something; -1 if there is none.
 *   close    nothing may be in flight; frees the port and what it decorates.
 *
 * A port is used by one thread.
 */
#ifndef WP_PORT_H
#define WP_PORT_H

#include <stdint.h>

#include "pager/check.h"
#include "pager/request.h"

struct wp_port;

struct wp_port_ops {
	const char *name;
	int (*submit)(struct wp_port *port, struct wp_request *request);
	void (*poll)(struct wp_port *port);
	uint64_t (*next_ns)(const struct wp_port *port);
	int (*fd)(const struct wp_port *port);
	void (*close)(struct wp_port *port);
};

/* First member of every implementation. */
struct wp_port {
	const struct wp_port_ops *ops;
};

static inline int WP_MUST_USE wp_port_submit(struct wp_port *port, struct wp_request *request)
{
	return port->ops->submit(port, request);
}

static inline void wp_port_poll(struct wp_port *port)
{
	port->ops->poll(port);
}

static inline uint64_t wp_port_next_ns(const struct wp_port *port)
{
	return port->ops->next_ns(port);
}

static inline int wp_port_fd(const struct wp_port *port)
{
	return port->ops->fd(port);
}

static inline void wp_port_close(struct wp_port *port)
{
	if (port)
		port->ops->close(port);
}

#endif
