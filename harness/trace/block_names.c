/* Names to blocks, in the C library's balanced tree: no input makes it slow. */
#include "harness/trace/block_names.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct named {
	struct wp_named_blocks blocks;
	const void *name; /* of what is looked for; of what is kept, the bytes behind */
	size_t size;
	char bytes[];
};

static int compare(const void *a, const void *b)
{
	const struct named *left = a, *right = b;

	if (left->size != right->size)
		return left->size < right->size ? -1 : 1;
	return memcmp(left->name, right->name, left->size);
}

struct wp_named_blocks *wp_block_names_find(const struct wp_block_names *names, const void *name,
					    size_t size)
{
	const struct named sought = {.name = name, .size = size};
	struct named **found = tfind(&sought, &names->root, compare);

	return found ? &(*found)->blocks : NULL;
}

struct wp_named_blocks *wp_block_names_take(struct wp_block_names *names, const void *name,
					    size_t size)
{
	struct wp_named_blocks *known = wp_block_names_find(names, name, size);
	struct named *entry;

	if (known)
		return known;
	entry = malloc(sizeof(*entry) + size);
	if (!entry)
		return NULL;
	memset(&entry->blocks, 0, sizeof(entry->blocks));
	memcpy(entry->bytes, name, size);
	entry->name = entry->bytes;
	entry->size = size;
	if (!tsearch(entry, &names->root, compare)) {
		free(entry);
		return NULL;
	}
	return &entry->blocks;
}

void wp_block_names_done(struct wp_block_names *names)
{
	tdestroy(names->root, free);
	names->root = NULL;
}
