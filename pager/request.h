/*
 * What travels through the seams: a request, and the queue it comes back on.
 *
 * The caller owns request and buffers; from submit until the completion is
 * popped from the owner's queue they belong to the seam. Requests are linked
 * intrusively, so nothing is allocated while frames run.
 */
#ifndef WP_REQUEST_H
#define WP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wp_op {
	/* store */
	WP_OP_READ,   /* chunks of a stored block into `host` */
	WP_OP_VERIFY, /* `host` against the index: id, generation, one checksum a chunk */
	WP_OP_WRITE,  /* `host` into the block's record */
	WP_OP_COMMIT, /* payload and index entry of a written block durable: acknowledged */
	/* device */
	WP_OP_COPY,    /* `host` to `device` */
	WP_OP_FETCH,   /* `device` to `host` */
	WP_OP_ENCODE,  /* a new block into its stored form, in `device` */
	WP_OP_DECODE,  /* a stored block into the form the model reads */
	WP_OP_COMPUTE, /* one frame of the model: `duration_ns` */
	WP_OP_COUNT
};

struct wp_queue;

struct wp_request {
	struct wp_request *link; /* for whoever holds the request at the moment */
	struct wp_queue *owner;	 /* where the completion goes */
	enum wp_op op;
	int result;	      /* 0 or -errno, valid once completed */
	uint32_t block;	      /* block number */
	uint32_t generation;  /* of the block's record; 0 where the store keeps one version */
	uint32_t chunk_first; /* range of WP_CHUNK_BYTES chunks within the block */
	uint32_t chunk_count;
	uint64_t bytes;		/* what is timed */
	uint64_t payload_bytes; /* what is moved; equals `bytes` outside the virtual world */
	void *host;		/* address of the first chunk's bytes in host memory */
	void *device;		/* the same in device memory */
	uint64_t duration_ns;	/* COMPUTE */
	uint64_t start_ns;	/* COMPUTE, DECODE on a timed device: counts from here; 0: submit */
	uint32_t position;	/* COMMIT: latent index the block's keys were rotated at */
	int32_t shift;		/* DECODE on a GPU: latents by which the keys are turned */
	uint16_t *elements;	/* DECODE on a GPU: where they go on the device; NULL: nowhere */
	uint64_t submit_ns;	/* set by the seam when it takes the request */
	uint64_t done_ns;	/* set by the seam: the instant the work was over */
	uint64_t fault_offset;	/* with an error: byte offset within the block */
	uint64_t end_missing;	/* with an error because the file ends at fault_offset: bytes that
				 * would have followed; else 0 */
	uint32_t retries;	/* repetitions inside the seam: short transfers, -EAGAIN */
	uint32_t tag;		/* the owner's own */
};

/* First in, first out. An all-zero queue is empty. */
struct wp_queue {
	struct wp_request *head;
	struct wp_request *tail;
	uint32_t count;
};

static inline void wp_queue_push(struct wp_queue *queue, struct wp_request *request)
{
	request->link = NULL;
	if (queue->tail)
		queue->tail->link = request;
	else
		queue->head = request;
	queue->tail = request;
	queue->count++;
}

/* Back to the front: what was popped could not be used yet. */
static inline void wp_queue_unpop(struct wp_queue *queue, struct wp_request *request)
{
	request->link = queue->head;
	queue->head = request;
	if (!queue->tail)
		queue->tail = request;
	queue->count++;
}

static inline struct wp_request *wp_queue_pop(struct wp_queue *queue)
{
	struct wp_request *request = queue->head;

	if (!request)
		return NULL;
	queue->head = request->link;
	if (!queue->head)
		queue->tail = NULL;
	queue->count--;
	request->link = NULL;
	return request;
}

/* For seams: the request is over; it goes back to its owner. */
static inline void wp_request_complete(struct wp_request *request, int result, uint64_t done_ns)
{
	request->result = result;
	request->done_ns = done_ns;
	wp_queue_push(request->owner, request);
}

#endif
