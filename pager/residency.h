/*
 * What the two residencies share and where they differ. pager.c is the public
 * face and drives frames; pager_forced.c and pager_tiered.c decide where a
 * block lives and keep their state behind `state`.
 *
 * Internal to these three files.
 */
#ifndef WP_RESIDENCY_H
#define WP_RESIDENCY_H

#include "pager/pager.h"
#include "pager/transfer.h"

struct wp_residency_ops {
	bool (*is_legal)(const struct wp_pager_config *config);
	uint32_t (*transfer_count)(const struct wp_pager_config *config);
	int (*open)(struct wp_pager *pager);
	void (*close)(struct wp_pager *pager); /* NULL or half-opened state is allowed */

	void (*hint)(struct wp_pager *pager, const uint32_t *blocks, uint32_t count);
	void (*need)(struct wp_pager *pager, const uint32_t *blocks, uint32_t count);
	int (*step)(struct wp_pager *pager);
	bool (*is_ready)(const struct wp_pager *pager);
	/* When the set's last byte came (0: all was there), guesses given up, set in use. */
	uint64_t (*settle)(struct wp_pager *pager);
	void (*release)(struct wp_pager *pager);
	void (*stop)(struct wp_pager *pager); /* everything given up */

	uint32_t (*host_slot)(const struct wp_pager *pager, uint32_t index);
	uint32_t (*device_slot)(const struct wp_pager *pager, uint32_t index);

	/* Beside the transfers; NULL: nothing. */
	uint32_t (*in_flight)(const struct wp_pager *pager);
	uint64_t (*deadline_ns)(const struct wp_pager *pager);
	uint64_t (*last_deadline_ns)(const struct wp_pager *pager);
	struct wp_pager_fault (*fault)(const struct wp_pager *pager);
	void (*check)(const struct wp_pager *pager);
};

extern const struct wp_residency_ops wp_residency_forced;
extern const struct wp_residency_ops wp_residency_tiered;

struct wp_pager {
	const struct wp_residency_ops *ops;
	struct wp_pager_config config;
	struct wp_world *world;
	struct wp_transfers *transfers;
	void *state; /* the residency's own */
	uint64_t slot_bytes;

	uint32_t set_count;
	uint64_t needed_ns;
	bool needing;	 /* between need and settle */
	bool unanswered; /* given up with requests in flight */

	struct wp_pager_figures figures;    /* of the frame being brought in */
	struct wp_transfers_totals settled; /* totals when the previous frame settled */
	uint64_t settled_read_ns, settled_verify_ns, settled_copy_ns;
};

static inline void *wp_pager_host_slot(const struct wp_pager *pager, uint32_t slot)
{
	return (char *)pager->config.host_slots + slot * pager->slot_bytes;
}

static inline void *wp_pager_device_slot(const struct wp_pager *pager, uint32_t slot)
{
	return (char *)pager->config.device_slots + slot * pager->slot_bytes;
}

#endif
