/*
 * In place of device_cuda.cu where the program is built without CUDA: there is
 * no GPU, and this is why. Everything else stays the same.
 */
#include <errno.h>
#include <stdio.h>

#include "pager/gpu.h"

static int absent(char why[WP_GPU_WHY])
{
	snprintf(why, WP_GPU_WHY, "this program was built without CUDA (`make CUDA=1` needs nvcc)");
	return -ENOTSUP;
}

int wp_gpu_cuda_probe(struct wp_gpu_facts *facts, char why[WP_GPU_WHY])
{
	(void)facts;
	return absent(why);
}

int wp_gpu_cuda_open(struct wp_gpu **gpu, const struct wp_gpu_config *config, char why[WP_GPU_WHY])
{
	(void)gpu;
	(void)config;
	return absent(why);
}
