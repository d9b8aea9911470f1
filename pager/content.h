/*
 * The bytes of a block in prepared stores and in the virtual world: a function
 * of (seed, block, chunk), incompressible, so that whoever receives a block
 * can tell every single byte without having kept a copy.
 *
 * Also the checksum that belongs to a chunk: XXH3-64 of its payload, seeded
 * with (block, generation, chunk), so that right bytes of the wrong block,
 * of an older generation or from the wrong place do not verify.
 */
#ifndef WP_CONTENT_H
#define WP_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills `bytes` bytes; any length. */
void wp_content_fill(void *buffer, size_t bytes, uint64_t seed, uint32_t block, uint32_t chunk);

/* Whether `buffer` holds what wp_content_fill would put there. */
bool wp_content_equals(const void *buffer, size_t bytes, uint64_t seed, uint32_t block,
		       uint32_t chunk);

/*
 * Chunks [first, first + count) of a block, one behind the other in `payload_bytes`:
 * all of the same size but for the last.
 */
void wp_content_fill_chunks(void *buffer, uint64_t payload_bytes, uint64_t seed, uint32_t block,
			    uint32_t first, uint32_t count);

/* The first of these chunks that differs from what would be filled in; first + count: none. */
uint32_t wp_content_wrong_chunk(const void *buffer, uint64_t payload_bytes, uint64_t seed,
				uint32_t block, uint32_t first, uint32_t count);

uint64_t wp_content_checksum(const void *buffer, size_t bytes, uint32_t block, uint32_t generation,
			     uint32_t chunk);

#endif
