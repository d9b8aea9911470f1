/* Keeping parts of documents. Says nothing about them. */
#include "harness/report/report_documents.h"

#include <stdlib.h>
#include <string.h>

#include "harness/files/json_value.h"

const json_t *wp_report_member(const json_t *object, const char *key)
{
	const json_t *value = json_is_object(object) ? json_object_get(object, key) : NULL;

	return json_is_null(value) ? NULL : value;
}

const char *wp_report_member_text(const json_t *object, const char *key)
{
	const json_t *value = wp_report_member(object, key);

	return json_is_string(value) ? json_string_value(value) : "";
}

static json_t *keep(const json_t *object, const char *key)
{
	return json_incref(json_object_get(object, key));
}

/* What several replays have in common: equal objects are one row of a table. */
static json_t *setup_of(const json_t *document)
{
	static const char *const keys[] = {"world", "model",	    "codec",
					   "k",	    "residency",    "machine",
					   "drive", "frames_asked", "warmup_frames"};
	json_t *setup = json_object();

	WP_CHECK(setup);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (json_object_get(document, keys[i]))
			wp_json_put(setup, keys[i], keep(document, keys[i]));
	}
	wp_json_put(
	    setup, "scale",
	    wp_json_text(wp_report_member_text(json_object_get(document, "scale"), "text")));
	wp_json_put(
	    setup, "filesystem",
	    wp_json_text(wp_report_member_text(json_object_get(document, "store"), "filesystem")));
	wp_json_put(
	    setup, "version",
	    wp_json_text(wp_report_member_text(json_object_get(document, "tool"), "version")));
	return setup;
}

void wp_report_documents_visit(void *context, const struct wp_result *result)
{
	struct wp_report_documents *documents = context;
	const json_t *root = result->document;
	struct wp_report_document *document;

	if (documents->count == documents->room) {
		documents->room = documents->room ? documents->room * 2 : 64;
		documents->documents =
		    realloc(documents->documents, documents->room * sizeof(*documents->documents));
		WP_CHECK(documents->documents);
	}
	document = &documents->documents[documents->count++];
	document->world = keep(root, "world");
	document->trace = keep(json_object_get(root, "trace"), "name");
	document->arm = keep(root, "arm");
	document->throttle = keep(root, "throttle");
	document->facts = keep(root, "machine_facts");
	document->setup = setup_of(root);
	document->notes = keep(json_object_get(root, "summary"), "notes");
}

void wp_report_documents_close(struct wp_report_documents *documents)
{
	for (uint32_t i = 0; i < documents->count; i++) {
		struct wp_report_document *document = &documents->documents[i];

		json_decref(document->world);
		json_decref(document->trace);
		json_decref(document->arm);
		json_decref(document->throttle);
		json_decref(document->facts);
		json_decref(document->setup);
		json_decref(document->notes);
	}
	free(documents->documents);
	memset(documents, 0, sizeof(*documents));
}
