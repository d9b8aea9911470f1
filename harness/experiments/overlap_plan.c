/*
 * From settings to points. The volumes that are measured by default are whole
 * blocks of the model: one and two in Int4, then 1, 2, 3 in bf16, which are the
 * paper's range, then doubled until a copy can no longer hide.
 */
#include "harness/experiments/overlap_plan.h"

#include <stdio.h>
#include <string.h>

#include "harness/units.h"
#include "pager/codec.h"
#include "pager/duration.h"
#include "pager/limits.h"

static int find_world(const char *name, enum wp_world_kind *kind, struct wp_error *error)
{
	static const char *const names[] = {"virtual", "model", "real"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0) {
			*kind = (enum wp_world_kind)i;
			return 0;
		}
	return wp_error_set(error, WP_EXIT_USAGE, "--world: '%s' is none of virtual model real",
			    name);
}

static void add_point(struct wp_overlap *overlap, uint64_t bytes_full, uint32_t buffers,
		      const struct wp_scale *scale)
{
	struct wp_overlap_point *point = &overlap->points[overlap->count++];

	WP_CHECK(overlap->count <= WP_OVERLAP_POINTS_MAX);
	point->bytes_full = bytes_full;
	point->bytes = wp_scale_apply(scale, bytes_full);
	if (point->bytes == 0)
		point->bytes = 1;
	point->buffers = buffers;
}

static uint32_t default_volumes(const struct wp_model *model, uint64_t *volumes_bytes)
{
	static const uint32_t int4_blocks[] = {1, 2};
	static const uint32_t bf16_blocks[] = {1, 2, 3, 6, 12, 24, 48, 72, 96};
	uint64_t elements = wp_model_elements(model, NULL);
	uint32_t count = 0;

	for (size_t i = 0; i < sizeof(int4_blocks) / sizeof(int4_blocks[0]); i++)
		volumes_bytes[count++] =
		    int4_blocks[i] * wp_codec_block_bytes(&wp_codec_int4, elements);
	for (size_t i = 0; i < sizeof(bf16_blocks) / sizeof(bf16_blocks[0]); i++)
		volumes_bytes[count++] =
		    bf16_blocks[i] * wp_codec_block_bytes(&wp_codec_bf16, elements);
	return count;
}

/* Copies in `real` go at the rate that the machine has: none is asked for. */
static int find_rates(const struct wp_overlap_settings *settings, enum wp_world_kind kind,
		      const struct wp_machine *machine, struct wp_device_rates *rates,
		      struct wp_error *error)
{
	*rates = (struct wp_device_rates){0};
	if (kind == WP_WORLD_REAL && settings->copy_rate)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--copy-rate: in the real world the machine decides");
	if (kind == WP_WORLD_REAL)
		return 0;
	rates->copy_bytes_per_s = machine->copy_bytes_per_s;
	if (settings->copy_rate)
		return wp_units_parse_rate_or_unlimited("--copy-rate", settings->copy_rate,
							&rates->copy_bytes_per_s, error);
	return 0;
}

static int check_memory(const struct wp_overlap_settings *settings, struct wp_error *error)
{
	uint64_t least = 2ull * WP_OVERLAP_DEPTH * WP_COPY_BYTES_MAX;

	if (settings->memory_bytes >= least)
		return 0;
	return wp_error_set(error, WP_EXIT_USAGE, "--memory: at least %llu MiB of slots are needed",
			    (unsigned long long)(least >> 20));
}

int wp_overlap_plan(const struct wp_overlap_settings *settings, struct wp_overlap *overlap,
		    struct wp_overlap_world_config *config, struct wp_error *error)
{
	uint64_t volumes_bytes[WP_OVERLAP_POINTS_MAX / 2];
	uint32_t volume_count = settings->volume_count;
	struct wp_machine machine;
	struct wp_model model;
	struct wp_scale scale;
	const char *text = settings->scale;
	double asked;

	memset(overlap, 0, sizeof(*overlap));
	memset(config, 0, sizeof(*config));
	if (find_world(settings->world, &config->kind, error) != 0 ||
	    check_memory(settings, error) != 0 ||
	    wp_model_load(&model, settings->model, error) != 0 ||
	    wp_machine_load(&machine, settings->machine, error) != 0 ||
	    find_rates(settings, config->kind, &machine, &config->rates, error) != 0)
		return -1;
	if (!text)
		text = config->kind == WP_WORLD_MODEL ? "1/16" : "1";
	if (wp_units_parse_ratio("--scale", text, &asked, error) != 0)
		return -1;
	scale = wp_scale_make(&model, asked);
	config->memory_bytes = settings->memory_bytes;
	config->seed = settings->seed;
	config->products = settings->products;
	snprintf(overlap->world, sizeof(overlap->world), "%s", settings->world);
	snprintf(overlap->machine, sizeof(overlap->machine), "%s", machine.name);
	snprintf(overlap->model, sizeof(overlap->model), "%s", model.name);
	snprintf(overlap->scale_text, sizeof(overlap->scale_text), "%.31s", text);
	overlap->scale = scale.effective;
	overlap->compute_ns = wp_scale_apply(&scale, model.compute_ns);
	overlap->compute_full_ns = model.compute_ns;
	overlap->copy_bytes_per_s = config->rates.copy_bytes_per_s;
	overlap->memory_bytes = settings->memory_bytes;
	overlap->frames = settings->frames;
	overlap->warmup_frames = settings->warmup_frames;
	memcpy(volumes_bytes, settings->volumes_bytes, sizeof(volumes_bytes));
	if (!volume_count)
		volume_count = default_volumes(&model, volumes_bytes);
	for (uint32_t buffers = 2; buffers >= 1; buffers--)
		for (uint32_t i = 0; i < volume_count; i++)
			if (settings->buffers == 0 || settings->buffers == buffers)
				add_point(overlap, volumes_bytes[i], buffers, &scale);
	return 0;
}

uint64_t wp_overlap_estimate_ns(const struct wp_overlap *overlap, uint64_t bytes_per_s)
{
	uint64_t total_ns = 0;

	for (uint32_t i = 0; i < overlap->count; i++) {
		const struct wp_overlap_point *point = &overlap->points[i];
		uint64_t copy_ns = wp_duration_ns(point->bytes, bytes_per_s);
		uint64_t compute_ns = overlap->compute_ns;
		uint64_t frame_ns = point->buffers == 1	   ? compute_ns + copy_ns
				    : compute_ns > copy_ns ? compute_ns
							   : copy_ns;

		total_ns += (overlap->frames + overlap->warmup_frames) * frame_ns + copy_ns;
	}
	return total_ns;
}
