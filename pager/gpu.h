/*
 * A GPU as the device port and the measurements of its kernels see it: three
 * streams, copies, kernels, and events that say how far a stream has come.
 * Every operation only starts work; `passed` and `sync` tell of its end.
 *
 *   COPY     to the device     \
 *   FETCH    from the device    | each in its own order, beside the others
 *   COMPUTE  decode, encode,   /
 *            a frame of the model
 *
 * A stored block is decoded into bf16 in the layout that the model reads:
 *
 *	[layer][K, V][token][head][dimension]		dimension fastest
 *
 * so K of a layer is one contiguous [token][head][dimension] tensor, V follows
 * it, and both begin at a multiple of 128 bytes (of 16 where a tensor is an odd
 * number of groups). K turns by a rotation as it is decoded.
 *
 * All operations return 0 or -errno; wp_gpu_why() then says what the driver
 * said. After the first failure of a kernel nothing works any more: close.
 * One thread uses a GPU, apart from `differs`, which one other thread may call.
 */
#ifndef WP_GPU_H
#define WP_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/check.h"
#include "pager/clock.h"
#include "pager/codec.h"
#include "pager/geometry.h"
#include "pager/port.h"
#include "pager/rotate.h"

enum wp_gpu_stream {
	WP_GPU_COPY,
	WP_GPU_FETCH,
	WP_GPU_COMPUTE,
	WP_GPU_STREAMS,
};

/* Stands in for the model's own kernels; both keep all multiprocessors busy. */
enum wp_gpu_load {
	WP_GPU_LOAD_TIMED,    /* arithmetic in registers */
	WP_GPU_LOAD_PRODUCTS, /* bf16 matrix products: also loads the device's memory */
};

/* Elements of a block and the form they are stored in. */
struct wp_gpu_form {
	const struct wp_codec *codec;
	struct wp_block_shape shape; /* head_dim a multiple of 8 */
};

struct wp_gpu;

struct wp_gpu_ops {
	const char *name;
	/* Any two addresses, host or device; asynchronous only where the host side is pinned. */
	int (*copy)(struct wp_gpu *gpu, enum wp_gpu_stream stream, void *to, const void *from,
		    uint64_t bytes);
	/* On COMPUTE. `rotation` (NULL: none) is taken at the call. */
	int (*decode)(struct wp_gpu *gpu, const struct wp_gpu_form *form, const void *stored,
		      const struct wp_rotation *rotation, uint16_t *elements);
	int (*encode)(struct wp_gpu *gpu, const struct wp_gpu_form *form, const uint16_t *elements,
		      void *stored);
	/* wp_content_fill of a block, on COMPUTE. */
	int (*fill)(struct wp_gpu *gpu, const struct wp_geometry *geometry, uint64_t seed,
		    uint32_t block, void *stored);
	/* Waits: offset of the first byte that is not the block's content, -1 for none. For one
	 * other thread, on a stream of its own. */
	int (*differs)(struct wp_gpu *gpu, const struct wp_geometry *geometry, uint64_t seed,
		       uint32_t block, const void *stored, int64_t *offset);
	/* On COMPUTE: ends `duration_ns` after the instant that `begin` marked, or after its own
	 * start if none was marked since the last compute. */
	int (*begin)(struct wp_gpu *gpu);
	int (*compute)(struct wp_gpu *gpu, enum wp_gpu_load load, uint64_t duration_ns);
	/* Event number `event` < the configuration's; passed: 1, 0 or -errno. */
	int (*mark)(struct wp_gpu *gpu, enum wp_gpu_stream stream, uint32_t event);
	int (*passed)(struct wp_gpu *gpu, uint32_t event);
	/* The same on a stream of the caller's own (cudaStream_t), for a model's kernels. */
	int (*mark_foreign)(struct wp_gpu *gpu, void *stream, uint32_t event);
	/* What the caller's own stream is given from now on begins when what `stream` has been
	 * given so far is over. */
	int (*lead_foreign)(struct wp_gpu *gpu, enum wp_gpu_stream stream, void *foreign);
	/* Device time between two events that have passed. */
	int (*between_ns)(struct wp_gpu *gpu, uint32_t first, uint32_t second, uint64_t *ns);
	/* Waits for everything; then what encoding has replaced since open. */
	int (*sync)(struct wp_gpu *gpu);
	int (*counts)(struct wp_gpu *gpu, struct wp_codec_counts *counts);
	void (*close)(struct wp_gpu *gpu);
};

#define WP_GPU_WHY 256

/* First member of every implementation. */
struct wp_gpu {
	const struct wp_gpu_ops *ops;
	void *arena; /* device memory, 4096-aligned */
	uint64_t arena_bytes;
	char why[WP_GPU_WHY]; /* of the last failure */
};

/* What a machine has. Sizes in bytes. */
struct wp_gpu_facts {
	char name[128];
	uint32_t multiprocessors;
	uint32_t capability; /* 89: 8.9 */
	uint64_t memory_bytes;
	uint64_t free_bytes;
	uint32_t driver_version; /* 13000: CUDA 13.0 */
	uint32_t runtime_version;
};

struct wp_gpu_config {
	uint64_t arena_bytes;
	uint32_t events;
	bool products; /* take the operands of WP_GPU_LOAD_PRODUCTS at open */
	/* Host memory of the copies, pinned until close: an anonymous mapping of the caller's.
	 * Where io_uring registers it too, that comes first: its long-term pin may still move
	 * pages, which a mapping that the GPU reads by DMA no longer allows. */
	void *host;
	uint64_t host_bytes;
};

#ifdef __cplusplus
extern "C" { /* device_cuda.cu is C++ */
#endif

/*
 * device_cuda.cu; without CUDA gpu_absent.c, which has none. 0; -ENOTSUP built
 * without CUDA; -ENODEV no driver or no device; -ENOMEM; `why` is one line.
 */
int wp_gpu_cuda_probe(struct wp_gpu_facts *facts, char why[WP_GPU_WHY]) WP_MUST_USE;
int wp_gpu_cuda_open(struct wp_gpu **gpu, const struct wp_gpu_config *config,
		     char why[WP_GPU_WHY]) WP_MUST_USE;

#ifdef __cplusplus
}
#endif

/*
 * device_gpu.c, the device port over it (device.h); takes the GPU over. Beyond device.h:
 *
 *   DECODE   with `elements`: the stored block at `device` into them, K turned by
 *            `shift` latents; without: nothing
 *   ENCODE   the block's stored form appears at `device`: its elements encoded, where the
 *            configuration says whose they are; else its wp_content_fill
 *   COMPUTE  from the first DECODE since the last COMPUTE on
 *   done_ns  when a poll saw it: late by no more than WP_GPU_POLL_NS while the
 *            caller waits with wp_world_wait, and never early
 */
#define WP_GPU_EVENTS  768u
#define WP_GPU_POLL_NS 20000u

struct wp_device_gpu_config {
	struct wp_gpu_form form;
	struct wp_rotary rotary; /* head_dim 0: nothing turns */
	struct wp_geometry geometry;
	uint64_t seed; /* of the content */
	enum wp_gpu_load load;
	/* Of a model: where on the device the bf16 elements of a block that is encoded lie, in
	 * the layout above, until its ENCODE is over. NULL: there is no model. */
	const uint16_t *(*elements_of)(void *context, uint32_t block);
	void *elements_context;
};

/* 0 or -ENOMEM. `gpu` was opened with WP_GPU_EVENTS events or more. */
int wp_device_gpu_open(struct wp_port **device, struct wp_gpu *gpu, struct wp_clock *clock,
		       const struct wp_device_gpu_config *config) WP_MUST_USE;

/* Completes `request` (a COMPUTE) when what `stream`, a cudaStream_t of the caller's, was
 * given so far is over. -EAGAIN: full. */
int wp_device_gpu_follow(struct wp_port *device, void *stream,
			 struct wp_request *request) WP_MUST_USE;

/*
 * What `stream`, a cudaStream_t of the caller's, is given after this call begins when
 * everything that was submitted to COMPUTE before it (DECODE, ENCODE) is over: a model
 * reads what was decoded, and writes over what was encoded, without waiting on the
 * host. 0 or -errno.
 */
int wp_device_gpu_lead(struct wp_port *device, void *stream) WP_MUST_USE;

/* One line on the last failure; empty if there was none. */
const char *wp_device_gpu_why(const struct wp_port *device);

#endif
