/*
 * What the file system beneath a store says about an open file: its name, the
 * alignment of direct I/O, whether bytes were really written. Facts only;
 * store_files decides what follows from them.
 */
#ifndef WP_STORE_FILESYSTEM_H
#define WP_STORE_FILESYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pager/check.h"

/* Name of the file system of an open file ("ext4"), or its magic in hex. 0 or -errno. */
int wp_filesystem_name(int fd, char *name, size_t size) WP_MUST_USE;

/* Whether that name is one whose files live in memory. */
bool wp_filesystem_in_memory(const char *name);

/*
 * Alignment of direct I/O on an open file, offsets and memory alike, as statx
 * reports it. *bytes = 0: the kernel says that there is no direct I/O.
 * -ENODATA: the kernel does not say. Other -errno: of statx.
 */
int wp_filesystem_alignment(int fd, uint32_t *bytes) WP_MUST_USE;

/* Bytes that an ordinary user may still write where `fd` is. 0 or -errno. */
int wp_filesystem_free_bytes(int fd, uint64_t *bytes) WP_MUST_USE;

/*
 * The first byte of [from, to) that was never written: a hole, an unwritten or
 * delayed extent, or one the file system keeps encoded or inline, so that
 * reading it would not cost what reading a drive costs.
 * 0: there is none. 1: *offset. -EOPNOTSUPP: the file system cannot say.
 */
int wp_filesystem_unwritten(int fd, uint64_t from, uint64_t to, uint64_t *offset) WP_MUST_USE;

/*
 * Gives an empty file `bytes` bytes of space. Where the file system has no
 * preallocation, zeros are really written if `write_zeros`, and the file is
 * left to grow otherwise. `bytes` is a multiple of 4096. 0 or -errno.
 */
int wp_filesystem_allocate(int fd, uint64_t bytes, bool write_zeros) WP_MUST_USE;

/* The whole range or -errno; -EIO where the file ends early. */
int wp_filesystem_read(int fd, void *buffer, uint64_t bytes, uint64_t offset) WP_MUST_USE;
int wp_filesystem_write(int fd, const void *buffer, uint64_t bytes, uint64_t offset) WP_MUST_USE;

#endif
