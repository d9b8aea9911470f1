/*
 * The content of prepared blocks word by word (see content.h): any word can be
 * computed alone, so a GPU fills and checks blocks without their being copied.
 */
#ifndef WP_CONTENT_ARITH_H
#define WP_CONTENT_ARITH_H

#include <stdint.h>

#include "pager/arith.h"
#include "pager/random.h"

#define WP_CONTENT_LANES 4u

struct wp_content_lanes {
	uint64_t state[WP_CONTENT_LANES];
};

WP_ARITH uint64_t wp_content_key(uint64_t seed, uint32_t block, uint32_t chunk)
{
	return wp_mix64(seed ^ wp_mix64(((uint64_t)block << 32 | chunk) + 1));
}

WP_ARITH uint64_t wp_content_lane(uint64_t key, uint32_t lane)
{
	return wp_mix64(key + lane + 1);
}

/* Of one chunk. Word w of it comes from lane w % WP_CONTENT_LANES, step w / WP_CONTENT_LANES. */
WP_ARITH struct wp_content_lanes wp_content_lanes(uint64_t seed, uint32_t block, uint32_t chunk)
{
	uint64_t key = wp_content_key(seed, block, chunk);
	struct wp_content_lanes lanes = {{wp_content_lane(key, 0), wp_content_lane(key, 1),
					  wp_content_lane(key, 2), wp_content_lane(key, 3)}};

	return lanes;
}

WP_ARITH uint64_t wp_content_word(uint64_t state, uint64_t step)
{
	uint64_t x = state + (step + 1) * 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
	return x ^ (x >> 32);
}

#endif
