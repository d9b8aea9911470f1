/*
 * Profiles: reading configs/models, machines and drives, and arithmetic at a
 * scale. Does not know any model or machine by name: another one is a new file.
 */
#include "harness/profile/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/files/json_file.h"
#include "harness/tool.h"

#define PROFILE_BYTES_MAX (1024u * 1024u)
#define BYTES_MAX	  (1ull << 60)
#define RATE_MAX	  (1ull << 50)
#define LATENCY_NS_MAX	  60000000000ull

/* Keys that inform people and nothing else. */
static void read_remarks(struct wp_json *root)
{
	char text[1024];
	struct wp_json sources;
	const char *key;

	wp_json_string_or(root, "what", text, sizeof(text), "");
	if (!wp_json_has(root, "sources"))
		return;
	wp_json_object(root, "sources", &sources);
	for (uint32_t i = 0; (key = wp_json_key_at(&sources, i)); i++)
		wp_json_string(&sources, key, text, sizeof(text));
}

/* Whether the profile has this key; unlike the getters, it does not make it a known one. */
static bool is_key(const struct wp_json *root, const char *name)
{
	const char *key;

	for (uint32_t i = 0; (key = wp_json_key_at(root, i)); i++) {
		if (!strcmp(key, name))
			return true;
	}
	return false;
}

static void read_inferred(struct wp_json *root, struct wp_inferred *inferred)
{
	struct wp_json array;
	uint32_t count;

	if (!wp_json_has(root, "inferred"))
		return;
	count = wp_json_array(root, "inferred", 0, WP_INFERRED_MAX, &array);
	for (uint32_t i = 0; i < count; i++) {
		wp_json_at_string(&array, i, inferred->keys[i], sizeof(inferred->keys[i]));
		if (!root->reader->failed && !is_key(root, inferred->keys[i]))
			wp_json_fail(&array, NULL, "\"%s\" is no key of this profile",
				     inferred->keys[i]);
	}
	inferred->count = count;
}

static void read_model(struct wp_json *root, void *profile)
{
	struct wp_model *model = profile;
	struct wp_json positions;

	model->layers = wp_json_u32(root, "layers", 1, 1000);
	model->heads = wp_json_u32(root, "heads", 1, 1000);
	model->head_dim = wp_json_u32(root, "head_dim", 2, 1024);
	model->tokens_per_latent = wp_json_u32(root, "tokens_per_latent", 1, 1000000);
	model->latents_per_frame = wp_json_u32(root, "latents_per_frame", 1, 1000);
	model->video_frames_per_frame = wp_json_u32(root, "video_frames_per_frame", 1, 1000);
	model->playback_fps = wp_json_number(root, "playback_fps", 0.001, 1000);
	model->compute_ns = wp_json_u64(root, "compute_ns", 1000, 1000000000000000ull);
	wp_json_object(root, "positions", &positions);
	model->position_rows = wp_json_u32(&positions, "table_rows", 1, 1u << 30);
	model->action_rows = wp_json_u32(&positions, "action_table_rows", 0, 1u << 30);
	model->window_latents = wp_json_u32(&positions, "window_latents", 1, 1u << 30);
	model->local_latents = wp_json_u32(&positions, "local_latents", 0, 1u << 30);
	model->rope_dims = wp_json_u32(&positions, "rope_dims", 0, 1024);
	model->rope_theta = wp_json_number(&positions, "rope_theta", 1, 1e12);
	if (model->rope_dims % 2 || model->rope_dims > model->head_dim)
		wp_json_fail(&positions, "rope_dims", "must be even and at most head_dim");
	wp_json_only(&positions);
	if (!root->reader->failed && wp_model_elements(model, NULL) * 2 > WP_BLOCK_BYTES_MAX)
		wp_json_fail(root, NULL, "a block of %llu elements is too large",
			     (unsigned long long)wp_model_elements(model, NULL));
	read_inferred(root, &model->inferred);
}

static void read_machine(struct wp_json *root, void *profile)
{
	struct wp_machine *machine = profile;

	machine->host_bytes = wp_json_u64(root, "host_bytes", 1, BYTES_MAX);
	if (wp_json_has(root, "host_block_percent") == wp_json_has(root, "host_block_budget_bytes"))
		wp_json_fail(root, NULL,
			     "wants one of \"host_block_percent\" and \"host_block_budget_bytes\"");
	machine->host_block_percent = wp_json_u32_or(root, "host_block_percent", 1, 100, 0);
	machine->host_block_budget_bytes = wp_json_u64_or(
	    root, "host_block_budget_bytes", 0, machine->host_bytes,
	    (uint64_t)((__uint128_t)machine->host_bytes * machine->host_block_percent / 100));
	machine->gpu_block_budget_bytes = wp_json_u64(root, "gpu_block_budget_bytes", 0, BYTES_MAX);
	machine->copy_bytes_per_s = wp_json_u64(root, "copy_bytes_per_s", 0, RATE_MAX);
	machine->device_decode_bytes_per_s =
	    wp_json_u64(root, "device_decode_bytes_per_s", 0, RATE_MAX);
	read_inferred(root, &machine->inferred);
}

static void read_drive(struct wp_json *root, void *profile)
{
	struct wp_drive_profile *drive = profile;

	drive->drive = (struct wp_drive){
	    .read_latency_ns = wp_json_u64(root, "read_latency_ns", 0, LATENCY_NS_MAX),
	    .write_latency_ns = wp_json_u64(root, "write_latency_ns", 0, LATENCY_NS_MAX),
	    .flush_latency_ns = wp_json_u64(root, "flush_latency_ns", 0, LATENCY_NS_MAX),
	    .read_bytes_per_s = wp_json_u64(root, "read_bytes_per_s", 0, RATE_MAX),
	    .write_bytes_per_s = wp_json_u64(root, "write_bytes_per_s", 0, RATE_MAX),
	    .verify_bytes_per_s = wp_json_u64(root, "verify_bytes_per_s", 0, RATE_MAX),
	};
	/* What calibration keeps beside its figures, for people. */
	(void)wp_json_has(root, "measured");
	drive->rated_bytes_written = wp_json_u64_or(root, "rated_bytes_written", 1, BYTES_MAX, 0);
	read_inferred(root, &drive->inferred);
}

/* All profiles: a name, figures, remarks, and no key besides. */
static int load(const char *name_or_path, enum wp_resource resource, const char *what,
		void (*read)(struct wp_json *root, void *profile), void *profile, char *name,
		size_t name_size, struct wp_error *error)
{
	char path[WP_PATH_MAX];
	struct wp_json_reader reader = {.file = path, .exit_code = WP_EXIT_USAGE, .error = error};
	struct json_t *document;
	struct wp_json root;

	if (wp_tool_resolve(path, resource, name_or_path, error) < 0)
		return -1;
	document = wp_json_load(&reader, what, PROFILE_BYTES_MAX);
	if (!document)
		return -1;
	wp_json_root(&root, &reader, document);
	wp_json_name(&root, "name", name, name_size);
	read_remarks(&root);
	read(&root, profile);
	wp_json_only(&root);
	wp_json_free(document);
	return reader.failed ? -1 : 0;
}

int wp_model_load(struct wp_model *model, const char *name_or_path, struct wp_error *error)
{
	memset(model, 0, sizeof(*model));
	return load(name_or_path, WP_RESOURCE_MODEL, "a model profile", read_model, model,
		    model->name, sizeof(model->name), error);
}

int wp_machine_load(struct wp_machine *machine, const char *name_or_path, struct wp_error *error)
{
	memset(machine, 0, sizeof(*machine));
	return load(name_or_path, WP_RESOURCE_MACHINE, "a machine profile", read_machine, machine,
		    machine->name, sizeof(machine->name), error);
}

int wp_drive_load(struct wp_drive_profile *drive, const char *name_or_path, struct wp_error *error)
{
	memset(drive, 0, sizeof(*drive));
	return load(name_or_path, WP_RESOURCE_DRIVE, "a drive profile", read_drive, drive,
		    drive->name, sizeof(drive->name), error);
}

struct wp_scale wp_scale_make(const struct wp_model *model, double asked)
{
	struct wp_scale scale = {.asked = asked, .tokens_full = model->tokens_per_latent};
	double tokens = round(asked * model->tokens_per_latent);

	WP_CHECK(asked > 0 && asked <= 1);
	scale.tokens = tokens < 1 ? 1 : (uint32_t)tokens;
	scale.effective = (double)scale.tokens / scale.tokens_full;
	return scale;
}

uint64_t wp_scale_apply(const struct wp_scale *scale, uint64_t value)
{
	__uint128_t scaled = (__uint128_t)value * scale->tokens + scale->tokens_full / 2;

	return (uint64_t)(scaled / scale->tokens_full);
}

uint64_t wp_model_elements(const struct wp_model *model, const struct wp_scale *scale)
{
	uint64_t tokens = scale ? scale->tokens : model->tokens_per_latent;

	return 2ull * model->layers * model->heads * model->head_dim * model->latents_per_frame *
	       tokens;
}
