/*
 * Putting the host store together: files, a way of moving bytes, the port;
 * and the report of what is really in use. Nothing is decided silently: every
 * step down from what was asked leaves its reason in the report.
 */
#include "pager/store_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pager/store_port.h"

/* io_uring if asked for or possible; pread otherwise. */
static int open_backend(struct wp_io_backend **backend, const struct wp_store_files *files,
			const struct wp_store_host_config *config, struct wp_clock *clock,
			struct wp_store_report *report, struct wp_store_fault *fault)
{
	char why[256] = "";
	int error;

	if (config->backend != WP_STORE_BACKEND_PREAD) {
		error = wp_io_uring_open(backend, files, config, clock, report, why, sizeof(why));
		if (!error)
			return 0;
		if (config->backend == WP_STORE_BACKEND_URING)
			return wp_store_fault_text(fault, error, false, "store %s: %s",
						   config->directory, why);
		wp_store_reason_add(report->fallback, sizeof(report->fallback),
				    "pread instead of io_uring: %s", why);
	}
	error = wp_io_pread_open(backend, files, config->depth, clock);
	if (error)
		return wp_store_fault_errno(fault, error, "store %s: threads", config->directory);
	return 0;
}

static void fill_report(struct wp_store_report *report, const struct wp_store_files *files,
			const struct wp_io_backend *backend)
{
	report->backend = backend->ops->name;
	memcpy(report->filesystem, files->filesystem, sizeof(report->filesystem));
	report->direct_io = files->direct;
	report->alignment_bytes = files->direct ? files->alignment_bytes : 0;
	report->record_bytes = files->header.record_bytes;
	report->record_count = files->header.record_count;
	report->stored_blocks = files->index.stored;
	report->torn_records = files->index.torn;
	report->lost_blocks = files->index.lost;
	report->lost_block = files->index.first_lost;
	report->lost_offset = (uint64_t)wp_store_index_place(&files->index, report->lost_block) *
			      files->header.entry_bytes;
	report->device_major = files->device_major;
	report->device_minor = files->device_minor;
}

/* Takes `files` over, also on failure. */
static int open_port(struct wp_port **store, struct wp_store_files *files,
		     const struct wp_store_host_config *config, struct wp_clock *clock,
		     struct wp_store_report *report, struct wp_store_fault *fault)
{
	const struct wp_store_port_config port_config = {
	    .depth = config->depth,
	    .forget_oldest = config->forget_oldest,
	    .io_bytes_max = WP_IO_BYTES_MAX,
	};
	struct wp_io_backend *backend;
	int error;

	memset(report, 0, sizeof(*report));
	memcpy(report->fallback, files->fallback, sizeof(report->fallback));
	error = open_backend(&backend, files, config, clock, report, fault);
	if (!error) {
		fill_report(report, files, backend);
		error = wp_store_port_open(store, files, backend, &port_config, clock);
		if (!error)
			return 0;
		backend->ops->close(backend);
		wp_store_fault_errno(fault, error, "store %s", config->directory);
	}
	wp_store_files_close(files);
	free(files);
	return error;
}

static struct wp_store_files *take_files(const struct wp_store_host_config *config,
					 struct wp_store_fault *fault)
{
	struct wp_store_files *files = malloc(sizeof(*files));

	WP_CHECK(config->depth > 0 && config->depth <= WP_READ_DEPTH_MAX);
	if (!files)
		wp_store_fault_errno(fault, -ENOMEM, "store %s", config->directory);
	return files;
}

int wp_store_host_open(struct wp_port **store, const struct wp_store_host_config *config,
		       const struct wp_store_identity *expect, struct wp_clock *clock,
		       struct wp_store_report *report, struct wp_store_fault *fault)
{
	struct wp_store_files *files = take_files(config, fault);
	int error;

	if (!files)
		return -ENOMEM;
	error = wp_store_files_open(files, config, expect, fault);
	if (error) {
		free(files);
		return error;
	}
	return open_port(store, files, config, clock, report, fault);
}

int wp_store_host_create(struct wp_port **store, const struct wp_store_host_config *config,
			 const struct wp_store_identity *identity, uint32_t record_count,
			 struct wp_clock *clock, struct wp_store_report *report,
			 struct wp_store_fault *fault)
{
	struct wp_store_files *files = take_files(config, fault);
	int error;

	if (!files)
		return -ENOMEM;
	error = wp_store_files_create(files, config, identity, record_count, fault);
	if (error) {
		free(files);
		return error;
	}
	return open_port(store, files, config, clock, report, fault);
}

int wp_store_host_seal(struct wp_port *store)
{
	struct wp_store_files *files = wp_store_port_files(store);

	WP_CHECK(files->index.stored == files->header.record_count);
	return wp_store_files_seal(files);
}

static void describe(const struct wp_store_files *files, const struct wp_record *record,
		     struct wp_stored_block *found)
{
	*found = (struct wp_stored_block){
	    .block = record->block,
	    .generation = record->generation,
	    .payload_bytes = files->header.identity.block_bytes,
	    .position = record->position,
	};
}

bool wp_store_host_find(const struct wp_port *store, uint32_t block, struct wp_stored_block *found)
{
	const struct wp_store_files *files = wp_store_port_files((struct wp_port *)store);
	const struct wp_record *record = wp_store_index_find(&files->index, block);

	if (record)
		describe(files, record, found);
	return record != NULL;
}

bool wp_store_host_record(const struct wp_port *store, uint32_t record,
			  struct wp_stored_block *found)
{
	const struct wp_store_files *files = wp_store_port_files((struct wp_port *)store);
	bool stored;

	WP_CHECK(record < files->header.record_count);
	stored = files->index.records[record].state == WP_RECORD_STORED;
	if (stored)
		describe(files, &files->index.records[record], found);
	return stored;
}

uint64_t wp_store_host_forgotten(const struct wp_port *store)
{
	return wp_store_port_forgotten(store);
}
