/* How long bytes take at a rate, in integers: no drift, no floats in decisions. */
#ifndef WP_DURATION_H
#define WP_DURATION_H

#include <stdint.h>

#define WP_NS_PER_S 1000000000ull

/* ceil(bytes / rate) in ns; 0 for an unlimited rate (0). */
static inline uint64_t wp_duration_ns(uint64_t bytes, uint64_t bytes_per_s)
{
	if (!bytes_per_s)
		return 0;
	/* The short way, where nothing can overflow: 128-bit division is slow. */
	if (bytes < UINT32_MAX && bytes_per_s < UINT64_MAX / 2)
		return (bytes * WP_NS_PER_S + bytes_per_s - 1) / bytes_per_s;
	return (uint64_t)(((__uint128_t)bytes * WP_NS_PER_S + bytes_per_s - 1) / bytes_per_s);
}

/* floor(rate x ns) in bytes. */
static inline uint64_t wp_duration_bytes(uint64_t ns, uint64_t bytes_per_s)
{
	return (uint64_t)((__uint128_t)ns * bytes_per_s / WP_NS_PER_S);
}

/* bytes / ns as bytes per second, rounded to nearest; 0 for no time. */
static inline uint64_t wp_duration_rate(uint64_t bytes, uint64_t ns)
{
	return ns ? (uint64_t)(((__uint128_t)bytes * WP_NS_PER_S + ns / 2) / ns) : 0;
}

#endif
