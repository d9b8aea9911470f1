/*
 * Every fixed limit of the pager in one place. A limit that an input can meet
 * is checked where that input is read; meeting one inside the pager aborts.
 */
#ifndef WP_LIMITS_H
#define WP_LIMITS_H

#include <stdint.h>

/* Unit of the checksums: one XXH3-64 per so many bytes of payload. */
#define WP_CHUNK_BYTES	      (256u * 1024u)

/* A copy to the device is made in pieces of at most this, so that a needed block overtakes. */
#define WP_COPY_BYTES_MAX     (4u * 1024u * 1024u)

/* Registered buffers: at most this an iovec (the kernel refuses more). */
#define WP_REGISTER_BYTES_MAX (1024ull * 1024u * 1024u)

#define WP_BLOCK_BYTES_MAX    (64ull * 1024u * 1024u * 1024u)
#define WP_SET_BLOCKS_MAX     64u	 /* k */
#define WP_STAGING_MAX	      1024u	 /* blocks staged on hints */
#define WP_BLOCKS_MAX	      (1u << 24) /* block numbers of one session */
#define WP_READ_DEPTH_MAX     256u	 /* small reads in flight */
#define WP_READ_RETRIES_MAX   3u	 /* re-reads of bytes that did not verify */
#define WP_BLOCK_NONE	      UINT32_MAX
#define WP_TIME_NEVER	      UINT64_MAX

#endif
