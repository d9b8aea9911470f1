/*
 * The store port over a store's files and one way of moving bytes. Internal:
 * wp_store_host_open puts the parts together; tests put others together.
 */
#ifndef WP_STORE_PORT_H
#define WP_STORE_PORT_H

#include "pager/store_files.h"
#include "pager/store_io.h"

struct wp_store_port_config {
	uint32_t depth;
	bool forget_oldest;
	uint32_t io_bytes_max; /* of one piece, a multiple of 4096: 1 .. WP_IO_BYTES_MAX */
};

/*
 * Takes `files` (from malloc, open) and `backend` over; closes and frees them.
 * On failure they stay the caller's. 0 or -errno.
 */
int wp_store_port_open(struct wp_port **store, struct wp_store_files *files,
		       struct wp_io_backend *backend, const struct wp_store_port_config *config,
		       struct wp_clock *clock) WP_MUST_USE;

/* What the port stands on, for those who opened it. */
struct wp_store_files *wp_store_port_files(struct wp_port *store);
uint64_t wp_store_port_forgotten(const struct wp_port *store);

#endif
