/*
 * Clock and device of the overlap experiment, and its memory: slots on both
 * sides, filled on the host with bytes that no slot shares and none of which
 * compress, and room to bring them back.
 */
#include "harness/experiments/overlap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/replay/real_gpu.h"
#include "harness/system/kernel.h"
#include "harness/units.h"
#include "pager/content.h"
#include "pager/device.h"
#include "pager/events.h"
#include "pager/gpu.h"
#include "pager/limits.h"

#define VIRTUAL_SLOT_BYTES  4096u
#define MEMORY_MARGIN_BYTES (64ull << 20)

static int set_errno(struct wp_error *error, int result, const char *what)
{
	return wp_error_set(error, WP_EXIT_ENVIRONMENT, "%s: %s", what, strerror(-result));
}

static void fill_slots(struct wp_overlap_world *world, uint64_t seed)
{
	for (uint32_t i = 0; i < world->slots; i++)
		wp_content_fill((char *)world->host.base + (uint64_t)i * world->slot_bytes,
				world->slot_bytes, seed, i, 0);
}

static int open_memory(struct wp_overlap_world *world, const struct wp_overlap_world_config *config,
		       struct wp_error *error)
{
	uint64_t side_bytes = (uint64_t)world->slots * world->slot_bytes;
	uint64_t sides = config->kind == WP_WORLD_REAL ? 2 : 3;
	uint64_t available_bytes = wp_memory_available_bytes(&wp_kernel_host);
	char need[WP_UNITS_TEXT], have[WP_UNITS_TEXT];

	if (sides * side_bytes + MEMORY_MARGIN_BYTES > available_bytes)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT,
				    "slots and the rest need %s of memory, %s are available; take "
				    "less --memory",
				    wp_units_bytes(need, sides * side_bytes + MEMORY_MARGIN_BYTES),
				    wp_units_bytes(have, available_bytes));
	if (wp_arena_open(&world->host, 2 * side_bytes, "host slots", error) != 0)
		return -1;
	fill_slots(world, config->seed);
	if (config->kind == WP_WORLD_REAL)
		return 0;
	if (wp_arena_open(&world->device_memory, side_bytes, "device slots", error) != 0)
		return -1;
	/* Written once: on some kernels a populated page still costs its first write. */
	memset(world->device_memory.base, 0xa5, side_bytes);
	world->device_slots = world->device_memory.base;
	return 0;
}

static int open_virtual(struct wp_overlap_world *world,
			const struct wp_overlap_world_config *config, struct wp_error *error)
{
	int result = wp_events_open(&world->events, 4 * WP_OVERLAP_DEPTH);

	if (result == 0) {
		world->clock = wp_events_clock(world->events);
		result = wp_device_virtual_open(&world->device, world->events, &config->rates);
	}
	return result < 0 ? set_errno(error, result, "virtual world") : 0;
}

static int open_model(struct wp_overlap_world *world, const struct wp_overlap_world_config *config,
		      struct wp_error *error)
{
	int result = wp_clock_host_open(&world->clock);

	if (result == 0)
		result = wp_device_model_open(&world->device, world->clock, &config->rates);
	if (result < 0)
		return set_errno(error, result, "model world");
	world->clock->ops->watch(world->clock, wp_port_fd(world->device));
	return 0;
}

static int open_real(struct wp_overlap_world *world, const struct wp_overlap_world_config *config,
		     struct wp_error *error)
{
	const struct wp_gpu_config gpu_config = {
	    .arena_bytes = (uint64_t)world->slots * world->slot_bytes,
	    .events = WP_GPU_EVENTS,
	    .products = config->products,
	    .host = world->host.base,
	    .host_bytes = world->host.bytes,
	};
	const struct wp_device_gpu_config device_config = {
	    .load = config->products ? WP_GPU_LOAD_PRODUCTS : WP_GPU_LOAD_TIMED,
	};
	char why[WP_GPU_WHY];
	struct wp_gpu *gpu;
	int result;

	if (wp_gpu_cuda_open(&gpu, &gpu_config, why) < 0)
		return wp_real_gpu_error(error, why);
	world->device_slots = gpu->arena;
	result = wp_clock_host_open(&world->clock);
	if (result == 0)
		result = wp_device_gpu_open(&world->device, gpu, world->clock, &device_config);
	if (result == 0)
		return 0;
	gpu->ops->close(gpu);
	return set_errno(error, result, "real world");
}

/* Before memory is taken: the commonest reason to stop costs nothing. */
static int find_gpu(struct wp_overlap *overlap, struct wp_error *error)
{
	struct wp_gpu_facts facts;

	if (wp_real_gpu_find(&facts, error) != 0)
		return -1;
	snprintf(overlap->gpu, sizeof(overlap->gpu), "%s", facts.name);
	return 0;
}

int wp_overlap_world_open(struct wp_overlap_world *world,
			  const struct wp_overlap_world_config *config, struct wp_overlap *overlap,
			  struct wp_error *error)
{
	uint64_t slots = config->memory_bytes / WP_COPY_BYTES_MAX;
	int result = 0;

	memset(world, 0, sizeof(*world));
	world->kind = config->kind;
	world->slots = slots > UINT32_MAX ? UINT32_MAX : (uint32_t)slots;
	world->slot_bytes =
	    config->kind == WP_WORLD_VIRTUAL ? VIRTUAL_SLOT_BYTES : WP_COPY_BYTES_MAX;
	if (config->kind == WP_WORLD_REAL)
		result = find_gpu(overlap, error);
	if (result == 0)
		result = open_memory(world, config, error);
	if (result == 0)
		result = config->kind == WP_WORLD_VIRTUAL ? open_virtual(world, config, error)
			 : config->kind == WP_WORLD_MODEL ? open_model(world, config, error)
							  : open_real(world, config, error);
	if (result != 0)
		wp_overlap_world_close(world);
	return result;
}

void wp_overlap_world_close(struct wp_overlap_world *world)
{
	wp_port_close(world->device);
	if (world->clock)
		world->clock->ops->close(world->clock);
	wp_events_close(world->events);
	wp_arena_close(&world->host);
	wp_arena_close(&world->device_memory);
	memset(world, 0, sizeof(*world));
}
