/*
 * Folders that results go to.
 */
#ifndef WP_FOLDER_H
#define WP_FOLDER_H

#include "harness/error.h"

/* Makes PATH and what is missing above it. 0, or -1 (exit 4). */
int wp_folder_make(const char *path, struct wp_error *error) WP_MUST_USE;

/* Of all that wp_folder_make has made in this process: removes what is empty. For an end that
 * leaves nothing to keep. */
void wp_folder_remove_empty(void);

/* Whether PATH is a folder to write in or could be made, before hours of work for it. 0, or -1
 * (exit 4). */
int wp_folder_check(const char *path, struct wp_error *error) WP_MUST_USE;

/*
 * Makes PATH ready for results: it does not exist, is empty, or holds an index
 * of results already; anything else is somebody's and refused (exit 2).
 */
int wp_folder_claim(const char *path, struct wp_error *error) WP_MUST_USE;

/* A folder of our own and the files in it; what cannot be removed stays. "" is none. */
void wp_folder_remove(const char *path);

#endif
