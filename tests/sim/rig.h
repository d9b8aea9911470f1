/*
 * A pager in a virtual world, driven frame by frame with sets and hints given
 * by the test: what replay does, without trace, profiles and results.
 */
#ifndef WP_TEST_RIG_H
#define WP_TEST_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pager/content.h"
#include "pager/device.h"
#include "pager/duration.h"
#include "pager/events.h"
#include "pager/pager.h"
#include "pager/random.h"
#include "pager/store.h"

#define RIG_BLOCKS 512u

struct rig_config {
	uint64_t block_bytes;
	uint64_t read_bytes_per_s; /* bucket; 0: none */
	uint64_t copy_bytes_per_s;
	uint64_t compute_ns;
	struct wp_drive drive;
	const char *order;
	uint32_t k;
	uint32_t staging_blocks;
	uint32_t read_chunks;
	uint32_t read_depth;
};

struct rig {
	struct rig_config config;
	struct wp_geometry geometry;
	struct wp_events *events;
	struct wp_world world;
	struct wp_pager *pager;
	void *host, *device;
	struct wp_queue done;
	struct wp_request compute;
	uint64_t needed_ns;
	uint64_t stall_ns; /* of the last frame */
	struct wp_pager_figures figures;
};

static inline void rig_open(struct rig *rig, const struct rig_config *config)
{
	struct wp_device_rates rates = {.copy_bytes_per_s = config->copy_bytes_per_s};
	struct wp_pager_config pager = {0};

	memset(rig, 0, sizeof(*rig));
	rig->config = *config;
	rig->geometry.block_bytes = config->block_bytes;
	rig->geometry.chunk_payload_bytes = 32;
	rig->geometry.read_chunks = config->read_chunks;
	pager.geometry = rig->geometry;
	pager.order = wp_order_find(config->order);
	pager.set_blocks_max = config->k;
	pager.staging_blocks = config->staging_blocks;
	pager.read_depth = config->read_depth;
	pager.read_retries_max = WP_READ_RETRIES_MAX;
	rig->host = malloc(wp_pager_host_bytes(&pager));
	rig->device = malloc(wp_pager_device_bytes(&pager));
	pager.host_slots = rig->host;
	pager.device_slots = rig->device;
	assert_int_equal(wp_events_open(&rig->events, 65536), 0);
	rig->world.clock = wp_events_clock(rig->events);
	assert_int_equal(wp_store_virtual_open(&rig->world.store, rig->events, &rig->geometry,
					       &config->drive, 7, RIG_BLOCKS),
			 0);
	assert_int_equal(wp_device_virtual_open(&rig->world.device, rig->events, &rates), 0);
	if (config->read_bytes_per_s)
		assert_int_equal(wp_store_rate_open(&rig->world.store, rig->world.store,
						    rig->world.clock, config->read_bytes_per_s),
				 0);
	assert_int_equal(wp_pager_open(&rig->pager, &pager, &rig->world), 0);
}

static inline void rig_close(struct rig *rig)
{
	assert_int_equal(wp_pager_quiesce(rig->pager), 0);
	wp_pager_close(rig->pager);
	wp_world_close(&rig->world);
	wp_events_close(rig->events);
	free(rig->host);
	free(rig->device);
}

/* Every byte of the settled set, where the device has it. */
static inline void rig_check_bytes(struct rig *rig, const uint32_t *set, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const unsigned char *at = wp_pager_device(rig->pager, i);

		for (uint32_t chunk = 0; chunk < wp_geometry_chunks(&rig->geometry); chunk++)
			assert_true(wp_content_equals(at + 32u * chunk, 32, 7, set[i], chunk));
	}
}

/* One frame: needs `set`, computes, stages `hints` meanwhile. */
static inline void rig_frame(struct rig *rig, const uint32_t *set, uint32_t count,
			     const uint32_t *hints, uint32_t hint_count)
{
	wp_pager_need(rig->pager, set, count, rig->needed_ns);
	assert_int_equal(wp_pager_wait_ready(rig->pager), 0);
	wp_pager_settle(rig->pager, &rig->figures);
	rig_check_bytes(rig, set, count);
	rig->stall_ns =
	    rig->figures.ready_ns > rig->needed_ns ? rig->figures.ready_ns - rig->needed_ns : 0;
	rig->compute = (struct wp_request){
	    .owner = &rig->done, .op = WP_OP_COMPUTE, .duration_ns = rig->config.compute_ns};
	assert_int_equal(wp_port_submit(rig->world.device, &rig->compute), 0);
	wp_pager_hint(rig->pager, hints, hint_count);
	for (;;) {
		assert_int_equal(wp_pager_step(rig->pager), 0);
		if (wp_queue_pop(&rig->done))
			break;
		assert_int_equal(wp_world_wait(&rig->world, WP_TIME_NEVER), 0);
	}
	assert_int_equal(rig->compute.done_ns,
			 rig->needed_ns + rig->stall_ns + rig->config.compute_ns);
	rig->needed_ns = rig->compute.done_ns;
	wp_pager_release(rig->pager);
}

#endif
