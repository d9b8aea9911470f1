/*
 * Input files: opening, recognising what is plainly something else, and lines
 * of limited length. Knows nothing of what the text means. The one idea: a file
 * is never trusted for its size or kind; both are looked at before a byte of it
 * is believed.
 */
#include "harness/files/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "harness/files/used_files.h"

static const char *kind_of_mode(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISFIFO(mode))
		return "a pipe";
	if (S_ISSOCK(mode))
		return "a socket";
	if (S_ISBLK(mode))
		return "a block device";
	return "a character device";
}

int wp_input_open(const char *path, const char *what, enum wp_exit exit_code, uint64_t *size,
		  struct wp_error *error)
{
	/* O_NONBLOCK: a pipe without a writer would hang the open. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (fd < 0)
		return wp_error_at(error, exit_code, path, 0, 0, "cannot open: %s",
				   strerror(errno));
	if (fstat(fd, &status) < 0) {
		wp_error_at(error, exit_code, path, 0, 0, "cannot stat: %s", strerror(errno));
		close(fd);
		return -1;
	}
	if (!S_ISREG(status.st_mode)) {
		wp_error_at(error, exit_code, path, 0, 0, "not %s (found %s)", what,
			    kind_of_mode(status.st_mode));
		close(fd);
		return -1;
	}
	if (!wp_used_read(&status)) {
		wp_error_at(error, WP_EXIT_USAGE, path, 0, 0,
			    "is named as an input and as an output");
		close(fd);
		return -1;
	}
	*size = (uint64_t)status.st_size;
	return fd;
}

static ssize_t read_some(int fd, char *bytes, size_t size)
{
	ssize_t got;

	do {
		got = read(fd, bytes, size);
	} while (got < 0 && errno == EINTR);
	return got;
}

const char *wp_input_kind(const unsigned char *bytes, size_t size)
{
	static const struct {
		const char *magic;
		size_t size;
		const char *kind;
	} kinds[] = {
	    {"\x89PNG", 4, "a PNG image"},
	    {"\x1f\x8b", 2, "gzip-compressed data"},
	    {"\x28\xb5\x2f\xfd", 4, "zstd-compressed data"},
	    {"\xfd"
	     "7zXZ",
	     5, "xz-compressed data"},
	    {"BZh", 3, "bzip2-compressed data"},
	    {"PK\x03\x04", 4, "a zip archive"},
	    {"\x7f"
	     "ELF",
	     4, "a program"},
	    {"\xff\xfe", 2, "UTF-16 text"},
	    {"\xfe\xff", 2, "UTF-16 text"},
	};

	if (size == 0)
		return "an empty file";
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (size >= kinds[i].size && !memcmp(bytes, kinds[i].magic, kinds[i].size))
			return kinds[i].kind;
	}
	if (memchr(bytes, 0, size < 4096 ? size : 4096))
		return "binary data";
	return NULL;
}

size_t wp_input_mark(const char *bytes, size_t size)
{
	return size >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) ? 3 : 0;
}

/* Reads up to `room` bytes; fewer only at the end of the file. -1 with errno. */
static ssize_t read_full(int fd, char *bytes, size_t room)
{
	size_t size = 0;

	while (size < room) {
		ssize_t got = read_some(fd, bytes + size, room - size);

		if (got < 0)
			return -1;
		if (got == 0)
			break;
		size += (size_t)got;
	}
	return (ssize_t)size;
}

char *wp_input_read(const char *path, const char *what, enum wp_exit exit_code, uint64_t size_max,
		    size_t *size, struct wp_error *error)
{
	uint64_t claimed = 0;
	int fd = wp_input_open(path, what, exit_code, &claimed, error);
	char *bytes = NULL;
	ssize_t got = -1;

	if (fd < 0)
		return NULL;
	if (claimed > size_max) {
		wp_error_at(error, exit_code, path, 0, 0,
			    "not %s (found a file of %llu bytes; %llu is the limit)", what,
			    (unsigned long long)claimed, (unsigned long long)size_max);
		goto out;
	}
	/* One byte more than claimed, to notice a file that grows. */
	bytes = malloc(claimed + 2);
	if (bytes)
		got = read_full(fd, bytes, claimed + 1);
	if (got < 0 || (uint64_t)got > claimed) {
		wp_error_at(error, exit_code, path, 0, 0, "cannot read: %s",
			    got < 0 ? strerror(errno) : "it is being written to");
		free(bytes);
		bytes = NULL;
		goto out;
	}
	bytes[got] = '\0';
	*size = (size_t)got;
out:
	close(fd);
	return bytes;
}

int wp_input_lines_open(struct wp_input_lines *lines, const char *path, const char *what,
			enum wp_exit exit_code, struct wp_error *error)
{
	uint64_t size;
	ssize_t got;
	const char *kind;

	memset(lines, 0, sizeof(*lines));
	lines->path = path;
	lines->exit_code = exit_code;
	lines->fd = wp_input_open(path, what, exit_code, &size, error);
	if (lines->fd < 0)
		return -1;
	lines->buffer = malloc(WP_LINE_BYTES_MAX);
	lines->digest = XXH3_createState();
	if (!lines->buffer || !lines->digest) {
		wp_error_at(error, exit_code, path, 0, 0, "out of memory");
		goto fail;
	}
	XXH3_64bits_reset(lines->digest);
	got = read_full(lines->fd, lines->buffer, WP_LINE_BYTES_MAX);
	if (got < 0) {
		wp_error_at(error, exit_code, path, 0, 0, "cannot read: %s", strerror(errno));
		goto fail;
	}
	lines->end = (size_t)got;
	lines->at_end = lines->end < WP_LINE_BYTES_MAX;
	XXH3_64bits_update(lines->digest, lines->buffer, lines->end);
	kind = wp_input_kind((const unsigned char *)lines->buffer, lines->end);
	if (kind) {
		wp_error_at(error, exit_code, path, 0, 0, "not %s (found %s)", what, kind);
		goto fail;
	}
	lines->begin = wp_input_mark(lines->buffer, lines->end);
	return 0;
fail:
	wp_input_lines_close(lines);
	return -1;
}

/* Moves the unread bytes to the front and fills the buffer behind them. */
static int refill(struct wp_input_lines *lines, struct wp_error *error)
{
	size_t unread = lines->end - lines->begin;
	ssize_t got;

	memmove(lines->buffer, lines->buffer + lines->begin, unread);
	lines->begin = 0;
	lines->end = unread;
	got = read_full(lines->fd, lines->buffer + unread, WP_LINE_BYTES_MAX - unread);
	if (got < 0)
		return wp_error_at(error, lines->exit_code, lines->path, 0, 0, "cannot read: %s",
				   strerror(errno));
	XXH3_64bits_update(lines->digest, lines->buffer + unread, (size_t)got);
	lines->end += (size_t)got;
	lines->at_end = lines->end < WP_LINE_BYTES_MAX;
	return 0;
}

int wp_input_lines_next(struct wp_input_lines *lines, const char **text, size_t *size,
			struct wp_error *error)
{
	char *begin = lines->buffer + lines->begin;
	char *newline = memchr(begin, '\n', lines->end - lines->begin);
	char *end;

	if (!newline && !lines->at_end) {
		if (refill(lines, error) < 0)
			return -1;
		begin = lines->buffer;
		newline = memchr(begin, '\n', lines->end);
		if (!newline && !lines->at_end)
			return wp_error_at(error, lines->exit_code, lines->path, lines->line + 1, 0,
					   "line is longer than %u bytes", WP_LINE_BYTES_MAX);
	}
	if (!newline && lines->begin == lines->end)
		return 0;
	end = newline ? newline : lines->buffer + lines->end;
	lines->begin = (size_t)(end - lines->buffer) + (newline ? 1 : 0);
	if (newline && end > begin && end[-1] == '\r')
		end--;
	lines->line++;
	*text = begin;
	*size = (size_t)(end - begin);
	return 1;
}

void wp_input_lines_digest(const struct wp_input_lines *lines, char digest[17])
{
	snprintf(digest, 17, "%016llx",
		 (unsigned long long)XXH3_64bits_digest((const XXH3_state_t *)lines->digest));
}

void wp_input_lines_close(struct wp_input_lines *lines)
{
	if (!lines->path)
		return;
	if (lines->fd >= 0)
		close(lines->fd);
	free(lines->buffer);
	if (lines->digest)
		XXH3_freeState(lines->digest);
	memset(lines, 0, sizeof(*lines));
}
