/* Child processes: start, watch, end. Knows nothing of what they do. */
#include "harness/system/process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* Longer than a replay takes to undo its limit and write its document. */
#define PATIENCE_S 5

static void watched_signals(sigset_t *set)
{
	struct sigaction hangup;

	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGCHLD);
	/* `nohup` asks to outlive a terminal that is closed. */
	if (sigaction(SIGHUP, NULL, &hangup) != 0 || hangup.sa_handler != SIG_IGN)
		sigaddset(set, SIGHUP);
}

void wp_watch_begin(struct wp_watch *watch)
{
	sigset_t set;

	memset(watch, 0, sizeof(*watch));
	watched_signals(&set);
	WP_CHECK(sigprocmask(SIG_BLOCK, &set, &watch->before) == 0);
}

void wp_watch_end(struct wp_watch *watch)
{
	sigset_t set;
	struct timespec none = {0};

	/* A second one was meant for work that the first has ended. */
	watched_signals(&set);
	while (watch->signal && sigtimedwait(&set, NULL, &none) > 0)
		continue;
	WP_CHECK(sigprocmask(SIG_SETMASK, &watch->before, NULL) == 0);
}

bool wp_watch_wait(struct wp_watch *watch, unsigned timeout_ms)
{
	struct timespec timeout = {.tv_sec = timeout_ms / 1000,
				   .tv_nsec = (long)(timeout_ms % 1000) * 1000000};
	sigset_t set;
	int signal;

	watched_signals(&set);
	signal = sigtimedwait(&set, NULL, &timeout);
	if (signal <= 0 || signal == SIGCHLD)
		return false;
	if (!watch->signal)
		WP_CHECK(clock_gettime(CLOCK_MONOTONIC, &watch->since) == 0);
	watch->signal = signal;
	return true;
}

int wp_watch_forward(const struct wp_watch *watch)
{
	struct timespec now;

	WP_CHECK(watch->signal && clock_gettime(CLOCK_MONOTONIC, &now) == 0);
	return now.tv_sec - watch->since.tv_sec > PATIENCE_S ? SIGKILL : watch->signal;
}

static int prepare_actions(posix_spawn_file_actions_t *actions, const char *folder, int text_fd)
{
	int result = posix_spawn_file_actions_init(actions);

	if (!result)
		result = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
	if (!result)
		result = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
	if (!result)
		result = posix_spawn_file_actions_adddup2(actions, text_fd, 2);
	if (!result && folder)
		result = posix_spawn_file_actions_addchdir_np(actions, folder);
	return result;
}

static int prepare_attributes(posix_spawnattr_t *attributes, const struct wp_watch *watch)
{
	sigset_t set;
	int result = posix_spawnattr_init(attributes);

	watched_signals(&set);
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	if (!result)
		result = posix_spawnattr_setsigmask(attributes, &watch->before);
	if (!result)
		result = posix_spawnattr_setsigdefault(attributes, &set);
	if (!result)
		result = posix_spawnattr_setpgroup(attributes, 0);
	if (!result)
		result = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
								  POSIX_SPAWN_SETSIGDEF |
								  POSIX_SPAWN_SETPGROUP);
	return result;
}

int wp_process_start(struct wp_process *process, char *const argv[], const char *folder,
		     const struct wp_watch *watch)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int result;

	memset(process, 0, sizeof(*process));
	process->text_fd = memfd_create("standard error", MFD_CLOEXEC);
	if (process->text_fd < 0)
		return -errno;
	result = prepare_actions(&actions, folder, process->text_fd);
	if (!result)
		result = prepare_attributes(&attributes, watch);
	if (!result)
		result = posix_spawnp(&process->pid, argv[0], &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (result) {
		close(process->text_fd);
		process->pid = 0;
	}
	return -result;
}

/* The last line that says something; a program's reason is its last word. */
static void read_text(struct wp_process *process)
{
	char buffer[4096];
	off_t size = lseek(process->text_fd, 0, SEEK_END);
	off_t begin = size > (off_t)sizeof(buffer) - 1 ? size - ((off_t)sizeof(buffer) - 1) : 0;
	ssize_t length = pread(process->text_fd, buffer, sizeof(buffer) - 1, begin);
	char *line;

	if (length < 0)
		length = 0;
	buffer[length] = '\0';
	while (length > 0 && (buffer[length - 1] == '\n' || buffer[length - 1] == '\r'))
		buffer[--length] = '\0';
	line = strrchr(buffer, '\n');
	line = line ? line + 1 : buffer;
	if (strncmp(line, "worldpager: ", 12) == 0)
		line += 12;
	snprintf(process->text, sizeof(process->text), "%.*s", (int)sizeof(process->text) - 1,
		 line);
	for (char *at = process->text; *at; at++) {
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = ' ';
	}
}

bool wp_process_ended(struct wp_process *process)
{
	int status;

	WP_CHECK(process->pid > 0);
	if (waitpid(process->pid, &status, WNOHANG) != process->pid)
		return false;
	process->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	read_text(process);
	close(process->text_fd);
	process->pid = 0;
	return true;
}

void wp_process_signal(const struct wp_process *process, int signal)
{
	if (process->pid > 0)
		kill(-process->pid, signal);
}

int wp_process_wait(struct wp_process *process, struct wp_watch *watch, bool can_be_killed)
{
	while (!wp_process_ended(process)) {
		if (wp_watch_wait(watch, 1000))
			wp_process_signal(process,
					  can_be_killed ? SIGKILL : wp_watch_forward(watch));
	}
	return watch->signal ? -EINTR : 0;
}
