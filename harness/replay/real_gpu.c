/* Looking for the GPU of the real world, and one wording of what is missing. */
#include "harness/replay/real_gpu.h"

int wp_real_gpu_error(struct wp_error *error, const char *why)
{
	return wp_error_set(error, WP_EXIT_ENVIRONMENT, "--world real: %s", why);
}

int wp_real_gpu_find(struct wp_gpu_facts *facts, struct wp_error *error)
{
	char why[WP_GPU_WHY];

	return wp_gpu_cuda_probe(facts, why) < 0 ? wp_real_gpu_error(error, why) : 0;
}
