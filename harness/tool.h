/*
 * The program itself: its version, and where what ships with it lies.
 */
#ifndef WP_TOOL_H
#define WP_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/error.h"

#define WP_PATH_MAX 4096

/* Letters, digits, "_", "-" and "." (not first): fit to become part of file names. */
bool wp_tool_name_valid(const char *name);

const char *wp_tool_version(void);
const char *wp_tool_commit(void);

/* What a name can stand for. */
enum wp_resource {
	WP_RESOURCE_TRACE,
	WP_RESOURCE_TRAJECTORY,
	WP_RESOURCE_MODEL,
	WP_RESOURCE_MACHINE,
	WP_RESOURCE_DRIVE,
	WP_RESOURCE_EXPERIMENT,
	WP_RESOURCE_COUNT
};

/*
 * A name or a path into a path. What holds a "/" or ends like the resource's
 * files is a path and is taken as it is; a name is looked for in the data
 * directory given at build, then in the tree that the program stands in, never
 * in the current directory. 0, or -1 naming what there is instead.
 */
int wp_tool_resolve(char path[WP_PATH_MAX], enum wp_resource resource, const char *name,
		    struct wp_error *error) WP_MUST_USE;

/* A file that ships with the program, by its path in the tree
 * ("results/paper/claims.json"), found the same way. Exit code 4 when missing. */
int wp_tool_file(char path[WP_PATH_MAX], const char *relative, struct wp_error *error) WP_MUST_USE;

#endif
