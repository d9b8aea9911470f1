/*
 * The kernel's text files (/proc, /sys, control groups) behind a small table,
 * so that tests put a tree of their own in their place and play the kernel's
 * refusals. All paths are absolute as the running system spells them; `root`
 * goes in front of each.
 */
#ifndef WP_KERNEL_H
#define WP_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pager/check.h"

#define WP_KERNEL_PATH_MAX 4096

struct wp_kernel;

/* Each: 0 or -errno. `path` already has the root in front. */
struct wp_kernel_ops {
	int (*make)(const struct wp_kernel *kernel, const char *path);	 /* a directory */
	int (*remove)(const struct wp_kernel *kernel, const char *path); /* a directory */
	/* One write(2) into a file that exists. */
	int (*write)(const struct wp_kernel *kernel, const char *path, const char *text);
};

struct wp_kernel {
	const struct wp_kernel_ops *ops;
	const char *root; /* "" for the running system */
};

/* The running system. */
extern const struct wp_kernel wp_kernel_host;
extern const struct wp_kernel_ops wp_kernel_host_ops;

/* `path` with the root in front; -ENAMETOOLONG. */
int wp_kernel_path(const struct wp_kernel *kernel, char *full, size_t size,
		   const char *path) WP_MUST_USE;

/*
 * Reads a whole text file into `text`, ended by NUL, trailing newline kept.
 * 0 or -errno; -EFBIG when it does not fit.
 */
int wp_kernel_read(const struct wp_kernel *kernel, const char *path, char *text,
		   size_t size) WP_MUST_USE;
/* The same into memory of its own, for files without a known bound; free() it. */
int wp_kernel_read_all(const struct wp_kernel *kernel, const char *path, char **text) WP_MUST_USE;
/* First line, without newline and trailing blanks. */
int wp_kernel_read_line(const struct wp_kernel *kernel, const char *path, char *text,
			size_t size) WP_MUST_USE;
/* A file that holds one decimal number; -EINVAL for anything else. */
int wp_kernel_read_number(const struct wp_kernel *kernel, const char *path,
			  uint64_t *number) WP_MUST_USE;
bool wp_kernel_exists(const struct wp_kernel *kernel, const char *path);

int wp_kernel_make(const struct wp_kernel *kernel, const char *path) WP_MUST_USE;
int wp_kernel_remove(const struct wp_kernel *kernel, const char *path) WP_MUST_USE;
int wp_kernel_write(const struct wp_kernel *kernel, const char *path, const char *text) WP_MUST_USE;

/*
 * Whether `word` is one of the words of `text`, divided by any of
 * `separators`: lists of controllers and mount options.
 */
bool wp_kernel_list_has(const char *text, const char *separators, const char *word);

#endif
