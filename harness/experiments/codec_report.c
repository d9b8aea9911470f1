/*
 * Drawing keys and values, storing them, moving them, and comparing with the
 * truth. Writes tables, no JSON (codec_report_json.c), and draws no figure. The
 * idea: the truth is never stored, it is computed at its final position, so that
 * the errors of storing and of moving are seen together, at every gap.
 */
#include "harness/experiments/codec_report.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pager/codec_arith.h"
#include "pager/random.h"
#include "pager/rotate.h"

#define HEADS	      WP_REPORT_HEADS
#define HEAD_DIM      128u
#define TEMPORAL_DIMS 44u
#define SPATIAL_DIMS  42u /* height, and again width */
#define THETA	      10000.0
#define LATENTS	      3u /* of a block */
#define ROWS	      4u /* tokens of a latent: a coarse grid of MG2's 22 x 40 */
#define COLUMNS	      6u
#define RETRIEVED     3u	       /* k */
#define BLOCKS	      (RETRIEVED + 1u) /* the last one is the local block */
#define BLOCK_TOKENS  (LATENTS * ROWS * COLUMNS)
#define TOKENS	      (BLOCKS * BLOCK_TOKENS)
#define QUERIES	      8u
#define DRAWS	      3u
#define LOCAL_SHIFT   3u /* the local block was new one frame ago */
#define OUTLIERS      4u /* channels of a head */

typedef double vector[HEADS][HEAD_DIM];

struct scene {
	struct wp_random random;
	vector key[TOKENS]; /* not rotated */
	vector value[TOKENS];
	vector query[QUERIES]; /* rotated at the new block's first latent */
	vector true_key[TOKENS];
	vector true_output[QUERIES];
	vector stored_key[TOKENS]; /* what comes back from the codec, at the final positions */
	vector stored_value[TOKENS];
	vector stored_output[QUERIES];
	uint16_t elements[2 * BLOCK_TOKENS * HEADS * HEAD_DIM];
	uint16_t decoded[2 * BLOCK_TOKENS * HEADS * HEAD_DIM];
	uint8_t stored[2 * 2 * BLOCK_TOKENS * HEADS * HEAD_DIM];
};

static const struct wp_rotary rotary = {HEAD_DIM, TEMPORAL_DIMS, THETA};
static const struct wp_block_shape shape = {1, BLOCK_TOKENS, HEADS, HEAD_DIM};

static double uniform(struct wp_random *random)
{
	return ((double)(wp_random_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct wp_random *random)
{
	double radius = sqrt(-2.0 * log(uniform(random)));

	return radius * cos(6.283185307179586 * uniform(random));
}

/* Channels differ in size; a few have a large mean that all tokens share, as
 * observed in the keys of many models. */
static void draw_head(struct scene *scene, uint32_t head)
{
	double size[HEAD_DIM], mean[HEAD_DIM] = {0};
	struct wp_random *random = &scene->random;

	for (uint32_t d = 0; d < HEAD_DIM; d++)
		size[d] = exp(0.5 * normal(random));
	for (uint32_t i = 0; i < OUTLIERS; i++) {
		/* First the sign: in one expression the order would be the compiler's choice. */
		double side = uniform(random) < 0.5 ? -8.0 : 8.0;

		mean[wp_random_below(random, HEAD_DIM)] = side;
	}
	for (uint32_t t = 0; t < TOKENS; t++) {
		for (uint32_t d = 0; d < HEAD_DIM; d++) {
			scene->key[t][head][d] = mean[d] + size[d] * normal(random);
			scene->value[t][head][d] = normal(random);
		}
	}
	/* Each query resembles one key, so that attention has something to find. */
	for (uint32_t q = 0; q < QUERIES; q++) {
		const double *liked = scene->key[wp_random_below(random, TOKENS)][head];

		for (uint32_t d = 0; d < HEAD_DIM; d++)
			scene->query[q][head][d] =
			    0.5 * (liked[d] - mean[d]) / size[d] + 0.5 * normal(random);
	}
}

static void turn(double *pair, double angle)
{
	double x = pair[0], y = pair[1];

	pair[0] = x * cos(angle) - y * sin(angle);
	pair[1] = x * sin(angle) + y * cos(angle);
}

/* All three axes of one token, in double. */
static void rotate(vector token, double latent, uint32_t row, uint32_t column)
{
	for (uint32_t d = 0; d < HEAD_DIM; d += 2) {
		bool temporal = d < TEMPORAL_DIMS, height = d < TEMPORAL_DIMS + SPATIAL_DIMS;
		uint32_t first = temporal ? 0 : TEMPORAL_DIMS + (height ? 0 : SPATIAL_DIMS);
		double dims = temporal ? TEMPORAL_DIMS : SPATIAL_DIMS;
		double index = temporal ? latent : (height ? row : column);
		double angle = index * pow(THETA, -(double)(d - first) / dims);

		for (uint32_t head = 0; head < HEADS; head++)
			turn(&token[head][d], angle);
	}
}

static void rotate_block(vector *tokens, uint32_t first_latent)
{
	for (uint32_t t = 0; t < BLOCK_TOKENS; t++) {
		uint32_t latent = first_latent + t / (ROWS * COLUMNS);

		rotate(tokens[t], latent, t / COLUMNS % ROWS, t % COLUMNS);
	}
}

/* One head of one query over all tokens. */
static void attend(const double *query, vector *keys, vector *values, uint32_t head, double *output)
{
	double weight[TOKENS], most = -INFINITY, sum = 0;

	for (uint32_t t = 0; t < TOKENS; t++) {
		weight[t] = 0;
		for (uint32_t d = 0; d < HEAD_DIM; d++)
			weight[t] += query[d] * keys[t][head][d] / sqrt(HEAD_DIM);
		most = fmax(most, weight[t]);
	}
	memset(output, 0, HEAD_DIM * sizeof(*output));
	for (uint32_t t = 0; t < TOKENS; t++) {
		weight[t] = exp(weight[t] - most);
		sum += weight[t];
	}
	for (uint32_t t = 0; t < TOKENS; t++)
		for (uint32_t d = 0; d < HEAD_DIM; d++)
			output[d] += weight[t] / sum * values[t][head][d];
}

static void attend_all(struct scene *scene, vector *keys, vector *values, vector *outputs)
{
	for (uint32_t q = 0; q < QUERIES; q++)
		for (uint32_t head = 0; head < HEADS; head++)
			attend(scene->query[q][head], keys, values, head, outputs[q][head]);
}

static void draw(struct scene *scene)
{
	for (uint32_t head = 0; head < HEADS; head++)
		draw_head(scene, head);
	for (uint32_t q = 0; q < QUERIES; q++)
		rotate(scene->query[q], BLOCKS * LATENTS, q / COLUMNS, q % COLUMNS);
	memcpy(scene->true_key, scene->key, sizeof(scene->key));
	for (uint32_t b = 0; b < BLOCKS; b++)
		rotate_block(scene->true_key + b * BLOCK_TOKENS, b * LATENTS);
	attend_all(scene, scene->true_key, scene->value, scene->true_output);
}

/* Block `index` as the model caches it at `shift` latents beyond its final
 * place, stored in `codec`, and brought back. */
static void store_block(struct scene *scene, uint32_t index, const struct wp_codec *codec,
			uint32_t shift)
{
	uint32_t first = index * BLOCK_TOKENS, half = BLOCK_TOKENS * HEADS * HEAD_DIM;
	vector *keys = scene->stored_key + first, *values = scene->stored_value + first;
	struct wp_codec_counts counts = {0, 0};
	struct wp_rotation rotation;
	double *key = &keys[0][0][0], *value = &values[0][0][0];

	memcpy(keys, scene->key + first, BLOCK_TOKENS * sizeof(vector));
	memcpy(values, scene->value + first, BLOCK_TOKENS * sizeof(vector));
	rotate_block(keys, index * LATENTS + shift);
	for (uint32_t i = 0; i < half; i++) {
		scene->elements[i] = wp_bf16_from_float((float)key[i]);
		scene->elements[half + i] = wp_bf16_from_float((float)value[i]);
	}
	wp_rotation_init(&rotation, &rotary, -(int64_t)shift);
	wp_codec_encode_block(codec, &shape, scene->elements, scene->stored, &counts);
	wp_codec_decode_block(codec, &shape, scene->stored, &rotation, scene->decoded);
	for (uint32_t i = 0; i < half; i++) {
		key[i] = (double)wp_bf16_to_float(scene->decoded[i]);
		value[i] = (double)wp_bf16_to_float(scene->decoded[half + i]);
	}
}

/* Squares of one vector pair, to be summed. */
struct squares {
	double error, truth, stored, product;
};

static void add_squares(struct squares *sum, const double *truth, const double *stored)
{
	for (uint32_t d = 0; d < HEAD_DIM; d++) {
		sum->error += (stored[d] - truth[d]) * (stored[d] - truth[d]);
		sum->truth += truth[d] * truth[d];
		sum->stored += stored[d] * stored[d];
		sum->product += truth[d] * stored[d];
	}
}

static double relative(const struct squares *sum)
{
	return sqrt(sum->error / sum->truth);
}

/* Retrieved tokens only: the local block is not stored in the codec. */
static void compare_blocks(const struct scene *scene, struct wp_codec_report_row *row)
{
	uint32_t tokens = RETRIEVED * BLOCK_TOKENS;
	struct squares keys = {0}, values = {0};

	for (uint32_t t = 0; t < tokens; t++) {
		for (uint32_t head = 0; head < HEADS; head++) {
			struct squares one = {0};
			double cosine;

			add_squares(&one, scene->true_key[t][head], scene->stored_key[t][head]);
			add_squares(&keys, scene->true_key[t][head], scene->stored_key[t][head]);
			add_squares(&values, scene->value[t][head], scene->stored_value[t][head]);
			cosine = one.product / sqrt(one.truth * one.stored);
			row->key_cosine += cosine / (tokens * HEADS * DRAWS);
			row->key_cosine_min = fmin(row->key_cosine_min, cosine);
		}
	}
	row->key_error += relative(&keys) / DRAWS;
	row->value_error += relative(&values) / DRAWS;
}

static void compare_outputs(const struct scene *scene, struct wp_codec_report_row *row)
{
	for (uint32_t head = 0; head < HEADS; head++) {
		struct squares sum = {0};

		for (uint32_t q = 0; q < QUERIES; q++)
			add_squares(&sum, scene->true_output[q][head],
				    scene->stored_output[q][head]);
		row->attention_error[head] += relative(&sum) / DRAWS;
	}
}

static void measure(struct scene *scene, struct wp_codec_report_row *row)
{
	for (uint32_t b = 0; b < RETRIEVED; b++)
		store_block(scene, b, row->codec, row->gap_latents);
	store_block(scene, RETRIEVED, &wp_codec_bf16, LOCAL_SHIFT);
	attend_all(scene, scene->stored_key, scene->stored_value, scene->stored_output);
	compare_blocks(scene, row);
	compare_outputs(scene, row);
}

static void list_rows(struct wp_codec_report *report)
{
	static const uint32_t gaps[] = {0, 3, 12, 30, 120, 300, 1200, 3000, 9000};
	const struct wp_codec *codec;

	report->count = 0;
	for (uint32_t i = 0; (codec = wp_codec_at(i)); i++) {
		for (size_t j = 0; j < sizeof(gaps) / sizeof(gaps[0]); j++) {
			WP_CHECK(report->count < WP_REPORT_ROWS_MAX);
			report->rows[report->count++] = (struct wp_codec_report_row){
			    .codec = codec,
			    .gap_latents = gaps[j],
			    .key_cosine_min = 1.0,
			};
		}
	}
}

int wp_codec_report_make(struct wp_codec_report *report, uint64_t seed, struct wp_error *error)
{
	struct scene *scene = malloc(sizeof(*scene));

	if (!scene)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "no memory for %zu bytes",
				    sizeof(*scene));
	*report = (struct wp_codec_report){
	    .seed = seed,
	    .draws = DRAWS,
	    .retrieved_tokens = RETRIEVED * BLOCK_TOKENS,
	    .local_tokens = BLOCK_TOKENS,
	    .queries = QUERIES,
	};
	list_rows(report);
	scene->random = (struct wp_random){seed};
	for (uint32_t i = 0; i < DRAWS; i++) {
		draw(scene);
		for (uint32_t j = 0; j < report->count; j++)
			measure(scene, &report->rows[j]);
	}
	free(scene);
	for (uint32_t j = 0; j < report->count; j++) {
		struct wp_codec_report_row *row = &report->rows[j];

		for (uint32_t head = 0; head < HEADS; head++) {
			row->attention_error_mean += row->attention_error[head] / HEADS;
			row->attention_error_max =
			    fmax(row->attention_error_max, row->attention_error[head]);
		}
	}
	return 0;
}

void wp_codec_report_table(const struct wp_codec_report *report, FILE *stream)
{
	fprintf(stream, "# codec gap_latents key_error value_error key_cosine "
			"attention_error_mean attention_error_max\n");
	for (uint32_t i = 0; i < report->count; i++) {
		const struct wp_codec_report_row *row = &report->rows[i];

		if (i > 0 && row->codec != report->rows[i - 1].codec)
			fprintf(stream, "\n\n");
		fprintf(stream, "%s %u %.6g %.6g %.8f %.6g %.6g\n", row->codec->name,
			row->gap_latents, row->key_error, row->value_error, row->key_cosine,
			row->attention_error_mean, row->attention_error_max);
	}
}

void wp_codec_report_markdown(const struct wp_codec_report *report, FILE *stream)
{
	fprintf(stream,
		"# What storing a block costs in accuracy\n\n"
		"Drawn data with rotated keys and outlier channels, %u sets of %u retrieved and\n"
		"%u local tokens, %u heads, %u queries a head, seed %llu. Relative errors are\n"
		"root mean squares against double precision without storing. **This is not the\n"
		"paper's image score**, nor any measure of a picture: no model was run.\n\n"
		"| codec | bits an element | gap, latents | key error | value error | key cosine "
		"| worst key cosine | attention error, mean | attention error, worst head |\n"
		"|---|---|---|---|---|---|---|---|---|\n",
		report->draws, report->retrieved_tokens, report->local_tokens, WP_REPORT_HEADS,
		report->queries, (unsigned long long)report->seed);
	for (uint32_t i = 0; i < report->count; i++) {
		const struct wp_codec_report_row *row = &report->rows[i];

		fprintf(stream, "| %s | %.2f | %u | %.5f | %.5f | %.6f | %.6f | %.5f | %.5f |\n",
			row->codec->name, row->codec->bits, row->gap_latents, row->key_error,
			row->value_error, row->key_cosine, row->key_cosine_min,
			row->attention_error_mean, row->attention_error_max);
	}
	fprintf(stream,
		"\nA gap is the distance in latent indices over which the retrieved keys "
		"were moved\nback when they were decoded; the local block always comes from "
		"its bf16 copy.\n");
}
