/* A list of files of this process; see used_files.h. Outputs are few, inputs some thousand. */
#include "harness/files/used_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/tool.h"

enum use {
	USE_NONE,
	USE_READ,
	USE_MEANT, /* an output that is not open yet */
	USE_OPEN,
	USE_WRITTEN,
};

struct place {
	bool exists, has_folder;
	dev_t device, folder_device; /* of the file itself; of the folder that its name is in */
	ino_t inode, folder_inode;
	struct timespec modified; /* the number of a file that is gone is given to another one */
};

struct used {
	enum use use;
	struct place place;
	char *path; /* of outputs, as it was given */
};

static struct used *list;
static unsigned count, room;

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Whether there is such a place; a pipe, a device or a folder is none. */
static bool find_place(struct place *place, const char *path)
{
	size_t length = (size_t)(name_of(path) - path);
	char folder[WP_PATH_MAX];
	struct stat status;

	memset(place, 0, sizeof(*place));
	if (strcmp(path, "-") == 0)
		return true;
	if (stat(path, &status) == 0) {
		if (!S_ISREG(status.st_mode))
			return false;
		place->exists = true;
		place->device = status.st_dev;
		place->inode = status.st_ino;
		place->modified = status.st_mtim;
	}
	snprintf(folder, sizeof(folder), "%.*s", length ? (int)length : 1, length ? path : ".");
	if (length < sizeof(folder) && stat(folder, &status) == 0) {
		place->has_folder = true;
		place->folder_device = status.st_dev;
		place->folder_inode = status.st_ino;
	}
	return true;
}

static bool same_file(const struct place *a, const struct place *b)
{
	return a->exists && b->exists && a->device == b->device && a->inode == b->inode &&
	       a->modified.tv_sec == b->modified.tv_sec &&
	       a->modified.tv_nsec == b->modified.tv_nsec;
}

/* The same file, or the same name where there is none yet. */
static bool same_place(const struct used *used, const struct place *place, const char *path)
{
	if (same_file(&used->place, place))
		return true;
	/* A file that was written and is gone has nothing to lose. */
	if (!used->path || used->use == USE_WRITTEN ||
	    strcmp(name_of(used->path), name_of(path)) != 0)
		return false;
	if (!used->place.has_folder || !place->has_folder)
		return strcmp(used->path, path) == 0;
	return used->place.folder_device == place->folder_device &&
	       used->place.folder_inode == place->folder_inode;
}

static struct used *add(enum use use, const struct place *place, const char *path)
{
	struct used *used = NULL;

	for (unsigned i = 0; path && i < count && !used; i++)
		used = list[i].use == USE_NONE ? &list[i] : NULL;
	if (!used && count == room) {
		struct used *more;

		room = room ? room * 2 : 64;
		more = realloc(list, room * sizeof(*list));
		WP_CHECK(more);
		list = more;
	}
	used = used ? used : &list[count++];
	*used = (struct used){.use = use, .place = *place, .path = path ? strdup(path) : NULL};
	WP_CHECK(used->path || !path);
	return used;
}

bool wp_used_read(const struct stat *status)
{
	const struct place place = {.exists = true,
				    .device = status->st_dev,
				    .inode = status->st_ino,
				    .modified = status->st_mtim};
	bool known = false, meant = false;

	if (!status->st_nlink)
		return true; /* no name leads to it, so nothing can be written there */
	for (unsigned i = 0; i < count; i++) {
		if (list[i].use == USE_NONE || !same_file(&list[i].place, &place))
			continue;
		known |= list[i].use == USE_READ;
		meant |= list[i].use == USE_MEANT || list[i].use == USE_OPEN;
	}
	/* Also when it is refused: nothing is to be written there now. */
	if (!known)
		add(USE_READ, &place, NULL);
	return !meant;
}

bool wp_used_read_folder(const char *path, char *name, size_t size)
{
	DIR *folder = opendir(path);
	bool free = true;

	for (struct dirent *entry; folder && free && (entry = readdir(folder));) {
		struct stat status;

		if (fstatat(dirfd(folder), entry->d_name, &status, 0) != 0 ||
		    !S_ISREG(status.st_mode))
			continue;
		free = wp_used_read(&status);
		if (!free)
			snprintf(name, size, "%s/%s", path, entry->d_name);
	}
	if (folder)
		closedir(folder);
	return free;
}

int wp_used_take(const char *path, bool opened, unsigned *number, const char **why)
{
	struct used *mine = NULL;
	struct place place;

	*number = 0;
	if (!find_place(&place, path))
		return 0;
	for (unsigned i = 0; i < count; i++) {
		if (list[i].use == USE_NONE || !same_place(&list[i], &place, path))
			continue;
		if (opened && list[i].use == USE_MEANT && strcmp(list[i].path, path) == 0) {
			mine = &list[i];
			continue;
		}
		*why =
		    list[i].use == USE_READ ? "it is read as input" : "another output goes there";
		return -1;
	}
	if (mine)
		mine->use = USE_OPEN;
	else
		mine = add(opened ? USE_OPEN : USE_MEANT, &place, path);
	*number = (unsigned)(mine - list) + 1;
	return 0;
}

void wp_used_written(unsigned number)
{
	struct used *used;

	if (!number)
		return;
	used = &list[number - 1];
	used->use = USE_WRITTEN;
	/* The file is another one than that which lay there before. */
	if (!find_place(&used->place, used->path))
		wp_used_dropped(number);
}

void wp_used_dropped(unsigned number)
{
	if (!number)
		return;
	free(list[number - 1].path);
	memset(&list[number - 1], 0, sizeof(list[0]));
}
