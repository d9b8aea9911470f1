/*
 * The GPU of a replay's real world. Its memory holds the pager's device slots
 * and behind them room for one set in the form that the model reads:
 *
 *	|slot|slot| ... |elements of set[0]|elements of set[1]| ... |
 *
 * The host slots are pinned last: an anonymous mapping, which io_uring has
 * registered by then, so that drive and GPU both reach them without a copy.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/replay/real_gpu.h"
#include "harness/replay/replay_world.h"
#include "harness/units.h"

/* Beside the slots: words that kernels write, and what the driver rounds up. */
#define GPU_MARGIN_BYTES (64ull << 20)

/* Of this process now; 0: not known. */
static uint64_t resident_bytes(void)
{
	char text[256];
	const char *resident;

	if (wp_kernel_read(&wp_kernel_host, "/proc/self/statm", text, sizeof(text)) != 0)
		return 0;
	resident = strchr(text, ' '); /* pages: all, then resident */
	return resident ? strtoull(resident, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* What the process has grown by since `before_bytes` is the driver's: context, code, tables. */
static void count_driver(struct wp_replay_world *opened, uint64_t before_bytes)
{
	uint64_t after_bytes = resident_bytes();

	if (after_bytes > before_bytes)
		opened->driver_bytes += after_bytes - before_bytes;
}

int wp_replay_gpu_check(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
			struct wp_error *error)
{
	char need[WP_UNITS_TEXT], have[WP_UNITS_TEXT];
	uint64_t before_bytes = resident_bytes();

	if (wp_real_gpu_find(&opened->gpu_facts, error) != 0)
		return -1;
	count_driver(opened, before_bytes);
	if (plan->gpu_memory_bytes + GPU_MARGIN_BYTES <= opened->gpu_facts.free_bytes)
		return 0;
	return wp_error_set(error, WP_EXIT_ENVIRONMENT,
			    "slots for blocks need %s of GPU memory, %s are free; take a smaller "
			    "--scale, fewer --staging-blocks or less --gpu-budget",
			    wp_units_bytes(need, plan->gpu_memory_bytes),
			    wp_units_bytes(have, opened->gpu_facts.free_bytes));
}

static int open_gpu(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
		    struct wp_error *error)
{
	const struct wp_gpu_config config = {
	    .arena_bytes = plan->gpu_memory_bytes,
	    .events = WP_GPU_EVENTS,
	    .host = opened->host.base,
	    .host_bytes = opened->host.bytes,
	};
	uint64_t before_bytes = resident_bytes();
	char why[WP_GPU_WHY];

	if (wp_gpu_cuda_open(&opened->gpu, &config, why) < 0) {
		opened->gpu = NULL;
		return wp_real_gpu_error(error, why);
	}
	count_driver(opened, before_bytes);
	return 0;
}

int wp_replay_gpu_open(struct wp_replay_world *opened, const struct wp_replay_plan *plan,
		       struct wp_error *error)
{
	const struct wp_device_gpu_config config = {
	    .form = {plan->codec, wp_replay_shape(plan)},
	    .rotary = {plan->model.head_dim, plan->model.rope_dims, plan->model.rope_theta},
	    .geometry = plan->geometry,
	    .seed = plan->settings->seed,
	    .load = WP_GPU_LOAD_TIMED,
	};
	int result;

	if (open_gpu(opened, plan, error) != 0)
		return -1;
	result =
	    wp_device_gpu_open(&opened->world.device, opened->gpu, opened->world.clock, &config);
	if (result < 0) {
		opened->gpu->ops->close(opened->gpu);
		opened->gpu = NULL;
		return wp_real_gpu_error(error, strerror(-result));
	}
	opened->device_slots = opened->gpu->arena;
	opened->elements = (uint16_t *)((char *)opened->gpu->arena + plan->gpu_memory_bytes -
					plan->set_blocks_max * wp_replay_elements_bytes(plan));
	return 0;
}

const char *wp_replay_gpu_why(const struct wp_replay_world *opened)
{
	return opened->gpu ? wp_device_gpu_why(opened->world.device) : "";
}
