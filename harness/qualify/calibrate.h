/*
 * Calibration: what a drive does with the pager's pattern of reads and writes,
 * measured by fio with the jobs in configs/fio, as a drive profile that the
 * virtual world takes (`--drive FILE`).
 *
 *   job      measures                              becomes
 *   write    whole blocks, 4 writes in flight      write_bytes_per_s
 *   flush    4 KiB and a flush, over and over      write_latency_ns, flush_latency_ns (medians)
 *   latency  one 4 KiB read at a time              read_latency_ns (median)
 *   read     the pager's reads                     read_bytes_per_s
 *   mixed    the same among writes                 kept beside, as "measured"
 *
 * verify_bytes_per_s is one core's XXH3-64 over memory, measured here.
 */
#ifndef WP_CALIBRATE_H
#define WP_CALIBRATE_H

#include <stdint.h>
#include <stdio.h>

#include "harness/machine/machine.h"
#include "harness/qualify/fio.h"

enum wp_calibrate_job {
	WP_CALIBRATE_WRITE,
	WP_CALIBRATE_FLUSH,
	WP_CALIBRATE_LATENCY,
	WP_CALIBRATE_READ,
	WP_CALIBRATE_MIXED,
	WP_CALIBRATE_JOBS,
};

struct wp_calibrate_config {
	const char *folder;   /* on the drive; made if missing */
	const char *fio;      /* program */
	const char *engine;   /* fio's ioengine */
	uint64_t size_bytes;  /* of the file that is read and written */
	uint64_t read_bytes;  /* one small read */
	uint32_t read_depth;  /* in flight */
	uint64_t block_bytes; /* a block is a run of small reads */
	bool has_size_option; /* the user chose the size: --size is what to change */
	uint32_t seconds;     /* at most, of the reading job; the others take a part of it */
	FILE *progress;	      /* one line a job; NULL: silent */
};

struct wp_calibration {
	struct wp_fio_figures jobs[WP_CALIBRATE_JOBS];
	uint64_t verify_bytes_per_s;
	struct wp_machine_facts machine;
};

/* Most seconds that the jobs take, the first write left out: it takes what the drive takes. */
uint32_t wp_calibrate_seconds(const struct wp_calibrate_config *config);

/*
 * Runs all jobs in a new folder in config->folder, which is gone afterwards, whatever happened. 0,
 * or -1: exit 2 (a size fio would not take), 3 (no space, no fio, fio fails), 4 (what fio wrote),
 * 130.
 */
int wp_calibrate_run(const struct wp_calibrate_config *config, struct wp_calibration *calibration,
		     struct wp_error *error) WP_MUST_USE;

/* calibrate_write.c: the profile, whole or not at all, and a few lines for people. */
int wp_calibrate_write(const struct wp_calibrate_config *config,
		       const struct wp_calibration *calibration, const char *name, const char *path,
		       struct wp_error *error) WP_MUST_USE;
void wp_calibrate_print(const struct wp_calibration *calibration, FILE *stream);

const char *wp_calibrate_job_name(enum wp_calibrate_job job);

#endif
