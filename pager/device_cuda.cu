/*
 * The GPU of gpu.h through the CUDA runtime: memory, streams, events, and the
 * launches of kernels.h. Decides nothing: which request when is device_gpu.c.
 *
 * All memory is taken by open with plain allocations: one device arena, the
 * operands of the products where asked for, and the pin on the caller's host
 * memory. The streams do not wait for one another, nor for the default stream.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pager/gpu.h"
#include "pager/kernels.h"

#define DEVICE		   0 /* of those that CUDA_VISIBLE_DEVICES leaves */
#define BLOCKS_PER_SM	   8u
#define LOAD_BLOCKS_PER_SM 1u /* 512 threads: busy, with room for the other kernels */
#define OPERAND_SEED	   0x5eed0001u

/* Words that kernels write, in one allocation. */
struct words {
	unsigned long long begin;      /* of the frame, on the device's clock */
	unsigned long long counts[2];  /* NaN, infinities */
	unsigned long long difference; /* offset of a wrong byte */
	float sink;
};

struct gpu_cuda {
	struct wp_gpu gpu;
	struct wp_gpu_config config;
	uint32_t multiprocessors;
	cudaStream_t streams[WP_GPU_STREAMS];
	cudaStream_t check; /* of `differs` */
	cudaEvent_t *events;
	uint32_t event_count; /* made so far */
	cudaEvent_t order;    /* of `lead_foreign` */
	struct words *words;  /* on the device */
	uint16_t *operands;   /* A, then B */
	float *product;
	bool pinned;
};

static struct gpu_cuda *cuda_of(struct wp_gpu *gpu)
{
	return (struct gpu_cuda *)gpu;
}

static int errno_of(cudaError_t error)
{
	switch (error) {
	case cudaSuccess:
		return 0;
	case cudaErrorMemoryAllocation:
		return -ENOMEM;
	case cudaErrorNoDevice:
	case cudaErrorInsufficientDriver:
	case cudaErrorInvalidDevice:
	case cudaErrorSystemNotReady:
	case cudaErrorNoKernelImageForDevice:
		return -ENODEV;
	default:
		return -EIO;
	}
}

/* 0 or -errno; says in `why` what was being done and what CUDA answered. */
static int judge(char why[WP_GPU_WHY], cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return 0;
	snprintf(why, WP_GPU_WHY, "%s: %s", what, cudaGetErrorString(error));
	return errno_of(error);
}

/* Of a launch; the error of an earlier one shows here, too. */
static int launched(struct wp_gpu *gpu, const char *what)
{
	return judge(gpu->why, cudaGetLastError(), what);
}

static uint32_t blocks_of(const struct gpu_cuda *cuda)
{
	return BLOCKS_PER_SM * cuda->multiprocessors;
}

static int cuda_copy(struct wp_gpu *gpu, enum wp_gpu_stream stream, void *to, const void *from,
		     uint64_t bytes)
{
	return judge(
	    gpu->why,
	    cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cuda_of(gpu)->streams[stream]),
	    "copy");
}

static struct wp_kernel_tensors tensors_of(const struct wp_gpu_form *form)
{
	uint64_t elements = wp_block_shape_tensor_elements(&form->shape);
	struct wp_kernel_tensors tensors;

	WP_CHECK(elements % WP_CODEC_GROUP == 0 && form->shape.head_dim % 8 == 0);
	WP_CHECK(form->shape.head_dim <= WP_HEAD_DIM_MAX && elements / 8 <= UINT32_MAX - 1024);
	tensors.count = 2 * form->shape.layers;
	tensors.octets = (uint32_t)(elements / 8);
	tensors.head_octets = form->shape.head_dim / 8;
	return tensors;
}

static bool is_int4(const struct wp_gpu_form *form)
{
	return form->codec == &wp_codec_int4;
}

static int cuda_decode(struct wp_gpu *gpu, const struct wp_gpu_form *form, const void *stored,
		       const struct wp_rotation *rotation, uint16_t *elements)
{
	struct gpu_cuda *cuda = cuda_of(gpu);
	struct wp_kernel_tensors tensors = tensors_of(form);

	if (is_int4(form))
		wp_kernel_decode_int4(&tensors, stored, rotation, elements, blocks_of(cuda),
				      cuda->streams[WP_GPU_COMPUTE]);
	else
		wp_kernel_decode_bf16(&tensors, stored, rotation, elements, blocks_of(cuda),
				      cuda->streams[WP_GPU_COMPUTE]);
	return launched(gpu, "decode");
}

static int cuda_encode(struct wp_gpu *gpu, const struct wp_gpu_form *form, const uint16_t *elements,
		       void *stored)
{
	struct gpu_cuda *cuda = cuda_of(gpu);
	struct wp_kernel_tensors tensors = tensors_of(form);

	if (is_int4(form)) {
		wp_kernel_encode_int4(&tensors, elements, stored, cuda->words->counts,
				      blocks_of(cuda), cuda->streams[WP_GPU_COMPUTE]);
		return launched(gpu, "encode");
	}
	return cuda_copy(gpu, WP_GPU_COMPUTE, stored, elements,
			 wp_block_shape_elements(&form->shape) * sizeof(uint16_t));
}

static int cuda_fill(struct wp_gpu *gpu, const struct wp_geometry *geometry, uint64_t seed,
		     uint32_t block, void *stored)
{
	WP_CHECK(geometry->chunk_payload_bytes == WP_CHUNK_BYTES);
	wp_kernel_fill(geometry, seed, block, stored, cuda_of(gpu)->streams[WP_GPU_COMPUTE]);
	return launched(gpu, "fill");
}

/* Another thread's: nothing of `gpu` is written, and `why` stays the other's. */
static int cuda_differs(struct wp_gpu *gpu, const struct wp_geometry *geometry, uint64_t seed,
			uint32_t block, const void *stored, int64_t *offset)
{
	struct gpu_cuda *cuda = cuda_of(gpu);
	unsigned long long *word = &cuda->words->difference;
	unsigned long long found = 0;
	cudaError_t error = cudaSetDevice(DEVICE);

	if (error == cudaSuccess)
		error = cudaMemsetAsync(word, 0xff, sizeof(*word), cuda->check);
	if (error != cudaSuccess)
		return errno_of(error);
	wp_kernel_differs(geometry, seed, block, stored, word, cuda->check);
	error = cudaGetLastError();
	if (error == cudaSuccess)
		error = cudaMemcpyAsync(&found, word, sizeof(found), cudaMemcpyDeviceToHost,
					cuda->check);
	if (error == cudaSuccess)
		error = cudaStreamSynchronize(cuda->check);
	*offset = (int64_t)found; /* all ones: -1 */
	return errno_of(error);
}

static int cuda_begin(struct wp_gpu *gpu)
{
	struct gpu_cuda *cuda = cuda_of(gpu);

	wp_kernel_begin(&cuda->words->begin, cuda->streams[WP_GPU_COMPUTE]);
	return launched(gpu, "begin of a frame");
}

static int cuda_compute(struct wp_gpu *gpu, enum wp_gpu_load load, uint64_t duration_ns)
{
	struct gpu_cuda *cuda = cuda_of(gpu);
	uint32_t blocks = LOAD_BLOCKS_PER_SM * cuda->multiprocessors;
	cudaStream_t stream = cuda->streams[WP_GPU_COMPUTE];

	if (load == WP_GPU_LOAD_PRODUCTS) {
		uint64_t elements = (uint64_t)WP_KERNEL_SIDE * WP_KERNEL_SIDE;

		WP_CHECK(cuda->operands);
		wp_kernel_compute_products(&cuda->words->begin, duration_ns, cuda->operands,
					   cuda->operands + elements, cuda->product, blocks,
					   stream);
	} else {
		wp_kernel_compute_timed(&cuda->words->begin, duration_ns, &cuda->words->sink,
					blocks, stream);
	}
	return launched(gpu, "compute");
}

static int cuda_mark_foreign(struct wp_gpu *gpu, void *stream, uint32_t event)
{
	struct gpu_cuda *cuda = cuda_of(gpu);

	WP_CHECK(event < cuda->event_count);
	return judge(gpu->why, cudaEventRecord(cuda->events[event], (cudaStream_t)stream), "event");
}

static int cuda_mark(struct wp_gpu *gpu, enum wp_gpu_stream stream, uint32_t event)
{
	return cuda_mark_foreign(gpu, cuda_of(gpu)->streams[stream], event);
}

static int cuda_lead_foreign(struct wp_gpu *gpu, enum wp_gpu_stream stream, void *foreign)
{
	struct gpu_cuda *cuda = cuda_of(gpu);
	int error = judge(gpu->why, cudaEventRecord(cuda->order, cuda->streams[stream]), "event");

	/* The wait is for the record just made: the event may be recorded anew at once. */
	return error ? error
		     : judge(gpu->why, cudaStreamWaitEvent((cudaStream_t)foreign, cuda->order, 0),
			     "waiting between streams");
}

static int cuda_passed(struct wp_gpu *gpu, uint32_t event)
{
	struct gpu_cuda *cuda = cuda_of(gpu);
	cudaError_t error;

	WP_CHECK(event < cuda->event_count);
	error = cudaEventQuery(cuda->events[event]);
	if (error == cudaErrorNotReady) {
		(void)cudaGetLastError(); /* not an error of the next launch */
		return 0;
	}
	return error == cudaSuccess ? 1 : judge(gpu->why, error, "work on the device");
}

static int cuda_between_ns(struct wp_gpu *gpu, uint32_t first, uint32_t second, uint64_t *ns)
{
	struct gpu_cuda *cuda = cuda_of(gpu);
	float ms = 0;
	int error =
	    judge(gpu->why, cudaEventElapsedTime(&ms, cuda->events[first], cuda->events[second]),
		  "time between events");

	*ns = (uint64_t)((double)ms * 1e6);
	return error;
}

static int cuda_sync(struct wp_gpu *gpu)
{
	return judge(gpu->why, cudaDeviceSynchronize(), "work on the device");
}

static int cuda_counts(struct wp_gpu *gpu, struct wp_codec_counts *counts)
{
	unsigned long long found[2];
	int error = judge(
	    gpu->why,
	    cudaMemcpy(found, cuda_of(gpu)->words->counts, sizeof(found), cudaMemcpyDeviceToHost),
	    "counts");

	counts->nans = found[0];
	counts->infinities = found[1];
	return error;
}

/* Also of a half-opened one. What is refused here changes nothing any more. */
static void cuda_close(struct wp_gpu *gpu)
{
	struct gpu_cuda *cuda = cuda_of(gpu);

	(void)cudaDeviceSynchronize();
	if (cuda->pinned)
		(void)cudaHostUnregister(cuda->config.host);
	for (uint32_t i = 0; i < cuda->event_count; i++)
		(void)cudaEventDestroy(cuda->events[i]);
	if (cuda->order)
		(void)cudaEventDestroy(cuda->order);
	for (int i = 0; i < WP_GPU_STREAMS; i++)
		if (cuda->streams[i])
			(void)cudaStreamDestroy(cuda->streams[i]);
	if (cuda->check)
		(void)cudaStreamDestroy(cuda->check);
	(void)cudaFree(cuda->product);
	(void)cudaFree(cuda->operands);
	(void)cudaFree(cuda->words);
	(void)cudaFree(gpu->arena);
	free(cuda->events);
	free(cuda);
}

static const struct wp_gpu_ops cuda_ops = {
    .name = "cuda",
    .copy = cuda_copy,
    .decode = cuda_decode,
    .encode = cuda_encode,
    .fill = cuda_fill,
    .differs = cuda_differs,
    .begin = cuda_begin,
    .compute = cuda_compute,
    .mark = cuda_mark,
    .passed = cuda_passed,
    .mark_foreign = cuda_mark_foreign,
    .lead_foreign = cuda_lead_foreign,
    .between_ns = cuda_between_ns,
    .sync = cuda_sync,
    .counts = cuda_counts,
    .close = cuda_close,
};

static int find_device(char why[WP_GPU_WHY])
{
	int count = 0, driver = 0;
	int error = judge(why, cudaGetDeviceCount(&count), "no usable GPU");

	if (!error && count > 0)
		return 0;
	if (!error)
		snprintf(why, WP_GPU_WHY, "no usable GPU: none is visible to CUDA");
	else if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
		snprintf(why, WP_GPU_WHY, "no usable GPU: the NVIDIA driver is not installed");
	(void)cudaGetLastError();
	return error ? error : -ENODEV;
}

int wp_gpu_cuda_probe(struct wp_gpu_facts *facts, char why[WP_GPU_WHY])
{
	cudaDeviceProp properties;
	size_t free_bytes = 0, total_bytes = 0;
	int driver = 0, runtime = 0;
	int error = find_device(why);

	if (!error)
		error = judge(why, cudaGetDeviceProperties(&properties, DEVICE), "GPU properties");
	if (!error)
		error = judge(why, cudaSetDevice(DEVICE), "choosing the GPU");
	if (!error)
		error = judge(why, cudaMemGetInfo(&free_bytes, &total_bytes), "GPU memory");
	if (!error)
		error = judge(why, cudaDriverGetVersion(&driver), "driver version");
	if (!error)
		error = judge(why, cudaRuntimeGetVersion(&runtime), "runtime version");
	if (error)
		return error;
	snprintf(facts->name, sizeof(facts->name), "%.120s", properties.name);
	facts->multiprocessors = (uint32_t)properties.multiProcessorCount;
	facts->capability = (uint32_t)(10 * properties.major + properties.minor);
	facts->memory_bytes = total_bytes;
	facts->free_bytes = free_bytes;
	facts->driver_version = (uint32_t)driver;
	facts->runtime_version = (uint32_t)runtime;
	return 0;
}

static int open_streams(struct gpu_cuda *cuda)
{
	char *why = cuda->gpu.why;
	int error = 0;

	for (int i = 0; !error && i < WP_GPU_STREAMS; i++)
		error =
		    judge(why, cudaStreamCreateWithFlags(&cuda->streams[i], cudaStreamNonBlocking),
			  "stream");
	if (!error)
		error = judge(why, cudaStreamCreateWithFlags(&cuda->check, cudaStreamNonBlocking),
			      "stream");
	if (!error)
		error = judge(why, cudaEventCreateWithFlags(&cuda->order, cudaEventDisableTiming),
			      "event");
	for (uint32_t i = 0; !error && i < cuda->config.events; i++) {
		error = judge(why, cudaEventCreate(&cuda->events[i]), "event");
		cuda->event_count += error == 0;
	}
	return error;
}

static int open_memory(struct gpu_cuda *cuda)
{
	const struct wp_gpu_config *config = &cuda->config;
	uint64_t elements = (uint64_t)WP_KERNEL_SIDE * WP_KERNEL_SIDE;
	char *why = cuda->gpu.why;
	int error =
	    judge(why, cudaMalloc((void **)&cuda->words, sizeof(*cuda->words)), "GPU memory");

	if (!error)
		error = judge(why, cudaMemset(cuda->words, 0, sizeof(*cuda->words)), "GPU memory");
	if (!error && config->arena_bytes)
		error = judge(why, cudaMalloc(&cuda->gpu.arena, config->arena_bytes),
			      "GPU memory for blocks");
	if (!error && config->products) {
		error = judge(why, cudaMalloc((void **)&cuda->operands, 2 * elements * 2),
			      "GPU memory for products");
		if (!error)
			error = judge(why, cudaMalloc((void **)&cuda->product, elements * 4),
				      "GPU memory for products");
		if (!error) {
			wp_kernel_operands(cuda->operands, 2 * elements, OPERAND_SEED,
					   cuda->streams[WP_GPU_COMPUTE]);
			error = launched(&cuda->gpu, "operands of the products");
		}
	}
	if (!error && config->host_bytes) {
		error = judge(
		    why,
		    cudaHostRegister(config->host, config->host_bytes, cudaHostRegisterPortable),
		    "pinning host memory for the GPU");
		cuda->pinned = error == 0;
	}
	cuda->gpu.arena_bytes = config->arena_bytes;
	return error;
}

int wp_gpu_cuda_open(struct wp_gpu **gpu, const struct wp_gpu_config *config, char why[WP_GPU_WHY])
{
	struct gpu_cuda *cuda;
	int multiprocessors = 0;
	int error = find_device(why);

	if (error)
		return error;
	cuda = (struct gpu_cuda *)calloc(1, sizeof(*cuda));
	if (cuda)
		cuda->events = (cudaEvent_t *)calloc(config->events + 1, sizeof(*cuda->events));
	if (!cuda || !cuda->events) {
		free(cuda);
		snprintf(why, WP_GPU_WHY, "no memory");
		return -ENOMEM;
	}
	cuda->gpu.ops = &cuda_ops;
	cuda->config = *config;
	/* Whoever waits for the device sleeps: the pager's thread needs its processor. */
	if (cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync) != cudaSuccess)
		(void)cudaGetLastError(); /* not an error of the first launch */
	error = judge(cuda->gpu.why, cudaSetDevice(DEVICE), "choosing the GPU");
	if (!error)
		error = judge(cuda->gpu.why,
			      cudaDeviceGetAttribute(&multiprocessors,
						     cudaDevAttrMultiProcessorCount, DEVICE),
			      "GPU properties");
	cuda->multiprocessors = (uint32_t)multiprocessors;
	if (!error)
		error = open_streams(cuda);
	if (!error)
		error = open_memory(cuda);
	if (!error)
		error = cuda_sync(&cuda->gpu);
	if (error) {
		snprintf(why, WP_GPU_WHY, "%s", cuda->gpu.why);
		cuda_close(&cuda->gpu);
		return error;
	}
	*gpu = &cuda->gpu;
	return 0;
}
