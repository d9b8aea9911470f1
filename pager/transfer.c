/*
 * Blocks on their way: see transfer.h for the picture. The one idea: a small
 * read is one request that passes through READ, VERIFY and COPY in turn, so a
 * block's state is three counters and no lists of parts.
 */
#include "pager/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pager/outstanding.h"

/* Copies given to the device at once: enough to keep it busy, few enough to overtake. */
#define COPY_DEPTH 2u

enum state {
	STATE_FREE,
	STATE_ACTIVE,
	STATE_COMPLETE,
	STATE_DRAINING, /* given up, something still in flight */
};

struct piece {
	struct wp_request request; /* first: a request is its piece */
	struct transfer *transfer; /* whose it is */
	uint64_t offset;	   /* in the transfer's host and device memory */
	struct wp_asked asked;	   /* while a seam has it */
	uint32_t rereads;
};

struct transfer {
	enum state state;
	enum wp_transfer_kind kind;
	bool needed;
	uint32_t block;
	uint64_t sequence;
	void *host;
	void *device;
	uint32_t reads_issued; /* pieces [0, reads_issued) have been read or are being read */
	uint32_t arrived;      /* pieces copied to the device */
	uint32_t in_flight;    /* pieces in any seam */
	uint64_t done_ns;
	struct wp_queue movable; /* pieces waiting for the copy engine */
	struct piece *pieces;
};

struct wp_transfers {
	struct wp_world *world;
	struct wp_transfers_config config;
	uint32_t reads_per_block;
	uint64_t sequence;
	uint32_t reads_in_flight;
	uint32_t copies_in_flight;
	struct transfer *picked;	   /* by the order; NULL: what it picks from has changed */
	struct wp_outstanding outstanding; /* pieces in any seam */
	struct wp_queue done;		   /* completions of both seams */
	struct wp_queue rereads;	   /* pieces that did not verify */
	struct wp_queue unverified;	   /* pieces the store had no room to verify */
	struct wp_transfers_totals totals;
	struct wp_pager_fault fault;
	struct transfer *transfers;
	struct piece *pieces;
	struct wp_candidate *candidates; /* scratch of start_reads */
	uint32_t *candidate_of;
};

/* What stays of a transfer's piece `index`, whichever block it belongs to. */
static void form_piece(struct wp_transfers *transfers, struct transfer *transfer, uint32_t index)
{
	const struct wp_geometry *geometry = &transfers->config.geometry;
	uint32_t first = index * geometry->read_chunks;
	uint32_t left = wp_geometry_chunks(geometry) - first;
	uint32_t count = left < geometry->read_chunks ? left : geometry->read_chunks;

	transfer->pieces[index] = (struct piece){
	    .transfer = transfer,
	    .offset = wp_geometry_payload_bytes(geometry, 0, first),
	    .request.owner = &transfers->done,
	    .request.chunk_first = first,
	    .request.chunk_count = count,
	    .request.bytes = wp_geometry_bytes(geometry, first, count),
	    .request.payload_bytes = wp_geometry_payload_bytes(geometry, first, count),
	};
}

int wp_transfers_open(struct wp_transfers **opened, const struct wp_transfers_config *config,
		      struct wp_world *world)
{
	struct wp_transfers *transfers = calloc(1, sizeof(*transfers));

	if (!transfers)
		return -ENOMEM;
	transfers->world = world;
	transfers->config = *config;
	transfers->outstanding.limit_ns = config->deadline_ns;
	transfers->reads_per_block = wp_geometry_reads(&config->geometry);
	transfers->transfers = calloc(config->count, sizeof(*transfers->transfers));
	transfers->pieces =
	    calloc((size_t)config->count * transfers->reads_per_block, sizeof(*transfers->pieces));
	transfers->candidates = calloc(config->count, sizeof(*transfers->candidates));
	transfers->candidate_of = calloc(config->count, sizeof(*transfers->candidate_of));
	if (!transfers->transfers || !transfers->pieces || !transfers->candidates ||
	    !transfers->candidate_of) {
		wp_transfers_close(transfers);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < config->count; i++) {
		struct transfer *transfer = &transfers->transfers[i];

		transfer->pieces = &transfers->pieces[(size_t)i * transfers->reads_per_block];
		for (uint32_t index = 0; index < transfers->reads_per_block; index++)
			form_piece(transfers, transfer, index);
	}
	*opened = transfers;
	return 0;
}

void wp_transfers_close(struct wp_transfers *transfers)
{
	if (!transfers)
		return;
	free(transfers->candidate_of);
	free(transfers->candidates);
	free(transfers->pieces);
	free(transfers->transfers);
	free(transfers);
}

static struct transfer *transfer_at(const struct wp_transfers *transfers, uint32_t at)
{
	WP_CHECK(at < transfers->config.count);
	return &transfers->transfers[at];
}

/* What a new block changes of piece `index`, which is returned. */
static struct piece *prepare_piece(struct transfer *transfer, uint32_t index)
{
	struct piece *piece = &transfer->pieces[index];

	piece->rereads = 0;
	piece->request.block = transfer->block;
	piece->request.host = (char *)transfer->host + piece->offset;
	piece->request.device = (char *)transfer->device + piece->offset;
	return piece;
}

void wp_transfer_begin(struct wp_transfers *transfers, uint32_t at,
		       const struct wp_transfer_order *order)
{
	struct transfer *transfer = transfer_at(transfers, at);

	WP_CHECK(transfer->state == STATE_FREE);
	WP_CHECK(transfer->in_flight == 0 && transfer->movable.count == 0);
	transfer->state = STATE_ACTIVE;
	transfer->kind = order->kind;
	transfer->needed = order->needed;
	transfer->block = order->block;
	transfer->sequence = transfers->sequence++;
	transfer->host = order->host;
	transfer->device = order->device;
	transfer->reads_issued = 0;
	transfer->arrived = 0;
	transfer->done_ns = 0;
	transfers->picked = NULL;
	if (order->kind == WP_TRANSFER_LOAD)
		return;
	/* Nothing to read: all of it waits for the copy engine at once. */
	for (uint32_t i = 0; i < transfers->reads_per_block; i++)
		wp_queue_push(&transfer->movable, &prepare_piece(transfer, i)->request);
}

void wp_transfer_demand(struct wp_transfers *transfers, uint32_t at)
{
	struct transfer *transfer = transfer_at(transfers, at);

	WP_CHECK(transfer->state == STATE_ACTIVE || transfer->state == STATE_COMPLETE);
	transfer->needed = true;
	transfers->picked = NULL;
}

/* Takes the transfer's pieces out of a queue that it shares with others. */
static void purge(struct wp_queue *queue, const struct transfer *transfer)
{
	for (uint32_t left = queue->count; left > 0; left--) {
		struct wp_request *request = wp_queue_pop(queue);

		if (((struct piece *)request)->transfer != transfer)
			wp_queue_push(queue, request);
	}
}

void wp_transfer_abandon(struct wp_transfers *transfers, uint32_t at)
{
	struct transfer *transfer = transfer_at(transfers, at);

	WP_CHECK(transfer->state == STATE_ACTIVE || transfer->state == STATE_COMPLETE);
	transfers->picked = NULL;
	transfer->movable = (struct wp_queue){0};
	purge(&transfers->rereads, transfer);
	purge(&transfers->unverified, transfer);
	transfer->state = transfer->in_flight ? STATE_DRAINING : STATE_FREE;
}

bool wp_transfer_is_free(const struct wp_transfers *transfers, uint32_t at)
{
	return transfer_at(transfers, at)->state == STATE_FREE;
}

bool wp_transfer_is_complete(const struct wp_transfers *transfers, uint32_t at)
{
	return transfer_at(transfers, at)->state == STATE_COMPLETE;
}

bool wp_transfer_is_begun(const struct wp_transfers *transfers, uint32_t at)
{
	return transfer_at(transfers, at)->reads_issued > 0;
}

uint32_t wp_transfer_block(const struct wp_transfers *transfers, uint32_t at)
{
	return transfer_at(transfers, at)->block;
}

uint64_t wp_transfer_done_ns(const struct wp_transfers *transfers, uint32_t at)
{
	const struct transfer *transfer = transfer_at(transfers, at);

	WP_CHECK(transfer->state == STATE_COMPLETE);
	return transfer->done_ns;
}

uint32_t wp_transfers_in_flight(const struct wp_transfers *transfers)
{
	uint32_t in_flight = 0;

	for (uint32_t i = 0; i < transfers->config.count; i++)
		in_flight += transfers->transfers[i].in_flight;
	return in_flight;
}

static void check_transfer(const struct wp_transfers *transfers, const struct transfer *transfer)
{
	uint32_t moved = transfer->arrived + transfer->movable.count;

	WP_CHECK(transfer->arrived <= transfers->reads_per_block);
	WP_CHECK(transfer->reads_issued <= transfers->reads_per_block);
	switch (transfer->state) {
	case STATE_FREE:
		WP_CHECK(!transfer->in_flight && !transfer->movable.count);
		break;
	case STATE_ACTIVE:
		WP_CHECK(transfer->arrived < transfers->reads_per_block);
		WP_CHECK(transfer->kind != WP_TRANSFER_LOAD || moved <= transfer->reads_issued);
		break;
	case STATE_COMPLETE:
		WP_CHECK(transfer->arrived == transfers->reads_per_block && !transfer->in_flight);
		break;
	case STATE_DRAINING:
		WP_CHECK(transfer->in_flight && !transfer->movable.count);
		break;
	}
}

void wp_transfers_check(const struct wp_transfers *transfers)
{
	uint32_t reads = 0, copies = 0;

	for (uint32_t i = 0; i < transfers->config.count; i++)
		check_transfer(transfers, &transfers->transfers[i]);
	wp_outstanding_check(&transfers->outstanding);
	for (const struct wp_asked *one = transfers->outstanding.oldest; one; one = one->newer) {
		reads += one->request->op == WP_OP_READ;
		copies += one->request->op == WP_OP_COPY || one->request->op == WP_OP_FETCH;
	}
	WP_CHECK(transfers->outstanding.count == wp_transfers_in_flight(transfers));
	WP_CHECK(reads == transfers->reads_in_flight);
	WP_CHECK(reads <= transfers->config.read_depth);
	WP_CHECK(copies == transfers->copies_in_flight && copies <= COPY_DEPTH);
}

const struct wp_transfers_totals *wp_transfers_totals(const struct wp_transfers *transfers)
{
	return &transfers->totals;
}

struct wp_pager_fault wp_transfers_fault(const struct wp_transfers *transfers)
{
	return transfers->fault;
}

/* The first fault stays: what follows it is its consequence. */
static void set_fault(struct wp_transfers *transfers, const struct wp_request *request,
		      const char *stage)
{
	if (transfers->fault.error)
		return;
	transfers->fault = (struct wp_pager_fault){
	    .error = request->result,
	    .block = request->block,
	    .offset = request->fault_offset,
	    .stage = stage,
	};
	if (request->end_missing) {
		transfers->fault.got_bytes =
		    request->fault_offset - (uint64_t)request->chunk_first * WP_CHUNK_BYTES;
		transfers->fault.wanted_bytes = transfers->fault.got_bytes + request->end_missing;
	}
}

/* A seam has taken the piece. */
static void note_asked(struct wp_transfers *transfers, struct piece *piece)
{
	wp_outstanding_add(&transfers->outstanding, &piece->asked, &piece->request,
			   piece->request.submit_ns);
	piece->transfer->in_flight++;
}

static void note_answered(struct wp_transfers *transfers, struct piece *piece)
{
	wp_outstanding_remove(&transfers->outstanding, &piece->asked);
	piece->transfer->in_flight--;
}

uint64_t wp_transfers_deadline_ns(const struct wp_transfers *transfers)
{
	return wp_outstanding_deadline_ns(&transfers->outstanding);
}

uint64_t wp_transfers_last_deadline_ns(const struct wp_transfers *transfers)
{
	return wp_outstanding_last_deadline_ns(&transfers->outstanding);
}

/* The request belongs to the seam, which may have changed it: nothing is read from it but `op`. */
static void check_deadline(struct wp_transfers *transfers)
{
	static const char *const stages[WP_OP_COUNT] = {
	    [WP_OP_READ] = "read",
	    [WP_OP_VERIFY] = "verify",
	    [WP_OP_COPY] = "copy",
	    [WP_OP_FETCH] = "fetch",
	};
	const struct piece *piece = (const struct piece *)wp_outstanding_overdue(
	    &transfers->outstanding, wp_clock_now_ns(transfers->world->clock));
	const struct transfer *transfer;
	uint64_t index;

	if (!piece || transfers->fault.error)
		return;
	transfer = piece->transfer;
	index = (uint64_t)(piece - transfer->pieces);
	transfers->fault = (struct wp_pager_fault){
	    .error = -ETIMEDOUT,
	    .block = transfer->block,
	    .offset = index * transfers->config.geometry.read_chunks * WP_CHUNK_BYTES,
	    .stage = stages[piece->request.op],
	};
}

/* Hands the piece to the store for `op`; false if the store is full. */
static bool submit_to_store(struct wp_transfers *transfers, struct piece *piece, enum wp_op op)
{
	piece->request.op = op;
	if (wp_port_submit(transfers->world->store, &piece->request) != 0)
		return false;
	if (op == WP_OP_READ) {
		wp_meter_begin(&transfers->totals.read, piece->request.submit_ns);
		transfers->reads_in_flight++;
		transfers->totals.reads++;
	} else {
		wp_meter_begin(&transfers->totals.verify, piece->request.submit_ns);
	}
	note_asked(transfers, piece);
	return true;
}

static void verify(struct wp_transfers *transfers, struct piece *piece)
{
	if (!submit_to_store(transfers, piece, WP_OP_VERIFY))
		wp_queue_push(&transfers->unverified, &piece->request);
}

static void read_done(struct wp_transfers *transfers, struct piece *piece)
{
	struct wp_request *request = &piece->request;

	wp_meter_end(&transfers->totals.read, request->done_ns);
	transfers->reads_in_flight--;
	transfers->totals.retries += request->retries;
	if (request->result == 0)
		transfers->totals.bytes_read += request->bytes;
	if (piece->transfer->state != STATE_ACTIVE)
		return;
	if (request->result == 0)
		verify(transfers, piece);
	else
		set_fault(transfers, request, "read");
}

static void verify_done(struct wp_transfers *transfers, struct piece *piece)
{
	struct wp_request *request = &piece->request;
	struct transfer *transfer = piece->transfer;

	wp_meter_end(&transfers->totals.verify, request->done_ns);
	if (request->result == -EBADMSG)
		transfers->totals.mismatches++;
	if (transfer->state != STATE_ACTIVE)
		return;
	if (request->result == 0) {
		wp_queue_push(&transfer->movable, request);
	} else if (request->result == -EBADMSG &&
		   piece->rereads < transfers->config.read_retries_max) {
		piece->rereads++;
		transfers->totals.retries++;
		wp_queue_push(&transfers->rereads, request);
	} else {
		set_fault(transfers, request, "verify");
	}
}

static void copy_done(struct wp_transfers *transfers, struct piece *piece)
{
	struct wp_request *request = &piece->request;
	struct transfer *transfer = piece->transfer;

	wp_meter_end(&transfers->totals.copy, request->done_ns);
	transfers->copies_in_flight--;
	if (request->result < 0) {
		set_fault(transfers, request, request->op == WP_OP_FETCH ? "fetch" : "copy");
		return;
	}
	transfer->arrived++;
	if (request->done_ns > transfer->done_ns)
		transfer->done_ns = request->done_ns;
	if (transfer->state == STATE_ACTIVE && transfer->arrived == transfers->reads_per_block)
		transfer->state = STATE_COMPLETE;
}

static void take_completions(struct wp_transfers *transfers)
{
	struct wp_request *request;

	while ((request = wp_queue_pop(&transfers->done))) {
		struct piece *piece = (struct piece *)request;
		struct transfer *transfer = piece->transfer;

		note_answered(transfers, piece);
		if (request->op == WP_OP_READ)
			read_done(transfers, piece);
		else if (request->op == WP_OP_VERIFY)
			verify_done(transfers, piece);
		else
			copy_done(transfers, piece);
		if (transfer->state == STATE_DRAINING && transfer->in_flight == 0)
			transfer->state = STATE_FREE;
	}
}

/* Who goes first at the copy engine: needed blocks, guesses, then making room. */
static bool copies_before(const struct transfer *a, const struct transfer *b)
{
	bool a_demotes = a->kind == WP_TRANSFER_DEMOTE;
	bool b_demotes = b->kind == WP_TRANSFER_DEMOTE;

	if (a->needed != b->needed)
		return a->needed;
	if (a_demotes != b_demotes)
		return b_demotes;
	return a->sequence < b->sequence;
}

/* The transfer whose piece is copied next, NULL if there is none. */
static struct transfer *next_to_copy(struct wp_transfers *transfers)
{
	struct transfer *best = NULL;

	for (uint32_t i = 0; i < transfers->config.count; i++) {
		struct transfer *transfer = &transfers->transfers[i];

		if (transfer->state != STATE_ACTIVE || !transfer->movable.count)
			continue;
		if (!best || copies_before(transfer, best))
			best = transfer;
	}
	return best;
}

static void start_copies(struct wp_transfers *transfers)
{
	while (transfers->copies_in_flight < COPY_DEPTH) {
		struct transfer *transfer = next_to_copy(transfers);
		struct wp_request *request;

		if (!transfer)
			return;
		request = wp_queue_pop(&transfer->movable);
		request->op = transfer->kind == WP_TRANSFER_DEMOTE ? WP_OP_FETCH : WP_OP_COPY;
		if (wp_port_submit(transfers->world->device, request) != 0) {
			wp_queue_unpop(&transfer->movable, request);
			return;
		}
		wp_meter_begin(&transfers->totals.copy, request->submit_ns);
		transfers->copies_in_flight++;
		note_asked(transfers, (struct piece *)request);
	}
}

/* Pieces that came back wrong, or that wait for room to be verified, go first. */
static bool resubmit(struct wp_transfers *transfers, struct wp_queue *waiting, enum wp_op op)
{
	while (waiting->head) {
		struct piece *piece;

		if (op == WP_OP_READ && transfers->reads_in_flight == transfers->config.read_depth)
			return false;
		piece = (struct piece *)wp_queue_pop(waiting);
		if (!submit_to_store(transfers, piece, op)) {
			wp_queue_unpop(waiting, &piece->request);
			return false;
		}
	}
	return true;
}

/* The transfer to read from next, NULL if none has reads left. */
static struct transfer *pick(struct wp_transfers *transfers)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < transfers->config.count; i++) {
		const struct transfer *transfer = &transfers->transfers[i];

		if (transfer->state != STATE_ACTIVE || transfer->kind != WP_TRANSFER_LOAD ||
		    transfer->reads_issued == transfers->reads_per_block)
			continue;
		transfers->candidates[count] = (struct wp_candidate){
		    .sequence = transfer->sequence,
		    .needed = transfer->needed,
		};
		transfers->candidate_of[count++] = i;
	}
	if (!count)
		return NULL;
	return &transfers->transfers[transfers->candidate_of[transfers->config.order->pick(
	    transfers->candidates, count)]];
}

static void start_reads(struct wp_transfers *transfers)
{
	while (transfers->reads_in_flight < transfers->config.read_depth) {
		struct transfer *transfer;

		if (!transfers->picked)
			transfers->picked = pick(transfers);
		transfer = transfers->picked;
		if (!transfer ||
		    !submit_to_store(transfers, prepare_piece(transfer, transfer->reads_issued),
				     WP_OP_READ))
			return;
		if (++transfer->reads_issued == transfers->reads_per_block)
			transfers->picked = NULL;
	}
}

int wp_transfers_step(struct wp_transfers *transfers)
{
	wp_world_poll(transfers->world);
	take_completions(transfers);
	check_deadline(transfers);
	if (transfers->fault.error)
		return transfers->fault.error;
	start_copies(transfers);
	if (resubmit(transfers, &transfers->unverified, WP_OP_VERIFY) &&
	    resubmit(transfers, &transfers->rereads, WP_OP_READ))
		start_reads(transfers);
	return 0;
}
