/*
 * The kernel's text files: reading them whole, writing them in one call. Knows
 * nothing of what they mean. Reads always take the plain calls; what changes
 * the system goes through the table, which tests replace.
 */
#include "harness/system/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int host_make(const struct wp_kernel *kernel, const char *path)
{
	(void)kernel;
	return mkdir(path, 0755) ? -errno : 0;
}

static int host_remove(const struct wp_kernel *kernel, const char *path)
{
	(void)kernel;
	return rmdir(path) ? -errno : 0;
}

static int host_write(const struct wp_kernel *kernel, const char *path, const char *text)
{
	size_t length = strlen(text);
	int result = 0;
	ssize_t done;
	int fd;

	(void)kernel;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* The kernel takes each write as one command: a part of it must not be sent again. */
	done = write(fd, text, length);
	if (done < 0)
		result = -errno;
	else if ((size_t)done != length)
		result = -EIO;
	close(fd);
	return result;
}

const struct wp_kernel_ops wp_kernel_host_ops = {
    .make = host_make,
    .remove = host_remove,
    .write = host_write,
};

const struct wp_kernel wp_kernel_host = {.ops = &wp_kernel_host_ops, .root = ""};

int wp_kernel_path(const struct wp_kernel *kernel, char *full, size_t size, const char *path)
{
	int length = snprintf(full, size, "%s%s", kernel->root, path);

	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

static int open_read(const struct wp_kernel *kernel, const char *path)
{
	char full[WP_KERNEL_PATH_MAX];
	int error = wp_kernel_path(kernel, full, sizeof(full), path);
	int fd;

	if (error)
		return error;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Fills `text` up to `size`; the number of bytes read or -errno. */
static ssize_t read_full(int fd, char *text, size_t size)
{
	size_t filled = 0;

	while (filled < size) {
		ssize_t got = read(fd, text + filled, size - filled);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		filled += (size_t)got;
	}
	return (ssize_t)filled;
}

int wp_kernel_read(const struct wp_kernel *kernel, const char *path, char *text, size_t size)
{
	int fd = open_read(kernel, path);
	ssize_t got;

	WP_CHECK(size > 0);
	text[0] = '\0';
	if (fd < 0)
		return fd;
	got = read_full(fd, text, size);
	close(fd);
	if (got < 0)
		return (int)got;
	if ((size_t)got == size) {
		text[size - 1] = '\0';
		return -EFBIG;
	}
	text[got] = '\0';
	return 0;
}

int wp_kernel_read_all(const struct wp_kernel *kernel, const char *path, char **text)
{
	/* Larger than any of these files can sensibly be: a bound, not a guess at the size. */
	const size_t size_max = 16u * 1024u * 1024u;

	*text = NULL;
	for (size_t size = 16384; size <= size_max; size *= 4) {
		char *buffer = malloc(size);
		int error;

		if (!buffer)
			return -ENOMEM;
		error = wp_kernel_read(kernel, path, buffer, size);
		if (!error) {
			*text = buffer;
			return 0;
		}
		free(buffer);
		if (error != -EFBIG)
			return error;
	}
	return -EFBIG;
}

int wp_kernel_read_line(const struct wp_kernel *kernel, const char *path, char *text, size_t size)
{
	int error = wp_kernel_read(kernel, path, text, size);
	size_t length;

	/* A first line that fits is good even when the file goes on. */
	if (error && error != -EFBIG)
		return error;
	length = strcspn(text, "\n");
	if (error == -EFBIG && text[length] != '\n')
		return error;
	while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		length--;
	text[length] = '\0';
	return 0;
}

int wp_kernel_read_number(const struct wp_kernel *kernel, const char *path, uint64_t *number)
{
	char line[64];
	char *end;
	int error = wp_kernel_read_line(kernel, path, line, sizeof(line));

	if (error)
		return error;
	if (line[0] < '0' || line[0] > '9')
		return -EINVAL;
	errno = 0;
	*number = strtoull(line, &end, 10);
	return errno || *end ? -EINVAL : 0;
}

bool wp_kernel_exists(const struct wp_kernel *kernel, const char *path)
{
	char full[WP_KERNEL_PATH_MAX];

	return !wp_kernel_path(kernel, full, sizeof(full), path) && !access(full, F_OK);
}

int wp_kernel_make(const struct wp_kernel *kernel, const char *path)
{
	char full[WP_KERNEL_PATH_MAX];
	int error = wp_kernel_path(kernel, full, sizeof(full), path);

	return error ? error : kernel->ops->make(kernel, full);
}

int wp_kernel_remove(const struct wp_kernel *kernel, const char *path)
{
	char full[WP_KERNEL_PATH_MAX];
	int error = wp_kernel_path(kernel, full, sizeof(full), path);

	return error ? error : kernel->ops->remove(kernel, full);
}

int wp_kernel_write(const struct wp_kernel *kernel, const char *path, const char *text)
{
	char full[WP_KERNEL_PATH_MAX];
	int error = wp_kernel_path(kernel, full, sizeof(full), path);

	return error ? error : kernel->ops->write(kernel, full, text);
}

bool wp_kernel_list_has(const char *text, const char *separators, const char *word)
{
	size_t length = strlen(word);

	while (*text) {
		size_t span = strcspn(text, separators);

		if (span == length && !memcmp(text, word, length))
			return true;
		text += span;
		text += strspn(text, separators);
	}
	return false;
}
