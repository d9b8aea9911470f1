/*
 * One simulated session with everything drawn from a seed: sizes down to the
 * smallest legal, rates, budgets, sets, hints, and what goes wrong. Run by
 * simulate.c over many seeds and by the tests over a few.
 *
 * After every event the pager's own counts are checked and every byte that the
 * frame in use stands on is compared. A session ends well, or with an error
 * that one of its faults explains; then the faults are taken away, and every
 * block has to come through a new pager on the same store.
 *
 * Draws from three generators: configuration, sets and hints, faults; so a
 * fault can be left out and the rest of the session stays as it was.
 */
#ifndef WP_TEST_SESSION_H
#define WP_TEST_SESSION_H

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pager/content.h"
#include "pager/device.h"
#include "pager/duration.h"
#include "pager/events.h"
#include "pager/pager.h"
#include "pager/port_fault.h"
#include "pager/random.h"
#include "pager/store.h"

#define SESSION_K_MAX	    4u
#define SESSION_STAGING_MAX 12u
#define SESSION_BLOCKS_MAX  48u
#define SESSION_EVENTS	    8192u
#define SESSION_STEPS_MAX   2000000u
#define SESSION_DEADLINE_NS (3600 * WP_NS_PER_S) /* beyond any delay and any queue drawn */

/* What a session stops with when it finds something wrong: text for the reader. */
#define SESSION_REQUIRE(session, condition)                                                        \
	((condition) ? (void)0 : session_fail((session), #condition, __LINE__))

struct session_config {
	uint64_t seed;
	uint64_t block_bytes;
	uint32_t chunk_payload_bytes;
	uint32_t read_chunks;
	uint32_t read_depth;
	uint32_t retries_max;
	uint32_t k;
	uint32_t staging_blocks;
	uint32_t blocks;
	uint32_t frames;
	const char *order;
	uint64_t bucket_bytes_per_s; /* 0: none */
	uint64_t compute_ns;
	struct wp_drive drive;
	struct wp_device_rates rates;
	struct wp_fault_plan store_faults;
	struct wp_fault_plan device_faults;
};

struct session {
	struct session_config config;
	struct wp_geometry geometry;
	struct wp_events *events;
	struct wp_world world;
	struct wp_port *store_fault;
	struct wp_port *device_fault;
	struct wp_pager *pager;
	void *host, *device;
	struct wp_random draws; /* sets and hints */
	struct wp_queue done;
	struct wp_request compute;
	uint64_t needed_ns;
	uint64_t steps;
	uint64_t last_ns;
	uint32_t set[SESSION_K_MAX];
	uint32_t set_count;
	bool in_use; /* the set is settled and not released */
	/* what came of it */
	uint64_t digest;
	uint32_t frames_done;
	int error; /* of the pager; 0: it ended well */
	uint64_t blocks_checked;
	uint64_t struck; /* faults */
};

static inline _Noreturn void session_fail(const struct session *session, const char *condition,
					  int line)
{
	char store[WP_FAULT_PLAN_BYTES], device[WP_FAULT_PLAN_BYTES];

	fprintf(stderr, "session.h:%d: not so: %s\n", line, condition);
	fprintf(stderr, "seed %" PRIu64 ", frame %" PRIu32 ", faults \"%s\" \"%s\"\n",
		session->config.seed, session->frames_done,
		wp_fault_plan_text(&session->config.store_faults, store),
		wp_fault_plan_text(&session->config.device_faults, device));
	fprintf(stderr, "repeat: make sim SEED=%" PRIu64 "\n", session->config.seed);
	abort();
}

/* Often the least, often little, sometimes anything. */
static inline uint64_t draw_size(struct wp_random *random, uint64_t least, uint64_t most)
{
	uint64_t span = most - least + 1;

	switch (wp_random_below(random, 4)) {
	case 0:
		return least;
	case 1:
		return least + wp_random_below(random, span < 3 ? span : 3);
	default:
		return least + wp_random_below(random, span);
	}
}

/* 0 (none, or without limit), or something on a scale of magnitudes. */
static inline uint64_t draw_magnitude(struct wp_random *random, uint64_t least, unsigned bits)
{
	if (wp_random_below(random, 3) == 0)
		return 0;
	return least << wp_random_below(random, bits);
}

static inline void draw_rule(struct wp_random *random, bool store, struct wp_fault_rule *rule)
{
	static const enum wp_op store_ops[] = {WP_OP_READ, WP_OP_READ, WP_OP_VERIFY};
	static const enum wp_fault_kind kinds[] = {WP_FAULT_ERROR,     WP_FAULT_DELAY,
						   WP_FAULT_NEVER,     WP_FAULT_FLIP,
						   WP_FAULT_MISDIRECT, WP_FAULT_SHORT};

	memset(rule, 0, sizeof(*rule));
	rule->op = store ? store_ops[wp_random_below(random, 3)] : WP_OP_COPY;
	/* Only what a checksum covers is damaged: copies can merely fail, linger or get lost. */
	rule->kind = kinds[wp_random_below(random, rule->op == WP_OP_READ ? 6 : 3)];
	if (wp_random_below(random, 2)) {
		rule->nth = 1 + wp_random_below(random, 200);
	} else {
		rule->chance = 1;
		rule->chance_of = 1 + wp_random_below(random, 300);
	}
	rule->lasting = wp_random_below(random, 4) == 0;
	if (rule->kind == WP_FAULT_ERROR)
		rule->value = EIO;
	else if (rule->kind == WP_FAULT_DELAY)
		rule->value = 1 + wp_random_below(random, 10 * WP_NS_PER_S);
}

static inline void draw_faults(struct session_config *config)
{
	struct wp_random random = {wp_mix64(config->seed ^ 0xfa17)};

	if (wp_random_below(&random, 3) == 0)
		return;
	config->store_faults.count = (uint32_t)wp_random_below(&random, 4);
	for (uint32_t i = 0; i < config->store_faults.count; i++)
		draw_rule(&random, true, &config->store_faults.rules[i]);
	config->device_faults.count = (uint32_t)wp_random_below(&random, 2);
	for (uint32_t i = 0; i < config->device_faults.count; i++)
		draw_rule(&random, false, &config->device_faults.rules[i]);
}

static inline struct session_config session_draw(uint64_t seed)
{
	struct session_config config = {.seed = seed};
	struct wp_random random = {wp_mix64(seed)};

	config.block_bytes = draw_size(&random, 1, 7 * WP_CHUNK_BYTES);
	config.chunk_payload_bytes = (uint32_t)draw_size(&random, 8, 40);
	config.read_chunks = (uint32_t)draw_size(&random, 1, WP_COPY_BYTES_MAX / WP_CHUNK_BYTES);
	config.read_depth = (uint32_t)draw_size(&random, 1, 20);
	config.retries_max = (uint32_t)wp_random_below(&random, WP_READ_RETRIES_MAX + 1);
	config.k = (uint32_t)draw_size(&random, 1, SESSION_K_MAX);
	config.staging_blocks = (uint32_t)draw_size(&random, 0, SESSION_STAGING_MAX);
	config.blocks = (uint32_t)draw_size(&random, 1, SESSION_BLOCKS_MAX);
	config.frames = (uint32_t)draw_size(&random, 1, 40);
	config.order = wp_random_below(&random, 2) ? "fifo" : "demand_first";
	config.bucket_bytes_per_s = draw_magnitude(&random, 1u << 20, 12);
	config.compute_ns = draw_magnitude(&random, 1, 32);
	config.drive.read_latency_ns = draw_magnitude(&random, 1, 24);
	config.drive.read_bytes_per_s = draw_magnitude(&random, 1u << 22, 12);
	config.drive.verify_bytes_per_s = draw_magnitude(&random, 1u << 22, 14);
	config.rates.copy_bytes_per_s = draw_magnitude(&random, 1u << 22, 16);
	draw_faults(&config);
	return config;
}

static inline void note(struct session *session, uint64_t value)
{
	session->digest = wp_mix64(session->digest ^ value) + 0x9e3779b97f4a7c15u;
}

static inline void open_pager(struct session *session, uint32_t retries_max)
{
	const struct session_config *config = &session->config;
	const struct wp_pager_config pager = {
	    .geometry = session->geometry,
	    .order = wp_order_find(config->order),
	    .residency = WP_RESIDENCY_FORCED_NVME,
	    .set_blocks_max = config->k,
	    .staging_blocks = config->staging_blocks,
	    .read_depth = config->read_depth,
	    .read_retries_max = retries_max,
	    .read_deadline_ns = SESSION_DEADLINE_NS,
	    .host_slots = session->host,
	    .device_slots = session->device,
	};

	SESSION_REQUIRE(session, wp_pager_open(&session->pager, &pager, &session->world) == 0);
}

static inline void open_world(struct session *session)
{
	const struct session_config *config = &session->config;
	struct wp_port_fault_config faults = {
	    .plan = config->store_faults,
	    .seed = config->seed,
	    .block_count = config->blocks,
	    .capacity = 256,
	};
	struct wp_world *world = &session->world;

	SESSION_REQUIRE(session, wp_events_open(&session->events, SESSION_EVENTS) == 0);
	world->clock = wp_events_clock(session->events);
	SESSION_REQUIRE(session,
			wp_store_virtual_open(&world->store, session->events, &session->geometry,
					      &config->drive, config->seed, config->blocks) == 0);
	SESSION_REQUIRE(
	    session, wp_device_virtual_open(&world->device, session->events, &config->rates) == 0);
	SESSION_REQUIRE(session, wp_port_fault_open(&session->store_fault, world->store,
						    world->clock, &faults) == 0);
	world->store = session->store_fault;
	faults.plan = config->device_faults;
	faults.seed = wp_mix64(config->seed);
	SESSION_REQUIRE(session, wp_port_fault_open(&session->device_fault, world->device,
						    world->clock, &faults) == 0);
	world->device = session->device_fault;
	if (config->bucket_bytes_per_s)
		SESSION_REQUIRE(session,
				wp_store_rate_open(&world->store, world->store, world->clock,
						   config->bucket_bytes_per_s) == 0);
}

static inline void session_open(struct session *session, const struct session_config *config)
{
	uint64_t slots;

	memset(session, 0, sizeof(*session));
	session->config = *config;
	session->draws.state = wp_mix64(config->seed ^ 0x5e75);
	session->geometry = (struct wp_geometry){
	    .block_bytes = config->block_bytes,
	    .chunk_payload_bytes = config->chunk_payload_bytes,
	    .read_chunks = config->read_chunks,
	};
	slots = (config->k + config->staging_blocks) * wp_geometry_slot_bytes(&session->geometry);
	session->host = calloc(1, slots);
	session->device = calloc(1, slots);
	SESSION_REQUIRE(session, session->host && session->device);
	open_world(session);
	open_pager(session, config->retries_max);
}

static inline void session_close(struct session *session)
{
	wp_pager_close(session->pager);
	wp_world_close(&session->world);
	wp_events_close(session->events);
	free(session->host);
	free(session->device);
}

static inline void check_bytes(struct session *session)
{
	const struct session_config *config = &session->config;
	uint32_t chunks = wp_geometry_chunks(&session->geometry);

	for (uint32_t i = 0; i < session->set_count; i++) {
		const unsigned char *at = wp_pager_device(session->pager, i);

		for (uint32_t chunk = 0; chunk < chunks; chunk++)
			SESSION_REQUIRE(session,
					wp_content_equals(at + chunk * config->chunk_payload_bytes,
							  config->chunk_payload_bytes, config->seed,
							  session->set[i], chunk));
	}
}

/* What has to hold after every event. */
static inline void check_invariants(struct session *session)
{
	uint64_t now_ns = wp_clock_now_ns(session->world.clock);

	wp_pager_check(session->pager);
	SESSION_REQUIRE(session, now_ns >= session->last_ns);
	SESSION_REQUIRE(session, ++session->steps < SESSION_STEPS_MAX);
	session->last_ns = now_ns;
	note(session, now_ns);
	if (session->in_use)
		check_bytes(session);
}

/* One step and, if that is not the end, on to the next event. 0 or the pager's error. */
static inline int advance(struct session *session, bool wait)
{
	int error = wp_pager_step(session->pager);

	check_invariants(session);
	if (error || !wait)
		return error;
	/* Nothing to wait for means that the session hangs. */
	SESSION_REQUIRE(session,
			wp_world_wait(&session->world, wp_pager_deadline_ns(session->pager)) == 0);
	return 0;
}

static inline uint32_t draw_blocks(struct session *session, uint32_t *blocks, uint32_t count,
				   bool distinct)
{
	uint32_t drawn = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t block = (uint32_t)wp_random_below(&session->draws, session->config.blocks);
		bool repeated = false;

		for (uint32_t j = 0; j < drawn; j++)
			repeated |= blocks[j] == block;
		if (!distinct || !repeated)
			blocks[drawn++] = block;
	}
	return drawn;
}

/* Hints for a coming set: some of it, and some that is not; repeats and too many included. */
static inline uint32_t draw_hints(struct session *session, const uint32_t *set, uint32_t count,
				  uint32_t *hints)
{
	uint32_t drawn = draw_blocks(
	    session, hints,
	    (uint32_t)wp_random_below(&session->draws, session->config.staging_blocks + 3), false);

	for (uint32_t i = 0; i < count && drawn > 0; i++)
		if (wp_random_below(&session->draws, 3))
			hints[wp_random_below(&session->draws, drawn)] = set[i];
	return drawn;
}

static inline void note_figures(struct session *session, const struct wp_pager_figures *figures)
{
	const uint64_t values[] = {figures->ready_ns,	 figures->read_ns,     figures->verify_ns,
				   figures->copy_ns,	 figures->bytes_nvme,  figures->blocks_gpu,
				   figures->blocks_dram, figures->blocks_nvme, figures->hinted,
				   figures->hit,	 figures->missed,      figures->wasted,
				   figures->retries};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		note(session, values[i]);
	SESSION_REQUIRE(session,
			figures->blocks_gpu + figures->blocks_dram + figures->blocks_nvme ==
			    session->set_count);
	SESSION_REQUIRE(session, figures->hit + figures->missed == session->set_count);
	SESSION_REQUIRE(session,
			figures->wasted <= figures->hinted + session->config.staging_blocks);
}

/* Needs the session's set until it is in use. 0 or the pager's error. */
static inline int bring_in(struct session *session, struct wp_pager_figures *figures)
{
	wp_pager_need(session->pager, session->set, session->set_count, session->needed_ns);
	for (;;) {
		int error = advance(session, false);

		if (error)
			return error;
		if (wp_pager_ready(session->pager))
			break;
		SESSION_REQUIRE(session, wp_world_wait(&session->world,
						       wp_pager_deadline_ns(session->pager)) == 0);
	}
	wp_pager_settle(session->pager, figures);
	session->in_use = true;
	session->blocks_checked += session->set_count;
	check_bytes(session);
	note_figures(session, figures);
	return 0;
}

/* One frame of the session; `next` is the coming one's set, hinted at. */
static inline int play_frame(struct session *session, const uint32_t *next, uint32_t next_count)
{
	struct wp_pager_figures figures;
	uint32_t hints[SESSION_STAGING_MAX + 3];
	uint64_t start_ns;
	int error = bring_in(session, &figures);

	if (error)
		return error;
	start_ns = figures.ready_ns > session->needed_ns ? figures.ready_ns : session->needed_ns;
	session->compute = (struct wp_request){
	    .owner = &session->done,
	    .op = WP_OP_COMPUTE,
	    .duration_ns = session->config.compute_ns,
	};
	SESSION_REQUIRE(session, wp_port_submit(session->world.device, &session->compute) == 0);
	wp_pager_hint(session->pager, hints, draw_hints(session, next, next_count, hints));
	for (;;) {
		error = advance(session, false);
		if (wp_queue_pop(&session->done))
			break;
		if (error)
			return error;
		SESSION_REQUIRE(session, wp_world_wait(&session->world,
						       wp_pager_deadline_ns(session->pager)) == 0);
	}
	SESSION_REQUIRE(session, session->compute.done_ns == start_ns + session->config.compute_ns);
	session->needed_ns = session->compute.done_ns;
	session->in_use = false;
	wp_pager_release(session->pager);
	return error;
}

static inline bool has_kind(const struct wp_fault_plan *plan, enum wp_fault_kind kind)
{
	for (uint32_t i = 0; i < plan->count; i++)
		if (plan->rules[i].kind == kind)
			return true;
	return false;
}

/* An error is one that a fault explains, and names a place that exists. */
static inline void check_error(struct session *session)
{
	struct wp_pager_fault fault = wp_pager_fault(session->pager);
	const struct wp_fault_plan *store = &session->config.store_faults;
	const struct wp_fault_plan *device = &session->config.device_faults;
	bool damage = has_kind(store, WP_FAULT_FLIP) || has_kind(store, WP_FAULT_SHORT) ||
		      has_kind(store, WP_FAULT_MISDIRECT);
	bool failure = has_kind(store, WP_FAULT_ERROR) || has_kind(device, WP_FAULT_ERROR);
	bool silence = has_kind(store, WP_FAULT_NEVER) || has_kind(device, WP_FAULT_NEVER);

	SESSION_REQUIRE(session, fault.error == session->error);
	SESSION_REQUIRE(session, (fault.error == -EBADMSG && damage) ||
				     (fault.error == -EIO && failure) ||
				     (fault.error == -ETIMEDOUT && silence));
	SESSION_REQUIRE(session, fault.block < session->config.blocks);
	SESSION_REQUIRE(session, fault.offset < session->config.block_bytes);
	SESSION_REQUIRE(session, fault.stage != NULL);
	note(session, (uint64_t)-fault.error);
	note(session, fault.block);
	note(session, fault.offset);
}

/* What was withheld comes back after all; the pager takes it whatever has happened to it. */
static inline void let_all_come_home(struct session *session)
{
	for (;;) {
		(void)!wp_pager_step(session->pager);
		check_invariants(session);
		if (!session->error || !wp_pager_in_flight(session->pager))
			return;
		SESSION_REQUIRE(session, wp_world_wait(&session->world, WP_TIME_NEVER) == 0);
	}
}

/* Faults off: nothing is stuck, and a new pager on the same store delivers every block. */
static inline void check_all_blocks(struct session *session)
{
	struct wp_pager_figures figures;

	wp_port_fault_disarm(session->store_fault);
	wp_port_fault_disarm(session->device_fault);
	session->in_use = false;
	let_all_come_home(session);
	SESSION_REQUIRE(session, wp_pager_quiesce(session->pager) == 0);
	SESSION_REQUIRE(session, wp_pager_in_flight(session->pager) == 0);
	wp_pager_close(session->pager);
	open_pager(session, 0);
	for (uint32_t block = 0; block < session->config.blocks; block += session->config.k) {
		session->set_count = 0;
		for (uint32_t i = block;
		     i < session->config.blocks && session->set_count < session->config.k; i++)
			session->set[session->set_count++] = i;
		session->needed_ns = wp_clock_now_ns(session->world.clock);
		SESSION_REQUIRE(session, bring_in(session, &figures) == 0);
		SESSION_REQUIRE(session, figures.retries == 0);
		session->in_use = false;
		wp_pager_release(session->pager);
	}
	SESSION_REQUIRE(session, wp_pager_quiesce(session->pager) == 0);
}

/* Plays the whole session; figures are in `session` afterwards, which is closed. */
static inline void session_run(struct session *session, const struct session_config *config)
{
	uint32_t next[SESSION_K_MAX];

	session_open(session, config);
	session->set_count = draw_blocks(
	    session, session->set, (uint32_t)wp_random_below(&session->draws, config->k + 1), true);
	for (; session->frames_done < config->frames && !session->error; session->frames_done++) {
		uint32_t count = draw_blocks(
		    session, next, (uint32_t)wp_random_below(&session->draws, config->k + 1), true);

		session->error = play_frame(session, next, count);
		memcpy(session->set, next, sizeof(next));
		session->set_count = count;
	}
	if (session->error)
		check_error(session);
	note(session, wp_pager_totals(session->pager).reads);
	note(session, wp_pager_totals(session->pager).mismatches);
	session->struck = wp_port_fault_struck(session->store_fault) +
			  wp_port_fault_struck(session->device_fault);
	check_all_blocks(session);
	session_close(session);
}

#endif
