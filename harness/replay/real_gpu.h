/* The GPU that `--world real` needs. */
#ifndef WP_REAL_GPU_H
#define WP_REAL_GPU_H

#include "harness/error.h"
#include "pager/gpu.h"

/* Exit 3 with what is missing: CUDA in this program, a driver, a device. */
int wp_real_gpu_find(struct wp_gpu_facts *facts, struct wp_error *error) WP_MUST_USE;

/* The same words for what fails later; always -1. */
int wp_real_gpu_error(struct wp_error *error, const char *why);

#endif
