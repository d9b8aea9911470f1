/*
 * Deadlines and durations of a plan. The idea: a drive that does not answer for a
 * minute has died, unless what it was told to be, or a limit, explains it. In the
 * virtual world a drive can be told to be anything, so that only the clock ends it.
 */
#include "harness/replay/replay_plan_times.h"

#include <string.h>

#include "harness/units.h"
#include "pager/duration.h"

#define DEADLINE_LEAST_NS (60 * WP_NS_PER_S)
#define DEADLINE_MOST_NS  (3600 * WP_NS_PER_S) /* of a real drive, unless asked for */
#define CLOCK_MOST_NS	  (UINT64_MAX / 4)     /* 146 years: sums of two still fit */

#define WRITES_BYTES	  (8ull * WP_COPY_BYTES_MAX) /* in flight, of a session */

/* Something that bytes pass at a rate; 0: at once. */
struct passage {
	const char *what; /* an option, or a key of a profile */
	const char *of;	  /* which profile; NULL: an option */
	uint64_t bytes_per_s;
	uint64_t queue_bytes; /* that may be before it at once */
	uint64_t total_bytes; /* that may pass it in the whole run */
};

#define PASSAGES 6

/* As wp_duration_ns, at most CLOCK_MOST_NS. */
static uint64_t bounded_ns(uint64_t bytes, uint64_t bytes_per_s)
{
	__uint128_t ns = bytes_per_s ? (__uint128_t)bytes * WP_NS_PER_S / bytes_per_s : 0;

	return ns < CLOCK_MOST_NS ? (uint64_t)ns : CLOCK_MOST_NS;
}

static uint64_t read_bytes(const struct wp_replay_plan *plan)
{
	return (uint64_t)plan->geometry.read_chunks * WP_CHUNK_BYTES;
}

static uint64_t times(uint64_t count, uint64_t bytes)
{
	return bytes && count > UINT64_MAX / bytes ? UINT64_MAX : count * bytes;
}

/* All that a simulated read, write or copy may have to wait for. */
static void list_passages(const struct wp_replay_plan *plan, struct passage passages[PASSAGES])
{
	const struct wp_drive *drive = &plan->drive.drive;
	bool own_copy = plan->settings->copy_rate != NULL;
	uint64_t reads = plan->settings->read_depth * read_bytes(plan);
	uint64_t slots = (plan->set_blocks_max + plan->staging_blocks) * plan->geometry.block_bytes;
	uint64_t decoded = plan->set_blocks_max * wp_replay_elements_bytes(plan);
	uint64_t total = times(plan->frames, slots);
	const struct passage all[PASSAGES] = {
	    {"--bandwidth", NULL, plan->settings->bandwidth_bytes_per_s, reads, total},
	    {"read_bytes_per_s", "drive", drive->read_bytes_per_s, reads, total},
	    {"write_bytes_per_s", "drive", plan->tiered ? drive->write_bytes_per_s : 0,
	     WRITES_BYTES, times(plan->frames, plan->geometry.block_bytes)},
	    {"verify_bytes_per_s", "drive", drive->verify_bytes_per_s, slots, total},
	    {own_copy ? "--copy-rate" : "copy_bytes_per_s", own_copy ? NULL : "machine",
	     plan->rates.copy_bytes_per_s, slots, total},
	    {"device_decode_bytes_per_s", "machine", plan->rates.decode_bytes_per_s, 0,
	     times(plan->frames, decoded)},
	};

	memcpy(passages, all, sizeof(all));
}

static int refuse_duration(const struct passage *slowest, struct wp_error *error)
{
	char rate[WP_UNITS_TEXT];

	return wp_error_set(error, WP_EXIT_USAGE,
			    "%s%s%s%s: at %s this replay may last longer than 146 years, the most "
			    "that the simulated clock counts",
			    slowest->what, slowest->of ? " of the " : "",
			    slowest->of ? slowest->of : "", slowest->of ? " profile" : "",
			    wp_units_rate(rate, slowest->bytes_per_s));
}

/* The virtual world: whatever was asked for is waited for, as long as it can be counted. */
static int wait_virtually(struct wp_replay_plan *plan, struct wp_error *error)
{
	const struct wp_drive *drive = &plan->drive.drive;
	struct passage passages[PASSAGES];
	const struct passage *slowest = passages;
	uint64_t queued_ns =
	    drive->read_latency_ns + drive->write_latency_ns + drive->flush_latency_ns;
	__uint128_t total_ns = 0;

	list_passages(plan, passages);
	for (unsigned i = 0; i < PASSAGES; i++) {
		const struct passage *at = &passages[i];
		uint64_t all_ns = bounded_ns(at->total_bytes, at->bytes_per_s);

		total_ns += all_ns;
		if (all_ns > bounded_ns(slowest->total_bytes, slowest->bytes_per_s))
			slowest = at;
		queued_ns += bounded_ns(at->queue_bytes, at->bytes_per_s);
	}
	if (total_ns >= CLOCK_MOST_NS)
		return refuse_duration(slowest, error);
	if (2 * queued_ns > plan->read_deadline_ns)
		plan->read_deadline_ns = 2 * queued_ns;
	return 0;
}

/* A real drive: a low limit explains some waiting, but one that is dead must be noticed. */
static int wait_for_drive(struct wp_replay_plan *plan, struct wp_error *error)
{
	const struct wp_replay_settings *settings = plan->settings;
	uint64_t reads_bytes = settings->read_depth * read_bytes(plan);
	uint64_t queued_ns = 2 * bounded_ns(reads_bytes, settings->bandwidth_bytes_per_s);
	char rate[WP_UNITS_TEXT], wait[WP_UNITS_TEXT];

	if (queued_ns > DEADLINE_MOST_NS && !settings->read_deadline_s)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--bandwidth: at %s reads in flight may wait for %s, and a "
				    "drive that has died would not be told from that; give "
				    "--read-deadline, or a smaller --read-depth or --read-size",
				    wp_units_rate(rate, settings->bandwidth_bytes_per_s),
				    wp_units_duration(wait, queued_ns));
	if (queued_ns > plan->read_deadline_ns)
		plan->read_deadline_ns = queued_ns;
	return 0;
}

int wp_replay_plan_times(struct wp_replay_plan *plan, struct wp_error *error)
{
	const struct wp_replay_settings *settings = plan->settings;
	uint64_t alone_ns = bounded_ns(read_bytes(plan), settings->bandwidth_bytes_per_s);
	char wait[WP_UNITS_TEXT];

	plan->read_deadline_ns = DEADLINE_LEAST_NS;
	if ((plan->world == WP_WORLD_VIRTUAL ? wait_virtually : wait_for_drive)(plan, error) != 0)
		return -1;
	if (!settings->read_deadline_s)
		return 0;
	plan->read_deadline_ns = settings->read_deadline_s * WP_NS_PER_S;
	if (alone_ns < plan->read_deadline_ns)
		return 0;
	return wp_error_set(error, WP_EXIT_USAGE,
			    "--read-deadline: one read alone takes %s at this --bandwidth",
			    wp_units_duration(wait, alone_ns));
}
