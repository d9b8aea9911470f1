/*
 * The digest of a result's figures: two runs agree when it does, whatever
 * rewrote the document in between (key order and white space do not count).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <xxhash.h>

#include "harness/result/result.h"

struct wp_digest {
	XXH3_state_t *state;
};

static int add_bytes(const char *bytes, size_t length, void *state)
{
	return XXH3_64bits_update(state, bytes, length) == XXH_OK ? 0 : -1;
}

struct wp_digest *wp_digest_open(void)
{
	struct wp_digest *digest = malloc(sizeof(*digest));

	WP_CHECK(digest);
	digest->state = XXH3_createState();
	WP_CHECK(digest->state && XXH3_64bits_reset(digest->state) == XXH_OK);
	return digest;
}

void wp_digest_add(struct wp_digest *digest, const json_t *value)
{
	WP_CHECK(json_dump_callback(value, add_bytes, digest->state,
				    JSON_COMPACT | JSON_SORT_KEYS) == 0);
	WP_CHECK(add_bytes("\n", 1, digest->state) == 0);
}

void wp_digest_close(struct wp_digest *digest, char *text)
{
	snprintf(text, 17, "%016" PRIx64, (uint64_t)XXH3_64bits_digest(digest->state));
	XXH3_freeState(digest->state);
	free(digest);
}
