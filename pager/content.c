/*
 * Content and checksums of chunks. The generator runs four independent lanes
 * so that filling a store is not slower than writing it.
 */
#include "pager/content.h"

#include <string.h>

#include <xxhash.h>

#include "pager/content_arith.h"
#include "pager/limits.h"

#define LANES	   WP_CONTENT_LANES
#define STEP_BYTES (LANES * sizeof(uint64_t))

_Static_assert(LANES == 4, "written out below");

static inline void put(unsigned char *at, const struct wp_content_lanes *lanes, uint64_t step,
		       uint32_t lane)
{
	uint64_t word = wp_content_word(lanes->state[lane], step);

	memcpy(at + lane * sizeof(word), &word, sizeof(word));
}

static inline uint64_t difference(const unsigned char *at, const struct wp_content_lanes *lanes,
				  uint64_t step, uint32_t lane)
{
	uint64_t word;

	memcpy(&word, at + lane * sizeof(word), sizeof(word));
	return word ^ wp_content_word(lanes->state[lane], step);
}

/* One step of the stream. Not as a loop, which would keep the lanes in memory. */
static inline void fill_step(const struct wp_content_lanes *lanes, uint64_t step, unsigned char *at)
{
	put(at, lanes, step, 0);
	put(at, lanes, step, 1);
	put(at, lanes, step, 2);
	put(at, lanes, step, 3);
}

static inline bool step_equals(const struct wp_content_lanes *lanes, uint64_t step,
			       const unsigned char *at)
{
	return !(difference(at, lanes, step, 0) | difference(at, lanes, step, 1) |
		 difference(at, lanes, step, 2) | difference(at, lanes, step, 3));
}

/* The words of a step that is not whole, the last of them perhaps in part. */
static void fill_tail(uint64_t key, uint64_t step, unsigned char *at, size_t left)
{
	for (uint32_t lane = 0; left; lane++) {
		uint64_t word = wp_content_word(wp_content_lane(key, lane), step);

		if (left < sizeof(word)) {
			memcpy(at, &word, left);
			return;
		}
		memcpy(at, &word, sizeof(word));
		at += sizeof(word);
		left -= sizeof(word);
	}
}

static bool tail_equals(uint64_t key, uint64_t step, const unsigned char *at, size_t left)
{
	for (uint32_t lane = 0; left; lane++) {
		uint64_t word = wp_content_word(wp_content_lane(key, lane), step), found;

		if (left < sizeof(word))
			return memcmp(at, &word, left) == 0;
		memcpy(&found, at, sizeof(found));
		if (found != word)
			return false;
		at += sizeof(word);
		left -= sizeof(word);
	}
	return true;
}

void wp_content_fill(void *buffer, size_t bytes, uint64_t seed, uint32_t block, uint32_t chunk)
{
	unsigned char *at = buffer;
	uint64_t step = 0;

	if (bytes >= STEP_BYTES) {
		struct wp_content_lanes lanes = wp_content_lanes(seed, block, chunk);

		for (; bytes >= STEP_BYTES; bytes -= STEP_BYTES, at += STEP_BYTES, step++)
			fill_step(&lanes, step, at);
	}
	if (bytes)
		fill_tail(wp_content_key(seed, block, chunk), step, at, bytes);
}

bool wp_content_equals(const void *buffer, size_t bytes, uint64_t seed, uint32_t block,
		       uint32_t chunk)
{
	const unsigned char *at = buffer;
	uint64_t step = 0;

	if (bytes >= STEP_BYTES) {
		struct wp_content_lanes lanes = wp_content_lanes(seed, block, chunk);

		for (; bytes >= STEP_BYTES; bytes -= STEP_BYTES, at += STEP_BYTES, step++)
			if (!step_equals(&lanes, step, at))
				return false;
	}
	return !bytes || tail_equals(wp_content_key(seed, block, chunk), step, at, bytes);
}

/* Of all but the last of `count` chunks. */
static uint64_t chunk_size(uint64_t payload_bytes, uint32_t count)
{
	uint64_t full_bytes = (uint64_t)(count - 1) * WP_CHUNK_BYTES;

	return payload_bytes > full_bytes ? WP_CHUNK_BYTES : payload_bytes / count;
}

/* All there is of a chunk in most virtual runs. In a loop, several are worked out at once. */
static inline uint64_t only_word(uint64_t seed, uint32_t block, uint32_t chunk)
{
	return wp_content_word(wp_content_lane(wp_content_key(seed, block, chunk), 0), 0);
}

void wp_content_fill_chunks(void *buffer, uint64_t payload_bytes, uint64_t seed, uint32_t block,
			    uint32_t first, uint32_t count)
{
	uint64_t chunk_bytes = chunk_size(payload_bytes, count);
	unsigned char *at = buffer;

	if (chunk_bytes == sizeof(uint64_t)) {
		for (uint32_t i = 0; i < count; i++, at += sizeof(uint64_t)) {
			uint64_t word = only_word(seed, block, first + i);

			memcpy(at, &word, sizeof(word));
		}
		return;
	}
	for (uint32_t i = 0; i < count; i++, at += chunk_bytes, payload_bytes -= chunk_bytes)
		wp_content_fill(at, payload_bytes < chunk_bytes ? payload_bytes : chunk_bytes, seed,
				block, first + i);
}

uint32_t wp_content_wrong_chunk(const void *buffer, uint64_t payload_bytes, uint64_t seed,
				uint32_t block, uint32_t first, uint32_t count)
{
	uint64_t chunk_bytes = chunk_size(payload_bytes, count);
	const unsigned char *at = buffer;
	uint32_t i = 0;

	if (chunk_bytes == sizeof(uint64_t)) {
		for (; i < count; i++, at += sizeof(uint64_t)) {
			uint64_t word;

			memcpy(&word, at, sizeof(word));
			if (word != only_word(seed, block, first + i))
				break;
		}
		return first + i;
	}
	for (; i < count; i++, at += chunk_bytes, payload_bytes -= chunk_bytes)
		if (!wp_content_equals(at,
				       payload_bytes < chunk_bytes ? payload_bytes : chunk_bytes,
				       seed, block, first + i))
			break;
	return first + i;
}

uint64_t wp_content_checksum(const void *buffer, size_t bytes, uint32_t block, uint32_t generation,
			     uint32_t chunk)
{
	uint64_t place = wp_mix64((uint64_t)block << 32 | generation) ^ chunk;

	return XXH3_64bits_withSeed(buffer, bytes, wp_mix64(place));
}
