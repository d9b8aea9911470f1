/*
 * Opening a complete store: directory and lock, header, index, segments, and
 * the examination of what lies beneath them. Making and removing a store is
 * store_make.c.
 *
 * The idea: whatever is not exactly what the header promises (a link, a device,
 * a short file, a hole) is refused here, before the first read, with its name.
 */
#include "pager/store_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "pager/store_filesystem.h"

void wp_store_segment_name(uint32_t segment, char name[WP_STORE_NAME_BYTES])
{
	snprintf(name, WP_STORE_NAME_BYTES, "segment-%05" PRIu32, segment);
}

/*
 * Where everybody may leave things, somebody may have left a link under the
 * name of a store, to a directory of ours that they cannot write to themselves.
 */
static bool is_planted(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat itself, around;
	char *folder;
	bool open_to_all;

	if (lstat(path, &itself) != 0 || !S_ISLNK(itself.st_mode) || itself.st_uid == geteuid())
		return false;
	folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	open_to_all = !folder || stat(folder, &around) != 0 ||
		      ((around.st_mode & S_IWOTH) && itself.st_uid != around.st_uid);
	free(folder);
	return open_to_all;
}

int wp_store_directory_find(const char *path, struct wp_store_fault *fault)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (directory >= 0)
		return directory;
	if (is_planted(path))
		return wp_store_fault_text(fault, -EPERM, false,
					   "store %s: somebody else's link in a folder open to all",
					   path);
	/* A link of one's own is fine: stores get moved to other disks. */
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return directory < 0 ? wp_store_fault_errno(fault, -errno, "store %s", path) : directory;
}

int wp_store_directory_open(const char *path, bool alone, struct wp_store_fault *fault)
{
	int directory = wp_store_directory_find(path, fault);
	int error;

	if (directory < 0)
		return directory;
	if (flock(directory, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0)
		return directory;
	error = -errno;
	close(directory);
	if (error == -EWOULDBLOCK)
		return wp_store_fault_text(fault, error, false,
					   "store %s: in use by another process", path);
	return wp_store_fault_errno(fault, error, "store %s: lock", path);
}

int wp_store_file_open(int directory, const char *name, int flags)
{
	struct stat about;
	int fd, error;

	/* O_NONBLOCK: a pipe of that name must not make us wait for a writer. */
	fd = openat(directory, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &about) != 0)
		error = -errno;
	else if (!S_ISREG(about.st_mode))
		error = -EBADMSG;
	else
		return fd;
	close(fd);
	if (flags & O_EXCL) /* made just now, and of no use */
		(void)unlinkat(directory, name, 0);
	return error;
}

int wp_store_directory_header(int directory, const char *path, const char *name,
			      struct wp_store_header *header, struct wp_store_fault *fault)
{
	unsigned char bytes[WP_STORE_HEADER_BYTES];
	const char *wrong;
	int fd = wp_store_file_open(directory, name, O_RDONLY);
	int error;

	if (fd == -ENOENT)
		return wp_store_fault_text(fault, fd, true, "store %s: no store here (no file %s)",
					   path, name);
	if (fd < 0)
		return wp_store_fault_errno(fault, fd, "store %s: file %s", path, name);
	error = wp_filesystem_read(fd, bytes, sizeof(bytes), 0);
	close(fd);
	if (error)
		return wp_store_fault_errno(fault, error, "store %s: file %s", path, name);
	wrong = wp_store_header_decode(header, bytes);
	if (wrong)
		return wp_store_fault_text(fault, -EBADMSG, true, "store %s: file %s: %s", path,
					   name, wrong);
	return 0;
}

static int check_size(struct wp_store_files *files, int fd, const char *name, uint64_t bytes,
		      struct wp_store_fault *fault)
{
	struct stat about;

	if (fstat(fd, &about) != 0)
		return wp_store_fault_errno(fault, -errno, "store %s: %s", files->path, name);
	files->device_major = major(about.st_dev);
	files->device_minor = minor(about.st_dev);
	if ((uint64_t)about.st_size == bytes)
		return 0;
	return wp_store_fault_text(fault, -EBADMSG, true,
				   "store %s: %s is %" PRIu64 " B long instead of %" PRIu64,
				   files->path, name, (uint64_t)about.st_size, bytes);
}

/* Where it is not known how many blocks are written at once, half of them are spared. */
static uint32_t replaced_max(const struct wp_store_files *files,
			     const struct wp_store_host_config *config)
{
	if (!config->forget_oldest)
		return 0;
	return config->write_blocks_max ? wp_store_replaced_max(config->write_blocks_max)
					: (files->header.record_count + 1) / 2;
}

static int open_index(struct wp_store_files *files, const struct wp_store_host_config *config,
		      struct wp_store_fault *fault)
{
	bool writable = config->writable;
	int error;

	files->index_fd =
	    wp_store_file_open(files->directory, WP_STORE_INDEX_NAME, writable ? O_RDWR : O_RDONLY);
	if (files->index_fd < 0)
		return wp_store_fault_errno(fault, files->index_fd, "store %s: index", files->path);
	error = check_size(files, files->index_fd, WP_STORE_INDEX_NAME,
			   wp_store_index_bytes(&files->header), fault);
	if (error)
		return error;
	error = wp_store_index_init(&files->index, &files->header, writable);
	if (!error)
		error = wp_store_index_load(&files->index, files->index_fd,
					    replaced_max(files, config));
	if (error)
		return wp_store_fault_errno(fault, error, "store %s: index", files->path);
	return 0;
}

static int open_segments(struct wp_store_files *files, bool writable, struct wp_store_fault *fault)
{
	int flags = (writable ? O_RDWR : O_RDONLY) | O_DIRECT;

	for (uint32_t i = 0; i < files->segment_count; i++) {
		char name[WP_STORE_NAME_BYTES];
		int error;

		wp_store_segment_name(i, name);
		files->segments[i] = wp_store_file_open(files->directory, name, flags);
		if (files->segments[i] == -EINVAL && (flags & O_DIRECT)) {
			flags &= ~O_DIRECT;
			files->segments[i] = wp_store_file_open(files->directory, name, flags);
		}
		if (files->segments[i] < 0)
			return wp_store_fault_errno(fault, files->segments[i], "store %s: %s",
						    files->path, name);
		error = check_size(files, files->segments[i], name,
				   wp_store_segment_bytes(&files->header, i), fault);
		if (error)
			return error;
	}
	return 0;
}

/* Direct I/O off, or the reason why the store cannot be used without it. */
static int refuse_direct(struct wp_store_files *files, bool require_direct,
			 struct wp_store_fault *fault, const char *why)
{
	if (require_direct)
		return wp_store_fault_text(
		    fault, -EOPNOTSUPP, false,
		    "store %s: direct I/O is not possible on this file system (%s): %s",
		    files->path, files->filesystem, why);
	wp_store_reason_add(files->fallback, sizeof(files->fallback),
			    "reads go through the page cache: %s", why);
	for (uint32_t i = 0; i < files->segment_count; i++) {
		int flags = fcntl(files->segments[i], F_GETFL);

		if (flags < 0 || fcntl(files->segments[i], F_SETFL, flags & ~O_DIRECT) != 0)
			return wp_store_fault_errno(fault, -errno, "store %s", files->path);
	}
	files->direct = false;
	files->alignment_bytes = 1;
	return 0;
}

static int examine_direct(struct wp_store_files *files, bool require_direct,
			  struct wp_store_fault *fault)
{
	int flags = fcntl(files->segments[files->segment_count - 1], F_GETFL);
	int error = wp_filesystem_alignment(files->segments[0], &files->alignment_bytes);

	files->direct = true;
	if (flags < 0 || !(flags & O_DIRECT))
		return refuse_direct(files, require_direct, fault, "open with O_DIRECT: EINVAL");
	if (error) {
		/* Kernels before 6.1, and memory: 4096 suits all but the oddest drives. */
		files->alignment_bytes = WP_STORE_ALIGNMENT;
		wp_store_reason_add(files->fallback, sizeof(files->fallback),
				    "statx reports no alignment, 4096 assumed");
		return 0;
	}
	if (files->alignment_bytes == 0)
		return refuse_direct(files, require_direct, fault, "statx says there is none");
	if (files->alignment_bytes > WP_STORE_ALIGNMENT)
		return refuse_direct(files, require_direct, fault, "alignment above 4096 B");
	return 0;
}

/* One run of stored records of a segment must have been written. */
static int examine_run(struct wp_store_files *files, uint32_t first, uint32_t count,
		       struct wp_store_fault *fault)
{
	uint32_t segment = wp_store_files_segment(files, first);
	uint64_t from = wp_store_files_offset(files, first);
	uint64_t offset = 0;
	int found = wp_filesystem_unwritten(files->segments[segment], from,
					    from + count * files->header.record_bytes, &offset);

	if (found == 0)
		return 0;
	if (found == -EOPNOTSUPP)
		return wp_store_fault_text(fault, found, false,
					   "store %s: the file system (%s) cannot tell written "
					   "bytes from holes, which would read too fast",
					   files->path, files->filesystem);
	if (found < 0)
		return wp_store_fault_errno(fault, found, "store %s: extents", files->path);
	return wp_store_fault_text(
	    fault, -EBADMSG, true,
	    "store %s: block %" PRIu32
	    " lies on a hole, an unwritten or an encoded extent (segment "
	    "%" PRIu32 ", offset %" PRIu64 "), which would read too fast",
	    files->path,
	    files->index.records[first + (uint32_t)((offset - from) / files->header.record_bytes)]
		.block,
	    segment, offset);
}

static int examine_extents(struct wp_store_files *files, struct wp_store_fault *fault)
{
	uint32_t segment_records = files->header.segment_records;
	uint32_t run = 0; /* stored records just before i, in its segment */

	for (uint32_t i = 0; i <= files->header.record_count; i++) {
		bool end = i == files->header.record_count;
		bool stored = !end && files->index.records[i].state == WP_RECORD_STORED;

		if (run > 0 && (!stored || i % segment_records == 0)) {
			int error = examine_run(files, i - run, run, fault);

			if (error)
				return error;
			run = 0;
		}
		run = stored ? run + 1 : 0;
	}
	return 0;
}

int wp_store_files_examine(struct wp_store_files *files, const struct wp_store_host_config *config,
			   struct wp_store_fault *fault)
{
	int error =
	    wp_filesystem_name(files->segments[0], files->filesystem, sizeof(files->filesystem));

	if (error)
		return wp_store_fault_errno(fault, error, "store %s", files->path);
	if (wp_filesystem_in_memory(files->filesystem) && !config->allow_unproven)
		return wp_store_fault_text(fault, -EOPNOTSUPP, false,
					   "store %s: lies in memory (%s), not on a drive",
					   files->path, files->filesystem);
	error = examine_direct(files, config->require_direct, fault);
	if (error)
		return error;
	error = examine_extents(files, fault);
	if (config->allow_unproven && (error == -EOPNOTSUPP || error == -EBADMSG)) {
		wp_store_reason_add(files->fallback, sizeof(files->fallback), "unproven: %s",
				    fault->text);
		return 0;
	}
	return error;
}

static bool same_identity(const struct wp_store_identity *is, const struct wp_store_identity *want)
{
	return is->kind == want->kind && is->block_bytes == want->block_bytes &&
	       is->geometry_hash == want->geometry_hash && is->seed == want->seed &&
	       strcmp(is->codec, want->codec) == 0;
}

/* What a killed process wrote may still be in memory only; from here on it counts as stored. */
static int keep_found(struct wp_store_files *files, struct wp_store_fault *fault)
{
	int error = wp_store_files_sync(files);

	if (error)
		return wp_store_fault_errno(fault, error, "store %s: making it durable",
					    files->path);
	return 0;
}

static int open_all(struct wp_store_files *files, const struct wp_store_host_config *config,
		    const struct wp_store_identity *expect, struct wp_store_fault *fault)
{
	int error = wp_store_directory_header(files->directory, files->path, WP_STORE_HEADER_NAME,
					      &files->header, fault);

	if (error)
		return error;
	if (expect && !same_identity(&files->header.identity, expect))
		return wp_store_fault_text(
		    fault, -EBADMSG, true,
		    "store %s: made for another purpose (%s, blocks of %" PRIu64
		    " B, codec %s; wanted %s, %" PRIu64 " B, %s)",
		    files->path, files->header.identity.model, files->header.identity.block_bytes,
		    files->header.identity.codec, expect->model, expect->block_bytes,
		    expect->codec);
	if (config->writable && files->header.identity.kind != WP_STORE_SESSION)
		return wp_store_fault_text(fault, -EROFS, true,
					   "store %s: prepared for replays, no session's",
					   files->path);
	files->segment_count = wp_store_segment_count(&files->header);
	files->segments = calloc(files->segment_count, sizeof(*files->segments));
	if (!files->segments)
		return wp_store_fault_errno(fault, -ENOMEM, "store %s", files->path);
	for (uint32_t i = 0; i < files->segment_count; i++)
		files->segments[i] = -1;
	error = open_index(files, config, fault);
	if (!error)
		error = open_segments(files, config->writable, fault);
	if (!error)
		error = wp_store_files_examine(files, config, fault);
	return error || !config->writable ? error : keep_found(files, fault);
}

int wp_store_files_open(struct wp_store_files *files, const struct wp_store_host_config *config,
			const struct wp_store_identity *expect, struct wp_store_fault *fault)
{
	int error;

	memset(files, 0, sizeof(*files));
	files->index_fd = -1;
	files->directory = wp_store_directory_open(config->directory, config->writable, fault);
	if (files->directory < 0)
		return files->directory;
	files->path = strdup(config->directory);
	if (files->path)
		error = open_all(files, config, expect, fault);
	else
		error = wp_store_fault_errno(fault, -ENOMEM, "store %s", config->directory);
	if (error)
		wp_store_files_close(files);
	return error;
}
