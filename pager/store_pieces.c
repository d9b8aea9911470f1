/* What the kernel says of a piece: all of it, some, none, not now, or an error. */
#include "pager/store_pieces.h"

#include <errno.h>
#include <string.h>

void wp_pieces_begin(struct wp_pieces *pieces, uint32_t segment, uint64_t offset, void *memory,
		     uint64_t bytes, bool write)
{
	memset(pieces, 0, sizeof(*pieces));
	pieces->io.segment = segment;
	pieces->io.write = write;
	pieces->memory = memory;
	pieces->offset = offset;
	pieces->asked = bytes;
	pieces->pause_ns = WP_PIECES_PAUSE_NS;
}

void wp_pieces_next(struct wp_pieces *pieces, uint64_t bytes_max)
{
	uint64_t left = pieces->asked - pieces->moved;

	pieces->io.memory = pieces->memory + pieces->moved;
	pieces->io.offset = pieces->offset + pieces->moved;
	pieces->io.bytes = (uint32_t)(left < bytes_max ? left : bytes_max);
}

static enum wp_pieces_next end(struct wp_pieces *pieces, int result)
{
	pieces->result = result;
	return WP_PIECES_OVER;
}

static enum wp_pieces_next try_again(struct wp_pieces *pieces, uint64_t now_ns)
{
	pieces->retries++;
	if (pieces->again++ == WP_PIECES_AGAIN_MAX)
		return end(pieces, -EIO);
	pieces->resume_ns = now_ns + pieces->pause_ns;
	pieces->pause_ns *= 2;
	if (pieces->pause_ns > WP_PIECES_PAUSE_MAX_NS)
		pieces->pause_ns = WP_PIECES_PAUSE_MAX_NS;
	return WP_PIECES_PAUSE;
}

enum wp_pieces_next wp_pieces_took(struct wp_pieces *pieces, uint32_t alignment_bytes,
				   uint64_t now_ns)
{
	int64_t result = pieces->io.result;
	uint64_t got = result > 0 ? (uint64_t)result : 0;
	uint64_t kept = got;

	if (result == -EAGAIN || result == -EINTR)
		return try_again(pieces, now_ns);
	if (result < 0)
		return end(pieces, (int)result);
	WP_CHECK(got <= pieces->io.bytes);
	if (got < pieces->io.bytes) {
		/* Direct I/O goes on only from an aligned place. */
		kept = got / alignment_bytes * alignment_bytes;
		pieces->retries++;
	}
	if (kept == 0) {
		/* The file ends here, or so near that there is no going on. */
		pieces->moved += got;
		pieces->end_missing = pieces->asked - pieces->moved;
		return end(pieces, -EIO);
	}
	pieces->moved += kept;
	pieces->again = 0;
	pieces->pause_ns = WP_PIECES_PAUSE_NS;
	return pieces->moved == pieces->asked ? end(pieces, 0) : WP_PIECES_MORE;
}
