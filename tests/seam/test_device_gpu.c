/*
 * The device port over a GPU that is played: work takes effect when the test
 * says that a stream has come so far. Order, depth, failures, and that nothing
 * completes early, late or inside submit.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pager/device.h"
#include "pager/gpu.h"
#include "pager/random.h"

struct played {
	struct wp_gpu gpu;
	bool passed[WP_GPU_EVENTS];
	bool marked[WP_GPU_EVENTS];
	uint32_t order[4096]; /* events in the order in which they were marked */
	uint32_t marks;
	uint32_t begins, computes, decodes, encodes, fills, turned, leads;
	const uint16_t *encoded;
	uint64_t duration_ns;
	void *foreign;
	int fail_start;	 /* the next starts return this */
	int fail_passed; /* the next looks at an event return this */
	bool closed;
	struct wp_clock clock;
	uint64_t now_ns;
};

static struct played *played_of(struct wp_gpu *gpu)
{
	return (struct played *)gpu;
}

static int play_copy(struct wp_gpu *gpu, enum wp_gpu_stream stream, void *to, const void *from,
		     uint64_t bytes)
{
	(void)stream;
	memcpy(to, from, bytes);
	return played_of(gpu)->fail_start;
}

static int play_decode(struct wp_gpu *gpu, const struct wp_gpu_form *form, const void *stored,
		       const struct wp_rotation *rotation, uint16_t *elements)
{
	wp_codec_decode_block(form->codec, &form->shape, stored, rotation, elements);
	played_of(gpu)->decodes++;
	played_of(gpu)->turned += rotation != NULL;
	return played_of(gpu)->fail_start;
}

static int play_encode(struct wp_gpu *gpu, const struct wp_gpu_form *form, const uint16_t *elements,
		       void *stored)
{
	assert_ptr_equal(form->codec, &wp_codec_int4);
	assert_non_null(stored);
	played_of(gpu)->encodes++;
	played_of(gpu)->encoded = elements;
	return played_of(gpu)->fail_start;
}

static int play_fill(struct wp_gpu *gpu, const struct wp_geometry *geometry, uint64_t seed,
		     uint32_t block, void *stored)
{
	(void)geometry, (void)seed, (void)block, (void)stored;
	played_of(gpu)->fills++;
	return played_of(gpu)->fail_start;
}

static int play_begin(struct wp_gpu *gpu)
{
	played_of(gpu)->begins++;
	return played_of(gpu)->fail_start;
}

static int play_compute(struct wp_gpu *gpu, enum wp_gpu_load load, uint64_t duration_ns)
{
	assert_int_equal(load, WP_GPU_LOAD_TIMED);
	played_of(gpu)->computes++;
	played_of(gpu)->duration_ns = duration_ns;
	return played_of(gpu)->fail_start;
}

static int play_mark(struct wp_gpu *gpu, enum wp_gpu_stream stream, uint32_t event)
{
	struct played *played = played_of(gpu);

	assert_in_range(event, 0, WP_GPU_EVENTS - 1);
	assert_int_equal(event / (WP_GPU_EVENTS / WP_GPU_STREAMS), stream);
	assert_false(played->marked[event]); /* still waited for */
	played->marked[event] = true;
	played->passed[event] = false;
	played->order[played->marks++ % 4096] = event;
	return 0;
}

static int play_mark_foreign(struct wp_gpu *gpu, void *stream, uint32_t event)
{
	played_of(gpu)->foreign = stream;
	return play_mark(gpu, WP_GPU_COMPUTE, event);
}

static int play_lead_foreign(struct wp_gpu *gpu, enum wp_gpu_stream stream, void *foreign)
{
	assert_int_equal(stream, WP_GPU_COMPUTE);
	played_of(gpu)->foreign = foreign;
	played_of(gpu)->leads++;
	return played_of(gpu)->fail_start;
}

static int play_passed(struct wp_gpu *gpu, uint32_t event)
{
	struct played *played = played_of(gpu);

	if (played->fail_passed)
		return played->fail_passed;
	if (!played->passed[event])
		return 0;
	assert_true(played->marked[event]);
	played->marked[event] = false;
	return 1;
}

static void play_close(struct wp_gpu *gpu)
{
	played_of(gpu)->closed = true;
}

static const struct wp_gpu_ops play_ops = {
    .name = "played",
    .copy = play_copy,
    .decode = play_decode,
    .encode = play_encode,
    .fill = play_fill,
    .begin = play_begin,
    .compute = play_compute,
    .mark = play_mark,
    .passed = play_passed,
    .mark_foreign = play_mark_foreign,
    .lead_foreign = play_lead_foreign,
    .close = play_close,
};

static uint64_t clock_now_ns(struct wp_clock *clock)
{
	return ((struct played *)((char *)clock - offsetof(struct played, clock)))->now_ns++;
}

static const struct wp_clock_ops clock_ops = {.name = "played", .now_ns = clock_now_ns};

static const struct wp_block_shape small = {.layers = 1, .tokens = 1, .heads = 1, .head_dim = 64};

static struct wp_port *open_port_with(struct played *played,
				      const struct wp_device_gpu_config *config)
{
	struct wp_port *port;

	memset(played, 0, sizeof(*played));
	played->gpu.ops = &play_ops;
	played->clock.ops = &clock_ops;
	played->now_ns = 1000;
	assert_int_equal(wp_device_gpu_open(&port, &played->gpu, &played->clock, config), 0);
	return port;
}

static struct wp_port *open_port(struct played *played)
{
	const struct wp_device_gpu_config config = {
	    .form = {&wp_codec_int4, small},
	    .rotary = {64, 8, 256},
	    .load = WP_GPU_LOAD_TIMED,
	};

	return open_port_with(played, &config);
}

static void submit(struct wp_port *port, struct wp_queue *done, struct wp_request *request,
		   enum wp_op op)
{
	static unsigned char host[64], device[64];

	*request = (struct wp_request){.owner = done,
				       .op = op,
				       .host = host,
				       .device = device,
				       .bytes = sizeof(host),
				       .payload_bytes = sizeof(host)};
	assert_int_equal(wp_port_submit(port, request), 0);
	assert_int_not_equal(request->submit_ns, 0);
}

/* Streams advance in any order; each by itself stays in order. */
static void test_order(void **state)
{
	enum { COUNT = 600 };
	static struct wp_request requests[COUNT];
	static const enum wp_op ops[] = {WP_OP_COPY, WP_OP_FETCH, WP_OP_ENCODE, WP_OP_DECODE,
					 WP_OP_COMPUTE};
	struct wp_random random = {4};
	struct wp_queue done = {0};
	struct played played;
	struct wp_port *port = open_port(&played);
	uint32_t completed = 0, last[WP_OP_COUNT] = {0};

	(void)state;
	for (uint32_t next = 0; completed < COUNT;) {
		struct wp_request *request;

		if (next < COUNT && next - completed < 100) {
			enum wp_op op = ops[wp_random_below(&random, 5)];

			submit(port, &done, &requests[next], op);
			assert_null(done.head);
			requests[next].tag = next + 1;
			next++;
		}
		/* Any one of what was marked has passed. */
		played.passed[played.order[wp_random_below(&random, played.marks)]] = true;
		wp_port_poll(port);
		while ((request = wp_queue_pop(&done))) {
			/* ENCODE, DECODE and COMPUTE share a stream. */
			enum wp_op lane = request->op > WP_OP_FETCH ? WP_OP_COMPUTE : request->op;

			assert_int_equal(request->result, 0);
			assert_true(request->done_ns > request->submit_ns);
			assert_true(request->tag > last[lane]);
			last[lane] = request->tag;
			completed++;
		}
	}
	assert_int_equal(wp_port_next_ns(port), WP_TIME_NEVER);
	wp_port_close(port);
	assert_true(played.closed);
}

static void test_depth(void **state)
{
	static struct wp_request requests[WP_GPU_EVENTS];
	struct wp_queue done = {0};
	struct played played;
	struct wp_port *port = open_port(&played);
	struct wp_request more = {.owner = &done, .op = WP_OP_ENCODE};
	uint32_t depth = WP_GPU_EVENTS / WP_GPU_STREAMS;

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < depth; i++)
			submit(port, &done, &requests[i], WP_OP_ENCODE);
		assert_int_equal(wp_port_submit(port, &more), -EAGAIN);
		assert_in_range(wp_port_next_ns(port), played.now_ns,
				played.now_ns + WP_GPU_POLL_NS);
		wp_port_poll(port);
		assert_null(done.head);
		memset(played.passed, 1, sizeof(played.passed));
		wp_port_poll(port);
		assert_int_equal(done.count, depth);
		done = (struct wp_queue){0};
	}
	assert_int_equal(played.fills, 3 * depth);
	wp_port_close(port);
}

/* A frame begins with its first DECODE, once. */
static void test_frames(void **state)
{
	struct wp_request decode[3], compute, follow = {.op = WP_OP_COMPUTE};
	struct wp_queue done = {0};
	struct played played;
	struct wp_port *port = open_port(&played);
	uint8_t stored[2 * 34];
	uint16_t elements[2 * 64];
	int stream;

	(void)state;
	memset(stored, 0x3c, sizeof(stored));
	for (uint32_t frame = 1; frame <= 3; frame++) {
		for (uint32_t i = 0; i < 3; i++) {
			decode[i] = (struct wp_request){
			    .owner = &done,
			    .op = WP_OP_DECODE,
			    .device = stored,
			    .shift = (int32_t)i,
			    .elements = i < 2 ? elements : NULL,
			};
			assert_int_equal(wp_port_submit(port, &decode[i]), 0);
		}
		compute = (struct wp_request){
		    .owner = &done, .op = WP_OP_COMPUTE, .duration_ns = 10 * frame};
		assert_int_equal(wp_port_submit(port, &compute), 0);
		assert_int_equal(played.begins, frame);
		assert_int_equal(played.decodes, 2 * frame);
		assert_int_equal(played.turned, frame); /* a shift of 0 turns nothing */
		assert_int_equal(played.duration_ns, 10 * frame);
		memset(played.passed, 1, sizeof(played.passed));
		wp_port_poll(port);
		assert_int_equal(done.count, 4);
		done = (struct wp_queue){0};
	}
	follow.owner = &done;
	assert_int_equal(wp_device_gpu_follow(port, &stream, &follow), 0);
	assert_ptr_equal(played.foreign, &stream);
	assert_int_equal(played.computes, 3);
	memset(played.passed, 1, sizeof(played.passed));
	wp_port_poll(port);
	assert_int_equal(done.count, 1);
	wp_port_close(port);
}

static const uint16_t *elements_of(void *context, uint32_t block)
{
	return (const uint16_t *)context + block;
}

/* A model's own blocks are encoded from where it says; its stream waits where it is told to. */
static void test_a_model(void **state)
{
	uint16_t made[8];
	const struct wp_device_gpu_config config = {
	    .form = {&wp_codec_int4, small},
	    .elements_of = elements_of,
	    .elements_context = made,
	};
	struct wp_queue done = {0};
	struct wp_request request;
	struct played played;
	struct wp_port *port = open_port_with(&played, &config);
	int stream;

	(void)state;
	submit(port, &done, &request, WP_OP_ENCODE);
	assert_ptr_equal(played.encoded, made);
	memset(played.passed, 1, sizeof(played.passed));
	wp_port_poll(port);
	assert_ptr_equal(wp_queue_pop(&done), &request);
	request =
	    (struct wp_request){.owner = &done, .op = WP_OP_ENCODE, .block = 5, .device = &request};
	assert_int_equal(wp_port_submit(port, &request), 0);
	assert_ptr_equal(played.encoded, made + 5);
	assert_int_equal(played.encodes, 2);
	assert_int_equal(played.fills, 0);
	assert_int_equal(wp_device_gpu_lead(port, &stream), 0);
	assert_ptr_equal(played.foreign, &stream);
	/* A failure there is one of the device: what is in flight comes back with it. */
	played.fail_start = -EIO;
	assert_int_equal(wp_device_gpu_lead(port, &stream), -EIO);
	assert_int_equal(wp_device_gpu_lead(port, &stream), -EIO);
	assert_int_equal(played.leads, 2);
	wp_port_poll(port);
	assert_ptr_equal(wp_queue_pop(&done), &request);
	assert_int_equal(request.result, -EIO);
	wp_port_close(port);
}

/* A failure completes everything, in flight or new, with an error, and hangs nothing. */
static void test_failures(void **state)
{
	(void)state;
	for (int at_start = 0; at_start < 2; at_start++) {
		struct wp_request requests[4];
		struct wp_queue done = {0};
		struct played played;
		struct wp_port *port = open_port(&played);

		submit(port, &done, &requests[0], WP_OP_COPY);
		submit(port, &done, &requests[1], WP_OP_COMPUTE);
		if (at_start)
			played.fail_start = -EIO;
		else
			played.fail_passed = -EIO;
		submit(port, &done, &requests[2], WP_OP_FETCH);
		assert_null(done.head);
		wp_port_poll(port);
		submit(port, &done, &requests[3], WP_OP_COPY);
		assert_in_range(wp_port_next_ns(port), 1000, played.now_ns);
		wp_port_poll(port);
		assert_int_equal(done.count, 4);
		for (int i = 0; i < 4; i++)
			assert_int_equal(requests[i].result, -EIO);
		assert_int_equal(wp_port_next_ns(port), WP_TIME_NEVER);
		wp_port_close(port);
	}
}

/* Where there is no GPU, or no CUDA, probing says why and nothing is left open. */
static void test_probe(void **state)
{
	const struct wp_gpu_config config = {.arena_bytes = 4096, .events = 4};
	struct wp_gpu_facts facts = {0};
	char why[WP_GPU_WHY] = "";
	struct wp_gpu *gpu = NULL;
	int result = wp_gpu_cuda_probe(&facts, why);

	(void)state;
	if (result == 0) {
		assert_true(facts.multiprocessors > 0 && facts.memory_bytes > 0);
		assert_int_equal(wp_gpu_cuda_open(&gpu, &config, why), 0);
		gpu->ops->close(gpu);
		return;
	}
	assert_true(result == -ENOTSUP || result == -ENODEV);
	assert_true(strlen(why) > 10 && !strchr(why, '\n'));
	why[0] = '\0';
	assert_int_equal(wp_gpu_cuda_open(&gpu, &config, why), result);
	assert_true(strlen(why) > 10);
	assert_null(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_order),    cmocka_unit_test(test_depth),
	    cmocka_unit_test(test_frames),   cmocka_unit_test(test_a_model),
	    cmocka_unit_test(test_failures), cmocka_unit_test(test_probe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
