/* Reading results/paper/claims.json: its verdict section and the claims' words. */
#include "harness/experiments/claims.h"

#include <string.h>

#include "harness/files/json_file.h"
#include "harness/tool.h"

#define CLAIMS_FILE	 "results/paper/claims.json"
#define CLAIMS_BYTES_MAX (1u << 20)

const char *wp_claim_id(enum wp_claim claim)
{
	static const char *const ids[] = {"P1", "P2", "P3", "P4", "P5", "P6", "P9"};

	return ids[claim];
}

const char *wp_verdict_text(enum wp_verdict verdict)
{
	static const char *const texts[] = {"not covered", "not measurable here", "agrees",
					    "differs"};

	return texts[verdict];
}

static void read_tolerance(struct wp_json *tolerances, const char *key,
			   struct wp_claim_tolerance *tolerance)
{
	struct wp_json object;

	wp_json_object(tolerances, key, &object);
	tolerance->stall_ns = wp_json_u64(&object, "stall_ns", 0, INT64_MAX);
	tolerance->share_of_on_demand = wp_json_number(&object, "share_of_on_demand", 0, 1);
	wp_json_only(&object);
}

static void read_p1(struct wp_json *verdicts, struct wp_claims *claims)
{
	struct wp_json object;

	wp_json_object(verdicts, "P1", &object);
	wp_json_string(&object, "trace", claims->p1_trace, WP_CLAIM_NAME);
	wp_json_string(&object, "arm", claims->p1_arm, WP_CLAIM_NAME);
	claims->p1_zero_from_bytes_per_s =
	    wp_json_u64(&object, "zero_from_bytes_per_s", 1, INT64_MAX);
	wp_json_only(&object);
}

static void read_p2(struct wp_json *verdicts, struct wp_claims *claims)
{
	struct wp_json object, traces;

	wp_json_object(verdicts, "P2", &object);
	wp_json_string(&object, "arm", claims->p2_arm, WP_CLAIM_NAME);
	claims->p2_trace_count = wp_json_array(&object, "traces", 1, WP_CLAIM_TRACES_MAX, &traces);
	for (uint32_t i = 0; i < claims->p2_trace_count; i++)
		wp_json_at_string(&traces, i, claims->p2_traces[i], WP_CLAIM_NAME);
	wp_json_only(&object);
}

static void read_p3(struct wp_json *verdicts, struct wp_claims *claims)
{
	struct wp_json object;

	wp_json_object(verdicts, "P3", &object);
	wp_json_string(&object, "trace", claims->p3_trace, WP_CLAIM_NAME);
	wp_json_string(&object, "arm", claims->p3_arm, WP_CLAIM_NAME);
	wp_json_string(&object, "against", claims->p3_against, WP_CLAIM_NAME);
	wp_json_string(&object, "remedy", claims->p3_remedy, WP_CLAIM_NAME);
	wp_json_only(&object);
}

static void read_p4(struct wp_json *verdicts, struct wp_claims *claims)
{
	struct wp_json object;

	wp_json_object(verdicts, "P4", &object);
	claims->p4_buffers = wp_json_u32(&object, "buffers", 1, 2);
	claims->p4_bytes = wp_json_u64(&object, "bytes", 1, INT64_MAX);
	claims->p4_compute_ns = wp_json_u64(&object, "compute_ns", 1, INT64_MAX);
	wp_json_only(&object);
}

static void read_p5(struct wp_json *verdicts, struct wp_claims *claims)
{
	struct wp_json object, seconds;

	wp_json_object(verdicts, "P5", &object);
	(void)wp_json_array(&object, "video_s", WP_CLAIM_WALLS, WP_CLAIM_WALLS, &seconds);
	for (uint32_t i = 0; i < WP_CLAIM_WALLS; i++)
		claims->p5_video_s[i] = wp_json_at_number(&seconds, i, 0, 1e9);
	claims->p5_tolerance = wp_json_number(&object, "share", 0, 1);
	wp_json_only(&object);
}

static void read_p6_p9(struct wp_json *verdicts, struct wp_claims *claims)
{
	struct wp_json object;

	wp_json_object(verdicts, "P6", &object);
	claims->p6_frames = wp_json_u32(&object, "frames", 1, WP_BLOCKS_MAX);
	claims->p6_host_bytes = wp_json_u64(&object, "host_bytes", 1, INT64_MAX);
	wp_json_only(&object);
	wp_json_object(verdicts, "P9", &object);
	claims->p9_playback_fps = wp_json_number(&object, "playback_fps", 1, 1e6);
	wp_json_only(&object);
}

/* The sentence of each claim that has a verdict. */
static void read_texts(struct wp_json *root, struct wp_claims *claims)
{
	struct wp_json array;
	uint32_t count = wp_json_array(root, "claims", 1, 100, &array);

	for (uint32_t i = 0; i < count && !root->reader->failed; i++) {
		struct wp_json object;
		char id[8], text[256];

		wp_json_at_object(&array, i, &object);
		wp_json_string(&object, "id", id, sizeof(id));
		wp_json_string(&object, "claim", text, sizeof(text));
		for (int claim = 0; claim < WP_CLAIM_COUNT; claim++) {
			if (strcmp(id, wp_claim_id((enum wp_claim)claim)) == 0)
				memcpy(claims->text[claim], text, sizeof(text));
		}
	}
	for (int claim = 0; claim < WP_CLAIM_COUNT && !root->reader->failed; claim++) {
		if (!claims->text[claim][0])
			wp_json_fail(root, "claims", "lacks %s", wp_claim_id((enum wp_claim)claim));
	}
}

int wp_claims_load(struct wp_claims *claims, struct wp_error *error)
{
	struct wp_json_reader reader = {.exit_code = WP_EXIT_CONTENT, .error = error};
	struct wp_json root, verdicts, setup, tolerances;
	char path[WP_PATH_MAX];
	struct json_t *document;

	memset(claims, 0, sizeof(*claims));
	if (wp_tool_file(path, CLAIMS_FILE, error) != 0)
		return -1;
	reader.file = path;
	document = wp_json_load(&reader, "the paper's claims", CLAIMS_BYTES_MAX);
	if (!document)
		return -1;
	wp_json_root(&root, &reader, document);
	(void)wp_json_u64(&root, "schema_version", 1, 1);
	read_texts(&root, claims);
	wp_json_object(&root, "verdicts", &verdicts);
	read_p1(&verdicts, claims);
	read_p2(&verdicts, claims);
	read_p3(&verdicts, claims);
	read_p4(&verdicts, claims);
	read_p5(&verdicts, claims);
	read_p6_p9(&verdicts, claims);
	wp_json_object(&verdicts, "setup", &setup);
	wp_json_string(&setup, "model", claims->model, WP_CLAIM_NAME);
	wp_json_string(&setup, "codec", claims->codec, WP_CLAIM_NAME);
	claims->k = wp_json_u32(&setup, "k", 1, 1000);
	claims->frames_least = wp_json_u32(&setup, "frames_least", 1, 100000);
	wp_json_object(&verdicts, "tolerance", &tolerances);
	read_tolerance(&tolerances, "virtual", &claims->virtual_tolerance);
	read_tolerance(&tolerances, "measured", &claims->measured_tolerance);
	wp_json_free(document);
	return reader.failed ? -1 : 0;
}
