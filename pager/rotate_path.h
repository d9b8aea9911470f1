/*
 * The ways to turn the bf16 keys of one head, for rotate.c, its tests and its
 * benchmark. The plain way is the definition; the others give the same bits.
 */
#ifndef WP_ROTATE_PATH_H
#define WP_ROTATE_PATH_H

#include <stdbool.h>
#include <stdint.h>

struct wp_rotation;

struct wp_rotate_path {
	const char *name;
	bool (*supported)(void);
	/* The pairs that turn, from `source` to `target` (which may be the same); nothing else
	 * of the head is read or written. */
	void (*turn_head)(const struct wp_rotation *rotation, const uint16_t *source,
			  uint16_t *target);
};

extern const struct wp_rotate_path wp_rotate_plain;
#ifdef __x86_64__
extern const struct wp_rotate_path wp_rotate_avx2;
extern const struct wp_rotate_path wp_rotate_avx512;
#endif

/* Best first, plain last; NULL from the end of the list on. */
const struct wp_rotate_path *wp_rotate_path_at(uint32_t index);

#endif
