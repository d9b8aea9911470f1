/*
 * Keys that trace headers and trajectory configs share: one spelling, one range.
 */
#include "harness/trace/trace_keys.h"

#include <string.h>

void wp_trace_keys_origin(struct wp_json *root, char *origin, size_t size)
{
	static const char *const known[] = {"reconstructed", "recorded", "synthetic", "imported"};

	wp_json_string(root, "origin", origin, size);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(origin, known[i]))
			return;
	wp_json_fail(root, "origin",
		     "\"%s\" is not known (reconstructed, recorded, synthetic, imported are)",
		     origin);
}

void wp_trace_keys_rule(struct wp_json *root, struct wp_rule *rule)
{
	struct wp_json object;
	char name[64];

	if (!wp_json_has(root, "rule"))
		return;
	wp_json_object(root, "rule", &object);
	wp_json_string(&object, "name", name, sizeof(name));
	if (strcmp(name, WP_RULE_NAME))
		wp_json_fail(&object, "name", "\"%s\" is not known (%s is)", name, WP_RULE_NAME);
	rule->translation_weight =
	    wp_json_number_or(&object, "translation_weight", 0, 1000, rule->translation_weight);
	rule->rotation_weight =
	    wp_json_number_or(&object, "rotation_weight", 0, 1000, rule->rotation_weight);
	rule->flat = wp_json_number_or(&object, "flat", 0, 1, rule->flat);
	rule->tie = wp_json_number_or(&object, "tie", 1e-12, 1, rule->tie);
	wp_json_only(&object);
}

void wp_trace_keys_motion(struct wp_json *root, bool constants, struct wp_motion *motion)
{
	motion->video_frames_per_frame = wp_json_u32(root, "video_frames_per_frame", 1, 1000);
	if (!constants)
		return;
	motion->camera_degrees_per_video_frame =
	    wp_json_number(root, "camera_degrees_per_video_frame", 0, 180);
	motion->walk_metres_per_video_frame =
	    wp_json_number(root, "walk_metres_per_video_frame", 0, 1000);
}
