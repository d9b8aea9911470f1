/*
 * Running the jobs one after another in the drive's folder. fio measures; this
 * sees to space, order and cleaning up. The first job writes the file, so that no
 * other reads what was never written.
 */
#include "harness/qualify/calibrate.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "harness/experiments/folder.h"
#include "harness/tool.h"
#include "harness/units.h"
#include "pager/limits.h"

#define WORK_FOLDER	  "worldpager-calibration-XXXXXX" /* nobody's file is in the way there */
#define SPACE_SPARE_BYTES (64u << 20)
#define VERIFY_BYTES	  (64u << 20) /* more than the caches nearest to a core hold */
#define VERIFY_PASSES	  4
#define WRITE_BYTES_PER_S (20u << 20) /* a drive slower than this is given up on */
#define LIMIT_SPARE_S	  60

const char *wp_calibrate_job_name(enum wp_calibrate_job job)
{
	static const char *const names[] = {"write", "flush", "latency", "read", "mixed"};

	return names[job];
}

/* The reading job may take all of it; the others are shorter. */
static uint32_t job_seconds(const struct wp_calibrate_config *config, enum wp_calibrate_job job)
{
	uint32_t part = job == WP_CALIBRATE_MIXED ? 3 : 6;

	if (job == WP_CALIBRATE_READ)
		return config->seconds;
	return config->seconds / part ? config->seconds / part : 1;
}

uint32_t wp_calibrate_seconds(const struct wp_calibrate_config *config)
{
	uint32_t seconds = 0;

	for (int job = WP_CALIBRATE_FLUSH; job < WP_CALIBRATE_JOBS; job++)
		seconds += job_seconds(config, (enum wp_calibrate_job)job);
	return seconds;
}

static void set(const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	WP_CHECK(setenv(name, text, 1) == 0);
}

/* The job files take their sizes from the environment, so that they run by hand as well. */
static void set_environment(const struct wp_calibrate_config *config, enum wp_calibrate_job job)
{
	uint64_t run = config->block_bytes / config->read_bytes;

	set("WP_SIZE", config->size_bytes);
	set("WP_READ_SIZE", config->read_bytes);
	set("WP_READ_DEPTH", config->read_depth);
	set("WP_RUN", run ? run : 1);
	set("WP_SECONDS", job_seconds(config, job));
	WP_CHECK(setenv("WP_ENGINE", config->engine, 1) == 0);
}

static int check_space(const struct wp_calibrate_config *config, struct wp_error *error)
{
	char need[WP_UNITS_TEXT], have[WP_UNITS_TEXT];
	struct statvfs about;
	uint64_t free_bytes;

	if (statvfs(config->folder, &about) != 0)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "%s: %s", config->folder,
				    strerror(errno));
	free_bytes = (uint64_t)about.f_bavail * about.f_frsize;
	if (free_bytes < config->size_bytes + SPACE_SPARE_BYTES)
		return wp_error_set(error, WP_EXIT_ENVIRONMENT,
				    "%s: %s are free, calibration needs %s%s", config->folder,
				    wp_units_bytes(have, free_bytes),
				    wp_units_bytes(need, config->size_bytes + SPACE_SPARE_BYTES),
				    config->has_size_option ? " (--size)" : "");
	return 0;
}

static int run_job(const struct wp_calibrate_config *config, enum wp_calibrate_job which,
		   const char *folder, struct wp_fio_figures *figures, struct wp_watch *watch,
		   struct wp_error *error)
{
	char relative[64], found[WP_PATH_MAX], file[PATH_MAX];
	struct wp_fio_job job = {.program = config->fio, .folder = folder, .file = file};

	job.name = wp_calibrate_job_name(which);
	job.limit_s = job_seconds(config, which) * 2 + LIMIT_SPARE_S +
		      (unsigned)(config->size_bytes / WRITE_BYTES_PER_S);
	snprintf(relative, sizeof(relative), "configs/fio/%s.fio", job.name);
	if (wp_tool_file(found, relative, error) != 0)
		return -1;
	if (!realpath(found, file))
		return wp_error_set(error, WP_EXIT_CONTENT, "%s: %s", found, strerror(errno));
	set_environment(config, which);
	if (config->progress)
		fprintf(config->progress, "  %-8s ...\n", job.name);
	return wp_fio_run(&job, figures, watch, error);
}

static bool has_wanted(enum wp_calibrate_job job, const struct wp_fio_figures *figures)
{
	bool reads =
	    job == WP_CALIBRATE_READ || job == WP_CALIBRATE_LATENCY || job == WP_CALIBRATE_MIXED;
	bool writes =
	    job == WP_CALIBRATE_WRITE || job == WP_CALIBRATE_FLUSH || job == WP_CALIBRATE_MIXED;

	return (!reads || figures->read.bytes) && (!writes || figures->write.bytes) &&
	       (job != WP_CALIBRATE_FLUSH || figures->flush.known);
}

static int run_jobs(const struct wp_calibrate_config *config, const char *folder,
		    struct wp_calibration *calibration, struct wp_error *error)
{
	char work[PATH_MAX];
	struct wp_watch watch;
	int result = 0;

	if (snprintf(work, sizeof(work), "%s/" WORK_FOLDER, folder) >= (int)sizeof(work))
		return wp_error_set(error, WP_EXIT_USAGE, "--store: the path is too long");
	wp_watch_begin(&watch);
	if (!mkdtemp(work)) {
		result = wp_error_at(error, WP_EXIT_ENVIRONMENT, folder, 0, 0,
				     "cannot be written to: %s", strerror(errno));
		work[0] = '\0';
	}
	for (int job = 0; job < WP_CALIBRATE_JOBS && result == 0; job++) {
		enum wp_calibrate_job which = (enum wp_calibrate_job)job;

		result = run_job(config, which, work, &calibration->jobs[job], &watch, error);
		if (result == 0 && !has_wanted(which, &calibration->jobs[job]))
			result = wp_error_set(error, WP_EXIT_CONTENT,
					      "fio's output: job %s lacks the figures it is for",
					      wp_calibrate_job_name(which));
	}
	wp_folder_remove(work);
	wp_watch_end(&watch);
	return result;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	WP_CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Best of a few passes: what else ran at the time is not the checksum's speed. */
static uint64_t measure_verify(void)
{
	unsigned char *memory = malloc(VERIFY_BYTES);
	uint64_t best_ns = UINT64_MAX, mix = 0;

	WP_CHECK(memory);
	memset(memory, 0x5a, VERIFY_BYTES);
	for (int pass = 0; pass < VERIFY_PASSES; pass++) {
		uint64_t begin_ns = now_ns(), taken_ns;

		for (size_t at = 0; at < VERIFY_BYTES; at += WP_CHUNK_BYTES)
			mix += XXH3_64bits(memory + at, WP_CHUNK_BYTES);
		memory[0] = (unsigned char)mix; /* the sums are needed */
		taken_ns = now_ns() - begin_ns;
		best_ns = taken_ns < best_ns ? taken_ns : best_ns;
	}
	free(memory);
	return (uint64_t)(VERIFY_BYTES * 1e9 / (double)(best_ns ? best_ns : 1));
}

int wp_calibrate_run(const struct wp_calibrate_config *config, struct wp_calibration *calibration,
		     struct wp_error *error)
{
	char folder[PATH_MAX];

	memset(calibration, 0, sizeof(*calibration));
	if (config->size_bytes < config->block_bytes || config->size_bytes % config->read_bytes)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--size must be a multiple of --read-size and hold a block");
	if (wp_folder_make(config->folder, error) != 0 || check_space(config, error) != 0)
		return -1;
	if (!realpath(config->folder, folder))
		return wp_error_set(error, WP_EXIT_ENVIRONMENT, "%s: %s", config->folder,
				    strerror(errno));
	if (run_jobs(config, folder, calibration, error) != 0)
		return -1;
	calibration->verify_bytes_per_s = measure_verify();
	wp_machine_facts_read(&calibration->machine, &wp_kernel_host, folder);
	return 0;
}
