/*
 * The kernels, as device_cuda.cu starts them: each call is one launch (or a
 * memset) on `stream`, which is a cudaStream_t; errors show in
 * cudaGetLastError(). Addresses are device memory. Shapes are checked by the caller:
 * tensors of whole groups below 2^32 octets, heads of whole octets.
 */
#ifndef WP_KERNELS_H
#define WP_KERNELS_H

#include <stdint.h>

#include "pager/codec.h"
#include "pager/content_arith.h"
#include "pager/geometry.h"
#include "pager/gpu.h"
#include "pager/rotate.h"

struct wp_kernel_tensors {
	uint32_t count;	 /* 2 a layer: K and V alternate */
	uint32_t octets; /* of one tensor */
	uint32_t head_octets;
};

/* `rotation` NULL: none. `blocks` thread blocks fill the device. */
void wp_kernel_decode_int4(const struct wp_kernel_tensors *tensors, const void *stored,
			   const struct wp_rotation *rotation, uint16_t *elements, uint32_t blocks,
			   void *stream);
void wp_kernel_decode_bf16(const struct wp_kernel_tensors *tensors, const void *stored,
			   const struct wp_rotation *rotation, uint16_t *elements, uint32_t blocks,
			   void *stream);
/* Adds to counts[0] (NaN) and counts[1] (infinities). */
void wp_kernel_encode_int4(const struct wp_kernel_tensors *tensors, const uint16_t *elements,
			   void *stored, unsigned long long *counts, uint32_t blocks, void *stream);

void wp_kernel_fill(const struct wp_geometry *geometry, uint64_t seed, uint32_t block, void *stored,
		    void *stream);
/* Lowers *offset to that of the first byte that differs. */
void wp_kernel_differs(const struct wp_geometry *geometry, uint64_t seed, uint32_t block,
		       const void *stored, unsigned long long *offset, void *stream);

/* *begin becomes the device's clock unless it is set already. */
void wp_kernel_begin(unsigned long long *begin, void *stream);
/* Both end `duration_ns` after *begin and leave it 0. */
void wp_kernel_compute_timed(unsigned long long *begin, uint64_t duration_ns, float *sink,
			     uint32_t blocks, void *stream);
/* C = A B in bf16 with float sums, again and again; WP_KERNEL_SIDE squared each. */
#define WP_KERNEL_SIDE 4096u
void wp_kernel_operands(uint16_t *matrix, uint64_t elements, uint64_t seed, void *stream);
void wp_kernel_compute_products(unsigned long long *begin, uint64_t duration_ns, const uint16_t *a,
				const uint16_t *b, float *c, uint32_t blocks, void *stream);

#endif
