/*
 * Making a store, making it complete, and taking one away.
 *
 * The idea: header.partial is written first and renamed last. Until then every
 * file is known to be ours by that header, so a failure removes exactly those,
 * and what a killed process left is cleared away by the next creation.
 */
#include "pager/store_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pager/store_filesystem.h"

uint64_t wp_store_host_bytes(uint64_t block_bytes, uint32_t record_count)
{
	return WP_STORE_HEADER_BYTES + record_count * (wp_store_record_bytes(block_bytes) +
						       (uint64_t)wp_store_entry_bytes(block_bytes));
}

static int remove_name(int directory, const char *name)
{
	return unlinkat(directory, name, 0) == 0 || errno == ENOENT ? 0 : -errno;
}

/* All files that `header` speaks of, header.partial itself last. */
static int remove_files(int directory, const struct wp_store_header *header)
{
	uint32_t segment_count = wp_store_segment_count(header);
	int error = 0;

	for (uint32_t i = 0; i < segment_count && !error; i++) {
		char name[WP_STORE_NAME_BYTES];

		wp_store_segment_name(i, name);
		error = remove_name(directory, name);
	}
	if (!error)
		error = remove_name(directory, WP_STORE_INDEX_NAME);
	if (!error)
		error = remove_name(directory, WP_STORE_PARTIAL_NAME);
	return error;
}

/* A crash between creating header.partial and filling it leaves it empty, or zeros. */
static bool is_blank(int directory, const char *name)
{
	unsigned char bytes[WP_STORE_HEADER_BYTES];
	int fd = wp_store_file_open(directory, name, O_RDONLY);
	ssize_t got;

	if (fd < 0)
		return false;
	got = pread(fd, bytes, sizeof(bytes), 0);
	close(fd);
	for (ssize_t i = 0; i < got; i++) {
		if (bytes[i] != 0)
			return false;
	}
	return got >= 0;
}

/* Clears away what an interrupted creation left; refuses what is not that. */
static int clear_partial(struct wp_store_files *files, struct wp_store_fault *fault)
{
	struct wp_store_header header;
	int error = wp_store_directory_header(files->directory, files->path, WP_STORE_PARTIAL_NAME,
					      &header, fault);

	if (error == -ENOENT)
		return 0;
	if (!error)
		error = remove_files(files->directory, &header);
	else if (is_blank(files->directory, WP_STORE_PARTIAL_NAME))
		error = remove_name(files->directory, WP_STORE_PARTIAL_NAME);
	else
		return error;
	if (error)
		return wp_store_fault_errno(fault, error,
					    "store %s: clearing away what an "
					    "interrupted preparation left",
					    files->path);
	return 0;
}

/* A new file under our name, never one that is there. fd or -errno. */
static int create_file(struct wp_store_files *files, const char *name, int flags,
		       struct wp_store_fault *fault)
{
	int fd = wp_store_file_open(files->directory, name, flags | O_RDWR | O_CREAT | O_EXCL);

	if (fd == -EINVAL && (flags & O_DIRECT)) {
		/* Linux creates the file and only then finds that O_DIRECT is refused. The
		 * name was free a moment ago (check_names) and the directory is locked. */
		(void)remove_name(files->directory, name);
		fd = wp_store_file_open(files->directory, name, O_RDWR | O_CREAT | O_EXCL);
	}
	if (fd < 0)
		return wp_store_fault_errno(fault, fd, "store %s: making %s", files->path, name);
	return fd;
}

static int create_header(struct wp_store_files *files, struct wp_store_fault *fault)
{
	unsigned char bytes[WP_STORE_HEADER_BYTES];
	int fd = create_file(files, WP_STORE_PARTIAL_NAME, 0, fault);
	int error;

	if (fd < 0)
		return fd;
	files->partial = true;
	wp_store_header_encode(&files->header, bytes);
	error = wp_filesystem_write(fd, bytes, sizeof(bytes), 0);
	if (!error && fsync(fd) != 0)
		error = -errno;
	if (close(fd) != 0 && !error)
		error = -errno;
	if (error)
		return wp_store_fault_errno(fault, error, "store %s: writing the header",
					    files->path);
	return 0;
}

/* Zeros, really written: later entries then change no file metadata. */
static int create_index(struct wp_store_files *files, struct wp_store_fault *fault)
{
	int error = wp_store_index_init(&files->index, &files->header, true);

	files->index_fd = create_file(files, WP_STORE_INDEX_NAME, 0, fault);
	if (files->index_fd < 0)
		return files->index_fd;
	if (!error)
		memset(files->index.entry, 0, files->header.entry_bytes);
	for (uint32_t i = 0; i < files->header.record_count && !error; i++)
		error = wp_filesystem_write(files->index_fd, files->index.entry,
					    files->header.entry_bytes,
					    (uint64_t)i * files->header.entry_bytes);
	if (error)
		return wp_store_fault_errno(fault, error, "store %s: writing the index",
					    files->path);
	return 0;
}

static int create_segments(struct wp_store_files *files, struct wp_store_fault *fault)
{
	/* A prepared store is written from end to end anyway. */
	bool write_zeros = files->header.identity.kind == WP_STORE_SESSION;

	for (uint32_t i = 0; i < files->segment_count; i++) {
		uint64_t bytes = wp_store_segment_bytes(&files->header, i);
		char name[WP_STORE_NAME_BYTES];
		int error;

		wp_store_segment_name(i, name);
		files->segments[i] = create_file(files, name, O_DIRECT, fault);
		if (files->segments[i] < 0)
			return files->segments[i];
		error = wp_filesystem_allocate(files->segments[i], bytes, write_zeros);
		if (error)
			return wp_store_fault_errno(fault, error,
						    "store %s: reserving %" PRIu64 " B for %s",
						    files->path, bytes, name);
	}
	return 0;
}

static int check_space(struct wp_store_files *files, struct wp_store_fault *fault)
{
	uint64_t need =
	    wp_store_host_bytes(files->header.identity.block_bytes, files->header.record_count);
	uint64_t have;
	int error = wp_filesystem_free_bytes(files->directory, &have);

	if (error)
		return wp_store_fault_errno(fault, error, "store %s: free space", files->path);
	if (have < need)
		return wp_store_fault_text(fault, -ENOSPC, false,
					   "store %s: needs %" PRIu64 " B of space, has %" PRIu64,
					   files->path, need, have);
	return 0;
}

/* Names that we are about to use must be free: what bears them now is not ours. */
static int check_names(struct wp_store_files *files, struct wp_store_fault *fault)
{
	char name[WP_STORE_NAME_BYTES] = WP_STORE_INDEX_NAME;
	struct stat about;

	for (uint32_t i = 0; i <= files->segment_count; i++) {
		if (fstatat(files->directory, name, &about, AT_SYMLINK_NOFOLLOW) == 0)
			return wp_store_fault_text(
			    fault, -EEXIST, true,
			    "store %s: a file %s that belongs to no store is in the way",
			    files->path, name);
		wp_store_segment_name(i, name);
	}
	return 0;
}

static int create_all(struct wp_store_files *files, const struct wp_store_host_config *config,
		      struct wp_store_fault *fault)
{
	int error = check_names(files, fault);

	if (!error)
		error = check_space(files, fault);
	if (!error)
		error = create_header(files, fault);
	if (!error)
		error = create_index(files, fault);
	if (!error)
		error = create_segments(files, fault);
	if (!error)
		error = wp_store_files_examine(files, config, fault);
	if (!error && files->header.identity.kind == WP_STORE_SESSION) {
		error = wp_store_files_seal(files);
		if (error)
			wp_store_fault_errno(fault, error, "store %s: making it durable",
					     files->path);
	}
	return error;
}

/* The directory, ours alone, without a store in it. */
static int claim_directory(struct wp_store_files *files, const char *path,
			   struct wp_store_fault *fault)
{
	struct stat about;
	bool new_directory;

	files->path = strdup(path);
	if (!files->path)
		return wp_store_fault_errno(fault, -ENOMEM, "store %s", path);
	new_directory = mkdir(path, 0700) == 0;
	if (!new_directory && errno != EEXIST)
		return wp_store_fault_errno(fault, -errno, "store %s: making the directory", path);
	files->directory = wp_store_directory_open(path, true, fault);
	if (files->directory < 0)
		return files->directory;
	/* Ours to take away again only while it is locked: another process may be in it. */
	files->new_directory = new_directory;
	if (fstatat(files->directory, WP_STORE_HEADER_NAME, &about, AT_SYMLINK_NOFOLLOW) == 0)
		return wp_store_fault_text(fault, -EEXIST, true, "store %s: there is one already",
					   path);
	return clear_partial(files, fault);
}

static int prepare_memory(struct wp_store_files *files, const struct wp_store_identity *identity,
			  uint32_t record_count, uint64_t segment_bytes_max)
{
	uint64_t store_id;

	if (getrandom(&store_id, sizeof(store_id), 0) != sizeof(store_id))
		return -EIO;
	wp_store_header_init(&files->header, identity, store_id, record_count,
			     segment_bytes_max ? segment_bytes_max : WP_STORE_SEGMENT_BYTES);
	files->segment_count = wp_store_segment_count(&files->header);
	files->segments = malloc(files->segment_count * sizeof(*files->segments));
	if (!files->segments)
		return -ENOMEM;
	for (uint32_t i = 0; i < files->segment_count; i++)
		files->segments[i] = -1;
	return 0;
}

int wp_store_files_create(struct wp_store_files *files, const struct wp_store_host_config *config,
			  const struct wp_store_identity *identity, uint32_t record_count,
			  struct wp_store_fault *fault)
{
	int error;

	memset(files, 0, sizeof(*files));
	files->directory = files->index_fd = -1;
	error = claim_directory(files, config->directory, fault);
	if (!error) {
		error = prepare_memory(files, identity, record_count, config->segment_bytes_max);
		if (error)
			wp_store_fault_errno(fault, error, "store %s", config->directory);
	}
	if (!error)
		error = create_all(files, config, fault);
	if (error)
		wp_store_files_close(files);
	return error;
}

int wp_store_files_sync(const struct wp_store_files *files)
{
	for (uint32_t i = 0; i < files->segment_count; i++) {
		if (fsync(files->segments[i]) != 0)
			return -errno;
	}
	return fsync(files->index_fd) == 0 ? 0 : -errno;
}

int wp_store_files_seal(struct wp_store_files *files)
{
	int error = wp_store_files_sync(files);

	WP_CHECK(files->partial);
	if (error)
		return error;
	if (fsync(files->directory) != 0)
		return -errno;
	if (renameat(files->directory, WP_STORE_PARTIAL_NAME, files->directory,
		     WP_STORE_HEADER_NAME) != 0)
		return -errno;
	files->partial = false;
	files->new_directory = false;
	return fsync(files->directory) == 0 ? 0 : -errno;
}

/* What was made here: the files that are open, and header.partial. */
static void remove_made(struct wp_store_files *files)
{
	for (uint32_t i = 0; i < files->segment_count; i++) {
		char name[WP_STORE_NAME_BYTES];

		wp_store_segment_name(i, name);
		if (files->segments[i] >= 0)
			(void)remove_name(files->directory, name);
	}
	if (files->index_fd >= 0)
		(void)remove_name(files->directory, WP_STORE_INDEX_NAME);
	(void)remove_name(files->directory, WP_STORE_PARTIAL_NAME);
}

void wp_store_files_close(struct wp_store_files *files)
{
	if (files->partial)
		remove_made(files);
	for (uint32_t i = 0; files->segments && i < files->segment_count; i++) {
		if (files->segments[i] >= 0)
			close(files->segments[i]);
	}
	if (files->index_fd >= 0)
		close(files->index_fd);
	if (files->new_directory)
		(void)rmdir(files->path);
	if (files->directory >= 0)
		close(files->directory);
	wp_store_index_done(&files->index);
	free(files->segments);
	free(files->path);
	memset(files, 0, sizeof(*files));
	files->directory = files->index_fd = -1;
}

int wp_store_host_identify(const char *directory, struct wp_store_identity *identity,
			   uint32_t *record_count, struct wp_store_fault *fault)
{
	struct wp_store_header header;
	int fd = wp_store_directory_find(directory, fault);
	int error;

	if (fd < 0)
		return fd;
	error = wp_store_directory_header(fd, directory, WP_STORE_HEADER_NAME, &header, fault);
	close(fd);
	if (error)
		return error;
	*identity = header.identity;
	*record_count = header.record_count;
	return 0;
}

int wp_store_host_remove(const char *directory, struct wp_store_fault *fault)
{
	struct wp_store_header header;
	int fd = wp_store_directory_open(directory, true, fault);
	int error;

	if (fd < 0)
		return fd;
	error = wp_store_directory_header(fd, directory, WP_STORE_HEADER_NAME, &header, fault);
	if (error == -ENOENT)
		error =
		    wp_store_directory_header(fd, directory, WP_STORE_PARTIAL_NAME, &header, fault);
	else if (!error && renameat(fd, WP_STORE_HEADER_NAME, fd, WP_STORE_PARTIAL_NAME) != 0)
		/* From here on it is an incomplete store, whatever happens to us. */
		error = wp_store_fault_errno(fault, -errno, "store %s: removing it", directory);
	if (!error) {
		error = remove_files(fd, &header);
		if (error)
			wp_store_fault_errno(fault, error, "store %s: removing it", directory);
	}
	close(fd);
	return error;
}
