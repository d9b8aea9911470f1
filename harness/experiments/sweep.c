/*
 * Running a sweep. Does not measure anything itself and does not look into
 * documents except to see whether they may be kept. The idea: after every
 * event the index on disk tells the truth, so that the folder is worth
 * something whenever the sweep ends.
 */
#include "harness/experiments/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/experiments/folder.h"
#include "harness/experiments/index.h"
#include "harness/files/json_value.h"
#include "harness/progress.h"
#include "harness/result/result.h"
#include "harness/system/process.h"
#include "harness/tool.h"
#include "harness/units.h"

#define JOBS_MAX	   2
#define INDEX_EVERY_NS	   2000000000ull
#define HEARTBEAT_EVERY_NS 60000000000ull

struct job {
	struct wp_process process; /* pid 0: free */
	struct wp_point *point;
	uint64_t start_ns;
};

struct run {
	struct wp_sweep *sweep;
	struct wp_watch watch;
	struct wp_progress progress;
	struct job jobs[JOBS_MAX];
	uint32_t job_count;
	uint32_t next;	  /* first point not yet started */
	uint64_t done_ns; /* estimates of the points that are over */
	uint64_t total_ns;
	uint64_t index_ns, heartbeat_ns;
	bool stop; /* start nothing more */
	struct wp_error *error;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void document_path(const struct wp_sweep *sweep, const struct wp_point *point, char *path)
{
	WP_CHECK(snprintf(path, WP_PATH_MAX, "%s/replays/%s.json", sweep->folder, point->name) <
		 WP_PATH_MAX);
}

/* Whether the document of an earlier sweep was made by this very command line. */
static bool may_be_kept(const struct wp_sweep *sweep, const struct wp_point *point)
{
	struct wp_sweep_command command;
	struct wp_result result;
	struct wp_error error;
	char path[WP_PATH_MAX];
	json_t *words;
	bool same;

	document_path(sweep, point, path);
	if (access(path, F_OK) != 0 || wp_result_load(path, &result, &error) != 0)
		return false;
	wp_sweep_command(sweep, point, &command);
	words = json_object_get(result.document, "argv");
	/* Word 0 is the program, word 1 the verb; the document has them in one. */
	same = result.valid && !result.interrupted &&
	       json_array_size(words) == (size_t)command.count - 1;
	for (int i = 2; i < command.count && same; i++) {
		json_t *word = wp_json_argument(command.words[i]);

		same = json_equal(word, json_array_get(words, (size_t)i - 1)) != 0;
		json_decref(word);
	}
	wp_result_close(&result);
	return same;
}

/* Documents of the sweep that was here before, which the index is about to forget. */
static void remove_old_documents(const char *folder)
{
	struct wp_index index;
	struct wp_error error;
	char path[WP_PATH_MAX];

	if (!wp_index_exists(folder) || wp_index_load(folder, &index, &error) != 0)
		return;
	for (uint32_t i = 0; i < index.count; i++) {
		if (index.points[i].document[0] &&
		    snprintf(path, sizeof(path), "%s/%s", folder, index.points[i].document) <
			(int)sizeof(path))
			unlink(path);
	}
	wp_index_close(&index);
}

/* Replays of another experiment are somebody's hours: nothing of them goes for a new sweep. */
static int check_experiment(const struct wp_sweep *sweep, struct wp_error *error)
{
	const struct wp_experiment *experiment = sweep->experiment;
	const struct wp_index_point *foreign = NULL;
	uint32_t replays = 0;
	struct wp_index index;
	int result = 0;

	if (!wp_index_exists(sweep->folder))
		return 0;
	if (wp_index_load(sweep->folder, &index, error) != 0)
		return -1;
	for (uint32_t i = 0; i < index.count; i++) {
		const struct wp_index_point *point = &index.points[i];

		if (!point->document[0])
			continue;
		replays++;
		if (!foreign && !wp_index_has_point(experiment, point))
			foreign = point;
	}
	if (strcmp(index.name, experiment->name) != 0 ||
	    strcmp(index.world, experiment->world) != 0)
		result = wp_error_at(error, WP_EXIT_USAGE, sweep->folder, 0, 0,
				     "holds another experiment, \"%s\" in the %s world, with %u "
				     "replays; name a new folder, or remove this one",
				     index.name, index.world, replays);
	else if (foreign)
		result =
		    wp_error_at(error, WP_EXIT_USAGE, sweep->folder, 0, 0,
				"holds replays that this experiment does not make, as %.100s "
				"with %s at %s (%u replays in all); name a new folder, or remove "
				"this one",
				foreign->trace, foreign->arm, foreign->bandwidth, replays);
	wp_index_close(&index);
	return result;
}

static int write_index(struct run *run, struct wp_error *error)
{
	run->index_ns = now_ns();
	return wp_index_write(run->sweep->folder, run->sweep->experiment, run->sweep->points,
			      run->sweep->count, run->watch.signal != 0, error);
}

static int prepare_folder(struct run *run)
{
	struct wp_sweep *sweep = run->sweep;
	char path[WP_PATH_MAX];

	if (strlen(sweep->folder) > WP_PATH_MAX - 256)
		return wp_error_set(run->error, WP_EXIT_USAGE, "the folder's name is too long");
	if (wp_folder_claim(sweep->folder, run->error) != 0 ||
	    check_experiment(sweep, run->error) != 0)
		return -1;
	if (!sweep->resume)
		remove_old_documents(sweep->folder);
	snprintf(path, sizeof(path), "%s/replays", sweep->folder);
	if (wp_folder_make(path, run->error) != 0)
		return -1;
	for (uint32_t i = 0; i < sweep->count; i++) {
		struct wp_point *point = &sweep->points[i];

		if (sweep->resume && may_be_kept(sweep, point)) {
			point->state = WP_POINT_DONE;
			point->document = true;
		} else {
			run->total_ns += point->estimate_ns;
		}
	}
	sweep->begun = write_index(run, run->error) == 0;
	return sweep->begun ? 0 : -1;
}

/* `worldpager trace make` for a trajectory and a k that no trace ships for. */
static int make_trace(struct run *run, const struct wp_point *point, const char *path)
{
	struct wp_process process;
	char k[16];
	char *words[] = {"/proc/self/exe",
			 "trace",
			 "make",
			 "--trajectory",
			 run->sweep->traces[point->trace].name,
			 "--k",
			 k,
			 "--out",
			 (char *)path,
			 NULL};
	int result;

	snprintf(k, sizeof(k), "%u", run->sweep->experiment->k[point->k]);
	result = wp_process_start(&process, words, NULL, &run->watch);
	if (result == 0)
		result = wp_process_wait(&process, &run->watch, false);
	if (result == -EINTR)
		return wp_error_set(run->error, WP_EXIT_INTERRUPTED, "interrupted");
	if (result < 0)
		return wp_error_set(run->error, WP_EXIT_ENVIRONMENT, "cannot start a process: %s",
				    strerror(-result));
	if (process.exit_code != 0)
		return wp_error_set(run->error, (enum wp_exit)process.exit_code, "%s",
				    process.text[0] ? process.text : "trace make failed");
	return 0;
}

static int make_traces(struct run *run)
{
	struct wp_sweep *sweep = run->sweep;
	char path[WP_PATH_MAX];

	for (uint32_t i = 0; i < sweep->count; i++) {
		const struct wp_point *point = &sweep->points[i];
		bool made = false;

		if (!wp_sweep_trace_is_made(sweep, point))
			continue;
		for (uint32_t j = 0; j < i && !made; j++)
			made = sweep->points[j].trace == point->trace &&
			       sweep->points[j].k == point->k;
		if (made)
			continue;
		snprintf(path, sizeof(path), "%s/traces", sweep->folder);
		if (wp_folder_make(path, run->error) != 0)
			return -1;
		wp_sweep_trace_path(sweep, point, path, sizeof(path));
		if (make_trace(run, point, path) != 0)
			return -1;
	}
	return 0;
}

static int start_point(struct run *run, struct job *job, struct wp_point *point)
{
	struct wp_sweep_command *command = malloc(sizeof(*command));
	int result;

	WP_CHECK(command);
	wp_sweep_command(run->sweep, point, command);
	result = wp_process_start(&job->process, command->words, NULL, &run->watch);
	free(command);
	if (result < 0)
		return wp_error_set(run->error, WP_EXIT_ENVIRONMENT, "cannot start a replay: %s",
				    strerror(-result));
	job->point = point;
	job->start_ns = now_ns();
	point->state = WP_POINT_RUNNING;
	return 0;
}

static void record_failure(struct run *run, struct wp_point *point, const char *text)
{
	point->state = WP_POINT_FAILED;
	snprintf(point->error, sizeof(point->error), "%s", text[0] ? text : "no reason given");
	if (point->exit_code == WP_EXIT_USAGE)
		run->stop = true;
}

static void end_job(struct run *run, struct job *job)
{
	struct wp_point *point = job->point;
	char path[WP_PATH_MAX];

	document_path(run->sweep, point, path);
	point->document = access(path, F_OK) == 0;
	point->exit_code = job->process.exit_code;
	run->done_ns += point->estimate_ns;
	if (point->exit_code == 0 && point->document)
		point->state = WP_POINT_DONE;
	else if (run->watch.signal)
		point->state = WP_POINT_WAITING; /* cut short by whoever ended the sweep */
	else
		record_failure(run, point, job->process.text);
	if (run->watch.signal && point->exit_code != 0 && point->document) {
		unlink(path);
		point->document = false;
	}
	job->point = NULL;
}

static struct wp_point *next_point(struct run *run)
{
	while (run->next < run->sweep->count) {
		struct wp_point *point = &run->sweep->points[run->next++];

		if (point->state == WP_POINT_WAITING)
			return point;
	}
	return NULL;
}

static void show(struct run *run)
{
	uint64_t at_ns = now_ns();
	uint64_t done_ns = run->done_ns;
	uint32_t done = 0;
	char left[WP_UNITS_TEXT];

	for (uint32_t i = 0; i < run->job_count; i++) {
		const struct job *job = &run->jobs[i];
		uint64_t ran_ns = at_ns - job->start_ns;

		if (job->point)
			done_ns +=
			    ran_ns < job->point->estimate_ns ? ran_ns : job->point->estimate_ns;
	}
	wp_progress_update(&run->progress, done_ns, run->total_ns);
	if (run->progress.terminal || at_ns - run->heartbeat_ns < HEARTBEAT_EVERY_NS)
		return;
	run->heartbeat_ns = at_ns;
	for (uint32_t i = 0; i < run->sweep->count; i++)
		done += run->sweep->points[i].state == WP_POINT_DONE ||
			run->sweep->points[i].state == WP_POINT_FAILED;
	fprintf(stderr, "%s: %u of %u replays, about %s left\n", run->sweep->experiment->name, done,
		run->sweep->count,
		wp_units_duration(left, (run->total_ns - done_ns) / run->job_count));
}

static void reap(struct run *run)
{
	for (uint32_t i = 0; i < run->job_count; i++) {
		struct job *job = &run->jobs[i];

		if (job->point && wp_process_ended(&job->process))
			end_job(run, job);
	}
}

static int start_more(struct run *run)
{
	for (uint32_t i = 0; i < run->job_count; i++) {
		struct wp_point *point;

		if (run->jobs[i].point)
			continue;
		point = next_point(run);
		if (point && start_point(run, &run->jobs[i], point) != 0)
			return -1;
	}
	return 0;
}

static void make_points(struct run *run)
{
	for (;;) {
		uint32_t running = 0;

		reap(run);
		if (!run->stop && !run->watch.signal && start_more(run) != 0)
			run->stop = true;
		for (uint32_t i = 0; i < run->job_count; i++)
			running += run->jobs[i].point != NULL;
		if (!running)
			return;
		show(run);
		if (now_ns() - run->index_ns > INDEX_EVERY_NS) {
			struct wp_error ignored; /* the last one, at the end, counts */

			(void)!write_index(run, &ignored);
		}
		if (!wp_watch_wait(&run->watch, 200))
			continue;
		for (uint32_t i = 0; i < run->job_count; i++) {
			if (run->jobs[i].point)
				wp_process_signal(&run->jobs[i].process,
						  wp_watch_forward(&run->watch));
		}
	}
}

/* What the sweep as a whole says when some of its points failed. */
static void report_first_failure(const struct wp_sweep *sweep, struct wp_error *error)
{
	for (uint32_t i = 0; i < sweep->count && !error->exit_code; i++) {
		const struct wp_point *point = &sweep->points[i];
		int code = point->exit_code > WP_EXIT_CONTENT ? WP_EXIT_CONTENT : point->exit_code;

		if (point->state == WP_POINT_FAILED)
			wp_error_set(error, (enum wp_exit)code, "replay %s: %s", point->name,
				     point->error);
	}
}

/* A neighbour's burst can spoil the proof of a limit: such points are tried once more. */
static bool retry_unproven(struct run *run)
{
	bool any = false;

	if (strcmp(run->sweep->experiment->world, "virtual") == 0 || run->watch.signal || run->stop)
		return false;
	for (uint32_t i = 0; i < run->sweep->count; i++) {
		struct wp_point *point = &run->sweep->points[i];

		if (point->state != WP_POINT_FAILED || !point->document ||
		    point->exit_code != WP_EXIT_ENVIRONMENT)
			continue;
		point->state = WP_POINT_WAITING;
		point->error[0] = '\0';
		run->total_ns += point->estimate_ns;
		any = true;
	}
	return any;
}

int wp_sweep_run(struct wp_sweep *sweep, struct wp_error *error)
{
	struct wp_error unwritten;
	struct run run = {.sweep = sweep, .error = error, .heartbeat_ns = now_ns()};

	memset(error, 0, sizeof(*error));
	run.job_count =
	    strcmp(sweep->experiment->world, "virtual") == 0 && sysconf(_SC_NPROCESSORS_ONLN) > 1
		? JOBS_MAX
		: 1;
	wp_watch_begin(&run.watch);
	if (prepare_folder(&run) != 0 || make_traces(&run) != 0)
		goto out;
	wp_progress_begin(&run.progress, sweep->experiment->name);
	make_points(&run);
	if (retry_unproven(&run)) {
		run.next = 0;
		make_points(&run);
	}
	wp_progress_end(&run.progress);
	report_first_failure(sweep, error);
	if (write_index(&run, &unwritten) != 0 && !error->exit_code)
		*error = unwritten;
	if (run.watch.signal)
		wp_error_set(error, WP_EXIT_INTERRUPTED,
			     "interrupted; the folder is complete as far as it goes");
out:
	wp_watch_end(&run.watch);
	return error->exit_code ? -1 : 0;
}
