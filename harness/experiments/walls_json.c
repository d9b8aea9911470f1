/* The document of the capacity walls, written and read back; nothing is taken on trust. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/experiments/walls.h"
#include "harness/files/json_file.h"
#include "harness/files/json_value.h"
#include "harness/files/output.h"
#include "harness/tool.h"

#define DOCUMENT_BYTES_MAX (16u << 20)

static json_t *session_json(const struct wp_walls_session *session)
{
	json_t *object = json_object(), *dram = json_array();

	for (uint32_t i = 0; i < session->blocks; i++)
		WP_CHECK(json_array_append_new(dram, wp_json_count(session->dram_bytes[i])) == 0);
	wp_json_put(object, "name", wp_json_text(session->name));
	wp_json_put(object, "wall", wp_json_text(session->wall));
	wp_json_put(object, "valid", json_boolean(session->valid));
	wp_json_put(object, "blocks", wp_json_count(session->blocks));
	wp_json_put(object, "blocks_nvme", wp_json_count(session->blocks_nvme));
	wp_json_put(object, "video_s", wp_json_real(session->video_s));
	wp_json_put(object, "generated_fps", wp_json_real(session->generated_fps));
	wp_json_put(object, "written_bytes", wp_json_count(session->written_bytes));
	wp_json_put(object, "dram_bytes", dram);
	return object;
}

static json_t *document_of(const struct wp_walls *walls)
{
	json_t *object = json_object(), *tool = json_object(), *sessions = json_array();

	wp_json_put(tool, "name", wp_json_text("worldpager"));
	wp_json_put(tool, "version", wp_json_text(wp_tool_version()));
	wp_json_put(tool, "commit", wp_json_text(wp_tool_commit()));
	for (uint32_t i = 0; i < WP_WALLS_SESSIONS; i++)
		WP_CHECK(json_array_append_new(sessions, session_json(&walls->sessions[i])) == 0);
	wp_json_put(object, "schema_version", wp_json_count(1));
	wp_json_put(object, "tool", tool);
	wp_json_put(object, "world", wp_json_text(walls->world));
	wp_json_put(object, "model", wp_json_text(walls->model));
	wp_json_put(object, "machine", wp_json_text(walls->machine));
	wp_json_put(object, "trace", wp_json_text(walls->trace));
	wp_json_put(object, "scale", wp_json_text(walls->scale_text));
	wp_json_put(object, "playback_fps", wp_json_real(walls->playback_fps));
	wp_json_put(object, "frame_video_s", wp_json_real(walls->frame_video_s));
	wp_json_put(object, "host_memory_bytes", wp_json_count(walls->host_bytes));
	wp_json_put(object, "bandwidth_bytes_per_s", wp_json_count(walls->bandwidth_bytes_per_s));
	wp_json_put(object, "sessions", sessions);
	return object;
}

int wp_walls_write(const struct wp_walls *walls, const char *path, struct wp_error *error)
{
	struct wp_output output;
	json_t *document;

	if (wp_output_open(&output, path, error) != 0)
		return -1;
	document = document_of(walls);
	/* A short write shows in the stream's error flag, which the commit looks at. */
	(void)!json_dumpf(document, output.stream, JSON_COMPACT);
	fputc('\n', output.stream);
	json_decref(document);
	return wp_output_commit(&output, error);
}

static void read_session(struct wp_json *sessions, uint32_t at, struct wp_walls_session *session)
{
	struct wp_json object, dram;
	uint32_t count;

	wp_json_at_object(sessions, at, &object);
	wp_json_string(&object, "name", session->name, sizeof(session->name));
	if (wp_json_is_string(&object, "wall"))
		wp_json_string(&object, "wall", session->wall, sizeof(session->wall));
	else
		(void)wp_json_has(&object, "wall");
	session->valid = wp_json_bool_or(&object, "valid", false);
	session->blocks = wp_json_u32(&object, "blocks", 0, WP_WALLS_FRAMES_MAX);
	session->blocks_nvme = wp_json_u32(&object, "blocks_nvme", 0, UINT32_MAX);
	session->video_s = wp_json_number(&object, "video_s", 0, 1e9);
	session->generated_fps = wp_json_number(&object, "generated_fps", 0, 1e9);
	session->written_bytes = wp_json_u64(&object, "written_bytes", 0, INT64_MAX);
	count = wp_json_array(&object, "dram_bytes", session->blocks, session->blocks, &dram);
	wp_json_only(&object);
	if (object.reader->failed)
		return;
	session->dram_bytes = calloc(count + 1u, sizeof(*session->dram_bytes));
	WP_CHECK(session->dram_bytes);
	for (uint32_t i = 0; i < count; i++)
		session->dram_bytes[i] = wp_json_at_u64(&dram, i, 0, INT64_MAX);
}

static void read_document(struct wp_json *root, struct wp_walls *walls)
{
	struct wp_json tool, sessions;
	char text[64];

	(void)wp_json_u64(root, "schema_version", 1, 1);
	wp_json_object(root, "tool", &tool);
	wp_json_string(&tool, "name", text, sizeof(text));
	wp_json_string(&tool, "version", text, sizeof(text));
	wp_json_string(&tool, "commit", text, sizeof(text));
	wp_json_only(&tool);
	wp_json_string(root, "world", walls->world, sizeof(walls->world));
	wp_json_string(root, "model", walls->model, sizeof(walls->model));
	wp_json_string(root, "machine", walls->machine, sizeof(walls->machine));
	wp_json_string(root, "trace", walls->trace, sizeof(walls->trace));
	wp_json_string(root, "scale", walls->scale_text, sizeof(walls->scale_text));
	walls->playback_fps = wp_json_number(root, "playback_fps", 1e-3, 1e6);
	walls->frame_video_s = wp_json_number(root, "frame_video_s", 1e-6, 1e6);
	walls->host_bytes = wp_json_u64(root, "host_memory_bytes", 1, INT64_MAX);
	walls->bandwidth_bytes_per_s = wp_json_u64(root, "bandwidth_bytes_per_s", 0, INT64_MAX);
	(void)wp_json_array(root, "sessions", WP_WALLS_SESSIONS, WP_WALLS_SESSIONS, &sessions);
	wp_json_only(root);
	for (uint32_t i = 0; i < WP_WALLS_SESSIONS && !root->reader->failed; i++)
		read_session(&sessions, i, &walls->sessions[i]);
}

int wp_walls_load(struct wp_walls *walls, const char *folder, const char *world,
		  struct wp_error *error)
{
	char path[WP_PATH_MAX];
	struct wp_json_reader reader = {.file = path, .exit_code = WP_EXIT_CONTENT, .error = error};
	struct json_t *document;
	struct wp_json root;
	FILE *stream;

	memset(walls, 0, sizeof(*walls));
	if (snprintf(path, sizeof(path), "%s/walls_%s.json", folder, world) >= (int)sizeof(path))
		return wp_error_set(error, WP_EXIT_USAGE, "the folder's name is too long");
	stream = fopen(path, "re");
	if (!stream && errno == ENOENT)
		return 0;
	if (stream)
		fclose(stream);
	document = wp_json_load(&reader, "a document of capacity walls", DOCUMENT_BYTES_MAX);
	if (!document)
		return -1;
	wp_json_root(&root, &reader, document);
	read_document(&root, walls);
	wp_json_free(document);
	if (!reader.failed)
		return 1;
	wp_walls_done(walls);
	return -1;
}
