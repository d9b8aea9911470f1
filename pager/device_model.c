/*
 * Synthetic GPU timing on the host: a copy is a real memcpy by a worker thread
 * that is over no earlier than the modelled rate allows; decode and compute are
 * timed intervals. No decoding is done and no GPU is touched. A new block is made
 * up by the same worker, in turn with the copies.
 *
 * Each engine works its requests off in order, so an end is computed when the
 * one before it is known: end = max(start, end before) + duration. What the loop
 * noticed late does not move it; a caller that knows since when it could have
 * submitted says so, and its own lateness does not lengthen the interval.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "pager/content.h"
#include "pager/device.h"
#include "pager/duration.h"
#include "pager/limits.h"

#define COPY_QUEUE 64u /* copies taken at once; a power of two */

struct engine {
	struct wp_queue queue; /* taken, in order */
	uint64_t free_ns;      /* end of the last one completed */
};

/* Copies on their way to the worker; indices only ever grow. */
struct copier {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	uint64_t taken; /* under the lock */
	struct wp_request *ring[COPY_QUEUE];
	uint64_t done_ns[COPY_QUEUE];
	_Atomic uint64_t done;
};

struct device_model {
	struct wp_port port;
	struct wp_clock *clock;
	struct wp_device_rates rates;
	struct engine copy;
	struct engine compute;
	struct copier copier;
	uint64_t copies_completed;
	int event_fd;
	bool memcpy_governed;
};

static void move(const struct device_model *device, const struct wp_request *request)
{
	if (request->op == WP_OP_ENCODE)
		wp_content_fill_chunks(request->device, request->payload_bytes,
				       device->rates.content_seed, request->block, 0,
				       request->chunk_count);
	else if (request->op == WP_OP_COPY)
		memcpy(request->device, request->host, request->payload_bytes);
	else
		memcpy(request->host, request->device, request->payload_bytes);
}

static void *copier_run(void *context)
{
	struct device_model *device = context;
	struct copier *copier = &device->copier;
	uint64_t next = 0;

	for (;;) {
		const struct wp_request *request;
		uint64_t one = 1;

		pthread_mutex_lock(&copier->lock);
		while (copier->taken == next && !copier->stop)
			pthread_cond_wait(&copier->wake, &copier->lock);
		if (copier->taken == next) {
			pthread_mutex_unlock(&copier->lock);
			return NULL;
		}
		request = copier->ring[next % COPY_QUEUE];
		pthread_mutex_unlock(&copier->lock);

		move(device, request);
		copier->done_ns[next % COPY_QUEUE] = wp_clock_now_ns(device->clock);
		atomic_store_explicit(&copier->done, ++next, memory_order_release);
		WP_CHECK(write(device->event_fd, &one, sizeof(one)) == sizeof(one));
	}
}

static int copy_submit(struct device_model *device, struct wp_request *request)
{
	struct copier *copier = &device->copier;

	if (device->copy.queue.count == COPY_QUEUE)
		return -EAGAIN;
	wp_queue_push(&device->copy.queue, request);
	pthread_mutex_lock(&copier->lock);
	copier->ring[copier->taken++ % COPY_QUEUE] = request;
	pthread_cond_signal(&copier->wake);
	pthread_mutex_unlock(&copier->lock);
	return 0;
}

static int device_submit(struct wp_port *port, struct wp_request *request)
{
	struct device_model *device = (struct device_model *)port;

	request->submit_ns = wp_clock_now_ns(device->clock);
	request->retries = 0;
	switch (request->op) {
	case WP_OP_COPY:
	case WP_OP_FETCH:
	case WP_OP_ENCODE:
		return copy_submit(device, request);
	case WP_OP_DECODE:
	case WP_OP_COMPUTE:
		wp_queue_push(&device->compute.queue, request);
		return 0;
	default:
		WP_ABORT("not an operation of the device");
	}
}

static uint64_t duration_ns(const struct device_model *device, const struct wp_request *request)
{
	switch (request->op) {
	case WP_OP_COPY:
	case WP_OP_FETCH:
		return wp_duration_ns(request->bytes, device->rates.copy_bytes_per_s);
	case WP_OP_COMPUTE:
		return request->duration_ns;
	default:
		return wp_duration_ns(request->bytes, device->rates.decode_bytes_per_s);
	}
}

/* When the engine's first request ends as modelled; there must be one. */
static uint64_t head_end_ns(const struct device_model *device, const struct engine *engine)
{
	const struct wp_request *head = engine->queue.head;
	uint64_t start_ns = head->start_ns ? head->start_ns : head->submit_ns;

	if (start_ns < engine->free_ns)
		start_ns = engine->free_ns;
	return start_ns + duration_ns(device, head);
}

static bool head_is_moved(const struct device_model *device)
{
	return atomic_load_explicit(&device->copier.done, memory_order_acquire) >
	       device->copies_completed;
}

static void poll_copies(struct device_model *device, uint64_t now_ns)
{
	struct engine *engine = &device->copy;

	while (engine->queue.head && head_is_moved(device)) {
		uint64_t end_ns = head_end_ns(device, engine);
		uint64_t moved_ns = device->copier.done_ns[device->copies_completed % COPY_QUEUE];

		if (end_ns > now_ns)
			return;
		if (moved_ns > end_ns) {
			device->memcpy_governed |= device->rates.copy_bytes_per_s != 0 &&
						   engine->queue.head->op != WP_OP_ENCODE;
			end_ns = moved_ns;
		}
		engine->free_ns = end_ns;
		device->copies_completed++;
		wp_request_complete(wp_queue_pop(&engine->queue), 0, end_ns);
	}
}

static void poll_computes(struct device_model *device, uint64_t now_ns)
{
	struct engine *engine = &device->compute;

	while (engine->queue.head) {
		uint64_t end_ns = head_end_ns(device, engine);

		if (end_ns > now_ns)
			return;
		engine->free_ns = end_ns;
		wp_request_complete(wp_queue_pop(&engine->queue), 0, end_ns);
	}
}

static void device_poll(struct wp_port *port)
{
	struct device_model *device = (struct device_model *)port;
	uint64_t now_ns = wp_clock_now_ns(device->clock);
	uint64_t signals;

	(void)!read(device->event_fd, &signals, sizeof(signals)); /* non-blocking: clears it */
	poll_copies(device, now_ns);
	poll_computes(device, now_ns);
}

static uint64_t device_next_ns(const struct wp_port *port)
{
	const struct device_model *device = (const struct device_model *)port;
	uint64_t next_ns = WP_TIME_NEVER;

	if (device->compute.queue.head)
		next_ns = head_end_ns(device, &device->compute);
	if (device->copy.queue.head && head_is_moved(device)) {
		uint64_t end_ns = head_end_ns(device, &device->copy);

		next_ns = end_ns < next_ns ? end_ns : next_ns;
	}
	return next_ns;
}

static int device_fd(const struct wp_port *port)
{
	return ((const struct device_model *)port)->event_fd;
}

static void device_close(struct wp_port *port)
{
	struct device_model *device = (struct device_model *)port;
	struct copier *copier = &device->copier;

	pthread_mutex_lock(&copier->lock);
	copier->stop = true;
	pthread_cond_signal(&copier->wake);
	pthread_mutex_unlock(&copier->lock);
	pthread_join(copier->thread, NULL);
	pthread_cond_destroy(&copier->wake);
	pthread_mutex_destroy(&copier->lock);
	close(device->event_fd);
	free(device);
}

static const struct wp_port_ops device_ops = {
    .name = "model",
    .submit = device_submit,
    .poll = device_poll,
    .next_ns = device_next_ns,
    .fd = device_fd,
    .close = device_close,
};

int wp_device_model_open(struct wp_port **port, struct wp_clock *clock,
			 const struct wp_device_rates *rates)
{
	struct device_model *device = calloc(1, sizeof(*device));
	int error;

	if (!device)
		return -ENOMEM;
	device->port.ops = &device_ops;
	device->clock = clock;
	device->rates = *rates;
	device->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (device->event_fd < 0) {
		error = -errno;
		free(device);
		return error;
	}
	pthread_mutex_init(&device->copier.lock, NULL);
	pthread_cond_init(&device->copier.wake, NULL);
	error = pthread_create(&device->copier.thread, NULL, copier_run, device);
	if (error) {
		close(device->event_fd);
		free(device);
		return -error;
	}
	*port = &device->port;
	return 0;
}

bool wp_device_model_memcpy_governed(const struct wp_port *port)
{
	WP_CHECK(port->ops == &device_ops);
	return ((const struct device_model *)port)->memcpy_governed;
}
