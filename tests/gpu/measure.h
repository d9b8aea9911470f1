/*
 * What measure_gpu finds out about a GPU, part by part. Memory on the device:
 *
 *	|stored: a block, coded|elements: the same as the model reads it|as much again|
 *
 * Whatever fails on the GPU or for want of memory ends the program (exit status 3).
 */
#ifndef WP_TEST_MEASURE_H
#define WP_TEST_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "pager/clock.h"
#include "pager/codec.h"
#include "pager/gpu.h"
#include "pager/random.h"

#define CHECKS_MAX  24u
#define COPIES_MAX  12u
#define KERNELS_MAX 12u

/* Results against the plain reference. */
struct check {
	const char *name;
	uint64_t cases;
	uint64_t compared_bytes;
	uint64_t wrong; /* cases with any byte wrong */
	char first[160];
};

struct copy_rate {
	const char *name;
	const char *direction; /* "to_device" "from_device" "both" */
	bool pinned;
	uint64_t piece_bytes;
	uint64_t bytes; /* of a round, all directions */
	uint64_t bytes_per_s;
};

struct kernel_rate {
	const char *name;
	uint64_t read_bytes, written_bytes; /* of one launch */
	uint64_t launch_ns;
	uint64_t bytes_per_s; /* both */
	double of_copy;	      /* the median over rounds of its rate over the copy's in that round */
};

/* How long a stand-in for compute took when it was asked for so long. */
struct compute_time {
	const char *name;
	uint64_t asked_ns, took_ns;
};

struct measure {
	struct wp_gpu *gpu;
	struct wp_gpu_facts facts;
	struct wp_clock *clock;
	struct wp_block_shape shape; /* of the block that is measured */
	uint32_t rounds;
	uint64_t seed;
	struct wp_random random;
	unsigned char *stored; /* on the device, also for bf16 */
	uint16_t *elements, *others;
	unsigned char *pinned, *pageable; /* on the host, host_bytes each */
	uint64_t host_bytes;
	struct check checks[CHECKS_MAX];
	struct copy_rate copies[COPIES_MAX];
	struct kernel_rate kernels[KERNELS_MAX];
	struct compute_time computes[2];
	uint32_t check_count, copy_count, kernel_count;
};

/* check_kernels.c */
void check_kernels(struct measure *measure);

/* measure_rates.c; the last takes the GPU over and closes it. */
void measure_copies(struct measure *measure);
void measure_kernels(struct measure *measure);
void measure_computes(struct measure *measure);
void measure_port(struct measure *measure);

/* measure_gpu.c */
void *measure_memory(uint64_t bytes);
void measure_must(struct measure *measure, int result, const char *what);

#endif
