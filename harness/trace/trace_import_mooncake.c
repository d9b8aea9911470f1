/*
 * Mooncake's JSONL: one request a line, {"timestamp", "input_length",
 * "output_length", "hash_ids"}. An id stands for 512 tokens of the prompt and
 * all before them, so one that was seen before is a block that can be read
 * instead of computed. Times are milliseconds.
 *
 * The lengths are checked against the ids: a trace of the same keys with blocks
 * of another size is refused instead of being taken for what it is not.
 */
#include "harness/trace/import.h"

#include <math.h>
#include <stdlib.h>

#include "harness/files/json_file.h"

#define TIMESTAMP_MS_MAX 4e12 /* as ns it still fits 63 bits */
#define LENGTH_MAX	 (1ull << 40)

struct made {
	struct wp_named_blocks *blocks;
};

struct request {
	struct wp_import *import;
	struct wp_json_reader json;
	double first_ms;
	struct made *made; /* ids that no request had before */
	uint32_t made_count, made_room;
};

static int note_made(struct request *request, struct wp_named_blocks *entry)
{
	if (request->made_count == request->made_room) {
		uint32_t room = 2 * request->made_room + 64;
		struct made *larger = reallocarray(request->made, room, sizeof(*larger));

		if (!larger)
			return -1;
		request->made = larger;
		request->made_room = room;
	}
	request->made[request->made_count++].blocks = entry;
	return 0;
}

/* One hash id: retrieved if it is known, made if not. */
static int take_id(struct request *request, struct wp_json *root, uint64_t id)
{
	struct wp_import *import = request->import;
	struct wp_named_blocks *entry = wp_block_names_take(&import->names, &id, sizeof(id));
	uint32_t mark = (uint32_t)import->lines.line;

	if (!entry)
		return wp_import_fail(import, 0, "out of memory");
	if (entry->mark == mark) {
		wp_json_fail(root, "hash_ids", "%llu appears twice", (unsigned long long)id);
		return -1;
	}
	entry->mark = mark;
	if (entry->count)
		return wp_import_retrieve(import, entry->first, 1);
	return note_made(request, entry) < 0 ? wp_import_fail(import, 0, "out of memory") : 0;
}

static int take_ids(struct request *request, struct wp_json *root, uint64_t input_tokens)
{
	uint64_t block_tokens = request->import->settings->block_tokens;
	uint64_t expected = (input_tokens + block_tokens - 1) / block_tokens;
	struct wp_json ids;
	uint32_t count = wp_json_array(root, "hash_ids", 0, WP_BLOCKS_MAX, &ids);

	if (!request->json.failed && count != expected)
		wp_json_fail(root, "hash_ids",
			     "has %u ids, but %llu tokens are %llu blocks of %llu (--block-tokens "
			     "says another size)",
			     count, (unsigned long long)input_tokens, (unsigned long long)expected,
			     (unsigned long long)block_tokens);
	request->made_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t id = wp_json_at_u64(&ids, i, 0, INT64_MAX);

		if (request->json.failed || take_id(request, root, id) < 0)
			return -1;
	}
	return request->json.failed ? -1 : 0;
}

/* When the request came, from the first one on. */
static uint64_t take_timestamp(struct request *request, struct wp_json *root)
{
	struct wp_import *import = request->import;
	double ms = wp_json_number(root, "timestamp", 0, TIMESTAMP_MS_MAX);
	uint64_t at_ns;

	if (request->json.failed)
		return 0;
	if (import->figures->lines == 0)
		request->first_ms = ms;
	at_ns = ms > request->first_ms ? (uint64_t)llround((ms - request->first_ms) * 1e6) : 0;
	if (ms < request->first_ms || at_ns < import->latest_ns) {
		wp_json_fail(
		    root, "timestamp",
		    "is earlier than that of the line before: requests must be in order of "
		    "arrival");
		return 0;
	}
	return at_ns;
}

static int take_request(struct request *request, struct wp_json *root)
{
	struct wp_import *import = request->import;
	uint64_t at_ns = take_timestamp(request, root);
	uint64_t input_tokens = wp_json_u64(root, "input_length", 0, LENGTH_MAX);
	uint32_t first;
	int result;

	(void)wp_json_u64(root, "output_length", 0, LENGTH_MAX);
	(void)wp_json_has(root, "hash_ids");
	wp_json_only(root); /* before the ids, whose sizes another format's keys would explain */
	if (request->json.failed || take_ids(request, root, input_tokens) < 0)
		return -1;
	import->figures->lines++;
	import->figures->duration_ns = at_ns;
	result = wp_import_access(import, at_ns, request->made_count, &first);
	for (uint32_t i = 0; i < request->made_count; i++) {
		request->made[i].blocks->first = first + i;
		request->made[i].blocks->count = 1;
	}
	return result;
}

static int take_line(struct request *request, const char *text, size_t size)
{
	struct json_t *document;
	struct wp_json root;
	int result = -1;

	request->json.line = request->import->lines.line;
	document = wp_json_parse(&request->json, text, size);
	if (!document)
		return -1;
	wp_json_root(&root, &request->json, document);
	if (!request->json.failed)
		result = take_request(request, &root);
	wp_json_free(document);
	return result;
}

int wp_import_mooncake(struct wp_import *import)
{
	struct request request = {
	    .import = import,
	    .json = {.file = import->lines.path,
		     .exit_code = WP_EXIT_CONTENT,
		     .error = import->error},
	};
	const char *text;
	size_t size;
	int result;

	while ((result = wp_input_lines_next(&import->lines, &text, &size, import->error)) > 0) {
		result = take_line(&request, text, size);
		if (result != 0)
			break;
	}
	free(request.made);
	return result < 0 ? -1 : 0;
}
