/*
 * The virtual world's store: blocks whose bytes are a function of seed, block
 * and chunk, prepared or written by a session, behind a drive that is a latency,
 * a rate and one request after another. Moves `chunk_payload_bytes` a chunk,
 * times the rest. Of a written block it keeps whether its bytes were right.
 *
 * A buffer being read into is poisoned until its event comes, so that nobody
 * gets away with looking early.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pager/content.h"
#include "pager/duration.h"
#include "pager/store.h"

#define POISON		  0xa5
#define PAYLOAD_BYTES_MAX 4096u

struct written { /* one record */
	uint32_t block;
	uint32_t chunks; /* written so far */
	bool wrong;	 /* some byte was not what the content is */
	bool committed;
};

struct store_virtual {
	struct wp_port port;
	struct wp_events *events;
	struct wp_geometry geometry;
	struct wp_drive drive;
	uint64_t seed;
	uint32_t block_count;
	struct written *written; /* of a session; NULL: prepared, everything is there */
	uint64_t drive_free_ns;	 /* when the last transfer taken so far will have ended */
	uint64_t verify_free_ns;
};

static uint64_t max_ns(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static struct written *record_of(const struct store_virtual *store, uint32_t block)
{
	return &store->written[block % store->block_count];
}

static int no_data(struct wp_request *request)
{
	request->fault_offset = 0;
	return -ENODATA;
}

static int read_work(void *context, struct wp_request *request)
{
	struct store_virtual *store = context;

	if (store->written) {
		const struct written *written = record_of(store, request->block);

		if (!written->committed || written->block != request->block)
			return no_data(request);
		if (written->wrong)
			return 0; /* poison, which will not verify */
	} else if (request->block >= store->block_count) {
		return no_data(request);
	}
	wp_content_fill_chunks(request->host, request->payload_bytes, store->seed, request->block,
			       request->chunk_first, request->chunk_count);
	return 0;
}

/* Of what a request carries; negative: all of it is right. */
static int64_t wrong_chunk(const struct store_virtual *store, const struct wp_request *request)
{
	uint32_t end = request->chunk_first + request->chunk_count;
	uint32_t chunk =
	    wp_content_wrong_chunk(request->host, request->payload_bytes, store->seed,
				   request->block, request->chunk_first, request->chunk_count);

	return chunk == end ? -1 : (int64_t)chunk;
}

static int verify_work(void *context, struct wp_request *request)
{
	int64_t chunk = wrong_chunk(context, request);

	if (chunk < 0)
		return 0;
	request->fault_offset = (uint64_t)chunk * WP_CHUNK_BYTES;
	return -EBADMSG;
}

static int write_work(void *context, struct wp_request *request)
{
	struct store_virtual *store = context;
	struct written *written;

	if (!store->written)
		return -EROFS;
	written = record_of(store, request->block);
	/* Begun anew, be it that an earlier try never came to its end. */
	if (written->committed || request->chunk_first == 0 || written->block != request->block)
		*written = (struct written){.block = request->block};
	written->wrong |= wrong_chunk(store, request) >= 0;
	written->chunks += request->chunk_count;
	return 0;
}

static int commit_work(void *context, struct wp_request *request)
{
	struct store_virtual *store = context;

	struct written *written;

	WP_CHECK(store->written);
	written = record_of(store, request->block);
	WP_CHECK(written->block == request->block);
	WP_CHECK(written->chunks == wp_geometry_chunks(&store->geometry));
	written->committed = true;
	return 0;
}

static void submit_write(struct store_virtual *store, struct wp_request *request)
{
	uint64_t start_ns =
	    max_ns(request->submit_ns + store->drive.write_latency_ns, store->drive_free_ns);

	store->drive_free_ns =
	    start_ns + wp_duration_ns(request->bytes, store->drive.write_bytes_per_s);
	wp_events_add(store->events, store->drive_free_ns, request, write_work, store);
}

static void submit_commit(struct store_virtual *store, struct wp_request *request)
{
	uint64_t start_ns = max_ns(request->submit_ns, store->drive_free_ns);

	wp_events_add(store->events, start_ns + store->drive.flush_latency_ns, request, commit_work,
		      store);
}

static void submit_read(struct store_virtual *store, struct wp_request *request)
{
	uint64_t start_ns =
	    max_ns(request->submit_ns + store->drive.read_latency_ns, store->drive_free_ns);

	store->drive_free_ns =
	    start_ns + wp_duration_ns(request->bytes, store->drive.read_bytes_per_s);
	memset(request->host, POISON, request->payload_bytes);
	wp_events_add(store->events, store->drive_free_ns, request, read_work, store);
}

static void submit_verify(struct store_virtual *store, struct wp_request *request)
{
	store->verify_free_ns = max_ns(request->submit_ns, store->verify_free_ns) +
				wp_duration_ns(request->bytes, store->drive.verify_bytes_per_s);
	wp_events_add(store->events, store->verify_free_ns, request, verify_work, store);
}

static int store_submit(struct wp_port *port, struct wp_request *request)
{
	struct store_virtual *store = (struct store_virtual *)port;

	request->submit_ns = wp_events_now_ns(store->events);
	request->retries = 0;
	if (request->op == WP_OP_READ)
		submit_read(store, request);
	else if (request->op == WP_OP_VERIFY)
		submit_verify(store, request);
	else if (request->op == WP_OP_WRITE)
		submit_write(store, request);
	else if (request->op == WP_OP_COMMIT)
		submit_commit(store, request);
	else
		WP_ABORT("not an operation of the store");
	return 0;
}

static void store_poll(struct wp_port *port)
{
	wp_events_run(((struct store_virtual *)port)->events);
}

static uint64_t store_next_ns(const struct wp_port *port)
{
	return wp_events_next_ns(((const struct store_virtual *)port)->events);
}

static int store_fd(const struct wp_port *port)
{
	(void)port;
	return -1;
}

static void store_close(struct wp_port *port)
{
	free(((struct store_virtual *)port)->written);
	free(port);
}

static const struct wp_port_ops store_ops = {
    .name = "virtual",
    .submit = store_submit,
    .poll = store_poll,
    .next_ns = store_next_ns,
    .fd = store_fd,
    .close = store_close,
};

int wp_store_virtual_open(struct wp_port **port, struct wp_events *events,
			  const struct wp_geometry *geometry, const struct wp_drive *drive,
			  uint64_t seed, uint32_t block_count)
{
	struct store_virtual *store = calloc(1, sizeof(*store));

	if (!store)
		return -ENOMEM;
	WP_CHECK(geometry->chunk_payload_bytes <= PAYLOAD_BYTES_MAX);
	store->port.ops = &store_ops;
	store->events = events;
	store->geometry = *geometry;
	store->drive = *drive;
	store->seed = seed;
	store->block_count = block_count;
	*port = &store->port;
	return 0;
}

int wp_store_virtual_open_session(struct wp_port **port, struct wp_events *events,
				  const struct wp_geometry *geometry, const struct wp_drive *drive,
				  uint64_t seed, uint32_t block_count)
{
	struct store_virtual *store;
	int error = wp_store_virtual_open(port, events, geometry, drive, seed, block_count);

	if (error)
		return error;
	store = (struct store_virtual *)*port;
	store->written = calloc(block_count, sizeof(*store->written));
	if (store->written)
		return 0;
	free(store);
	*port = NULL;
	return -ENOMEM;
}
