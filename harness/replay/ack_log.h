/*
 * The ack log of a session: one block number a line, written once the block is
 * durable. A session that goes on is held against it: what the log names and
 * the store does not hold was lost, whatever the store itself can tell.
 */
#ifndef WP_ACK_LOG_H
#define WP_ACK_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "pager/pager.h"

/*
 * Whether `stored` knows every block that the log at `path` names; a block that may
 * have been forgotten under `tiers` need not be there, nor need the log. 0, or -1
 * (exit 4) with the lowest that is lost, or the line that is no block's.
 */
int wp_ack_log_check(const char *path, const struct wp_pager_tiers *tiers,
		     bool (*stored)(const void *context, uint32_t block), const void *context,
		     struct wp_error *error) WP_MUST_USE;

#endif
