/*
 * Sizes of one stored block, the same in every layer.
 *
 *   block   |chunk 0|chunk 1| ... |chunk n-1 (shorter)|   WP_CHUNK_BYTES each
 *   read    |  read_chunks chunks |  ...                  what the drive is asked for at once
 *
 * In the virtual world a chunk is timed as WP_CHUNK_BYTES but moves only
 * `chunk_payload_bytes` (last chunk included); elsewhere the two are equal.
 */
#ifndef WP_GEOMETRY_H
#define WP_GEOMETRY_H

#include <stdint.h>

#include "pager/limits.h"

struct wp_geometry {
	uint64_t block_bytes; /* stored bytes of one block, without padding */
	uint32_t
	    chunk_payload_bytes; /* bytes really moved a chunk; WP_CHUNK_BYTES outside virtual */
	uint32_t read_chunks;	 /* chunks of one small read, at least 1 */
};

static inline uint32_t wp_geometry_chunks(const struct wp_geometry *geometry)
{
	return (uint32_t)((geometry->block_bytes + WP_CHUNK_BYTES - 1) / WP_CHUNK_BYTES);
}

static inline uint32_t wp_geometry_reads(const struct wp_geometry *geometry)
{
	return (wp_geometry_chunks(geometry) + geometry->read_chunks - 1) / geometry->read_chunks;
}

/* Timed bytes of the chunks [first, first + count). */
static inline uint64_t wp_geometry_bytes(const struct wp_geometry *geometry, uint32_t first,
					 uint32_t count)
{
	uint64_t begin = (uint64_t)first * WP_CHUNK_BYTES;
	uint64_t end = (uint64_t)(first + count) * WP_CHUNK_BYTES;

	return (end < geometry->block_bytes ? end : geometry->block_bytes) - begin;
}

/* Moved bytes of the chunks [first, first + count). */
static inline uint64_t wp_geometry_payload_bytes(const struct wp_geometry *geometry, uint32_t first,
						 uint32_t count)
{
	if (geometry->chunk_payload_bytes == WP_CHUNK_BYTES)
		return wp_geometry_bytes(geometry, first, count);
	return (uint64_t)count * geometry->chunk_payload_bytes;
}

/* Bytes of memory that a slot for one block takes, a multiple of 4096. */
static inline uint64_t wp_geometry_slot_bytes(const struct wp_geometry *geometry)
{
	uint64_t bytes = wp_geometry_payload_bytes(geometry, 0, wp_geometry_chunks(geometry));

	return (bytes + 4095) / 4096 * 4096;
}

#endif
