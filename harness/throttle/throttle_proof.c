/*
 * Whether a read limit can be believed. Nothing a limit says of itself counts.
 * What counts is the rate of a probe under the kernel limit alone, and that
 * the bytes the store read show up in a counter that only reads of the limited
 * disk move.
 */
#include "harness/throttle/throttle_proof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS		       1000000u

/* Before limiting: enough to tell 1.5 R from less, little enough not to be felt. */
#define FREE_BYTES_MAX	       (256u * 1024u * 1024u)
#define FREE_NS_MAX	       (150u * MS)
#define FREE_PIECE	       (4u * 1024u * 1024u)

/* Under the limit: after the limiter's credit, half a second's worth. */
#define PROBE_NS	       (600u * MS)
#define PROBE_SKIP_NS	       (100u * MS)
#define PROBE_PIECE_NS	       (10u * MS)
#define PROBE_PIECES_MIN       8u
#define PROBE_TRIES	       3

/* The credit is largest shortly after a burst: what was not used is carried over. */
#define CREDIT_REST_NS	       (50u * MS)
#define CREDIT_NS	       (150u * MS)
/* Long enough for credit of an earlier try to be gone. */
#define RETRY_REST_NS	       (300u * MS)

#define RATE_TOLERANCE_PERCENT 5u
#define BYTES_TOLERANCE	       (1024u * 1024u)

/* Frames below so many times the credit are marked. */
#define CREDIT_FRAMES	       10u

static uint64_t percent_of(uint64_t value, uint64_t percent)
{
	return (uint64_t)((__uint128_t)value * percent / 100u);
}

static uint64_t bytes_in(uint64_t bytes_per_s, uint64_t duration_ns)
{
	return (uint64_t)((__uint128_t)bytes_per_s * duration_ns / 1000000000u);
}

void wp_throttle_note(struct wp_throttle_figures *figures, const char *format, ...)
{
	va_list arguments;

	WP_CHECK(figures->note_count < WP_THROTTLE_NOTES_MAX);
	va_start(arguments, format);
	vsnprintf(figures->notes[figures->note_count++], sizeof(figures->notes[0]), format,
		  arguments);
	va_end(arguments);
}

/* The first reason stands: what follows from it is no news. */
static void refute(struct wp_throttle_figures *figures, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void refute(struct wp_throttle_figures *figures, const char *format, ...)
{
	va_list arguments;

	if (figures->reason[0])
		return;
	va_start(arguments, format);
	vsnprintf(figures->reason, sizeof(figures->reason), format, arguments);
	va_end(arguments);
}

/* read_bytes of /proc/self/io: what this process has caused to be fetched from storage. */
static int process_read_bytes(const struct wp_kernel *kernel, uint64_t *bytes)
{
	char text[1024], value[32];
	char *end;
	int error = wp_kernel_read(kernel, "/proc/self/io", text, sizeof(text));

	if (error)
		return error;
	if (!wp_cgroup_row(text, "read_bytes:", value, sizeof(value)))
		return -ENODATA;
	errno = 0;
	*bytes = strtoull(value, &end, 10);
	return errno || end == value || *end ? -EBADMSG : 0;
}

int wp_throttle_counter(const struct wp_throttle *throttle, uint64_t *bytes)
{
	if (throttle->group.kind)
		return throttle->group.kind->read_bytes(&throttle->group, bytes);
	return process_read_bytes(throttle->kernel, bytes);
}

static bool counts_agree(uint64_t counted, uint64_t read)
{
	uint64_t difference = counted > read ? counted - read : read - counted;
	/* However little was read: a counter that shows nothing agrees with nothing. */
	uint64_t slack = read / 2 < BYTES_TOLERANCE ? read / 2 : BYTES_TOLERANCE;

	return difference <= read / 100 + slack;
}

int wp_throttle_probe_free(struct wp_throttle *throttle, struct wp_probe_source *source)
{
	const struct wp_probe_plan plan = {
	    .bytes = FREE_BYTES_MAX,
	    .time_ns_max = FREE_NS_MAX,
	    .piece_bytes = FREE_PIECE,
	};
	struct wp_probe_figures probe;
	int error = wp_probe_run(source, &plan, &probe);

	if (error)
		return error;
	throttle->figures.unthrottled_bytes_per_s = probe.bytes_per_s;
	throttle->figures.device_limited = throttle->bytes_per_s > probe.bytes_per_s;
	return 0;
}

static bool within(uint64_t rate, uint64_t asked)
{
	return rate >= percent_of(asked, 100 - RATE_TOLERANCE_PERCENT) &&
	       rate <= percent_of(asked, 100 + RATE_TOLERANCE_PERCENT);
}

/* One probe under the limit: its rate, and what the counter made of it. */
static int probe_once(struct wp_throttle *throttle, struct wp_probe_source *source,
		      uint64_t *counted, uint64_t *read)
{
	uint64_t rate = throttle->bytes_per_s;
	uint64_t piece = bytes_in(rate, PROBE_PIECE_NS);
	struct wp_probe_plan plan = {
	    .bytes_per_s = rate,
	    .bytes = bytes_in(rate, PROBE_NS),
	    .skip_bytes = bytes_in(rate, PROBE_SKIP_NS),
	    .piece_bytes = piece > FREE_PIECE ? FREE_PIECE : (uint32_t)piece,
	};
	struct wp_probe_figures probe;
	uint64_t before, after;
	int error;

	/* A drive slower than the limit would take ever longer over what it never reaches. */
	if (throttle->figures.device_limited)
		plan.time_ns_max = 2 * PROBE_NS;
	if (plan.bytes < (uint64_t)PROBE_PIECES_MIN * source->unit_bytes)
		plan.bytes = (uint64_t)PROBE_PIECES_MIN * source->unit_bytes;
	error = wp_throttle_counter(throttle, &before);
	if (!error)
		error = wp_probe_run(source, &plan, &probe);
	if (!error)
		error = wp_throttle_counter(throttle, &after);
	if (error)
		return error;
	throttle->figures.probe_bytes_per_s = probe.bytes_per_s;
	throttle->figures.credit_bytes = probe.credit_bytes;
	*counted = after - before;
	*read = probe.bytes;
	return 0;
}

static int probe_credit(struct wp_throttle *throttle, struct wp_probe_source *source)
{
	uint64_t piece = bytes_in(throttle->bytes_per_s, PROBE_PIECE_NS);
	const struct wp_probe_plan plan = {
	    .bytes_per_s = throttle->bytes_per_s,
	    .bytes = bytes_in(throttle->bytes_per_s, CREDIT_NS),
	    .piece_bytes = piece > FREE_PIECE ? FREE_PIECE : (uint32_t)piece,
	};
	struct wp_probe_figures probe;
	int error;

	source->rest(source, CREDIT_REST_NS);
	error = wp_probe_run(source, &plan, &probe);
	if (!error && probe.credit_bytes > throttle->figures.credit_bytes)
		throttle->figures.credit_bytes = probe.credit_bytes;
	return error;
}

/* The probe under the kernel limit alone, repeated when other traffic got in its way. */
int wp_throttle_probe_limit(struct wp_throttle *throttle, struct wp_probe_source *source)
{
	struct wp_throttle_figures *figures = &throttle->figures;
	uint64_t asked = throttle->bytes_per_s;
	uint64_t counted, read;

	for (int try = 0; try < PROBE_TRIES; try++) {
		int error;

		if (try > 0)
			source->rest(source, RETRY_REST_NS);
		error = probe_once(throttle, source, &counted, &read);
		if (error)
			return error;
		if (!counts_agree(counted, read) || within(figures->probe_bytes_per_s, asked) ||
		    (figures->device_limited && figures->probe_bytes_per_s < asked))
			break;
	}
	if (!counts_agree(counted, read))
		refute(figures,
		       "the probe read %" PRIu64 " bytes, but the kernel's counter for %s shows "
		       "%" PRIu64 ": %s",
		       read, throttle->group.device, counted,
		       counted < read ? "the reads do not go to the limited device"
				      : "something else reads within the group");
	else if (figures->probe_bytes_per_s > percent_of(asked, 100 + RATE_TOLERANCE_PERCENT))
		refute(figures,
		       "the limit on %s has no effect: the probe read %" PRIu64 " B/s under "
		       "a limit of %" PRIu64 " B/s",
		       throttle->group.device, figures->probe_bytes_per_s, asked);
	else if (!figures->device_limited && !within(figures->probe_bytes_per_s, asked))
		refute(figures,
		       "the probe read only %" PRIu64 " B/s under a limit of %" PRIu64 " B/s, "
		       "though the drive gave %" PRIu64 " B/s before: other traffic, or a lower "
		       "limit elsewhere",
		       figures->probe_bytes_per_s, asked, figures->unthrottled_bytes_per_s);
	/* The short probe without a limit may have met a busy moment. */
	if (within(figures->probe_bytes_per_s, asked))
		figures->device_limited = false;
	throttle->proven = !figures->reason[0];
	return throttle->proven ? probe_credit(throttle, source) : 0;
}

/* The counter over the run against what the store read. */
static void judge_bytes(struct wp_throttle *throttle, struct wp_throttle_figures *figures)
{
	const char *what = throttle->group.kind ? "the group's counter for the limited device"
						: "the process's own read counter";
	uint64_t now = 0;
	int error = throttle->counter_error;

	if (!throttle->started)
		return;
	if (!error)
		error = wp_throttle_counter(throttle, &now);
	if (error) {
		refute(figures, "%s cannot be read: %s", what, strerror(-error));
		return;
	}
	figures->device_bytes = now - throttle->counter_bytes;
	if (!counts_agree(figures->device_bytes, figures->expected_bytes))
		refute(figures,
		       "the store read %" PRIu64 " bytes, but %s shows %" PRIu64
		       ": cached, not written, or another device",
		       figures->expected_bytes, what, figures->device_bytes);
}

static void judge_rate(struct wp_throttle *throttle, struct wp_throttle_figures *figures)
{
	uint64_t asked = throttle->bytes_per_s;
	uint64_t achieved = figures->achieved_bytes_per_s;
	bool small = false;

	if (throttle->group.kind && !throttle->bucket && throttle->frame_bytes) {
		figures->credit_share =
		    (double)figures->credit_bytes / (double)throttle->frame_bytes;
		small = throttle->frame_bytes / CREDIT_FRAMES < figures->credit_bytes;
		if (small)
			wp_throttle_note(
			    figures,
			    "the kernel limiter lets %" PRIu64 " bytes pass free after an "
			    "idle gap, %.0f %% of the %" PRIu64 " bytes of a frame: stalls "
			    "come out too short; --throttle auto hides it",
			    figures->credit_bytes, figures->credit_share * 100,
			    throttle->frame_bytes);
	}
	if (!asked || !achieved)
		return;
	if (!small && achieved > percent_of(asked, 100 + RATE_TOLERANCE_PERCENT))
		refute(figures, "reads ran at %" PRIu64 " B/s, above the limit of %" PRIu64 " B/s",
		       achieved, asked);
	if (!figures->device_limited && achieved < percent_of(asked, 100 - RATE_TOLERANCE_PERCENT))
		wp_throttle_note(figures,
				 "reads ran at %" PRIu64 " B/s, below the limit of %" PRIu64 " B/s",
				 achieved, asked);
}

void wp_throttle_judge(struct wp_throttle *throttle, struct wp_throttle_figures *figures)
{
	judge_bytes(throttle, figures);
	judge_rate(throttle, figures);
	figures->valid = !figures->reason[0];
}
