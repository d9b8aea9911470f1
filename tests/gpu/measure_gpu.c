/*
 * Checks the kernels of this machine's GPU against the reference and measures its
 * rates: one JSON document. scripts/gpu-check judges it. Data are random and fresh
 * each time; the seed is printed and repeats them.
 *
 * Exit: 0 done, 1 a kernel gave a wrong result, 2 options, 3 no GPU or no memory,
 * 4 the document could not be written.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "harness/files/json_value.h"
#include "harness/files/output.h"
#include "harness/tool.h"
#include "harness/units.h"
#include "pager/device.h"
#include "tests/gpu/measure.h"

#define REGION_LEAST_BYTES (32ull << 20) /* the largest of the small checks */
#define ROUNDS_MOST	   64u
#define EVENTS		   WP_GPU_EVENTS

void *measure_memory(uint64_t bytes)
{
	void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (!memory) {
		fprintf(stderr, "measure_gpu: no memory for %" PRIu64 " bytes\n", bytes);
		exit(WP_EXIT_ENVIRONMENT);
	}
	return memory;
}

void measure_must(struct measure *measure, int result, const char *what)
{
	const char *why = measure->gpu ? measure->gpu->why : "";

	if (result >= 0)
		return;
	fprintf(stderr, "measure_gpu: %s: %s\n", what, *why ? why : strerror(-result));
	exit(WP_EXIT_ENVIRONMENT);
}

struct command {
	uint64_t seed, tokens, rounds, host_bytes;
	bool seeded;
	const char *json;
	struct wp_error error;
};

static const struct argp_option options[] = {
    {"seed", 's', "N", 0, "of all data [fresh]", 0},
    {"tokens", 't', "N", 0, "a latent, of the block that is measured [880]", 0},
    {"rounds", 'r', "N", 0, "of which the median counts [9]", 0},
    {"host-bytes", 'b', "BYTES", 0, "copied at a time between host and device [256MiB]", 0},
    {"json", 'j', "FILE", 0, "write the document there [standard output]", 0},
    {0},
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct command *command = state->input;
	struct wp_error *error = &command->error;

	if (error->exit_code)
		return 0;
	switch (key) {
	case 's':
		command->seeded = true;
		(void)!wp_units_parse_count("--seed", text, 0, UINT64_MAX, &command->seed, error);
		return 0;
	case 't':
		(void)!wp_units_parse_count("--tokens", text, 1, 880, &command->tokens, error);
		return 0;
	case 'r':
		(void)!wp_units_parse_count("--rounds", text, 1, ROUNDS_MOST, &command->rounds,
					    error);
		return 0;
	case 'b':
		(void)!wp_units_parse_bytes("--host-bytes", text, &command->host_bytes, error);
		return 0;
	case 'j':
		command->json = text;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is not an option", text);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse_option,
    .doc = "Check the kernels of this machine's GPU against the reference and measure its rates.",
};

static void *map(uint64_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED) {
		fprintf(stderr, "measure_gpu: no memory for %" PRIu64 " bytes\n", bytes);
		exit(WP_EXIT_ENVIRONMENT);
	}
	return memory;
}

static void fill_random(struct wp_random *random, void *memory, uint64_t bytes)
{
	uint64_t *words = memory;

	for (uint64_t i = 0; i < bytes / sizeof(*words); i++)
		words[i] = wp_random_next(random);
}

/* Nothing on the device is zero when it is measured. */
static void fill_device(struct measure *measure, uint64_t region_bytes)
{
	for (uint64_t at = 0; at < 3 * region_bytes; at += measure->host_bytes) {
		uint64_t left = 3 * region_bytes - at;

		measure_must(measure,
			     measure->gpu->ops->copy(
				 measure->gpu, WP_GPU_COPY, measure->stored + at, measure->pinned,
				 left < measure->host_bytes ? left : measure->host_bytes),
			     "copy");
	}
	measure_must(measure, measure->gpu->ops->sync(measure->gpu), "copy");
}

static int open_gpu(struct measure *measure, const struct command *command)
{
	struct wp_gpu_config config = {.events = EVENTS, .products = true};
	uint64_t region_bytes, host_bytes = command->host_bytes >> 20 << 20;
	char why[WP_GPU_WHY];

	measure->shape = (struct wp_block_shape){30, 3 * (uint32_t)command->tokens, 12, 128};
	measure->host_bytes = host_bytes ? host_bytes : 1u << 20;
	region_bytes = 2 * wp_block_shape_elements(&measure->shape);
	if (region_bytes < REGION_LEAST_BYTES)
		region_bytes = REGION_LEAST_BYTES;
	if (region_bytes < measure->host_bytes)
		region_bytes = measure->host_bytes;
	region_bytes = (region_bytes + 4095) / 4096 * 4096;
	if (wp_gpu_cuda_probe(&measure->facts, why) < 0) {
		fprintf(stderr, "measure_gpu: %s\n", why);
		return -1;
	}
	measure->pinned = map(2 * measure->host_bytes);
	measure->pageable = map(measure->host_bytes);
	fill_random(&measure->random, measure->pinned, 2 * measure->host_bytes);
	fill_random(&measure->random, measure->pageable, measure->host_bytes);
	config.arena_bytes = 3 * region_bytes;
	config.host = measure->pinned;
	config.host_bytes = 2 * measure->host_bytes;
	if (wp_gpu_cuda_open(&measure->gpu, &config, why) < 0) {
		fprintf(stderr, "measure_gpu: %s\n", why);
		return -1;
	}
	measure->stored = measure->gpu->arena;
	measure->elements = (uint16_t *)(measure->stored + region_bytes);
	measure->others = (uint16_t *)(measure->stored + 2 * region_bytes);
	fill_device(measure, region_bytes);
	return 0;
}

static void append(json_t *array, json_t *object)
{
	WP_CHECK(json_array_append_new(array, object) == 0);
}

static json_t *gpu_json(const struct wp_gpu_facts *facts)
{
	json_t *object = json_object();

	wp_json_put(object, "name", wp_json_text(facts->name));
	wp_json_put(object, "multiprocessors", wp_json_count(facts->multiprocessors));
	wp_json_put(object, "capability", wp_json_count(facts->capability));
	wp_json_put(object, "memory_bytes", wp_json_count(facts->memory_bytes));
	wp_json_put(object, "driver_version", wp_json_count(facts->driver_version));
	wp_json_put(object, "runtime_version", wp_json_count(facts->runtime_version));
	return object;
}

static json_t *check_json(const struct check *check)
{
	json_t *object = json_object();

	wp_json_put(object, "name", wp_json_text(check->name));
	wp_json_put(object, "cases", wp_json_count(check->cases));
	wp_json_put(object, "compared_bytes", wp_json_count(check->compared_bytes));
	wp_json_put(object, "wrong", wp_json_count(check->wrong));
	wp_json_put(object, "first_wrong", wp_json_text(check->first));
	return object;
}

static json_t *copy_json(const struct copy_rate *rate)
{
	json_t *object = json_object();

	wp_json_put(object, "name", wp_json_text(rate->name));
	wp_json_put(object, "direction", wp_json_text(rate->direction));
	wp_json_put(object, "pinned", json_boolean(rate->pinned));
	wp_json_put(object, "piece_bytes", wp_json_count(rate->piece_bytes));
	wp_json_put(object, "copied_bytes", wp_json_count(rate->bytes));
	wp_json_put(object, "rate_bytes_per_s", wp_json_count(rate->bytes_per_s));
	return object;
}

static json_t *kernel_json(const struct kernel_rate *rate)
{
	json_t *object = json_object();

	wp_json_put(object, "name", wp_json_text(rate->name));
	wp_json_put(object, "read_bytes", wp_json_count(rate->read_bytes));
	wp_json_put(object, "written_bytes", wp_json_count(rate->written_bytes));
	wp_json_put(object, "launch_ns", wp_json_count(rate->launch_ns));
	wp_json_put(object, "rate_bytes_per_s", wp_json_count(rate->bytes_per_s));
	wp_json_put(object, "of_copy_ratio", wp_json_real(rate->of_copy));
	return object;
}

static json_t *compute_json(const struct compute_time *time)
{
	json_t *object = json_object();

	wp_json_put(object, "name", wp_json_text(time->name));
	wp_json_put(object, "asked_ns", wp_json_count(time->asked_ns));
	wp_json_put(object, "took_ns", wp_json_count(time->took_ns));
	return object;
}

static json_t *document_of(const struct measure *measure)
{
	json_t *root = json_object(), *checks = json_array(), *copies = json_array();
	json_t *kernels = json_array(), *computes = json_array();

	for (uint32_t i = 0; i < measure->check_count; i++)
		append(checks, check_json(&measure->checks[i]));
	for (uint32_t i = 0; i < measure->copy_count; i++)
		append(copies, copy_json(&measure->copies[i]));
	for (uint32_t i = 0; i < measure->kernel_count; i++)
		append(kernels, kernel_json(&measure->kernels[i]));
	for (uint32_t i = 0; i < 2; i++)
		append(computes, compute_json(&measure->computes[i]));
	wp_json_put(root, "gpu", gpu_json(&measure->facts));
	/* As text: all 64 bits, which JSON's numbers do not hold. */
	wp_json_put(root, "seed", json_sprintf("%" PRIu64, measure->seed));
	wp_json_put(root, "elements", wp_json_count(wp_block_shape_elements(&measure->shape)));
	wp_json_put(root, "rounds", wp_json_count(measure->rounds));
	wp_json_put(root, "checks", checks);
	wp_json_put(root, "copies", copies);
	wp_json_put(root, "kernels", kernels);
	wp_json_put(root, "computes", computes);
	return root;
}

static int write_document(const struct measure *measure, const char *path)
{
	struct wp_error error = {0};
	struct wp_output output;
	json_t *root;
	int result;

	if (wp_output_open(&output, path, &error) != 0) {
		wp_error_print(stderr, &error);
		return (int)error.exit_code;
	}
	root = document_of(measure);
	(void)!json_dumpf(root, output.stream, JSON_INDENT(1));
	fputc('\n', output.stream);
	json_decref(root);
	result = wp_output_commit(&output, &error);
	if (result != 0)
		wp_error_print(stderr, &error);
	return (int)error.exit_code;
}

static bool all_right(const struct measure *measure)
{
	bool right = true;

	for (uint32_t i = 0; i < measure->check_count; i++) {
		const struct check *check = &measure->checks[i];

		if (check->wrong)
			fprintf(stderr, "measure_gpu: %s: %s; repeat: --seed %" PRIu64 "\n",
				check->name, check->first, measure->seed);
		right = right && !check->wrong;
	}
	return right;
}

int main(int argc, char **argv)
{
	struct command command = {
	    .tokens = 880, .rounds = 9, .host_bytes = 256ull << 20, .json = "-"};
	static struct measure measure;
	int exit_code;

	argp_err_exit_status = WP_EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &command);
	if (command.error.exit_code) {
		wp_error_print(stderr, &command.error);
		return (int)command.error.exit_code;
	}
	if (!command.seeded && getrandom(&command.seed, sizeof(command.seed), 0) < 0)
		return WP_EXIT_ENVIRONMENT;
	measure.seed = measure.random.state = command.seed;
	measure.rounds = (uint32_t)command.rounds;
	measure_must(&measure, wp_clock_host_open(&measure.clock), "clock");
	if (open_gpu(&measure, &command) != 0)
		return WP_EXIT_ENVIRONMENT;
	check_kernels(&measure);
	measure_copies(&measure);
	measure_kernels(&measure);
	measure_computes(&measure);
	measure_port(&measure);
	measure.clock->ops->close(measure.clock);
	exit_code = write_document(&measure, command.json);
	if (!all_right(&measure))
		exit_code = WP_EXIT_VERDICT;
	return exit_code;
}
