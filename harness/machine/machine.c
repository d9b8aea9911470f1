/* The facts of a machine, from /proc and /sys. Judges nothing (doctor.c does). */
#include "harness/machine/machine.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <xxhash.h>

#include "harness/system/blockdev.h"
#include "harness/system/cgroup.h"
#include "harness/throttle/throttle_cgroup.h"

#define SECTOR_BYTES 512u /* sysfs counts in these, whatever the drive's own are */

/* The value after "key : " of the first line that begins with `key`. */
static void value_of(const char *text, const char *key, char *value, size_t size)
{
	size_t length = strlen(key);
	const char *end;

	value[0] = '\0';
	while (text && strncmp(text, key, length) != 0) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	if (!text)
		return;
	text += length;
	text += strspn(text, " \t:");
	end = text + strcspn(text, "\n");
	snprintf(value, size, "%.*s", (int)(end - text), text);
}

static void read_processor(struct wp_machine_facts *facts, const struct wp_kernel *kernel)
{
	char *text;
	cpu_set_t allowed;

	if (!sched_getaffinity(0, sizeof(allowed), &allowed))
		facts->cores = (uint32_t)CPU_COUNT(&allowed);
	if (wp_kernel_read_all(kernel, "/proc/cpuinfo", &text))
		return;
	value_of(text, "model name", facts->cpu_model, sizeof(facts->cpu_model));
	free(text);
}

static void read_memory(struct wp_machine_facts *facts, const struct wp_kernel *kernel)
{
	char text[8192], value[64];

	if (wp_kernel_read(kernel, "/proc/meminfo", text, sizeof(text)))
		return;
	value_of(text, "MemTotal", value, sizeof(value));
	facts->memory_bytes = strtoull(value, NULL, 10) * 1024;
}

static void read_cgroup(struct wp_machine_facts *facts, const struct wp_kernel *kernel)
{
	static const char *const v1_controllers[] = {"blkio", "memory", "cpu", "name=systemd"};
	const struct wp_throttle_kind *kind;
	struct wp_cgroup_place place;
	char why[WP_THROTTLE_WHY];
	bool v2 = !wp_cgroup_find_v2(&place, kernel);
	bool v1 = false;

	for (size_t i = 0; i < sizeof(v1_controllers) / sizeof(v1_controllers[0]) && !v1; i++)
		v1 = !wp_cgroup_find_v1(&place, kernel, v1_controllers[i]);
	snprintf(facts->cgroup, sizeof(facts->cgroup), "%s",
		 v1 && v2 ? "hybrid"
		 : v2	  ? "v2"
		 : v1	  ? "v1"
			  : "none");
	kind = wp_throttle_kind_find(&place, kernel, why);
	if (kind)
		snprintf(facts->io_controller, sizeof(facts->io_controller), "%s", kind->name);
}

static uint64_t disk_number(const struct wp_kernel *kernel, const char *disk, const char *file,
			    uint64_t otherwise)
{
	char path[128];
	uint64_t number;

	snprintf(path, sizeof(path), "/sys/dev/block/%s/%s", disk, file);
	return wp_kernel_read_number(kernel, path, &number) ? otherwise : number;
}

static void read_disk(struct wp_machine_facts *facts, const struct wp_kernel *kernel,
		      const char *path)
{
	/* Where the controller of a drive sits, below which link: NVMe, SCSI and virtio differ. */
	static const char *const nodes[] = {"device/numa_node", "device/device/numa_node",
					    "device/../numa_node"};
	struct wp_blockdev device;
	struct wp_error error;
	char file[128];

	if (wp_blockdev_of_path(&device, kernel, path, &error))
		return;
	snprintf(facts->filesystem, sizeof(facts->filesystem), "%s", device.filesystem);
	snprintf(facts->disk, sizeof(facts->disk), "%s", device.text);
	snprintf(facts->disk_name, sizeof(facts->disk_name), "%s", device.name);
	snprintf(file, sizeof(file), "/sys/dev/block/%s/device/model", device.text);
	if (wp_kernel_read_line(kernel, file, facts->disk_model, sizeof(facts->disk_model)))
		facts->disk_model[0] = '\0';
	facts->disk_bytes = disk_number(kernel, device.text, "size", 0) * SECTOR_BYTES;
	facts->disk_sector_bytes =
	    (uint32_t)disk_number(kernel, device.text, "queue/logical_block_size", 0);
	facts->disk_rotational = (int)disk_number(kernel, device.text, "queue/rotational", 0) != 0;
	if (disk_number(kernel, device.text, "queue/rotational", UINT64_MAX) == UINT64_MAX)
		facts->disk_rotational = -1;
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]) && facts->disk_numa_node < 0; i++) {
		uint64_t node = disk_number(kernel, device.text, nodes[i], UINT64_MAX);

		facts->disk_numa_node = node <= INT32_MAX ? (int)node : -1;
	}
}

void wp_machine_facts_read(struct wp_machine_facts *facts, const struct wp_kernel *kernel,
			   const char *path)
{
	struct utsname names;

	memset(facts, 0, sizeof(*facts));
	facts->disk_rotational = -1;
	facts->disk_numa_node = -1;
	if (!uname(&names)) {
		snprintf(facts->architecture, sizeof(facts->architecture), "%.31s", names.machine);
		snprintf(facts->kernel_release, sizeof(facts->kernel_release), "%.64s",
			 names.release);
	}
	read_processor(facts, kernel);
	read_memory(facts, kernel);
	read_cgroup(facts, kernel);
	if (path)
		read_disk(facts, kernel, path);
}

void wp_machine_fingerprint(const struct wp_machine_facts *facts, char text[WP_MACHINE_FINGERPRINT])
{
	char all[640];
	uint64_t memory_gib = (facts->memory_bytes + (1u << 29)) >> 30;
	int length = snprintf(all, sizeof(all), "%s|%s|%u|%" PRIu64 "|%s|%" PRIu64 "|%u",
			      facts->architecture, facts->cpu_model, facts->cores, memory_gib,
			      facts->disk_model, facts->disk_bytes, facts->disk_sector_bytes);

	WP_CHECK(length > 0 && (size_t)length < sizeof(all));
	if (facts->gpu[0])
		length += snprintf(all + length, sizeof(all) - (size_t)length, "|%s", facts->gpu);
	WP_CHECK((size_t)length < sizeof(all));
	snprintf(text, WP_MACHINE_FINGERPRINT, "%016" PRIx64,
		 (uint64_t)XXH3_64bits(all, (size_t)length));
}
