/*
 * The read limit of a run: which means to take, in which order to take the
 * steps, and taking them back. Knows control groups only through
 * throttle_cgroup.h, judges nothing (throttle_proof.c), and has no part in the
 * bucket but to say whether it is wanted.
 */
#include "harness/throttle/throttle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/throttle/throttle_proof.h"

static const char *const method_names[] = {
    [WP_THROTTLE_NONE] = "none",
    [WP_THROTTLE_BUCKET] = "bucket",
    [WP_THROTTLE_CGROUP] = "cgroup",
    [WP_THROTTLE_AUTO] = "auto",
};

bool wp_throttle_method_find(const char *name, enum wp_throttle_method *method)
{
	for (size_t i = 0; i < sizeof(method_names) / sizeof(method_names[0]); i++) {
		if (strcmp(name, method_names[i]) == 0) {
			*method = (enum wp_throttle_method)i;
			return true;
		}
	}
	return false;
}

/* The disk to limit: as told, or the one that every data file lies on. */
static int find_device(struct wp_blockdev *device, const struct wp_throttle_request *request,
		       struct wp_error *error)
{
	struct wp_blockdev other;

	WP_CHECK(request->extent_count > 0);
	if (wp_blockdev_of_fd(device, request->kernel, request->extents[0].fd, error))
		return -1;
	for (uint32_t i = 1; i < request->extent_count; i++) {
		if (wp_blockdev_of_fd(&other, request->kernel, request->extents[i].fd, error))
			return -1;
		if (strcmp(other.text, device->text) != 0)
			return wp_error_set(error, WP_EXIT_ENVIRONMENT,
					    "the store lies on two disks, %s and %s: one limit "
					    "cannot hold for both",
					    device->text, other.text);
	}
	return 0;
}

/* Sets the kernel's limit. 0, or -1 with the reason in `error`. */
static int limit_kernel(struct wp_throttle *throttle, const struct wp_throttle_request *request,
			const struct wp_blockdev *device, uint32_t unit_bytes,
			struct wp_error *error)
{
	struct wp_throttle_figures *figures = &throttle->figures;
	char why[WP_THROTTLE_WHY];

	if (request->bytes_per_s < unit_bytes)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT,
				    "a kernel limit of %" PRIu64 " B/s cannot be proven: one read "
				    "of %" PRIu32 " bytes takes longer than a second",
				    request->bytes_per_s, unit_bytes);
	if (wp_throttle_group_open(&throttle->group, request->kernel, device, request->bytes_per_s,
				   &figures->read_back_bytes_per_s, why))
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "no kernel limit: %s", why);
	figures->cgroup = throttle->group.kind->name;
	memcpy(figures->device, device->text, sizeof(figures->device));
	if (device->resolved[0])
		wp_throttle_note(figures, "%s", device->resolved);
	if (throttle->group.note[0])
		wp_throttle_note(figures, "%s", throttle->group.note);
	return 0;
}

static int choose(struct wp_throttle *throttle, const struct wp_throttle_request *request,
		  struct wp_probe_source *source, struct wp_error *error)
{
	struct wp_throttle_figures *figures = &throttle->figures;
	bool forced = request->asked == WP_THROTTLE_CGROUP;
	bool kernel = forced || request->asked == WP_THROTTLE_AUTO;
	struct wp_blockdev device;

	throttle->bucket =
	    request->asked == WP_THROTTLE_BUCKET || request->asked == WP_THROTTLE_AUTO;
	throttle->proven = true;
	/* A device that was named and does not exist is no reason to go without. */
	if (request->device && wp_blockdev_parse(&device, request->kernel, request->device, error))
		return -1;
	if (kernel && ((!request->device && find_device(&device, request, error)) ||
		       limit_kernel(throttle, request, &device, source->unit_bytes, error))) {
		if (forced)
			return -1;
		wp_throttle_note(figures, "bucket alone: %.230s", error->text);
		/* Taken care of: callers tell failures by the error that is set. */
		memset(error, 0, sizeof(*error));
	}
	figures->method = throttle->group.kind ? throttle->bucket ? "cgroup+bucket" : "cgroup"
			  : throttle->bucket   ? "bucket"
					       : "none";
	return 0;
}

static int probe_and_choose(struct wp_throttle *throttle, const struct wp_throttle_request *request,
			    struct wp_probe_source *source, struct wp_error *error)
{
	struct wp_throttle_figures *figures = &throttle->figures;
	int code = wp_throttle_probe_free(throttle, source);

	if (!code && choose(throttle, request, source, error))
		return -1;
	if (!code && throttle->group.kind)
		code = wp_throttle_probe_limit(throttle, source);
	if (code == -EINTR)
		return wp_error_set(error, WP_EXIT_INTERRUPTED, "interrupted before frame 0");
	if (code == -ETIMEDOUT)
		return wp_error_set(error, WP_EXIT_CONTENT,
				    "the store cannot be probed: offset %" PRIu64
				    ": read not answered within %" PRIu64
				    " s; the drive has died, or --read-deadline is too short",
				    atomic_load(&source->offset),
				    source->deadline_ns / 1000000000u);
	if (code)
		return wp_error_set(
		    error, WP_EXIT_CONTENT, "the store cannot be probed: offset %" PRIu64 ": %s",
		    atomic_load(&source->offset),
		    code == -ENODATA ? "it holds less data than it should" : strerror(-code));
	if (figures->device_limited)
		wp_throttle_note(figures,
				 "device-limited: without a limit the probe read %" PRIu64
				 " B/s, less than the %" PRIu64 " B/s asked for",
				 figures->unthrottled_bytes_per_s, request->bytes_per_s);
	return 0;
}

int wp_throttle_open(struct wp_throttle **throttle, const struct wp_throttle_request *request,
		     struct wp_error *error)
{
	struct wp_probe_source *source = request->probe;
	struct wp_throttle *opened;
	int code = 0;

	*throttle = NULL;
	WP_CHECK(request->asked == WP_THROTTLE_NONE || request->bytes_per_s > 0);
	if (!source)
		code = wp_probe_files_open(&source, request->extents, request->extent_count,
					   request->alignment_bytes);
	if (!code && !request->probe) {
		source->deadline_ns = request->read_deadline_ns;
		source->stop = request->stop;
	}
	opened = code ? NULL : calloc(1, sizeof(*opened));
	if (!opened) {
		if (!code && !request->probe)
			wp_probe_close(source);
		return wp_error_set(error, code == -ENODATA ? WP_EXIT_CONTENT : WP_EXIT_ENVIRONMENT,
				    "the store cannot be probed: %s",
				    code == -ENODATA ? "it holds no data" : strerror(ENOMEM));
	}
	opened->kernel = request->kernel;
	opened->asked = request->asked;
	opened->bytes_per_s = request->asked == WP_THROTTLE_NONE ? 0 : request->bytes_per_s;
	opened->frame_bytes = request->frame_bytes;
	opened->figures.asked = method_names[request->asked];
	opened->figures.asked_bytes_per_s = opened->bytes_per_s;
	code = probe_and_choose(opened, request, source, error);
	/* Before the source: the limit itself may be what holds a read up. */
	if (code) {
		wp_throttle_close(opened);
		opened = NULL;
	}
	if (!request->probe)
		wp_probe_close(source);
	*throttle = opened;
	return code ? -1 : 0;
}

bool wp_throttle_wants_bucket(const struct wp_throttle *throttle)
{
	return throttle->bucket;
}

bool wp_throttle_proven(const struct wp_throttle *throttle)
{
	return throttle->proven;
}

int wp_throttle_start(struct wp_throttle *throttle)
{
	throttle->started = true;
	throttle->counter_error = wp_throttle_counter(throttle, &throttle->counter_bytes);
	return throttle->counter_error;
}

int wp_throttle_read_bytes(const struct wp_throttle *throttle, uint64_t *bytes)
{
	int error = wp_throttle_counter(throttle, bytes);

	if (!error)
		*bytes -= throttle->counter_bytes;
	return error;
}

void wp_throttle_finish(struct wp_throttle *throttle, uint64_t bytes_read,
			uint64_t achieved_bytes_per_s, struct wp_throttle_figures *figures)
{
	*figures = throttle->figures;
	figures->expected_bytes = bytes_read;
	figures->achieved_bytes_per_s = achieved_bytes_per_s;
	wp_throttle_judge(throttle, figures);
}

int wp_throttle_undo(struct wp_throttle *throttle)
{
	return throttle->group.kind ? wp_throttle_group_undo(&throttle->group) : 0;
}

void wp_throttle_close(struct wp_throttle *throttle)
{
	if (!throttle)
		return;
	wp_throttle_undo(throttle);
	free(throttle);
}
