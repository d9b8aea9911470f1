/*
 * Which files this process has read, means to write and has written, known by
 * device and inode, so that no spelling, link or second option makes it replace
 * what it has read, or what it has just written.
 *
 *   output.h    asks before it writes, and says what it writes
 *   input_file.h   says what is read
 *
 * Only regular files count: a pipe or /dev/null may serve twice. "-" is one
 * place too: two documents on standard output are none.
 */
#ifndef WP_USED_FILES_H
#define WP_USED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Notes that a file is read; false if it is one that this process means to write. */
bool wp_used_read(const struct stat *status);

/* The same of all files in a folder, if there is one; `name` gets the first that is not free. */
bool wp_used_read_folder(const char *path, char *name, size_t size);

/*
 * Takes a place for an output: now if it is opened, otherwise for the opening
 * that comes later under the same name. 0 and a number for wp_used_written or
 * wp_used_dropped, or -1 and why not ("it was read as input").
 */
int wp_used_take(const char *path, bool opened, unsigned *number, const char **why);

/* The output is in place. */
void wp_used_written(unsigned number);

/* It was given up; 0 is nothing. */
void wp_used_dropped(unsigned number);

#endif
