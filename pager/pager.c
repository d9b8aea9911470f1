/*
 * The pager's public face: one frame after the other, whatever the residency.
 * Where a block lives is decided by pager_forced.c and pager_tiered.c; moving
 * it is transfer.c's business; which read comes next is the order policy's.
 */
#include "pager/pager.h"

#include <errno.h>
#include <stdlib.h>

#include "pager/residency.h"

static const struct wp_residency_ops *ops_of(enum wp_residency residency)
{
	return residency == WP_RESIDENCY_TIERED ? &wp_residency_tiered : &wp_residency_forced;
}

uint64_t wp_pager_host_bytes(const struct wp_pager_config *config)
{
	uint32_t slots = config->residency == WP_RESIDENCY_TIERED
			     ? config->tiers.host_slots
			     : config->set_blocks_max + config->staging_blocks;

	return slots * wp_geometry_slot_bytes(&config->geometry);
}

uint64_t wp_pager_device_bytes(const struct wp_pager_config *config)
{
	uint32_t slots = config->residency == WP_RESIDENCY_TIERED
			     ? config->tiers.device_slots
			     : config->set_blocks_max + config->staging_blocks;

	return slots * wp_geometry_slot_bytes(&config->geometry);
}

static bool config_is_legal(const struct wp_pager_config *config)
{
	const struct wp_geometry *geometry = &config->geometry;

	return config->order && geometry->block_bytes >= 1 &&
	       geometry->block_bytes <= WP_BLOCK_BYTES_MAX && geometry->chunk_payload_bytes >= 1 &&
	       geometry->chunk_payload_bytes <= WP_CHUNK_BYTES && geometry->read_chunks >= 1 &&
	       geometry->read_chunks <= WP_COPY_BYTES_MAX / WP_CHUNK_BYTES &&
	       config->set_blocks_max >= 1 && config->set_blocks_max <= WP_SET_BLOCKS_MAX &&
	       config->staging_blocks <= WP_STAGING_MAX && config->read_depth >= 1 &&
	       config->read_depth <= WP_READ_DEPTH_MAX && config->host_slots &&
	       config->device_slots && ops_of(config->residency)->is_legal(config);
}

int wp_pager_open(struct wp_pager **opened, const struct wp_pager_config *config,
		  struct wp_world *world)
{
	struct wp_transfers_config transfers = {
	    .geometry = config->geometry,
	    .order = config->order,
	    .read_depth = config->read_depth,
	    .read_retries_max = config->read_retries_max,
	    .deadline_ns = config->read_deadline_ns,
	};
	struct wp_pager *pager;
	int error;

	if (!config_is_legal(config))
		return -EINVAL;
	pager = calloc(1, sizeof(*pager));
	if (!pager)
		return -ENOMEM;
	pager->ops = ops_of(config->residency);
	pager->config = *config;
	pager->world = world;
	pager->slot_bytes = wp_geometry_slot_bytes(&config->geometry);
	transfers.count = pager->ops->transfer_count(config);
	error = wp_transfers_open(&pager->transfers, &transfers, world);
	if (!error)
		error = pager->ops->open(pager);
	if (error) {
		wp_pager_close(pager);
		return error;
	}
	*opened = pager;
	return 0;
}

void wp_pager_close(struct wp_pager *pager)
{
	if (!pager)
		return;
	if (pager->transfers && pager->state)
		WP_CHECK(wp_pager_in_flight(pager) == 0 || pager->unanswered);
	pager->ops->close(pager);
	wp_transfers_close(pager->transfers);
	free(pager);
}

void wp_pager_hint(struct wp_pager *pager, const uint32_t *blocks, uint32_t count)
{
	WP_CHECK(!pager->needing);
	pager->ops->hint(pager, blocks, count);
}

void wp_pager_need(struct wp_pager *pager, const uint32_t *blocks, uint32_t count,
		   uint64_t needed_ns)
{
	WP_CHECK(!pager->needing && count <= pager->config.set_blocks_max);
	pager->needing = true;
	pager->needed_ns = needed_ns;
	pager->set_count = count;
	pager->ops->need(pager, blocks, count);
}

int wp_pager_step(struct wp_pager *pager)
{
	return pager->ops->step(pager);
}

bool wp_pager_ready(const struct wp_pager *pager)
{
	return pager->ops->is_ready(pager);
}

int wp_pager_wait_ready(struct wp_pager *pager)
{
	for (;;) {
		int error = wp_pager_step(pager);

		if (error)
			return error;
		if (wp_pager_ready(pager))
			return 0;
		error = wp_world_wait(pager->world, wp_pager_deadline_ns(pager));
		if (error)
			return error;
	}
}

int wp_pager_wait_put(struct wp_pager *pager, uint32_t block, uint32_t position)
{
	int result = wp_pager_put(pager, block, position);

	while (result == -EAGAIN) {
		result = wp_pager_step(pager);
		if (result == 0)
			result = wp_pager_put(pager, block, position);
		if (result != -EAGAIN)
			break;
		result = wp_world_wait(pager->world, wp_pager_deadline_ns(pager));
		if (result == 0)
			result = -EAGAIN;
	}
	return result;
}

/* What the transfers took since the previous frame settled. */
static void take_totals(struct wp_pager *pager, struct wp_pager_figures *figures)
{
	const struct wp_transfers_totals *totals = wp_transfers_totals(pager->transfers);
	uint64_t now_ns = wp_clock_now_ns(pager->world->clock);
	uint64_t read_ns = wp_meter_read(&totals->read, now_ns);
	uint64_t verify_ns = wp_meter_read(&totals->verify, now_ns);
	uint64_t copy_ns = wp_meter_read(&totals->copy, now_ns);

	figures->bytes_nvme = totals->bytes_read - pager->settled.bytes_read;
	figures->retries = (uint32_t)(totals->retries - pager->settled.retries);
	figures->read_ns = read_ns - pager->settled_read_ns;
	figures->verify_ns = verify_ns - pager->settled_verify_ns;
	figures->copy_ns = copy_ns - pager->settled_copy_ns;
	pager->settled = *totals;
	pager->settled_read_ns = read_ns;
	pager->settled_verify_ns = verify_ns;
	pager->settled_copy_ns = copy_ns;
}

void wp_pager_settle(struct wp_pager *pager, struct wp_pager_figures *figures)
{
	uint64_t ready_ns;

	WP_CHECK(pager->needing && wp_pager_ready(pager));
	ready_ns = pager->ops->settle(pager);
	pager->figures.ready_ns = ready_ns ? ready_ns : pager->needed_ns;
	take_totals(pager, &pager->figures);
	*figures = pager->figures;
	pager->figures = (struct wp_pager_figures){0};
	pager->needing = false;
}

const void *wp_pager_host(const struct wp_pager *pager, uint32_t index)
{
	uint32_t slot;

	WP_CHECK(!pager->needing && index < pager->set_count);
	slot = pager->ops->host_slot(pager, index);
	return slot == UINT32_MAX ? NULL : wp_pager_host_slot(pager, slot);
}

void *wp_pager_device(const struct wp_pager *pager, uint32_t index)
{
	WP_CHECK(!pager->needing && index < pager->set_count);
	return wp_pager_device_slot(pager, pager->ops->device_slot(pager, index));
}

void wp_pager_release(struct wp_pager *pager)
{
	WP_CHECK(!pager->needing);
	pager->ops->release(pager);
	pager->set_count = 0;
}

static uint64_t last_deadline_ns(const struct wp_pager *pager)
{
	uint64_t last_ns = 0, other_ns;

	if (wp_transfers_in_flight(pager->transfers))
		last_ns = wp_transfers_last_deadline_ns(pager->transfers);
	if (pager->ops->in_flight && pager->ops->in_flight(pager)) {
		other_ns = pager->ops->last_deadline_ns(pager);
		last_ns = other_ns > last_ns ? other_ns : last_ns;
	}
	return last_ns;
}

int wp_pager_quiesce(struct wp_pager *pager)
{
	return wp_pager_quiesce_until(pager, WP_TIME_NEVER);
}

int wp_pager_quiesce_until(struct wp_pager *pager, uint64_t until_ns)
{
	pager->ops->stop(pager);
	pager->set_count = 0;
	pager->needing = false;
	for (;;) {
		uint64_t last_ns;
		int error;

		(void)!wp_pager_step(pager); /* a fault changes nothing any more */
		if (!wp_pager_in_flight(pager))
			return 0;
		last_ns = last_deadline_ns(pager);
		if (until_ns < last_ns)
			last_ns = until_ns;
		if (wp_clock_now_ns(pager->world->clock) >= last_ns) {
			pager->unanswered = true;
			return -ETIMEDOUT;
		}
		error = wp_world_wait(pager->world, last_ns);
		if (error && error != -EINTR)
			return error;
	}
}

uint64_t wp_pager_deadline_ns(const struct wp_pager *pager)
{
	uint64_t deadline_ns = wp_transfers_deadline_ns(pager->transfers);
	uint64_t other_ns =
	    pager->ops->deadline_ns ? pager->ops->deadline_ns(pager) : WP_TIME_NEVER;

	return other_ns < deadline_ns ? other_ns : deadline_ns;
}

void wp_pager_check(const struct wp_pager *pager)
{
	wp_transfers_check(pager->transfers);
	if (pager->ops->check)
		pager->ops->check(pager);
}

uint32_t wp_pager_in_flight(const struct wp_pager *pager)
{
	return wp_transfers_in_flight(pager->transfers) +
	       (pager->ops->in_flight ? pager->ops->in_flight(pager) : 0);
}

struct wp_pager_totals wp_pager_totals(const struct wp_pager *pager)
{
	const struct wp_transfers_totals *totals = wp_transfers_totals(pager->transfers);

	return (struct wp_pager_totals){
	    .bytes_nvme = totals->bytes_read,
	    .read_busy_ns = wp_meter_read(&totals->read, wp_clock_now_ns(pager->world->clock)),
	    .reads = totals->reads,
	    .mismatches = totals->mismatches,
	};
}

struct wp_pager_fault wp_pager_fault(const struct wp_pager *pager)
{
	struct wp_pager_fault fault = wp_transfers_fault(pager->transfers);

	return fault.error || !pager->ops->fault ? fault : pager->ops->fault(pager);
}
