/* Facts of a machine as JSON. Looks nothing up: machine.c does. */
#include "harness/machine/machine_json.h"

#include "harness/files/json_value.h"

json_t *wp_machine_json(const struct wp_machine_facts *facts)
{
	json_t *object = json_object();
	char fingerprint[WP_MACHINE_FINGERPRINT];

	wp_machine_fingerprint(facts, fingerprint);
	wp_json_put(object, "fingerprint", wp_json_text(fingerprint));
	wp_json_put(object, "architecture", wp_json_text(facts->architecture));
	wp_json_put(object, "cpu_model", wp_json_text(facts->cpu_model));
	wp_json_put(object, "cores", wp_json_count_or_null(facts->cores));
	wp_json_put(object, "memory_bytes", wp_json_count_or_null(facts->memory_bytes));
	wp_json_put(object, "kernel_release", wp_json_text(facts->kernel_release));
	wp_json_put(object, "cgroup", wp_json_text(facts->cgroup));
	wp_json_put(object, "io_controller", wp_json_text(facts->io_controller));
	wp_json_put(object, "filesystem", wp_json_text(facts->filesystem));
	wp_json_put(object, "disk", wp_json_text(facts->disk));
	wp_json_put(object, "disk_name", wp_json_text(facts->disk_name));
	wp_json_put(object, "disk_model", wp_json_text(facts->disk_model));
	wp_json_put(object, "disk_bytes", wp_json_count_or_null(facts->disk_bytes));
	wp_json_put(object, "disk_sector_bytes", wp_json_count_or_null(facts->disk_sector_bytes));
	wp_json_put(object, "disk_rotational",
		    facts->disk_rotational < 0 ? json_null()
					       : json_boolean(facts->disk_rotational > 0));
	wp_json_put(object, "disk_numa_node",
		    facts->disk_numa_node < 0 ? json_null() : json_integer(facts->disk_numa_node));
	wp_json_put(object, "gpu", wp_json_text(facts->gpu));
	wp_json_put(object, "gpu_memory_bytes", wp_json_count_or_null(facts->gpu_memory_bytes));
	wp_json_put(object, "gpu_driver", wp_json_count_or_null(facts->gpu_driver));
	return object;
}
