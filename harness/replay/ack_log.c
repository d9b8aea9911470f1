/* Reading an ack log back; see ack_log.h. */
#include "harness/replay/ack_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/units.h"
#include "pager/store_host.h"

#define LINE_BYTES 32

struct log {
	const char *path;
	uint32_t *blocks;
	size_t count, room;
};

static int add_block(struct log *log, uint32_t block, struct wp_error *error)
{
	if (log->count == log->room) {
		size_t room = log->room ? 2 * log->room : 1024;
		uint32_t *more = realloc(log->blocks, room * sizeof(*more));

		if (!more)
			return wp_error_set(error, WP_EXIT_ENVIRONMENT, "--ack-log: %s",
					    strerror(ENOMEM));
		log->blocks = more;
		log->room = room;
	}
	log->blocks[log->count++] = block;
	return 0;
}

/* A line without its end was being written when the session was killed: not yet said. */
static int read_lines(struct log *log, FILE *stream, struct wp_error *error)
{
	char line[LINE_BYTES];

	for (unsigned number = 1; fgets(line, sizeof(line), stream); number++) {
		size_t length = strcspn(line, "\n");
		uint64_t block;

		if (line[length] != '\n' && feof(stream))
			return 0;
		line[length] = '\0';
		if (wp_units_parse_count("a block", line, 0, WP_BLOCK_NONE - 1, &block, error) != 0)
			return wp_error_at(error, WP_EXIT_CONTENT, log->path, number, 0,
					   "no block's number; not an ack log");
		if (add_block(log, (uint32_t)block, error) != 0)
			return -1;
	}
	return ferror(stream) ? wp_error_at(error, WP_EXIT_CONTENT, log->path, 0, 0,
					    "cannot be read: %s", strerror(errno))
			      : 0;
}

/* Below this block the store may have forgotten what the log names. */
static uint64_t forgotten_below(const struct log *log, const struct wp_pager_tiers *tiers)
{
	uint64_t reach = 0;

	if (!tiers->forget_oldest)
		return 0;
	for (size_t i = 0; i < log->count; i++)
		if (log->blocks[i] + 1ull > reach)
			reach = log->blocks[i] + 1ull;
	reach += wp_store_replaced_max(tiers->write_blocks);
	return reach > tiers->nvme_blocks ? reach - tiers->nvme_blocks : 0;
}

int wp_ack_log_check(const char *path, const struct wp_pager_tiers *tiers,
		     bool (*stored)(const void *context, uint32_t block), const void *context,
		     struct wp_error *error)
{
	struct log log = {.path = path};
	FILE *stream = fopen(path, "re");
	uint32_t lowest = WP_BLOCK_NONE;
	uint64_t from;
	int result;

	if (!stream && errno == ENOENT)
		return 0;
	if (!stream)
		return wp_error_at(error, WP_EXIT_CONTENT, path, 0, 0, "%s", strerror(errno));
	result = read_lines(&log, stream, error);
	fclose(stream);
	from = forgotten_below(&log, tiers);
	for (size_t i = 0; result == 0 && i < log.count; i++) {
		uint32_t block = log.blocks[i];

		if (block >= from && block < lowest && !stored(context, block))
			lowest = block;
	}
	free(log.blocks);
	if (result == 0 && lowest != WP_BLOCK_NONE)
		return wp_error_at(error, WP_EXIT_CONTENT, path, 0, 0,
				   "names block %u as acknowledged, which the store does not hold: "
				   "it was lost, or the log is another session's",
				   lowest);
	return result;
}
