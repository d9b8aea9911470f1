/*
 * The virtual world's device: one copy engine and one compute engine, each
 * doing its requests one after another at the profile's rates. Copies move the
 * payload; decode and compute are nothing but time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pager/content.h"
#include "pager/device.h"
#include "pager/duration.h"

struct device_virtual {
	struct wp_port port;
	struct wp_events *events;
	struct wp_device_rates rates;
	uint64_t copy_free_ns;
	uint64_t compute_free_ns;
};

static int copy_work(void *context, struct wp_request *request)
{
	(void)context;
	if (request->op == WP_OP_COPY)
		memcpy(request->device, request->host, request->payload_bytes);
	else
		memcpy(request->host, request->device, request->payload_bytes);
	return 0;
}

static int encode_work(void *context, struct wp_request *request)
{
	const struct device_virtual *device = context;

	wp_content_fill_chunks(request->device, request->payload_bytes, device->rates.content_seed,
			       request->block, 0, request->chunk_count);
	return 0;
}

/* The engine takes it when it is free; returns when it will be done. */
static uint64_t occupy(uint64_t *free_ns, uint64_t now_ns, uint64_t duration_ns)
{
	*free_ns = (*free_ns > now_ns ? *free_ns : now_ns) + duration_ns;
	return *free_ns;
}

static int device_submit(struct wp_port *port, struct wp_request *request)
{
	struct device_virtual *device = (struct device_virtual *)port;
	uint64_t now_ns = wp_events_now_ns(device->events);
	uint64_t at_ns = 0;
	wp_event_work work = NULL;

	request->submit_ns = now_ns;
	request->retries = 0;
	switch (request->op) {
	case WP_OP_COPY:
	case WP_OP_FETCH:
		at_ns = occupy(&device->copy_free_ns, now_ns,
			       wp_duration_ns(request->bytes, device->rates.copy_bytes_per_s));
		work = copy_work;
		break;
	case WP_OP_ENCODE:
		work = encode_work;
		/* fall through */
	case WP_OP_DECODE:
		at_ns = occupy(&device->compute_free_ns, now_ns,
			       wp_duration_ns(request->bytes, device->rates.decode_bytes_per_s));
		break;
	case WP_OP_COMPUTE:
		at_ns = occupy(&device->compute_free_ns, now_ns, request->duration_ns);
		break;
	default:
		WP_ABORT("not an operation of the device");
	}
	wp_events_add(device->events, at_ns, request, work, device);
	return 0;
}

static void device_poll(struct wp_port *port)
{
	wp_events_run(((struct device_virtual *)port)->events);
}

static uint64_t device_next_ns(const struct wp_port *port)
{
	return wp_events_next_ns(((const struct device_virtual *)port)->events);
}

static int device_fd(const struct wp_port *port)
{
	(void)port;
	return -1;
}

static void device_close(struct wp_port *port)
{
	free(port);
}

static const struct wp_port_ops device_ops = {
    .name = "virtual",
    .submit = device_submit,
    .poll = device_poll,
    .next_ns = device_next_ns,
    .fd = device_fd,
    .close = device_close,
};

int wp_device_virtual_open(struct wp_port **port, struct wp_events *events,
			   const struct wp_device_rates *rates)
{
	struct device_virtual *device = calloc(1, sizeof(*device));

	if (!device)
		return -ENOMEM;
	device->port.ops = &device_ops;
	device->events = events;
	device->rates = *rates;
	*port = &device->port;
	return 0;
}
