/*
 * The codec report as a JSON document.
 */
#include "harness/experiments/codec_report.h"

#include <jansson.h>

static json_t *row_json(const struct wp_codec_report_row *row)
{
	json_t *heads = json_array();

	for (uint32_t head = 0; head < WP_REPORT_HEADS; head++)
		json_array_append_new(heads, json_real(row->attention_error[head]));
	return json_pack("{s:s, s:f, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "codec",
			 row->codec->name, "bits_per_element", row->codec->bits, "gap_latents",
			 (json_int_t)row->gap_latents, "key_relative_error", row->key_error,
			 "value_relative_error", row->value_error, "key_cosine", row->key_cosine,
			 "key_cosine_min", row->key_cosine_min, "attention_relative_error_mean",
			 row->attention_error_mean, "attention_relative_error_max",
			 row->attention_error_max, "attention_relative_error_heads", heads);
}

int wp_codec_report_json(const struct wp_codec_report *report, FILE *stream, struct wp_error *error)
{
	json_t *rows = json_array(), *document;
	int result;

	for (uint32_t i = 0; i < report->count; i++)
		json_array_append_new(rows, row_json(&report->rows[i]));
	document = json_pack(
	    "{s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "schema_version", 1, "data",
	    "drawn: rotated keys with outlier channels; no model was run", "note",
	    "errors of keys, values and attention outputs; not the paper's image score", "seed",
	    (json_int_t)report->seed, "draws", (json_int_t)report->draws, "heads",
	    (json_int_t)WP_REPORT_HEADS, "retrieved_tokens", (json_int_t)report->retrieved_tokens,
	    "local_tokens", (json_int_t)report->local_tokens, "queries",
	    (json_int_t)report->queries, "rows", rows);
	result =
	    document ? json_dumpf(document, stream, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : -1;
	json_decref(document);
	if (result || fputc('\n', stream) == EOF)
		return wp_error_set(error, WP_EXIT_CONTENT, "cannot write the codec report");
	return 0;
}
