/*
 * /proc/self/mountinfo as a list. One line is
 *
 *   36 35 98:0 /root /point rw,noatime shared:1 ... - type source options
 *
 * with blanks and backslashes inside a field written in octal.
 */
#include "harness/system/mounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

static void unescape(char *text)
{
	char *out = text;

	while (*text) {
		if (text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) &&
		    is_octal(text[3])) {
			*out++ =
			    (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

/* Cuts the next field off; NULL at the end of the line. */
static char *take_field(char **rest)
{
	char *field = strsep(rest, " ");

	while (field && !*field)
		field = strsep(rest, " ");
	return field;
}

static bool parse_line(char *line, struct wp_mount *mount)
{
	char *fields[5];
	char *field, *type, *source, *options;

	for (size_t i = 0; i < 5; i++) {
		fields[i] = take_field(&line);
		if (!fields[i])
			return false;
	}
	do {
		field = take_field(&line);
	} while (field && strcmp(field, "-") != 0);
	if (!field)
		return false;
	mount->id = strtoull(fields[0], NULL, 10);
	type = take_field(&line);
	source = take_field(&line);
	options = take_field(&line);
	if (!type || !source)
		return false;
	unescape(fields[3]);
	unescape(fields[4]);
	unescape(source);
	mount->root = fields[3];
	mount->point = fields[4];
	mount->type = type;
	mount->source = source;
	mount->options = options ? options : "";
	return true;
}

int wp_mounts_read(struct wp_mounts *list, const struct wp_kernel *kernel)
{
	size_t lines = 1;
	char *rest;
	int error;

	memset(list, 0, sizeof(*list));
	error = wp_kernel_read_all(kernel, "/proc/self/mountinfo", &list->text);
	if (error)
		return error;
	for (const char *at = list->text; *at; at++)
		lines += *at == '\n';
	list->mounts = calloc(lines, sizeof(*list->mounts));
	if (!list->mounts) {
		wp_mounts_done(list);
		return -ENOMEM;
	}
	rest = list->text;
	for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
		if (parse_line(line, &list->mounts[list->count]))
			list->count++;
	return 0;
}

void wp_mounts_done(struct wp_mounts *list)
{
	free(list->mounts);
	free(list->text);
	memset(list, 0, sizeof(*list));
}

const struct wp_mount *wp_mounts_find(const struct wp_mounts *list, uint64_t id)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->mounts[i].id == id)
			return &list->mounts[i];
	return NULL;
}

int wp_mount_option(const struct wp_mount *mount, const char *key, char *value, size_t size)
{
	size_t key_length = strlen(key);

	for (const char *at = mount->options; *at;) {
		size_t length = strcspn(at, ",");

		if (length > key_length && !memcmp(at, key, key_length) && at[key_length] == '=') {
			length -= key_length + 1;
			if (length >= size)
				return -ENAMETOOLONG;
			memcpy(value, at + key_length + 1, length);
			value[length] = '\0';
			unescape(value);
			return 0;
		}
		at += length + (at[length] == ',');
	}
	return -ENOENT;
}
