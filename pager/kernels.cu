/*
 * Kernels on stored blocks. Arithmetic and places are those of codec_octet.h,
 * which host tests cover; here is only who does which octet, and how memory is
 * reached: 16 bytes a thread and access, neighbours side by side.
 *
 * The one idea of the int4 kernel: a warp loads 512 packed bytes in one wide
 * access and deals them out again through shared memory, so that the octets that
 * it stores at one time are 512 bytes in a row, too. Most groups take a short way
 * in packed bf16, whose products are exact before their one rounding; groups of
 * an extraordinary scale take the definition.
 */
#include "pager/kernels.h"

#include "pager/codec_octet.h"

#define THREADS	    256u
#define WARPS	    (THREADS / 32u)
#define TILE_OCTETS 128u /* of a warp: 16 packed bytes a thread */

static cudaStream_t on(void *stream)
{
	return (cudaStream_t)stream;
}

__device__ static inline void store(uint16_t *elements, uint32_t octet,
				    const struct wp_octet *value)
{
	/* Past the caches where it can be: whoever reads it next comes after the whole block. */
	__stcs((uint4 *)elements + octet,
	       make_uint4(value->pairs[0], value->pairs[1], value->pairs[2], value->pairs[3]));
}

/* The rotation as the threads of a block share it. */
struct turn {
	float cosine[WP_HEAD_DIM_MAX / 2];
	float sine[WP_HEAD_DIM_MAX / 2];
};

__device__ static void share_turn(struct turn *turn, const struct wp_rotation *rotation)
{
	for (uint32_t i = threadIdx.x; i < rotation->head_dim / 2; i += THREADS) {
		turn->cosine[i] = rotation->cosine[i];
		turn->sine[i] = rotation->sine[i];
	}
	__syncthreads();
}

__global__ static void __launch_bounds__(THREADS)
    decode_int4(struct wp_kernel_tensors tensors, const uint8_t *stored, uint16_t *elements,
		const __grid_constant__ struct wp_rotation rotation)
{
	__shared__ uint4 staged[WARPS][TILE_OCTETS / 4];
	__shared__ struct turn turn;
	uint64_t first = (uint64_t)blockIdx.y * tensors.octets;
	uint64_t all = (uint64_t)tensors.count * tensors.octets;
	const uint4 *packed = (const uint4 *)(stored + 4 * first);
	const uint16_t *scales = (const uint16_t *)(stored + 4 * all) + first / WP_GROUP_OCTETS;
	uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	uint32_t pairs = blockIdx.y % 2 == 0 ? rotation.pairs : 0; /* K turns, V does not */

	elements += WP_OCTET * first;
	if (pairs)
		share_turn(&turn, &rotation);
	for (uint64_t tile = blockIdx.x * WARPS + warp; tile * TILE_OCTETS < tensors.octets;
	     tile += gridDim.x * WARPS) {
		uint32_t begin = (uint32_t)tile * TILE_OCTETS;

		if (begin + 4 * lane < tensors.octets)
			staged[warp][lane] = __ldcs(packed + begin / 4 + lane);
		__syncwarp();
#pragma unroll
		for (uint32_t i = 0; i < TILE_OCTETS / 32; i++) {
			uint32_t octet = begin + 32 * i + lane;
			uint32_t dim, turned, word;
			struct wp_octet value;
			uint16_t scale;

			if (octet >= tensors.octets)
				break;
			word = ((const uint32_t *)staged[warp])[32 * i + lane];
			scale = __ldg(scales + octet / WP_GROUP_OCTETS);
			dim = pairs ? octet % tensors.head_octets * WP_OCTET : 0;
			turned = pairs ? wp_octet_turned(dim, pairs) : 0;
			value = wp_octet_decode(word, scale, turn.cosine + dim / 2,
						turn.sine + dim / 2, turned);
			store(elements, octet, &value);
		}
		__syncwarp();
	}
}

__global__ static void __launch_bounds__(THREADS)
    decode_bf16(struct wp_kernel_tensors tensors, const uint16_t *stored, uint16_t *elements,
		const __grid_constant__ struct wp_rotation rotation)
{
	__shared__ struct turn turn;
	uint64_t first = (uint64_t)blockIdx.y * tensors.octets;
	const uint4 *source = (const uint4 *)stored + first;
	uint32_t pairs = blockIdx.y % 2 == 0 ? rotation.pairs : 0;

	elements += WP_OCTET * first;
	if (pairs)
		share_turn(&turn, &rotation);
	for (uint64_t at = blockIdx.x * THREADS + threadIdx.x; at < tensors.octets;
	     at += gridDim.x * THREADS) {
		uint32_t octet = (uint32_t)at;
		uint32_t dim = pairs ? octet % tensors.head_octets * WP_OCTET : 0;
		uint4 loaded = __ldcs(source + octet);
		struct wp_octet value = {{loaded.x, loaded.y, loaded.z, loaded.w}};

		if (pairs)
			value = wp_octet_turn(value, turn.cosine + dim / 2, turn.sine + dim / 2,
					      wp_octet_turned(dim, pairs));
		store(elements, octet, &value);
	}
}

/* Eight neighbouring threads have a group; all of a warp go round together. */
__global__ static void __launch_bounds__(THREADS)
    encode_int4(struct wp_kernel_tensors tensors, const uint16_t *elements, uint8_t *stored,
		unsigned long long *counts)
{
	uint64_t first = (uint64_t)blockIdx.y * tensors.octets;
	uint64_t all = (uint64_t)tensors.count * tensors.octets;
	const uint4 *source = (const uint4 *)elements + first;
	uint32_t *packed = (uint32_t *)stored + first;
	uint16_t *scales = (uint16_t *)(stored + 4 * all) + first / WP_GROUP_OCTETS;
	uint64_t octets = (tensors.octets + 31ull) / 32 * 32;

	for (uint64_t octet = blockIdx.x * THREADS + threadIdx.x; octet < octets;
	     octet += gridDim.x * THREADS) {
		bool inside = octet < tensors.octets;
		uint4 loaded = inside ? __ldcs(source + octet) : make_uint4(0, 0, 0, 0);
		struct wp_octet raw = {{loaded.x, loaded.y, loaded.z, loaded.w}};
		struct wp_octet_cleaned cleaned = wp_octet_clean(raw);
		uint32_t absmax = cleaned.absmax;
		uint16_t scale;

		for (uint32_t step = 1; step < WP_GROUP_OCTETS; step *= 2)
			absmax = max(absmax, __shfl_xor_sync(0xffffffffu, absmax, step));
		if (!inside)
			continue;
		scale = wp_int4_scale((uint16_t)absmax);
		packed[octet] = wp_octet_encode(cleaned.octet, scale);
		if (octet % WP_GROUP_OCTETS == 0)
			scales[octet / WP_GROUP_OCTETS] = scale;
		if (cleaned.nans)
			atomicAdd(counts, (unsigned long long)cleaned.nans);
		if (cleaned.infinities)
			atomicAdd(counts + 1, (unsigned long long)cleaned.infinities);
	}
}

/* A grid that covers the tensors with about `blocks` thread blocks in all. */
static dim3 grid_of(const struct wp_kernel_tensors *tensors, uint32_t octets_per_block,
		    uint32_t blocks)
{
	uint64_t most = ((uint64_t)tensors->octets + octets_per_block - 1) / octets_per_block;
	uint64_t share = (blocks + tensors->count - 1) / tensors->count;

	return dim3((unsigned)(most < share ? most : share), tensors->count);
}

static struct wp_rotation rotation_or_none(const struct wp_rotation *rotation)
{
	struct wp_rotation none = {};

	return rotation ? *rotation : none;
}

void wp_kernel_decode_int4(const struct wp_kernel_tensors *tensors, const void *stored,
			   const struct wp_rotation *rotation, uint16_t *elements, uint32_t blocks,
			   void *stream)
{
	decode_int4<<<grid_of(tensors, WARPS * TILE_OCTETS, blocks), THREADS, 0, on(stream)>>>(
	    *tensors, (const uint8_t *)stored, elements, rotation_or_none(rotation));
}

void wp_kernel_decode_bf16(const struct wp_kernel_tensors *tensors, const void *stored,
			   const struct wp_rotation *rotation, uint16_t *elements, uint32_t blocks,
			   void *stream)
{
	decode_bf16<<<grid_of(tensors, THREADS, blocks), THREADS, 0, on(stream)>>>(
	    *tensors, (const uint16_t *)stored, elements, rotation_or_none(rotation));
}

void wp_kernel_encode_int4(const struct wp_kernel_tensors *tensors, const uint16_t *elements,
			   void *stored, unsigned long long *counts, uint32_t blocks, void *stream)
{
	encode_int4<<<grid_of(tensors, THREADS, blocks), THREADS, 0, on(stream)>>>(
	    *tensors, elements, (uint8_t *)stored, counts);
}
