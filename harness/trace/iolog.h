/*
 * What a replay reads from its store, as a fio iolog of version 3, so that fio
 * can read the same: a port's decorator right in front of the store notes each
 * small read when the store takes it.
 *
 *   fio version 3 iolog
 *   0 segment-00000 add
 *   0 segment-00000 open
 *   1200000 segment-00000 read 129257472 1048576       us, file, action, offset, length
 *   ...
 *   8400000 segment-00000 close
 *
 * Files are those of a prepared store and named without a folder: fio is run
 * inside it. Lengths are multiples of 4096, as direct I/O wants them. In the
 * virtual world there is no store; the names are those it would have.
 */
#ifndef WP_IOLOG_H
#define WP_IOLOG_H

#include <stdint.h>

#include "harness/error.h"
#include "pager/clock.h"
#include "pager/port.h"

struct wp_iolog;

/* Of a prepared store of `block_count` blocks. 0, or -1 with `error`. */
int wp_iolog_open(struct wp_iolog **iolog, const char *path, uint64_t block_bytes,
		  uint32_t block_count, struct wp_error *error) WP_MUST_USE;

/* Stands before *port from here on (and closes it when it is closed itself). -ENOMEM. */
int wp_iolog_watch(struct wp_iolog *iolog, struct wp_port **port,
		   struct wp_clock *clock) WP_MUST_USE;

/* Times count from `start_ns` of that clock; what was read before is not noted.
 * NULL is allowed. */
void wp_iolog_start(struct wp_iolog *iolog, uint64_t start_ns);

/* After the port was closed: makes the file visible. 0, or -1 with `error`. */
int wp_iolog_commit(struct wp_iolog *iolog, struct wp_error *error) WP_MUST_USE;

/* Removes what was not committed. NULL is allowed. */
void wp_iolog_close(struct wp_iolog *iolog);

#endif
