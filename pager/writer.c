/* Writing new blocks through; see writer.h. One job a block, one request a small write. */
#include "pager/writer.h"

#include <errno.h>
#include <stdlib.h>

#include "pager/outstanding.h"

enum job_state {
	JOB_FREE,
	JOB_WRITING,
	JOB_WRITTEN, /* every WRITE is back; COMMIT is due or under way */
	JOB_ACKNOWLEDGED,
};

struct job {
	enum job_state state;
	uint32_t block;
	uint32_t position;
	void *host;
	uint64_t sequence;
	uint32_t asked; /* small writes given to the store */
	uint32_t written;
	bool committing;
};

struct write {
	struct wp_request request; /* first: a request is its write */
	struct job *job;	   /* NULL: free */
	struct wp_asked asked;	   /* while the store has it */
};

struct wp_writer {
	struct wp_world *world;
	struct wp_writer_config config;
	uint32_t writes_per_block;
	uint64_t sequence;
	uint32_t count;
	struct wp_outstanding outstanding; /* what the store has */
	uint64_t bytes;
	struct wp_queue done;
	struct wp_pager_fault fault;
	struct job *jobs;
	struct write *writes; /* depth WRITEs, then one COMMIT a job */
	uint32_t write_count;
};

int wp_writer_open(struct wp_writer **opened, const struct wp_writer_config *config,
		   struct wp_world *world)
{
	struct wp_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return -ENOMEM;
	writer->world = world;
	writer->config = *config;
	writer->outstanding.limit_ns = config->deadline_ns;
	writer->writes_per_block = wp_geometry_reads(&config->geometry);
	writer->write_count = config->depth + config->blocks_max;
	writer->jobs = calloc(config->blocks_max, sizeof(*writer->jobs));
	writer->writes = calloc(writer->write_count, sizeof(*writer->writes));
	if (!writer->jobs || !writer->writes) {
		wp_writer_close(writer);
		return -ENOMEM;
	}
	*opened = writer;
	return 0;
}

void wp_writer_close(struct wp_writer *writer)
{
	if (!writer)
		return;
	free(writer->writes);
	free(writer->jobs);
	free(writer);
}

void wp_writer_add(struct wp_writer *writer, uint32_t block, uint32_t position, void *host)
{
	struct job *job = writer->jobs;

	WP_CHECK(writer->count < writer->config.blocks_max);
	while (job->state != JOB_FREE)
		job++;
	*job = (struct job){
	    .state = JOB_WRITING,
	    .block = block,
	    .position = position,
	    .host = host,
	    .sequence = writer->sequence++,
	};
	writer->count++;
}

uint32_t wp_writer_count(const struct wp_writer *writer)
{
	return writer->count;
}

static void set_fault(struct wp_writer *writer, const struct job *job, int error, uint64_t offset,
		      bool commits)
{
	if (writer->fault.error)
		return;
	writer->fault = (struct wp_pager_fault){
	    .error = error,
	    .block = job->block,
	    .offset = offset,
	    .stage = commits ? "commit" : "write",
	};
}

static void take_completions(struct wp_writer *writer)
{
	struct wp_request *request;

	while ((request = wp_queue_pop(&writer->done))) {
		struct write *write = (struct write *)request;
		struct job *job = write->job;

		write->job = NULL;
		wp_outstanding_remove(&writer->outstanding, &write->asked);
		if (request->result < 0) {
			set_fault(writer, job, request->result, request->fault_offset,
				  request->op == WP_OP_COMMIT);
		} else if (request->op == WP_OP_COMMIT) {
			job->state = JOB_ACKNOWLEDGED;
		} else {
			writer->bytes += request->bytes;
			if (++job->written == writer->writes_per_block)
				job->state = JOB_WRITTEN;
		}
	}
}

/* A free request of the WRITEs, or of the COMMITs; NULL: all are with the store. */
static struct write *free_write(struct wp_writer *writer, bool commits)
{
	uint32_t at = commits ? writer->config.depth : 0;
	uint32_t end = commits ? writer->write_count : writer->config.depth;

	for (; at < end; at++)
		if (!writer->writes[at].job)
			return &writer->writes[at];
	return NULL;
}

static bool submit(struct wp_writer *writer, struct job *job, struct write *write)
{
	write->request.owner = &writer->done;
	if (wp_port_submit(writer->world->store, &write->request) != 0)
		return false;
	write->job = job;
	wp_outstanding_add(&writer->outstanding, &write->asked, &write->request,
			   write->request.submit_ns);
	return true;
}

static bool start_write(struct wp_writer *writer, struct job *job)
{
	const struct wp_geometry *geometry = &writer->config.geometry;
	struct write *write = free_write(writer, false);
	uint32_t first = job->asked * geometry->read_chunks;
	uint32_t left = wp_geometry_chunks(geometry) - first;
	uint32_t count = left < geometry->read_chunks ? left : geometry->read_chunks;

	if (!write)
		return false;
	write->request = (struct wp_request){
	    .op = WP_OP_WRITE,
	    .block = job->block,
	    .chunk_first = first,
	    .chunk_count = count,
	    .bytes = wp_geometry_bytes(geometry, first, count),
	    .payload_bytes = wp_geometry_payload_bytes(geometry, first, count),
	    .host = (char *)job->host + wp_geometry_payload_bytes(geometry, 0, first),
	};
	if (!submit(writer, job, write))
		return false;
	job->asked++;
	return true;
}

static void start_commit(struct wp_writer *writer, struct job *job)
{
	struct write *write = free_write(writer, true);

	WP_CHECK(write);
	write->request = (struct wp_request){
	    .op = WP_OP_COMMIT,
	    .block = job->block,
	    .position = job->position,
	};
	job->committing = submit(writer, job, write);
}

/* The oldest block with a small write still to be asked for. */
static struct job *next_to_write(struct wp_writer *writer)
{
	struct job *best = NULL;

	for (uint32_t i = 0; i < writer->config.blocks_max; i++) {
		struct job *job = &writer->jobs[i];

		if (job->state == JOB_WRITING && job->asked < writer->writes_per_block &&
		    (!best || job->sequence < best->sequence))
			best = job;
	}
	return best;
}

uint64_t wp_writer_deadline_ns(const struct wp_writer *writer)
{
	return wp_outstanding_deadline_ns(&writer->outstanding);
}

uint64_t wp_writer_last_deadline_ns(const struct wp_writer *writer)
{
	return wp_outstanding_last_deadline_ns(&writer->outstanding);
}

static void check_deadline(struct wp_writer *writer)
{
	const struct write *write = (const struct write *)wp_outstanding_overdue(
	    &writer->outstanding, wp_clock_now_ns(writer->world->clock));

	if (write)
		set_fault(writer, write->job, -ETIMEDOUT,
			  (uint64_t)write->request.chunk_first * WP_CHUNK_BYTES,
			  write >= &writer->writes[writer->config.depth]);
}

int wp_writer_step(struct wp_writer *writer, bool may_start)
{
	struct job *job;

	take_completions(writer);
	check_deadline(writer);
	if (writer->fault.error)
		return writer->fault.error;
	for (uint32_t i = 0; i < writer->config.blocks_max; i++)
		if (writer->jobs[i].state == JOB_WRITTEN && !writer->jobs[i].committing)
			start_commit(writer, &writer->jobs[i]);
	while (may_start && (job = next_to_write(writer)))
		if (!start_write(writer, job))
			break;
	return 0;
}

bool wp_writer_take_acknowledged(struct wp_writer *writer, uint32_t *block)
{
	for (uint32_t i = 0; i < writer->config.blocks_max; i++) {
		if (writer->jobs[i].state != JOB_ACKNOWLEDGED)
			continue;
		*block = writer->jobs[i].block;
		writer->jobs[i].state = JOB_FREE;
		writer->count--;
		return true;
	}
	return false;
}

uint32_t wp_writer_in_flight(const struct wp_writer *writer)
{
	return writer->outstanding.count;
}

uint64_t wp_writer_bytes(const struct wp_writer *writer)
{
	return writer->bytes;
}

struct wp_pager_fault wp_writer_fault(const struct wp_writer *writer)
{
	return writer->fault;
}
