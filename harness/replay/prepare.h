/*
 * Prepared stores: blocks 0 .. block_count-1 of wp_content_fill(seed), written
 * once and reused by every replay of the same geometry. A store is complete
 * only when its header exists, which is written last.
 */
#ifndef WP_PREPARE_H
#define WP_PREPARE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "pager/store_host.h"

struct wp_prepare_config {
	const char *directory;
	struct wp_store_identity identity; /* kind is set by prepare */
	uint32_t block_count;		   /* at least so many; 1 .. WP_BLOCKS_MAX */
	enum wp_store_backend backend;
	bool require_direct; /* as in wp_store_host_config */
	bool allow_unproven;
	bool replace; /* remove a store that does not match; never anything else */
	/* Called now and then with bytes written so far; may be NULL. */
	void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
	void *context;
	/* Becomes nonzero: give up, leave nothing, but for a drive that takes longer than a
	 * few seconds over what it was given. May be NULL. */
	const volatile sig_atomic_t *stop;
	uint64_t deadline_ns; /* a drive that finishes nothing for so long has died; 0: never */
};

struct wp_prepare_plan {
	bool reusable;
	bool too_short;	      /* the right contents, but too few blocks: prepare writes it anew */
	uint64_t store_bytes; /* on disk, all files */
	uint64_t write_bytes; /* still to be written; 0 when reusable */
	uint64_t free_bytes;  /* what the file system has for us */
	char difference[512]; /* why a store that is there cannot be reused; else empty */
};

/* What preparing would do, touching nothing. 0, or -1 with `error`. */
int wp_prepare_plan(const struct wp_prepare_config *config, struct wp_prepare_plan *plan,
		    struct wp_error *error) WP_MUST_USE;

/*
 * Makes sure that the store is there: reuses it or writes it. 0, or -1 with
 * `error`; its exit code is WP_EXIT_INTERRUPTED after `stop`, WP_EXIT_CONTENT when
 * the drive died, which leaves memory and descriptors to the process's end.
 */
int wp_prepare(const struct wp_prepare_config *config, struct wp_error *error) WP_MUST_USE;

/* Makes the folder that stores lie in, one level, as for any output folder, unless it is there.
 * Exit 3 for rights and space, else 4. */
int wp_prepare_folder(const char *path, struct wp_error *error) WP_MUST_USE;

/* A store's fault as the user meets it: exit 4 for contents, else 3. Returns -1. */
int wp_prepare_error(struct wp_error *error, const struct wp_store_fault *fault);

#endif
