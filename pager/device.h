/*
 * Devices: implementations of the device port. Operations:
 *
 *   COPY     `payload_bytes` from `host` to `device`, timed as `bytes`
 *   FETCH    the other way
 *   ENCODE   `block` in its stored form at `device`, timed as `bytes` at the decode
 *            rate; model and virtual make its bytes up as content.h says
 *   DECODE   timed as `bytes` at the decode rate; model and virtual: nothing but time
 *   COMPUTE  one frame, `duration_ns`, from `start_ns` (0: from submission)
 *
 * Copies are done one after another (one copy engine), computes likewise;
 * the two overlap each other and the store.
 */
#ifndef WP_DEVICE_H
#define WP_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/clock.h"
#include "pager/events.h"
#include "pager/port.h"

struct wp_device_rates {
	uint64_t copy_bytes_per_s;   /* 0: unlimited */
	uint64_t decode_bytes_per_s; /* 0: unlimited */
	uint64_t content_seed;	     /* of the blocks that ENCODE makes up */
};

/* device_virtual.c */
int wp_device_virtual_open(struct wp_port **device, struct wp_events *events,
			   const struct wp_device_rates *rates) WP_MUST_USE;

/*
 * device_model.c: synthetic GPU timing on the host. A copy ends at the later of
 * the modelled rate and a real memcpy by a worker thread.
 */
int wp_device_model_open(struct wp_port **device, struct wp_clock *clock,
			 const struct wp_device_rates *rates) WP_MUST_USE;
/* Whether some copy ended later than the modelled rate because of the memcpy. */
bool wp_device_model_memcpy_governed(const struct wp_port *device);

/* clock_host.c: CLOCK_MONOTONIC from now on; sleeps in ppoll with 1 ns timer slack. */
int wp_clock_host_open(struct wp_clock **clock) WP_MUST_USE;

#endif
