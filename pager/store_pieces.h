/*
 * One range of a file, moved in pieces: what to ask for next and what to make of
 * the answer. No I/O and no clock; the store port drives it.
 *
 *   begin -> next -> (kernel) -> took --> MORE  -> next ...
 *                                    +--> PAUSE -> next, at resume_ns
 *                                    +--> OVER: result, moved
 */
#ifndef WP_STORE_PIECES_H
#define WP_STORE_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/store_io.h"

/* Repetitions of one piece after -EAGAIN or -EINTR, and the pauses before
 * them, doubled each time: 80 ms in all, then -EIO. */
#define WP_PIECES_AGAIN_MAX    12u
#define WP_PIECES_PAUSE_NS     (50ull * 1000)
#define WP_PIECES_PAUSE_MAX_NS (10ull * 1000 * 1000)

struct wp_pieces {
	struct wp_io io; /* first: the backend hands this back */
	unsigned char *memory;
	uint64_t offset;    /* of the range in its segment */
	uint64_t asked;	    /* bytes of the range, padding included */
	uint64_t moved;	    /* so far; with an error, where it happened */
	uint64_t resume_ns; /* after PAUSE */
	uint64_t pause_ns;
	uint64_t end_missing; /* bytes that the file is too short by; 0: it is not */
	uint32_t again;	      /* refusals of the piece under way */
	uint32_t retries;     /* of the range: refusals and short answers */
	int result;	      /* once OVER */
};

enum wp_pieces_next {
	WP_PIECES_MORE,
	WP_PIECES_PAUSE,
	WP_PIECES_OVER,
};

void wp_pieces_begin(struct wp_pieces *pieces, uint32_t segment, uint64_t offset, void *memory,
		     uint64_t bytes, bool write);

/* Sets io for the next piece, of at most `bytes_max` (a multiple of 4096). */
void wp_pieces_next(struct wp_pieces *pieces, uint64_t bytes_max);

/* Takes io.result in. `alignment_bytes` is that of direct I/O, 1 without. */
enum wp_pieces_next wp_pieces_took(struct wp_pieces *pieces, uint32_t alignment_bytes,
				   uint64_t now_ns);

#endif
