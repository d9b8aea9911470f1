/*
 * Threads behind a queue, and an eventfd in front of the results. No priority,
 * no cancelling.
 *
 * The eventfd counts one for each time the list of results became non-empty,
 * so its being readable and the list's being non-empty are the same thing.
 */
#include "pager/jobs.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct list {
	struct wp_job *head;
	struct wp_job *tail;
};

struct wp_jobs {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct list waiting;
	struct list done;
	uint32_t under_way; /* added and not yet taken back */
	bool stop;
	bool together;
	wp_job_run run;
	void *context;
	int fd;
	uint32_t thread_count;
	pthread_t threads[];
};

/* Appends a linked list of jobs. */
static void append(struct list *list, struct wp_job *jobs)
{
	struct wp_job *last = jobs;

	while (last->link)
		last = last->link;
	if (list->tail)
		list->tail->link = jobs;
	else
		list->head = jobs;
	list->tail = last;
}

static struct wp_job *take_all(struct list *list)
{
	struct wp_job *jobs = list->head;

	list->head = list->tail = NULL;
	return jobs;
}

static struct wp_job *take_one(struct list *list)
{
	struct wp_job *job = list->head;

	list->head = job->link;
	if (!list->head)
		list->tail = NULL;
	job->link = NULL;
	return job;
}

static void *serve(void *argument)
{
	struct wp_jobs *jobs = argument;

	pthread_mutex_lock(&jobs->lock);
	for (;;) {
		struct wp_job *list;

		while (!jobs->waiting.head && !jobs->stop)
			pthread_cond_wait(&jobs->work, &jobs->lock);
		if (!jobs->waiting.head)
			break;
		list = jobs->together ? take_all(&jobs->waiting) : take_one(&jobs->waiting);
		pthread_mutex_unlock(&jobs->lock);
		jobs->run(jobs->context, list);
		pthread_mutex_lock(&jobs->lock);
		if (!jobs->done.head)
			WP_CHECK(eventfd_write(jobs->fd, 1) == 0);
		append(&jobs->done, list);
	}
	pthread_mutex_unlock(&jobs->lock);
	return NULL;
}

/* Signals are for the thread that knows what to do about them. */
static int start_threads(struct wp_jobs *jobs, uint32_t threads)
{
	sigset_t all, before;
	int error = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (jobs->thread_count < threads && !error) {
		error = -pthread_create(&jobs->threads[jobs->thread_count], NULL, serve, jobs);
		if (!error)
			jobs->thread_count++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

int wp_jobs_open(struct wp_jobs **out, uint32_t threads, bool together, wp_job_run run,
		 void *context)
{
	struct wp_jobs *jobs = calloc(1, sizeof(*jobs) + threads * sizeof(jobs->threads[0]));
	int error;

	WP_CHECK(threads > 0);
	if (!jobs)
		return -ENOMEM;
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_cond_init(&jobs->work, NULL);
	jobs->together = together;
	jobs->run = run;
	jobs->context = context;
	jobs->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	error = jobs->fd < 0 ? -errno : start_threads(jobs, threads);
	if (error) {
		wp_jobs_close(jobs);
		return error;
	}
	*out = jobs;
	return 0;
}

void wp_jobs_close(struct wp_jobs *jobs)
{
	if (!jobs)
		return;
	WP_CHECK(jobs->under_way == 0);
	pthread_mutex_lock(&jobs->lock);
	jobs->stop = true;
	pthread_cond_broadcast(&jobs->work);
	pthread_mutex_unlock(&jobs->lock);
	for (uint32_t i = 0; i < jobs->thread_count; i++)
		pthread_join(jobs->threads[i], NULL);
	if (jobs->fd >= 0)
		close(jobs->fd);
	pthread_cond_destroy(&jobs->work);
	pthread_mutex_destroy(&jobs->lock);
	free(jobs);
}

void wp_jobs_add(struct wp_jobs *jobs, struct wp_job *job)
{
	job->link = NULL;
	pthread_mutex_lock(&jobs->lock);
	append(&jobs->waiting, job);
	jobs->under_way++;
	pthread_cond_signal(&jobs->work);
	pthread_mutex_unlock(&jobs->lock);
}

struct wp_job *wp_jobs_take(struct wp_jobs *jobs)
{
	struct wp_job *list = NULL;
	eventfd_t count;

	pthread_mutex_lock(&jobs->lock);
	if (jobs->done.head) {
		WP_CHECK(eventfd_read(jobs->fd, &count) == 0);
		list = take_all(&jobs->done);
		for (struct wp_job *job = list; job; job = job->link)
			jobs->under_way--;
	}
	pthread_mutex_unlock(&jobs->lock);
	return list;
}

int wp_jobs_fd(const struct wp_jobs *jobs)
{
	return jobs->fd;
}
