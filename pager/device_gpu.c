/*
 * The device port over a GPU: starts what it is given at once and learns by
 * polling events what is over. No CUDA here, so tests run it over a GPU that is
 * played.
 *
 * Each stream works in order, so one event a request, in a ring, is enough: when
 * the oldest has not passed, the later ones have not either.
 */
#include <errno.h>
#include <stdlib.h>

#include "pager/gpu.h"
#include "pager/limits.h"

#define DEPTH (WP_GPU_EVENTS / WP_GPU_STREAMS) /* requests a stream */

struct lane {
	struct wp_queue queue; /* started, in order */
	uint32_t first;	       /* event of the oldest; later ones follow in the ring */
};

struct device_gpu {
	struct wp_port port;
	struct wp_gpu *gpu;
	struct wp_clock *clock;
	struct wp_device_gpu_config config;
	struct lane lanes[WP_GPU_STREAMS];
	bool begun; /* a DECODE has marked the frame's start */
	int error;  /* the first failure: everything fails from then on */
};

static uint32_t event_at(enum wp_gpu_stream stream, const struct lane *lane, uint32_t index)
{
	return (uint32_t)stream * DEPTH + (lane->first + index) % DEPTH;
}

static enum wp_gpu_stream stream_of(enum wp_op op)
{
	switch (op) {
	case WP_OP_COPY:
		return WP_GPU_COPY;
	case WP_OP_FETCH:
		return WP_GPU_FETCH;
	case WP_OP_ENCODE:
	case WP_OP_DECODE:
	case WP_OP_COMPUTE:
		return WP_GPU_COMPUTE;
	default:
		WP_ABORT("not an operation of the device");
	}
}

static int begin_frame(struct device_gpu *device)
{
	int error = device->begun ? 0 : device->gpu->ops->begin(device->gpu);

	device->begun = true;
	return error;
}

static int decode(struct device_gpu *device, const struct wp_request *request)
{
	const struct wp_rotary *rotary = &device->config.rotary;
	struct wp_rotation rotation;
	int error = begin_frame(device);

	if (error || !request->elements)
		return error;
	if (rotary->head_dim && request->shift)
		wp_rotation_init(&rotation, rotary, request->shift);
	return device->gpu->ops->decode(device->gpu, &device->config.form, request->device,
					rotary->head_dim && request->shift ? &rotation : NULL,
					request->elements);
}

static int encode(struct device_gpu *device, const struct wp_request *request)
{
	const struct wp_device_gpu_config *config = &device->config;
	struct wp_gpu *gpu = device->gpu;

	if (!config->elements_of)
		return gpu->ops->fill(gpu, &config->geometry, config->seed, request->block,
				      request->device);
	return gpu->ops->encode(gpu, &config->form,
				config->elements_of(config->elements_context, request->block),
				request->device);
}

static int start(struct device_gpu *device, const struct wp_request *request)
{
	struct wp_gpu *gpu = device->gpu;

	switch (request->op) {
	case WP_OP_COPY:
		return gpu->ops->copy(gpu, WP_GPU_COPY, request->device, request->host,
				      request->payload_bytes);
	case WP_OP_FETCH:
		return gpu->ops->copy(gpu, WP_GPU_FETCH, request->host, request->device,
				      request->payload_bytes);
	case WP_OP_ENCODE:
		return encode(device, request);
	case WP_OP_DECODE:
		return decode(device, request);
	case WP_OP_COMPUTE:
		device->begun = false;
		return gpu->ops->compute(gpu, device->config.load, request->duration_ns);
	default:
		WP_ABORT("not an operation of the device");
	}
}

/* Nothing completes inside submit: a failure shows at the next poll. */
static void take(struct device_gpu *device, enum wp_gpu_stream stream, struct wp_request *request,
		 int error)
{
	if (error && !device->error)
		device->error = error;
	request->submit_ns = wp_clock_now_ns(device->clock);
	request->retries = 0;
	wp_queue_push(&device->lanes[stream].queue, request);
}

static int device_submit(struct wp_port *port, struct wp_request *request)
{
	struct device_gpu *device = (struct device_gpu *)port;
	enum wp_gpu_stream stream = stream_of(request->op);
	struct lane *lane = &device->lanes[stream];
	int error = device->error;

	if (lane->queue.count == DEPTH)
		return -EAGAIN;
	if (!error)
		error = start(device, request);
	if (!error)
		error = device->gpu->ops->mark(device->gpu, stream,
					       event_at(stream, lane, lane->queue.count));
	take(device, stream, request, error);
	return 0;
}

int wp_device_gpu_follow(struct wp_port *port, void *stream, struct wp_request *request)
{
	struct device_gpu *device = (struct device_gpu *)port;
	struct lane *lane = &device->lanes[WP_GPU_COMPUTE];
	int error = device->error;

	WP_CHECK(request->op == WP_OP_COMPUTE);
	if (lane->queue.count == DEPTH)
		return -EAGAIN;
	if (!error)
		error = device->gpu->ops->mark_foreign(
		    device->gpu, stream, event_at(WP_GPU_COMPUTE, lane, lane->queue.count));
	take(device, WP_GPU_COMPUTE, request, error);
	return 0;
}

int wp_device_gpu_lead(struct wp_port *port, void *stream)
{
	struct device_gpu *device = (struct device_gpu *)port;

	if (!device->error)
		device->error = device->gpu->ops->lead_foreign(device->gpu, WP_GPU_COMPUTE, stream);
	return device->error;
}

static void poll_lane(struct device_gpu *device, enum wp_gpu_stream stream)
{
	struct lane *lane = &device->lanes[stream];

	while (lane->queue.head) {
		int passed = device->error
				 ? device->error
				 : device->gpu->ops->passed(device->gpu, event_at(stream, lane, 0));

		if (passed == 0)
			return;
		if (passed < 0)
			device->error = passed;
		lane->first = (lane->first + 1) % DEPTH;
		/* The clock after the event: a completion is never earlier than it was. */
		wp_request_complete(wp_queue_pop(&lane->queue), device->error,
				    wp_clock_now_ns(device->clock));
	}
}

static void device_poll(struct wp_port *port)
{
	struct device_gpu *device = (struct device_gpu *)port;

	for (int stream = 0; stream < WP_GPU_STREAMS; stream++)
		poll_lane(device, (enum wp_gpu_stream)stream);
}

static uint64_t device_next_ns(const struct wp_port *port)
{
	const struct device_gpu *device = (const struct device_gpu *)port;

	for (int stream = 0; stream < WP_GPU_STREAMS; stream++)
		if (device->lanes[stream].queue.head)
			return wp_clock_now_ns(device->clock) +
			       (device->error ? 0 : WP_GPU_POLL_NS);
	return WP_TIME_NEVER;
}

static int device_fd(const struct wp_port *port)
{
	(void)port;
	return -1;
}

static void device_close(struct wp_port *port)
{
	struct device_gpu *device = (struct device_gpu *)port;

	device->gpu->ops->close(device->gpu);
	free(device);
}

static const struct wp_port_ops device_ops = {
    .name = "gpu",
    .submit = device_submit,
    .poll = device_poll,
    .next_ns = device_next_ns,
    .fd = device_fd,
    .close = device_close,
};

int wp_device_gpu_open(struct wp_port **port, struct wp_gpu *gpu, struct wp_clock *clock,
		       const struct wp_device_gpu_config *config)
{
	struct device_gpu *device = calloc(1, sizeof(*device));

	if (!device)
		return -ENOMEM;
	device->port.ops = &device_ops;
	device->gpu = gpu;
	device->clock = clock;
	device->config = *config;
	*port = &device->port;
	return 0;
}

const char *wp_device_gpu_why(const struct wp_port *port)
{
	WP_CHECK(port->ops == &device_ops);
	return ((const struct device_gpu *)port)->gpu->why;
}
