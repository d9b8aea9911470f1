/*
 * One simulated tiered session with everything drawn from a seed: slots down to
 * the smallest legal, drive, traffic, and what goes wrong. The companion of
 * session.h, whose draws it shares.
 *
 * A session ends well, full, or with an error that one of its faults explains.
 * Then the faults are taken away, and a new pager on the same store adopts what
 * was acknowledged, reads and compares all of it, and writes what is missing.
 *
 * Faults that no checksum covers are not drawn: bytes that change on their way
 * between host and device are nobody's to notice.
 */
#ifndef WP_TEST_TIERED_SESSION_H
#define WP_TEST_TIERED_SESSION_H

#include "pager/eviction.h"
#include "tests/sim/session.h"

#define TIERED_FRAMES_MAX 60u

#define TIERED_REQUIRE(session, condition)                                                         \
	((condition) ? (void)0 : tiered_fail((session), #condition, __LINE__))

struct tiered_config {
	uint64_t seed;
	struct wp_geometry geometry;
	uint32_t k, staging_blocks, device_slots, host_slots, nvme_blocks;
	uint32_t read_depth, retries_max, write_blocks, write_depth;
	uint32_t frames, exclude_recent;
	const char *order, *eviction;
	uint64_t bucket_bytes_per_s, compute_ns;
	bool forgets; /* a full store forgets its oldest block */
	bool flushes; /* waits for the last acknowledgement */
	bool patient; /* faults end before the pager is told to stop */
	struct wp_drive drive;
	struct wp_device_rates rates;
	struct wp_fault_plan store_faults, device_faults;
};

struct tiered_session {
	struct tiered_config config;
	struct wp_events *events;
	struct wp_world world;
	struct wp_port *store_fault, *device_fault;
	struct wp_pager *pager;
	void *host, *device;
	struct wp_random draws;
	struct wp_queue done;
	struct wp_request compute;
	uint64_t needed_ns, last_ns, steps;
	uint32_t set[SESSION_K_MAX];
	uint32_t set_count;
	bool in_use;
	bool acknowledged[TIERED_FRAMES_MAX];
	/* what came of it */
	uint64_t digest;
	uint32_t frames_done;
	int error; /* of the pager; 0: it ended well, or full */
	uint32_t acknowledged_count;
	uint32_t blocks_nvme; /* needed and not in memory */
	uint64_t blocks_checked;
	uint64_t struck;
};

static inline _Noreturn void tiered_fail(const struct tiered_session *session,
					 const char *condition, int line)
{
	char store[WP_FAULT_PLAN_BYTES], device[WP_FAULT_PLAN_BYTES];

	fprintf(stderr, "tiered_session.h:%d: not so: %s\n", line, condition);
	fprintf(stderr, "seed %" PRIu64 ", frame %" PRIu32 ", faults \"%s\" \"%s\"\n",
		session->config.seed, session->frames_done,
		wp_fault_plan_text(&session->config.store_faults, store),
		wp_fault_plan_text(&session->config.device_faults, device));
	fprintf(stderr, "repeat: make sim SEED=%" PRIu64 "\n", session->config.seed);
	abort();
}

static inline void tiered_draw_rule(struct wp_random *random, bool store,
				    struct wp_fault_rule *rule)
{
	static const enum wp_op store_ops[] = {WP_OP_READ, WP_OP_VERIFY, WP_OP_WRITE, WP_OP_COMMIT};
	static const enum wp_op device_ops[] = {WP_OP_COPY, WP_OP_FETCH, WP_OP_ENCODE};

	draw_rule(random, store, rule);
	if (store && rule->op == WP_OP_READ)
		return; /* with every kind there is */
	rule->op =
	    store ? store_ops[wp_random_below(random, 4)] : device_ops[wp_random_below(random, 3)];
	rule->nth = rule->nth % 100;
	if (!rule->nth && !rule->chance_of)
		rule->nth = 1;
}

static inline void tiered_draw_faults(struct tiered_config *config)
{
	struct wp_random random = {wp_mix64(config->seed ^ 0xfa17)};

	if (wp_random_below(&random, 3) == 0)
		return;
	config->store_faults.count = (uint32_t)wp_random_below(&random, 4);
	for (uint32_t i = 0; i < config->store_faults.count; i++)
		tiered_draw_rule(&random, true, &config->store_faults.rules[i]);
	config->device_faults.count = (uint32_t)wp_random_below(&random, 3);
	for (uint32_t i = 0; i < config->device_faults.count; i++)
		tiered_draw_rule(&random, false, &config->device_faults.rules[i]);
}

static inline void tiered_draw_room(struct tiered_config *config, struct wp_random *random)
{
	config->k = (uint32_t)draw_size(random, 1, SESSION_K_MAX);
	config->staging_blocks = (uint32_t)draw_size(random, 0, SESSION_STAGING_MAX);
	config->device_slots = config->k + (uint32_t)draw_size(random, 1, 10);
	config->host_slots = (uint32_t)draw_size(random, 1, 14);
	config->frames = (uint32_t)draw_size(random, 1, TIERED_FRAMES_MAX);
	config->nvme_blocks = config->frames;
	if (wp_random_below(random, 8) == 0) /* none at all, or full before the end */
		config->nvme_blocks = (uint32_t)wp_random_below(random, config->frames);
	config->write_blocks = (uint32_t)draw_size(random, 1, 5);
	if (wp_random_below(random, 4) == 0) {
		config->forgets = true;
		config->nvme_blocks =
		    2 * config->write_blocks + (uint32_t)draw_size(random, 1, config->frames);
	}
	config->write_depth = (uint32_t)draw_size(random, 1, 8);
	config->exclude_recent = (uint32_t)wp_random_below(random, 4);
}

static inline struct tiered_config tiered_draw(uint64_t seed)
{
	static const char *const evictions[] = {"lru", "farthest", "next_use"};
	struct tiered_config config = {.seed = seed};
	struct wp_random random = {wp_mix64(seed ^ 0x71e2)};

	config.geometry.block_bytes = draw_size(&random, 1, 7 * WP_CHUNK_BYTES);
	config.geometry.chunk_payload_bytes = (uint32_t)draw_size(&random, 8, 40);
	config.geometry.read_chunks =
	    (uint32_t)draw_size(&random, 1, WP_COPY_BYTES_MAX / WP_CHUNK_BYTES);
	tiered_draw_room(&config, &random);
	config.read_depth = (uint32_t)draw_size(&random, 1, 20);
	config.retries_max = (uint32_t)wp_random_below(&random, WP_READ_RETRIES_MAX + 1);
	config.order = wp_random_below(&random, 2) ? "fifo" : "demand_first";
	config.eviction = evictions[wp_random_below(&random, 3)];
	config.flushes = wp_random_below(&random, 2);
	config.patient = wp_random_below(&random, 2);
	config.bucket_bytes_per_s = draw_magnitude(&random, 1u << 20, 12);
	config.compute_ns = draw_magnitude(&random, 1, 32);
	config.drive.read_latency_ns = draw_magnitude(&random, 1, 24);
	config.drive.write_latency_ns = draw_magnitude(&random, 1, 24);
	config.drive.flush_latency_ns = draw_magnitude(&random, 1, 26);
	config.drive.read_bytes_per_s = draw_magnitude(&random, 1u << 22, 12);
	config.drive.write_bytes_per_s = draw_magnitude(&random, 1u << 22, 12);
	config.drive.verify_bytes_per_s = draw_magnitude(&random, 1u << 22, 14);
	config.rates.copy_bytes_per_s = draw_magnitude(&random, 1u << 22, 16);
	tiered_draw_faults(&config);
	return config;
}

static inline void tiered_note(struct tiered_session *session, uint64_t value)
{
	session->digest = wp_mix64(session->digest ^ value) + 0x9e3779b97f4a7c15u;
}

static inline void tiered_acknowledged(void *context, uint32_t block)
{
	struct tiered_session *session = context;

	TIERED_REQUIRE(session, !session->acknowledged[block]);
	session->acknowledged[block] = true;
	session->acknowledged_count++;
	tiered_note(session, block);
}

/* Any function of the block will do: the policy only has to be asked. */
static inline uint64_t tiered_rank(void *context, uint32_t block)
{
	(void)context;
	return wp_mix64(block) % 16;
}

static inline struct wp_pager_config tiered_pager_config(struct tiered_session *session,
							 uint32_t retries_max)
{
	const struct tiered_config *config = &session->config;

	return (struct wp_pager_config){
	    .geometry = config->geometry,
	    .order = wp_order_find(config->order),
	    .residency = WP_RESIDENCY_TIERED,
	    .set_blocks_max = config->k,
	    .staging_blocks = config->staging_blocks,
	    .read_depth = config->read_depth,
	    .read_retries_max = retries_max,
	    .read_deadline_ns = SESSION_DEADLINE_NS,
	    .tiers =
		{
		    .device_slots = config->device_slots,
		    .host_slots = config->host_slots,
		    .nvme_blocks = config->nvme_blocks,
		    .blocks_max = TIERED_FRAMES_MAX,
		    .write_depth = config->write_depth,
		    .write_blocks = config->write_blocks,
		    .forget_oldest = config->forgets,
		    .eviction = wp_eviction_find(config->eviction),
		    .rank = tiered_rank,
		    .acknowledged = tiered_acknowledged,
		    .acknowledged_context = session,
		},
	    .host_slots = session->host,
	    .device_slots = session->device,
	};
}

static inline void tiered_open_pager(struct tiered_session *session, uint32_t retries_max)
{
	struct wp_pager_config config = tiered_pager_config(session, retries_max);

	if (!session->host) {
		session->host = calloc(1, wp_pager_host_bytes(&config));
		session->device = calloc(1, wp_pager_device_bytes(&config));
		TIERED_REQUIRE(session, session->host && session->device);
		config.host_slots = session->host;
		config.device_slots = session->device;
	}
	TIERED_REQUIRE(session, wp_pager_open(&session->pager, &config, &session->world) == 0);
}

static inline void tiered_open_world(struct tiered_session *session)
{
	struct tiered_config *config = &session->config;
	struct wp_world *world = &session->world;
	struct wp_port_fault_config faults = {
	    .plan = config->store_faults,
	    .seed = config->seed,
	    .block_count = config->nvme_blocks,
	    .capacity = 256,
	};

	TIERED_REQUIRE(session, wp_events_open(&session->events, SESSION_EVENTS) == 0);
	world->clock = wp_events_clock(session->events);
	TIERED_REQUIRE(session,
		       wp_store_virtual_open_session(
			   &world->store, session->events, &config->geometry, &config->drive,
			   config->seed, config->nvme_blocks ? config->nvme_blocks : 1) == 0);
	config->rates.content_seed = config->seed;
	TIERED_REQUIRE(
	    session, wp_device_virtual_open(&world->device, session->events, &config->rates) == 0);
	TIERED_REQUIRE(session, wp_port_fault_open(&session->store_fault, world->store,
						   world->clock, &faults) == 0);
	world->store = session->store_fault;
	faults.plan = config->device_faults;
	faults.seed = wp_mix64(config->seed);
	TIERED_REQUIRE(session, wp_port_fault_open(&session->device_fault, world->device,
						   world->clock, &faults) == 0);
	world->device = session->device_fault;
	if (config->bucket_bytes_per_s)
		TIERED_REQUIRE(session,
			       wp_store_rate_open(&world->store, world->store, world->clock,
						  config->bucket_bytes_per_s) == 0);
}

static inline void tiered_close(struct tiered_session *session)
{
	wp_pager_close(session->pager);
	wp_world_close(&session->world);
	wp_events_close(session->events);
	free(session->host);
	free(session->device);
}

static inline void tiered_check_bytes(struct tiered_session *session)
{
	const struct wp_geometry *geometry = &session->config.geometry;
	uint32_t payload_bytes = geometry->chunk_payload_bytes;

	for (uint32_t i = 0; i < session->set_count; i++) {
		const unsigned char *at = wp_pager_device(session->pager, i);

		for (uint32_t chunk = 0; chunk < wp_geometry_chunks(geometry); chunk++)
			TIERED_REQUIRE(session, wp_content_equals(
						    at + chunk * payload_bytes, payload_bytes,
						    session->config.seed, session->set[i], chunk));
	}
}

/* What has to hold after every event. */
static inline void tiered_check(struct tiered_session *session)
{
	uint64_t now_ns = wp_clock_now_ns(session->world.clock);

	wp_pager_check(session->pager);
	TIERED_REQUIRE(session, now_ns >= session->last_ns);
	TIERED_REQUIRE(session, ++session->steps < SESSION_STEPS_MAX);
	session->last_ns = now_ns;
	tiered_note(session, now_ns);
	if (session->in_use)
		tiered_check_bytes(session);
}

static inline int tiered_step(struct tiered_session *session)
{
	int error = wp_pager_step(session->pager);

	tiered_check(session);
	return error;
}

/* Nothing to wait for means that the session hangs. */
static inline void tiered_wait(struct tiered_session *session)
{
	TIERED_REQUIRE(session,
		       wp_world_wait(&session->world, wp_pager_deadline_ns(session->pager)) == 0);
}

/* Up to `most` different blocks that frame `frame` may retrieve and that are still there. */
static inline uint32_t tiered_pick(struct tiered_session *session, uint32_t frame, uint32_t most,
				   uint32_t *blocks)
{
	uint32_t recent = session->config.exclude_recent;
	uint32_t count = 0;

	for (uint32_t tries = 0; tries < 2 * most && count < most && frame > recent; tries++) {
		uint32_t block = (uint32_t)wp_random_below(&session->draws, frame - recent);
		bool repeated = false;

		for (uint32_t i = 0; i < count; i++)
			repeated |= blocks[i] == block;
		if (!repeated && wp_pager_has(session->pager, block))
			blocks[count++] = block;
	}
	return count;
}

/* Needs the session's set until it is in use. 0 or the pager's error. */
static inline int tiered_bring_in(struct tiered_session *session, struct wp_pager_figures *figures)
{
	wp_pager_need(session->pager, session->set, session->set_count, session->needed_ns);
	for (;;) {
		int error = tiered_step(session);

		if (error)
			return error;
		if (wp_pager_ready(session->pager))
			break;
		tiered_wait(session);
	}
	wp_pager_settle(session->pager, figures);
	session->in_use = true;
	session->blocks_checked += session->set_count;
	session->blocks_nvme += figures->blocks_nvme;
	tiered_check_bytes(session);
	tiered_note(session, figures->ready_ns ^ figures->bytes_nvme << 20 ^ figures->wasted << 10);
	TIERED_REQUIRE(session, figures->blocks_gpu + figures->blocks_dram + figures->blocks_nvme ==
				    session->set_count);
	return 0;
}

/* What the block's place in the store held before is gone for good. */
static inline void tiered_was_put(struct tiered_session *session, uint32_t block)
{
	if (session->config.nvme_blocks && block >= session->config.nvme_blocks) {
		TIERED_REQUIRE(session, session->config.forgets);
		session->acknowledged[block - session->config.nvme_blocks] = false;
	}
}

/* 0, the pager's error, or 1: there is no room left. */
static inline int tiered_put(struct tiered_session *session, uint32_t block)
{
	for (;;) {
		int result = wp_pager_put(session->pager, block, block % 15);

		if (result == -EAGAIN) {
			int error = tiered_step(session);

			if (error)
				return error;
			result = wp_pager_put(session->pager, block, block % 15);
		}
		if (result == -ENOSPC)
			return 1;
		if (result == 0) {
			tiered_was_put(session, block);
			return 0;
		}
		TIERED_REQUIRE(session, result == -EAGAIN);
		tiered_wait(session);
	}
}

static inline int tiered_compute(struct tiered_session *session, uint32_t frame)
{
	uint32_t hints[SESSION_STAGING_MAX];
	int error;

	session->compute = (struct wp_request){
	    .owner = &session->done,
	    .op = WP_OP_COMPUTE,
	    .duration_ns = session->config.compute_ns,
	};
	TIERED_REQUIRE(session, wp_port_submit(session->world.device, &session->compute) == 0);
	wp_pager_hint(session->pager, hints,
		      tiered_pick(session, frame + 1, session->config.staging_blocks, hints));
	for (;;) {
		error = tiered_step(session);
		if (wp_queue_pop(&session->done) || error)
			break;
		tiered_wait(session);
	}
	session->in_use = false;
	if (!error)
		wp_pager_release(session->pager);
	return error;
}

/* 0, the pager's error, or 1: full. */
static inline int tiered_play(struct tiered_session *session, uint32_t frame)
{
	struct wp_pager_figures figures;
	int result;

	session->set_count = tiered_pick(session, frame, session->config.k, session->set);
	result = tiered_bring_in(session, &figures);
	if (!result)
		result = tiered_compute(session, frame);
	if (!result)
		result = tiered_put(session, frame);
	session->needed_ns = wp_clock_now_ns(session->world.clock);
	return result;
}

static inline int tiered_flush(struct tiered_session *session)
{
	for (;;) {
		int error = tiered_step(session);

		if (error || !wp_pager_usage(session->pager).unacknowledged)
			return error;
		tiered_wait(session);
	}
}

/* An error is one that a fault explains, and names a place that exists. */
static inline void tiered_check_error(struct tiered_session *session)
{
	static const char *const stages[] = {"read",   "verify", "copy",  "fetch",
					     "encode", "write",	 "commit"};
	struct wp_pager_fault fault = wp_pager_fault(session->pager);
	const struct wp_fault_plan *store = &session->config.store_faults;
	const struct wp_fault_plan *device = &session->config.device_faults;
	bool damage = has_kind(store, WP_FAULT_FLIP) || has_kind(store, WP_FAULT_SHORT) ||
		      has_kind(store, WP_FAULT_MISDIRECT);
	bool failure = has_kind(store, WP_FAULT_ERROR) || has_kind(device, WP_FAULT_ERROR);
	bool silence = has_kind(store, WP_FAULT_NEVER) || has_kind(device, WP_FAULT_NEVER);
	bool named = false;

	TIERED_REQUIRE(session, fault.error == session->error);
	TIERED_REQUIRE(session, (fault.error == -EBADMSG && damage) ||
				    (fault.error == -EIO && failure) ||
				    (fault.error == -ETIMEDOUT && silence));
	TIERED_REQUIRE(session, fault.block < session->config.frames);
	TIERED_REQUIRE(session, fault.offset < session->config.geometry.block_bytes);
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
		named |= fault.stage && strcmp(fault.stage, stages[i]) == 0;
	TIERED_REQUIRE(session, named);
	tiered_note(session, (uint64_t)-fault.error ^ (uint64_t)fault.block << 32 ^ fault.offset);
}

/* What was withheld comes back after all; the pager takes it whatever has happened to it. */
static inline void tiered_let_all_come_home(struct tiered_session *session)
{
	for (;;) {
		(void)!tiered_step(session);
		if (!session->error || !wp_pager_in_flight(session->pager))
			return;
		TIERED_REQUIRE(session, wp_world_wait(&session->world, WP_TIME_NEVER) == 0);
	}
}

static inline void tiered_stop(struct tiered_session *session)
{
	bool silence = has_kind(&session->config.store_faults, WP_FAULT_NEVER) ||
		       has_kind(&session->config.device_faults, WP_FAULT_NEVER);
	int result = 0;

	session->in_use = false;
	session->struck = wp_port_fault_struck(session->store_fault) +
			  wp_port_fault_struck(session->device_fault);
	if (!session->config.patient)
		result = wp_pager_quiesce(session->pager);
	TIERED_REQUIRE(session, result == 0 || (result == -ETIMEDOUT && silence));
	session->error = session->error ? session->error : result;
	wp_port_fault_disarm(session->store_fault);
	wp_port_fault_disarm(session->device_fault);
	tiered_let_all_come_home(session);
	TIERED_REQUIRE(session, wp_pager_quiesce(session->pager) == 0);
	TIERED_REQUIRE(session, wp_pager_in_flight(session->pager) == 0);
	wp_pager_check(session->pager);
	wp_pager_close(session->pager);
}

/* A new pager on the same store: all that was acknowledged is there and right. */
static inline void tiered_check_adopted(struct tiered_session *session)
{
	struct wp_pager_figures figures;
	uint32_t block = 0;

	tiered_open_pager(session, 0);
	for (uint32_t i = 0; i < TIERED_FRAMES_MAX; i++)
		if (session->acknowledged[i])
			wp_pager_adopt(session->pager, i);
	while (block < TIERED_FRAMES_MAX) {
		session->set_count = 0;
		for (; block < TIERED_FRAMES_MAX && session->set_count < session->config.k; block++)
			if (session->acknowledged[block])
				session->set[session->set_count++] = block;
		session->needed_ns = wp_clock_now_ns(session->world.clock);
		TIERED_REQUIRE(session, tiered_bring_in(session, &figures) == 0);
		TIERED_REQUIRE(session, figures.retries == 0);
		session->in_use = false;
		wp_pager_release(session->pager);
	}
}

/* What the first pager left unfinished is made once more, and stays. */
static inline void tiered_check_rewritten(struct tiered_session *session)
{
	const struct tiered_config *config = &session->config;
	uint32_t made = session->frames_done + (session->frames_done < config->frames);
	uint32_t end = made < config->nvme_blocks || config->forgets ? made : config->nvme_blocks;
	uint32_t first = end > config->nvme_blocks ? end - config->nvme_blocks : 0;

	for (uint32_t block = first; block < end; block++)
		if (!session->acknowledged[block])
			TIERED_REQUIRE(session, tiered_put(session, block) == 0);
	TIERED_REQUIRE(session, tiered_flush(session) == 0);
	TIERED_REQUIRE(session, wp_pager_quiesce(session->pager) == 0);
	wp_pager_close(session->pager);
	for (uint32_t block = first; block < end; block++)
		TIERED_REQUIRE(session, session->acknowledged[block]);
	tiered_check_adopted(session);
	TIERED_REQUIRE(session, wp_pager_quiesce(session->pager) == 0);
}

static inline void tiered_open(struct tiered_session *session, const struct tiered_config *config)
{
	memset(session, 0, sizeof(*session));
	session->config = *config;
	session->draws.state = wp_mix64(config->seed ^ 0x5e75);
	tiered_open_world(session);
	tiered_open_pager(session, config->retries_max);
}

/* Plays the whole session; figures are in `session` afterwards, which is closed. */
static inline void tiered_run(struct tiered_session *session, const struct tiered_config *config)
{
	int result = 0;

	tiered_open(session, config);
	while (session->frames_done < config->frames && !result) {
		result = tiered_play(session, session->frames_done);
		session->frames_done += result == 0;
	}
	if (result >= 0 && config->flushes)
		result = tiered_flush(session);
	session->error = result < 0 ? result : 0;
	if (session->error)
		tiered_check_error(session);
	else if (config->flushes && config->nvme_blocks)
		TIERED_REQUIRE(session, session->acknowledged_count == session->frames_done);
	tiered_note(session, wp_pager_totals(session->pager).mismatches);
	tiered_note(session, wp_pager_usage(session->pager).bytes_written);
	tiered_stop(session);
	tiered_check_adopted(session);
	tiered_check_rewritten(session);
	tiered_close(session);
}

#endif
