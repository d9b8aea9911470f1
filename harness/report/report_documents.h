/*
 * What a page says of each replay beyond its stalls: the limit and its proof,
 * the machine, the settings, the notes. Kept while the documents themselves,
 * with all their frames, come and go.
 */
#ifndef WP_REPORT_DOCUMENTS_H
#define WP_REPORT_DOCUMENTS_H

#include <stdint.h>

#include "harness/result/result.h"

struct wp_report_document {
	/* Owned. Absent where the document has it so: null or NULL. */
	json_t *world, *trace, *arm, *throttle, *facts, *setup, *notes;
};

struct wp_report_documents {
	struct wp_report_document *documents;
	uint32_t count, room;
};

/* Adds one; `context` is a struct wp_report_documents. A visitor of collection.h. */
void wp_report_documents_visit(void *context, const struct wp_result *result);

void wp_report_documents_close(struct wp_report_documents *documents);

/* Member KEY of an object; NULL for none, null, or no object. */
const json_t *wp_report_member(const json_t *object, const char *key);

/* Its text; "" where it is none. */
const char *wp_report_member_text(const json_t *object, const char *key);

#endif
