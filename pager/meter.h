/* Time during which at least one of something was outstanding. */
#ifndef WP_METER_H
#define WP_METER_H

#include <stdint.h>

#include "pager/check.h"

struct wp_meter {
	uint32_t active;
	uint64_t since_ns; /* of the current busy span */
	uint64_t total_ns; /* of the finished spans */
};

static inline void wp_meter_begin(struct wp_meter *meter, uint64_t at_ns)
{
	if (meter->active++ == 0)
		meter->since_ns = at_ns;
}

static inline void wp_meter_end(struct wp_meter *meter, uint64_t at_ns)
{
	WP_CHECK(meter->active > 0);
	if (--meter->active == 0 && at_ns > meter->since_ns)
		meter->total_ns += at_ns - meter->since_ns;
}

/* Busy time up to now, an unfinished span included. */
static inline uint64_t wp_meter_read(const struct wp_meter *meter, uint64_t now_ns)
{
	uint64_t total_ns = meter->total_ns;

	if (meter->active && now_ns > meter->since_ns)
		total_ns += now_ns - meter->since_ns;
	return total_ns;
}

#endif
