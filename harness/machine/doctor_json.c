/* Findings of the doctor as one JSON document. */
#include <jansson.h>

#include "harness/files/json_value.h"
#include "harness/files/output.h"
#include "harness/machine/doctor.h"
#include "harness/machine/machine_json.h"
#include "harness/tool.h"

static json_t *lines_json(const struct wp_doctor *doctor)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < doctor->count; i++) {
		const struct wp_doctor_line *line = &doctor->lines[i];
		json_t *object = json_object();

		wp_json_put(object, "name", wp_json_text(line->name));
		wp_json_put(object, "state", wp_json_text(wp_doctor_state_name(line->state)));
		wp_json_put(object, "found", wp_json_text(line->found));
		wp_json_put(object, "remedy", wp_json_text(line->remedy));
		WP_CHECK(json_array_append_new(array, object) == 0);
	}
	return array;
}

int wp_doctor_write(const struct wp_doctor *doctor, const char *file, struct wp_error *error)
{
	struct wp_output output = {0};
	json_t *root = json_object();
	json_t *tool = json_object();
	int result = -1;

	wp_json_put(tool, "version", wp_json_text(wp_tool_version()));
	wp_json_put(tool, "commit", wp_json_text(wp_tool_commit()));
	wp_json_put(root, "schema_version", json_integer(1));
	wp_json_put(root, "kind", wp_json_text("doctor"));
	wp_json_put(root, "tool", tool);
	wp_json_put(root, "able", json_boolean(wp_doctor_able(doctor)));
	wp_json_put(root, "machine", wp_machine_json(&doctor->machine));
	wp_json_put(root, "lines", lines_json(doctor));
	if (wp_output_open(&output, file, error) == 0) {
		if (json_dumpf(root, output.stream, JSON_INDENT(2)) == 0 &&
		    fputc('\n', output.stream) != EOF)
			result = wp_output_commit(&output, error);
		else
			wp_error_set(error, WP_EXIT_CONTENT, "%s: cannot be written", file);
	}
	wp_output_abandon(&output);
	json_decref(root);
	return result;
}
