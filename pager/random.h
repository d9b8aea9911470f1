/*
 * Deterministic pseudo-random numbers (splitmix64): one seed decides all.
 * Faults, content and drawn configurations each keep a generator of their own.
 */
#ifndef WP_RANDOM_H
#define WP_RANDOM_H

#include <stdint.h>

#include "pager/arith.h"

struct wp_random {
	uint64_t state;
};

/* Finaliser of splitmix64: a bijection that spreads every input bit. */
WP_ARITH uint64_t wp_mix64(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static inline uint64_t wp_random_next(struct wp_random *random)
{
	random->state += 0x9e3779b97f4a7c15u;
	return wp_mix64(random->state);
}

/* Uniform in [0, bound); bound > 0. */
static inline uint64_t wp_random_below(struct wp_random *random, uint64_t bound)
{
	return (uint64_t)(((__uint128_t)wp_random_next(random) * bound) >> 64);
}

#endif
