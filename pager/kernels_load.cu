/*
 * Kernels around the blocks: the content of prepared blocks, made and checked
 * where it lies, and stand-ins for a model's compute that last a given time on
 * the device's own clock and leave room for the other kernels beside them.
 */
#include "pager/kernels.h"

#include <cuda_bf16.h>
#include <mma.h>

#define THREADS	     256u
#define LOAD_THREADS 512u
#define STEP_BYTES   (8u * WP_CONTENT_LANES)

static cudaStream_t on(void *stream)
{
	return (cudaStream_t)stream;
}

__device__ static inline unsigned long long device_now_ns(void)
{
	unsigned long long now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
	return now;
}

/* Bytes of chunk number `chunk`. */
__device__ static uint64_t chunk_bytes(const struct wp_geometry &geometry, uint32_t chunk)
{
	uint64_t begin = (uint64_t)chunk * WP_CHUNK_BYTES;
	uint64_t left = geometry.block_bytes - begin;

	return left < WP_CHUNK_BYTES ? left : WP_CHUNK_BYTES;
}

struct step_words {
	uint64_t words[WP_CONTENT_LANES];
};

__device__ static struct step_words words_of(const struct wp_content_lanes &lanes, uint64_t step)
{
	struct step_words out;

#pragma unroll
	for (uint32_t i = 0; i < WP_CONTENT_LANES; i++)
		out.words[i] = wp_content_word(lanes.state[i], step);
	return out;
}

/* One thread block a chunk. */
__global__ static void __launch_bounds__(THREADS)
    fill(struct wp_geometry geometry, uint64_t seed, uint32_t block, uint8_t *stored)
{
	struct wp_content_lanes lanes = wp_content_lanes(seed, block, blockIdx.x);
	uint64_t bytes = chunk_bytes(geometry, blockIdx.x);

	stored += (uint64_t)blockIdx.x * WP_CHUNK_BYTES;
	for (uint64_t step = threadIdx.x; step * STEP_BYTES < bytes; step += THREADS) {
		struct step_words made = words_of(lanes, step);
		uint64_t left = bytes - step * STEP_BYTES;
		const uint8_t *from = (const uint8_t *)made.words;

		if (left >= STEP_BYTES) {
			ulonglong2 *to = (ulonglong2 *)(stored + step * STEP_BYTES);

			to[0] = make_ulonglong2(made.words[0], made.words[1]);
			to[1] = make_ulonglong2(made.words[2], made.words[3]);
			continue;
		}
		for (uint32_t i = 0; i < left; i++)
			stored[step * STEP_BYTES + i] = from[i];
	}
}

__device__ static void note_difference(const uint8_t *stored, const struct step_words &made,
				       uint64_t at, uint64_t count, unsigned long long *offset)
{
	const uint8_t *expected = (const uint8_t *)made.words;

	for (uint32_t i = 0; i < count; i++) {
		if (stored[i] != expected[i]) {
			atomicMin(offset, (unsigned long long)(at + i));
			return;
		}
	}
}

__global__ static void __launch_bounds__(THREADS)
    differs(struct wp_geometry geometry, uint64_t seed, uint32_t block, const uint8_t *stored,
	    unsigned long long *offset)
{
	struct wp_content_lanes lanes = wp_content_lanes(seed, block, blockIdx.x);
	uint64_t bytes = chunk_bytes(geometry, blockIdx.x);
	uint64_t begin = (uint64_t)blockIdx.x * WP_CHUNK_BYTES;

	for (uint64_t step = threadIdx.x; step * STEP_BYTES < bytes; step += THREADS) {
		struct step_words made = words_of(lanes, step);
		uint64_t at = begin + step * STEP_BYTES;
		uint64_t left = bytes - step * STEP_BYTES;

		if (left >= STEP_BYTES) {
			const ulonglong2 *from = (const ulonglong2 *)(stored + at);
			ulonglong2 a = __ldcs(from), b = __ldcs(from + 1);

			if (a.x == made.words[0] && a.y == made.words[1] && b.x == made.words[2] &&
			    b.y == made.words[3])
				continue;
			left = STEP_BYTES;
		}
		note_difference(stored + at, made, at, left, offset);
	}
}

static unsigned chunks_of(const struct wp_geometry *geometry)
{
	return wp_geometry_chunks(geometry);
}

void wp_kernel_fill(const struct wp_geometry *geometry, uint64_t seed, uint32_t block, void *stored,
		    void *stream)
{
	fill<<<chunks_of(geometry), THREADS, 0, on(stream)>>>(*geometry, seed, block,
							      (uint8_t *)stored);
}

void wp_kernel_differs(const struct wp_geometry *geometry, uint64_t seed, uint32_t block,
		       const void *stored, unsigned long long *offset, void *stream)
{
	differs<<<chunks_of(geometry), THREADS, 0, on(stream)>>>(*geometry, seed, block,
								 (const uint8_t *)stored, offset);
}

__global__ static void begin_frame(unsigned long long *begin)
{
	atomicCAS(begin, 0ull, device_now_ns());
}

void wp_kernel_begin(unsigned long long *begin, void *stream)
{
	begin_frame<<<1, 1, 0, on(stream)>>>(begin);
}

/* The instant at which the frame is over, the same for a whole thread block; the first
 * block to ask sets when the frame began. */
__device__ static unsigned long long end_of(unsigned long long *begin, uint64_t duration_ns)
{
	__shared__ unsigned long long end;

	if (threadIdx.x == 0) {
		unsigned long long now = device_now_ns();
		unsigned long long begun = atomicCAS(begin, 0ull, now);

		end = (begun ? begun : now) + duration_ns;
	}
	__syncthreads();
	return end;
}

__global__ static void __launch_bounds__(LOAD_THREADS)
    compute_timed(unsigned long long *begin, uint64_t duration_ns, float *sink)
{
	unsigned long long end = end_of(begin, duration_ns);
	float sums[8];

	for (uint32_t i = 0; i < 8; i++)
		sums[i] = (float)(threadIdx.x + i);
	do {
		for (uint32_t round = 0; round < 64; round++)
#pragma unroll
			for (uint32_t i = 0; i < 8; i++)
				sums[i] = fmaf(sums[i], 0.999f, 0.5f);
	} while (device_now_ns() < end);
	/* Never true, but the compiler cannot know: the work is not to be left out. */
	for (uint32_t i = 0; i < 8; i++)
		if (sums[i] == -1.0f)
			*sink = sums[i];
}

void wp_kernel_compute_timed(unsigned long long *begin, uint64_t duration_ns, float *sink,
			     uint32_t blocks, void *stream)
{
	compute_timed<<<blocks, LOAD_THREADS, 0, on(stream)>>>(begin, duration_ns, sink);
	(void)cudaMemsetAsync(begin, 0, sizeof(*begin), on(stream));
}

/* bf16 in [-2, 2]: any mantissa, ordinary exponents. */
__global__ static void operands(uint16_t *matrix, uint64_t elements, uint64_t seed)
{
	uint64_t stride = (uint64_t)gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < elements;
	     i += stride) {
		uint32_t drawn = (uint32_t)wp_content_word(seed, i);

		matrix[i] = (uint16_t)((drawn & 0x80ffu) | 0x3f00u);
	}
}

void wp_kernel_operands(uint16_t *matrix, uint64_t elements, uint64_t seed, void *stream)
{
	operands<<<1024, THREADS, 0, on(stream)>>>(matrix, elements, seed);
}

#define TILE	  16u
#define ROW_TILES 4u /* a warp makes 64 rows of 16 columns */

/* Each warp makes one piece of C after another until time is up. */
__global__ static void __launch_bounds__(LOAD_THREADS)
    compute_products(unsigned long long *begin, uint64_t duration_ns, const uint16_t *a,
		     const uint16_t *b, float *c)
{
	using namespace nvcuda::wmma;
	const uint32_t side = WP_KERNEL_SIDE, columns = side / TILE;
	const uint32_t pieces = columns * (side / (TILE * ROW_TILES));
	const uint32_t warps = gridDim.x * LOAD_THREADS / 32;
	unsigned long long end = end_of(begin, duration_ns);
	uint32_t piece = (blockIdx.x * LOAD_THREADS + threadIdx.x) / 32 % pieces;

	do {
		uint32_t row = piece / columns * TILE * ROW_TILES, column = piece % columns * TILE;
		fragment<matrix_a, TILE, TILE, TILE, __nv_bfloat16, row_major> left;
		fragment<matrix_b, TILE, TILE, TILE, __nv_bfloat16, row_major> right;
		fragment<accumulator, TILE, TILE, TILE, float> sums[ROW_TILES];

		for (uint32_t i = 0; i < ROW_TILES; i++)
			fill_fragment(sums[i], 0.0f);
		for (uint32_t k = 0; k < side; k += TILE) {
			load_matrix_sync(
			    right, (const __nv_bfloat16 *)b + (uint64_t)k * side + column, side);
			for (uint32_t i = 0; i < ROW_TILES; i++) {
				load_matrix_sync(left,
						 (const __nv_bfloat16 *)a +
						     (uint64_t)(row + i * TILE) * side + k,
						 side);
				mma_sync(sums[i], left, right, sums[i]);
			}
		}
		for (uint32_t i = 0; i < ROW_TILES; i++)
			store_matrix_sync(c + (uint64_t)(row + i * TILE) * side + column, sums[i],
					  side, mem_row_major);
		piece = (piece + warps) % pieces;
		/* One thread's clock decides for its warp: products need all of it. */
	} while (__shfl_sync(0xffffffffu, device_now_ns() < end, 0));
}

void wp_kernel_compute_products(unsigned long long *begin, uint64_t duration_ns, const uint16_t *a,
				const uint16_t *b, float *c, uint32_t blocks, void *stream)
{
	compute_products<<<blocks, LOAD_THREADS, 0, on(stream)>>>(begin, duration_ns, a, b, c);
	(void)cudaMemsetAsync(begin, 0, sizeof(*begin), on(stream));
}
