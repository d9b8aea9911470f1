/*
 * Files written whole or not at all. Does not create folders and does not know
 * what it writes. The idea: everything that can fail (space, quota, I/O) fails
 * before the rename, while the old file is still in place.
 */
#include "harness/files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/files/used_files.h"
#include "harness/system/interrupt.h"

/* Where a stream's bytes go, and the first reason why they did not: stdio keeps no reason. */
struct wp_output_sink {
	int fd;
	int code;
};

static int report(struct wp_output *output, const char *what, int code, struct wp_error *error)
{
	return wp_error_at(error, WP_EXIT_CONTENT, output->path, 0, 0, "%s: %s", what,
			   strerror(code));
}

/* The folder that a path's last part lies in. */
static void folder_of(char folder[PATH_MAX], const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
}

/*
 * Where everybody may leave things (/tmp), somebody may have left a link to a
 * file of ours, or a pipe to read what we write. Kernels can be told to refuse
 * these (fs.protected_symlinks), but need not be.
 */
static bool is_planted(const char *path, const struct stat *itself)
{
	char folder[PATH_MAX];
	struct stat around;

	folder_of(folder, path);
	return !S_ISREG(itself->st_mode) && itself->st_uid != geteuid() &&
	       stat(folder, &around) == 0 && (around.st_mode & S_IWOTH) &&
	       itself->st_uid != around.st_uid;
}

static int refuse(const char *path, const char *why, struct wp_error *error)
{
	return wp_error_at(error, WP_EXIT_CONTENT, path, 0, 0, "is not written to: %s", why);
}

static int permit(const char *path, struct wp_error *error)
{
	struct stat itself, target;

	if (lstat(path, &itself) == 0 && is_planted(path, &itself))
		return refuse(path, "somebody else's link or device in a folder open to all",
			      error);
	if (stat(path, &target) == 0 && S_ISBLK(target.st_mode))
		return refuse(path, "a block device, whose contents would be lost", error);
	return 0;
}

static int take(const char *path, bool opened, unsigned *number, struct wp_error *error)
{
	const char *why;

	if (wp_used_take(path, opened, number, &why) == 0)
		return 0;
	return wp_error_at(error, WP_EXIT_USAGE, strcmp(path, "-") == 0 ? "standard output" : path,
			   0, 0, "is not written to: %s", why);
}

int wp_output_check(const char *path, struct wp_error *error)
{
	char folder[PATH_MAX];
	struct stat status;
	unsigned number;
	int code = 0;

	if (!path)
		return 0;
	if (strcmp(path, "-") == 0)
		return take(path, false, &number, error);
	if (permit(path, error) != 0)
		return -1;
	if (!path[0] || strlen(path) >= sizeof(folder))
		code = path[0] ? ENAMETOOLONG : ENOENT;
	else if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		code = EISDIR;
	folder_of(folder, path);
	/* What is no file is written to itself, all else by way of its folder. */
	if (!code && stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		code = access(path, W_OK) == 0 ? 0 : errno;
	else if (!code && access(folder, W_OK | X_OK) != 0)
		code = errno;
	return code ? wp_error_at(error, WP_EXIT_CONTENT, path, 0, 0, "cannot be written: %s",
				  strerror(code))
		    : take(path, false, &number, error);
}

static ssize_t sink_write(void *cookie, const char *bytes, size_t size)
{
	struct wp_output_sink *sink = cookie;
	size_t done = 0;

	while (done < size && !sink->code) {
		ssize_t count = write(sink->fd, bytes + done, size - done);

		if (count <= 0)
			sink->code = count < 0 ? errno : EIO;
		else
			done += (size_t)count;
	}
	return (ssize_t)done;
}

static int sink_close(void *cookie)
{
	struct wp_output_sink *sink = cookie;
	int result = sink->fd == STDOUT_FILENO ? 0 : close(sink->fd);

	free(sink);
	return result;
}

/* A stream to `fd`, which is closed with it. 0 or the reason why not; `fd` is then still open. */
static int open_sink(struct wp_output *output, int fd)
{
	static const cookie_io_functions_t functions = {.write = sink_write, .close = sink_close};
	struct wp_output_sink *sink = calloc(1, sizeof(*sink));

	if (!sink)
		return ENOMEM;
	sink->fd = fd;
	output->stream = fopencookie(sink, "w", functions);
	if (!output->stream) {
		int code = errno;

		free(sink);
		return code;
	}
	output->sink = sink;
	return 0;
}

static int open_directly(struct wp_output *output, struct wp_error *error)
{
	int fd = open(output->path, O_WRONLY | O_CLOEXEC);
	int code;

	if (fd < 0)
		return report(output, "cannot be opened for writing", errno, error);
	code = open_sink(output, fd);
	if (code) {
		close(fd);
		return report(output, "cannot be opened for writing", code, error);
	}
	return 0;
}

/* mkstemp makes files that only the owner reads; results are as readable as any new file. */
static int widen_mode(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	return fchmod(fd, 0666 & ~mask);
}

/* A file that an interrupt takes away. fd, or -errno. */
static int create_temporary(char *name)
{
	sigset_t before;
	int fd;

	wp_interrupt_hold(&before);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	else
		wp_interrupt_unfinished(name);
	wp_interrupt_release(&before);
	return fd;
}

/* Away with it, unless it bears its true name by now. */
static void forget_temporary(struct wp_output *output, bool remove)
{
	sigset_t before;

	wp_interrupt_hold(&before);
	if (remove)
		unlink(output->temporary);
	wp_interrupt_unfinished(NULL);
	wp_interrupt_release(&before);
	output->temporary[0] = '\0';
}

static int open_temporary(struct wp_output *output, struct wp_error *error)
{
	const char *slash = strrchr(output->path, '/');
	int folder = slash ? (int)(slash - output->path) + 1 : 0;
	int fd, code;

	if ((size_t)snprintf(output->temporary, sizeof(output->temporary), "%.*s.worldpager-XXXXXX",
			     folder, output->path) >= sizeof(output->temporary)) {
		output->temporary[0] = '\0';
		return report(output, "cannot be written", ENAMETOOLONG, error);
	}
	fd = create_temporary(output->temporary);
	if (fd < 0) {
		output->temporary[0] = '\0';
		return report(output, "cannot be written", -fd, error);
	}
	code = widen_mode(fd) != 0 ? errno : open_sink(output, fd);
	if (code) {
		close(fd);
		forget_temporary(output, true);
		return report(output, "cannot be written", code, error);
	}
	return 0;
}

static void forget_use(struct wp_output *output)
{
	wp_used_dropped(output->used);
	output->used = 0;
}

static int open_anything(struct wp_output *output, const char *path, struct wp_error *error)
{
	struct stat status;
	char target[PATH_MAX];
	int code;

	if (strcmp(path, "-") == 0) {
		snprintf(output->path, sizeof(output->path), "standard output");
		fflush(stdout); /* what went there by other ways comes first */
		code = open_sink(output, STDOUT_FILENO);
		return code ? report(output, "cannot be written", code, error) : 0;
	}
	if (path[0] == '\0' || (size_t)snprintf(output->path, sizeof(output->path), "%s", path) >=
				   sizeof(output->path))
		return report(output, "cannot be written", path[0] ? ENAMETOOLONG : ENOENT, error);
	if (permit(path, error) != 0)
		return -1;
	if (stat(path, &status) == 0) {
		if (S_ISDIR(status.st_mode))
			return report(output, "cannot be written", EISDIR, error);
		if (!S_ISREG(status.st_mode))
			return open_directly(output, error);
		if (realpath(path, target))
			memcpy(output->path, target, strlen(target) + 1);
	}
	return open_temporary(output, error);
}

int wp_output_open(struct wp_output *output, const char *path, struct wp_error *error)
{
	memset(output, 0, sizeof(*output));
	if (take(path, true, &output->used, error) != 0)
		return -1;
	if (open_anything(output, path, error) == 0)
		return 0;
	forget_use(output);
	return -1;
}

int wp_output_open_again(struct wp_output *output, const char *path, struct wp_error *error)
{
	memset(output, 0, sizeof(*output));
	return open_anything(output, path, error);
}

/* The rename itself must survive a crash: the folder is flushed too, where it can be. */
static void flush_folder(const char *path)
{
	char folder[PATH_MAX];
	int fd;

	folder_of(folder, path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	/* Some filesystems refuse to flush folders; the file itself is on the disk by now. */
	(void)!fsync(fd);
	close(fd);
}

/* Ends the stream; 0 or the first reason why its bytes are not where they belong. */
static int end_stream(struct wp_output *output)
{
	FILE *stream = output->stream;
	bool failed = fflush(stream) != 0 || ferror(stream);
	int code = output->sink->code;

	if (!code && failed)
		code = EIO;
	if (!code && output->temporary[0] && fsync(output->sink->fd) != 0)
		code = errno;
	output->stream = NULL;
	output->sink = NULL; /* goes with the stream */
	errno = 0;
	if (fclose(stream) != 0 && !code)
		code = errno ? errno : EIO;
	return code;
}

int wp_output_commit(struct wp_output *output, struct wp_error *error)
{
	int code;

	WP_CHECK(output->stream);
	code = end_stream(output);
	if (!code && output->temporary[0] && rename(output->temporary, output->path) != 0)
		code = errno;
	if (code) {
		wp_output_abandon(output);
		return report(output, "could not be written", code, error);
	}
	if (output->temporary[0]) {
		wp_used_written(output->used);
		flush_folder(output->path);
		forget_temporary(output, false);
	}
	output->used = 0;
	return 0;
}

void wp_output_abandon(struct wp_output *output)
{
	if (output->stream)
		fclose(output->stream);
	output->stream = NULL;
	output->sink = NULL;
	if (output->temporary[0])
		forget_temporary(output, true);
	forget_use(output);
}
