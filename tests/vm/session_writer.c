/*
 * The session in a machine whose power is cut: writes blocks and says on
 * standard output which are acknowledged; after the cut it looks whether they
 * are there. Not a test by itself: scripts/test-vm runs it in a guest.
 *
 *   session_writer write DIR     until the store is full
 *   session_writer check DIR N   blocks 0 .. N-1 were acknowledged
 */
#include "tests/seam/store_fixture.h"

#include <inttypes.h>

#define BLOCK_BYTES (WP_CHUNK_BYTES + 777u)
#define RECORDS	    160u

static const char *store_path;

static _Noreturn void stop(const char *what, uint32_t block, int error)
{
	printf("%s: %s, block %" PRIu32 ": %s\n", store_path, what, block, strerror(-error));
	exit(1);
}

static void fixture_init(struct fixture *fixture, const char *directory)
{
	memset(fixture, 0, sizeof(*fixture));
	snprintf(fixture->directory, sizeof(fixture->directory), "%s", directory);
	fixture->identity = (struct wp_store_identity){
	    .kind = WP_STORE_SESSION,
	    .block_bytes = BLOCK_BYTES,
	    .geometry_hash = 1,
	    .seed = SEED,
	    .codec = "int4",
	    .model = "mg2",
	};
	fixture->config = (struct wp_store_host_config){
	    .directory = fixture->directory,
	    .depth = 4,
	    .writable = true,
	    .require_direct = true,
	};
	fixture->memory = aligned_alloc(4096, wp_store_record_bytes(BLOCK_BYTES));
	if (!fixture->memory || wp_clock_host_open(&fixture->clock) != 0)
		stop("memory", 0, -ENOMEM);
}

/* One line an acknowledged block, in one write: whoever reads it may rely on it. */
static void write_session(struct fixture *fixture)
{
	if (wp_store_host_create(&fixture->store, &fixture->config, &fixture->identity, RECORDS,
				 fixture->clock, &fixture->report, &fixture->fault) != 0)
		stop(fixture->fault.text, 0, fixture->fault.error);
	watch_store(fixture);
	for (uint32_t block = 0; block < RECORDS; block++) {
		int error = store_block(fixture, block);

		if (error)
			stop("write", block, error);
		printf("%s: acknowledged %" PRIu32 "\n", store_path, block + 1);
		fflush(stdout);
	}
}

static void check_session(struct fixture *fixture, uint32_t acknowledged)
{
	uint32_t block;
	int error;

	if (try_open(fixture) != 0)
		stop(fixture->fault.text, 0, fixture->fault.error);
	if (fixture->report.lost_blocks)
		stop("taken for damage", fixture->report.lost_block, -EBADMSG);
	watch_store(fixture);
	for (block = 0; block < acknowledged; block++) {
		error = fetch_block(fixture, block); /* compares every byte, too */
		if (error)
			stop("an acknowledged block is lost", block, error);
	}
	/* Whatever else was under way is there whole or not at all. */
	for (; block < RECORDS; block++) {
		error = fetch_block(fixture, block);
		if (error == -ENODATA)
			break;
		if (error)
			stop("a block is neither whole nor absent", block, error);
	}
	printf("%s: acknowledged %" PRIu32 ", found %" PRIu32 ", torn entries %" PRIu32
	       ", %s, sectors of %" PRIu32 "\n",
	       store_path, acknowledged, block, fixture->report.torn_records,
	       fixture->report.backend, fixture->report.alignment_bytes);
	for (; block < RECORDS; block++) { /* the session goes on */
		error = store_block(fixture, block);
		if (error)
			stop("write after the cut", block, error);
	}
	for (block = 0; block < RECORDS; block++) {
		error = fetch_block(fixture, block);
		if (error)
			stop("read after the cut", block, error);
	}
}

int main(int argc, char **argv)
{
	struct fixture fixture;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: session_writer write DIR | check DIR ACKNOWLEDGED\n");
		return 2;
	}
	store_path = argv[2];
	fixture_init(&fixture, store_path);
	if (strcmp(argv[1], "write") == 0 && argc == 3)
		write_session(&fixture);
	else if (strcmp(argv[1], "check") == 0 && argc == 4)
		check_session(&fixture, (uint32_t)strtoul(argv[3], NULL, 10));
	else
		return 2;
	wp_port_close(fixture.store);
	fixture.clock->ops->close(fixture.clock);
	free(fixture.memory);
	return 0;
}
