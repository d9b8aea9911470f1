/*
 * The store port on real files: takes requests apart into pieces, puts short
 * and refused ones right, and hands a request back when all its parts are over.
 *
 *   READ    pieces
 *   WRITE   (forget the record's old block) -> pieces, and checksums beside them
 *   VERIFY  check thread          COMMIT  flush thread
 *
 * Everything here runs on the caller's thread; three descriptors (backend,
 * check, flush) meet in one epoll descriptor.
 */
#include "pager/store_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pager/store_pieces.h"
#include "pager/store_work.h"

/* One request under way. */
struct slot {
	struct wp_pieces pieces;   /* first: the backend hands it back */
	struct wp_store_work work; /* the threads hand this back */
	struct slot *next;	   /* in the list the slot is in */
	struct wp_request *request;
	uint32_t parts; /* still under way */
	int result;
	uint64_t fault_offset;
	uint64_t done_ns;
};

struct store_port {
	struct wp_port port;
	struct wp_store_files *files;
	struct wp_io_backend *backend;
	struct wp_store_port_config config;
	struct wp_clock *clock;
	struct wp_store_works works;
	struct wp_jobs *check;
	struct wp_jobs *flush;
	int epoll_fd;
	struct slot *slots;
	struct slot *free_moves; /* `depth` slots for READ and WRITE */
	struct slot *free_works; /* WP_READ_DEPTH_MAX for VERIFY and COMMIT */
	struct slot *paused;	 /* until resume_ns */
	struct slot *waiting;	 /* for their record to be forgotten */
	struct wp_queue refused; /* over before they began; handed back by poll */
	uint32_t in_flight;
	uint64_t forgotten;
};

static struct slot *slot_of_work(struct wp_job *job)
{
	return (struct slot *)((char *)job - offsetof(struct slot, work));
}

static void push(struct slot **list, struct slot *slot)
{
	slot->next = *list;
	*list = slot;
}

static struct slot *pop(struct slot **list)
{
	struct slot *slot = *list;

	if (slot)
		*list = slot->next;
	return slot;
}

static bool moves_bytes(const struct wp_request *request)
{
	return request->op == WP_OP_READ || request->op == WP_OP_WRITE;
}

static struct wp_record *record_of(struct store_port *store, const struct slot *slot)
{
	return &store->files->index.records[slot->work.record];
}

/* Handed back by the next poll, because nothing completes inside submit. */
static void refuse(struct store_port *store, struct wp_request *request, int error)
{
	request->result = error;
	wp_queue_push(&store->refused, request);
}

static void hand_back(struct store_port *store, struct slot *slot)
{
	struct wp_request *request = slot->request;

	if (slot->result)
		request->fault_offset = slot->fault_offset;
	else if (request->op == WP_OP_WRITE)
		wp_store_index_wrote(&store->files->index, slot->work.record, request->chunk_first,
				     request->chunk_count);
	push(moves_bytes(request) ? &store->free_moves : &store->free_works, slot);
	store->in_flight--;
	wp_request_complete(request, slot->result, slot->done_ns);
}

/* One part of the slot's request is over; the first error counts. */
static void end_part(struct store_port *store, struct slot *slot, int result, uint64_t fault_offset,
		     uint64_t done_ns)
{
	if (result && !slot->result) {
		slot->result = result;
		slot->fault_offset = fault_offset;
	}
	if (done_ns > slot->done_ns)
		slot->done_ns = done_ns;
	if (--slot->parts == 0)
		hand_back(store, slot);
}

static void start_piece(struct store_port *store, struct slot *slot)
{
	wp_pieces_next(&slot->pieces, store->config.io_bytes_max);
	store->backend->ops->start(store->backend, &slot->pieces.io);
}

static void take_piece(struct store_port *store, struct slot *slot)
{
	uint64_t begin = (uint64_t)slot->request->chunk_first * WP_CHUNK_BYTES;

	switch (wp_pieces_took(&slot->pieces, store->files->alignment_bytes,
			       wp_clock_now_ns(store->clock))) {
	case WP_PIECES_MORE:
		start_piece(store, slot);
		break;
	case WP_PIECES_PAUSE:
		push(&store->paused, slot);
		break;
	case WP_PIECES_OVER:
		slot->request->retries = slot->pieces.retries;
		slot->request->end_missing = slot->pieces.end_missing;
		end_part(store, slot, slot->pieces.result, begin + slot->pieces.moved,
			 slot->pieces.io.done_ns);
		break;
	}
}

static void start_write(struct store_port *store, struct slot *slot)
{
	slot->parts = 2;
	slot->work.task = WP_STORE_CHECKSUM;
	wp_jobs_add(store->check, &slot->work.job);
	start_piece(store, slot);
}

/* A free slot set up for the request; submit has seen that there is one. */
static struct slot *take_slot(struct store_port *store, struct wp_request *request, uint32_t record)
{
	struct slot *slot = pop(moves_bytes(request) ? &store->free_moves : &store->free_works);
	bool write = request->op == WP_OP_WRITE;
	uint64_t align = write ? WP_STORE_ALIGNMENT : store->files->alignment_bytes;
	uint64_t begin = (uint64_t)request->chunk_first * WP_CHUNK_BYTES;

	memset(slot, 0, sizeof(*slot));
	slot->request = request;
	slot->parts = 1;
	slot->work.record = record;
	slot->work.generation = store->files->index.records[record].generation;
	slot->work.request = request;
	wp_pieces_begin(&slot->pieces, wp_store_files_segment(store->files, record),
			wp_store_files_offset(store->files, record) + begin, request->host,
			(request->payload_bytes + align - 1) / align * align, write);
	store->in_flight++;
	return slot;
}

static void submit_stored(struct store_port *store, struct wp_request *request)
{
	struct wp_store_index *index = &store->files->index;
	const struct wp_record *record = wp_store_index_find(index, request->block);
	struct slot *slot;

	if (!record || (request->generation && request->generation != record->generation)) {
		refuse(store, request, record ? -ESTALE : -ENODATA);
		return;
	}
	slot = take_slot(store, request, wp_store_index_place(index, request->block));
	if (request->op == WP_OP_READ) {
		start_piece(store, slot);
	} else {
		slot->work.task = WP_STORE_VERIFY;
		wp_jobs_add(store->check, &slot->work.job);
	}
}

static void submit_write(struct store_port *store, struct wp_request *request)
{
	bool forgot = false;
	int error = wp_store_index_claim(&store->files->index, request->block,
					 store->config.forget_oldest, &forgot);
	struct wp_record *record;
	struct slot *slot;

	store->forgotten += forgot;
	if (error) {
		refuse(store, request, error);
		return;
	}
	slot =
	    take_slot(store, request, wp_store_index_place(&store->files->index, request->block));
	record = record_of(store, slot);
	if (record->forgetting) {
		push(&store->waiting, slot);
	} else if (record->stored_on_disk) {
		record->forgetting = true;
		slot->work.task = WP_STORE_FORGET;
		wp_jobs_add(store->flush, &slot->work.job);
	} else {
		start_write(store, slot);
	}
}

static void submit_commit(struct store_port *store, struct wp_request *request)
{
	struct wp_store_index *index = &store->files->index;
	uint32_t place = wp_store_index_place(index, request->block);
	struct slot *slot;

	WP_CHECK(index->written && index->records[place].block == request->block);
	wp_store_index_commit(index, place, request->position);
	slot = take_slot(store, request, place);
	slot->work.task = WP_STORE_COMMIT;
	wp_jobs_add(store->flush, &slot->work.job);
}

static void check_request(const struct store_port *store, const struct wp_request *request)
{
	uint32_t chunk_count = store->files->index.chunk_count;

	WP_CHECK(request->owner && request->block != WP_BLOCK_NONE);
	WP_CHECK(request->op <= WP_OP_COMMIT); /* the rest is for devices */
	if (request->op == WP_OP_COMMIT)
		return;
	WP_CHECK(request->chunk_first < chunk_count && request->chunk_count > 0 &&
		 request->chunk_count <= chunk_count - request->chunk_first);
	WP_CHECK(request->payload_bytes ==
		 wp_store_range_bytes(store->files->header.identity.block_bytes,
				      request->chunk_first, request->chunk_count));
	WP_CHECK((uintptr_t)request->host % store->files->alignment_bytes == 0);
}

static int store_submit(struct wp_port *port, struct wp_request *request)
{
	struct store_port *store = (struct store_port *)port;

	check_request(store, request);
	if (moves_bytes(request) ? !store->free_moves : !store->free_works)
		return -EAGAIN;
	request->submit_ns = wp_clock_now_ns(store->clock);
	request->retries = 0;
	request->fault_offset = 0;
	request->end_missing = 0;
	if (request->op == WP_OP_WRITE)
		submit_write(store, request);
	else if (request->op == WP_OP_COMMIT)
		submit_commit(store, request);
	else
		submit_stored(store, request);
	return 0;
}

/* The old block is gone, or cannot be made to go: all WRITEs of the record follow. */
static void end_forget(struct store_port *store, struct slot *slot)
{
	uint32_t place = slot->work.record;
	int result = slot->work.result;
	uint64_t done_ns = slot->work.done_ns;
	struct slot *others = store->waiting;

	record_of(store, slot)->forgetting = false;
	if (result)
		wp_store_index_abandon(&store->files->index, place);
	else
		record_of(store, slot)->stored_on_disk = false;
	store->waiting = NULL;
	push(&others, slot);
	while ((slot = pop(&others))) {
		if (slot->work.record != place)
			push(&store->waiting, slot);
		else if (result)
			end_part(store, slot, result, 0, done_ns);
		else
			start_write(store, slot);
	}
}

static void end_commit(struct store_port *store, struct slot *slot)
{
	struct wp_store_index *index = &store->files->index;

	if (slot->work.result) {
		wp_store_index_abandon(index, slot->work.record);
	} else {
		wp_store_index_publish(index, slot->work.record);
		slot->request->generation = index->records[slot->work.record].generation;
	}
	end_part(store, slot, slot->work.result, 0, slot->work.done_ns);
}

static void take_works(struct store_port *store, struct wp_jobs *jobs)
{
	struct wp_job *job = wp_jobs_take(jobs);

	while (job) {
		struct slot *slot = slot_of_work(job);

		job = job->link; /* the slot may be in use again after this */
		switch (slot->work.task) {
		case WP_STORE_FORGET:
			end_forget(store, slot);
			break;
		case WP_STORE_COMMIT:
			end_commit(store, slot);
			break;
		case WP_STORE_VERIFY:
		case WP_STORE_CHECKSUM:
			end_part(store, slot, slot->work.result, slot->work.fault_offset,
				 slot->work.done_ns);
			break;
		}
	}
}

static void resume_paused(struct store_port *store)
{
	uint64_t now_ns = wp_clock_now_ns(store->clock);
	struct slot *paused = store->paused;
	struct slot *slot;

	store->paused = NULL;
	while ((slot = pop(&paused))) {
		if (slot->pieces.resume_ns <= now_ns)
			start_piece(store, slot);
		else
			push(&store->paused, slot);
	}
}

static void store_poll(struct wp_port *port)
{
	struct store_port *store = (struct store_port *)port;
	struct wp_request *request;
	struct wp_io *io;

	while ((io = store->backend->ops->take(store->backend)))
		take_piece(store, (struct slot *)io);
	take_works(store, store->check);
	take_works(store, store->flush);
	if (store->paused)
		resume_paused(store);
	while ((request = wp_queue_pop(&store->refused)))
		wp_request_complete(request, request->result, request->submit_ns);
}

static uint64_t store_next_ns(const struct wp_port *port)
{
	const struct store_port *store = (const struct store_port *)port;
	uint64_t next_ns = store->backend->ops->next_ns(store->backend);

	if (store->refused.count)
		return 0;
	for (const struct slot *slot = store->paused; slot; slot = slot->next) {
		if (slot->pieces.resume_ns < next_ns)
			next_ns = slot->pieces.resume_ns;
	}
	return next_ns;
}

static int store_fd(const struct wp_port *port)
{
	return ((const struct store_port *)port)->epoll_fd;
}

/* Everything but files and backend, which on a failed open stay the caller's. */
static void release(struct store_port *store)
{
	wp_jobs_close(store->check);
	wp_jobs_close(store->flush);
	if (store->epoll_fd >= 0)
		close(store->epoll_fd);
	free(store->slots);
	free(store);
}

static void store_close(struct wp_port *port)
{
	struct store_port *store = (struct store_port *)port;
	struct wp_store_files *files = store->files;

	WP_CHECK(store->in_flight == 0 && store->refused.count == 0);
	store->backend->ops->close(store->backend);
	release(store);
	wp_store_files_close(files);
	free(files);
}

static const struct wp_port_ops store_ops = {
    .name = "store_host",
    .submit = store_submit,
    .poll = store_poll,
    .next_ns = store_next_ns,
    .fd = store_fd,
    .close = store_close,
};

static int watch(struct store_port *store, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(store->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int open_threads(struct store_port *store)
{
	int error;

	store->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (store->epoll_fd < 0)
		return -errno;
	error = wp_jobs_open(&store->check, 1, false, wp_store_work_check, &store->works);
	if (!error)
		error = wp_jobs_open(&store->flush, 1, true, wp_store_work_flush, &store->works);
	if (!error)
		error = watch(store, wp_jobs_fd(store->check));
	if (!error)
		error = watch(store, wp_jobs_fd(store->flush));
	if (!error)
		error = watch(store, store->backend->ops->fd(store->backend));
	return error;
}

int wp_store_port_open(struct wp_port **out, struct wp_store_files *files,
		       struct wp_io_backend *backend, const struct wp_store_port_config *config,
		       struct wp_clock *clock)
{
	struct store_port *store = calloc(1, sizeof(*store));
	uint32_t slot_count = config->depth + WP_READ_DEPTH_MAX;
	int error;

	WP_CHECK(config->depth > 0 && config->depth <= WP_READ_DEPTH_MAX);
	WP_CHECK(config->io_bytes_max > 0 && config->io_bytes_max <= WP_IO_BYTES_MAX &&
		 config->io_bytes_max % WP_STORE_ALIGNMENT == 0);
	if (!store)
		return -ENOMEM;
	store->port.ops = &store_ops;
	store->files = files;
	store->backend = backend;
	store->config = *config;
	store->clock = clock;
	store->works = (struct wp_store_works){.files = files, .clock = clock};
	store->epoll_fd = -1;
	store->slots = calloc(slot_count, sizeof(*store->slots));
	error = store->slots ? open_threads(store) : -ENOMEM;
	if (error) {
		release(store);
		return error;
	}
	for (uint32_t i = 0; i < slot_count; i++)
		push(i < config->depth ? &store->free_moves : &store->free_works, &store->slots[i]);
	*out = &store->port;
	return 0;
}

struct wp_store_files *wp_store_port_files(struct wp_port *port)
{
	return ((struct store_port *)port)->files;
}

uint64_t wp_store_port_forgotten(const struct wp_port *port)
{
	return ((const struct store_port *)port)->forgotten;
}
