/*
 * What the doctor says of the machine beyond storage: memory and its limits,
 * processor, graphics card, and the programs that later steps call.
 */
#include "harness/machine/doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/system/cgroup.h"
#include "harness/units.h"
#include "pager/gpu.h"

/* Slots of the default arms (k = 2, 4 staged) in Int4 blocks of the paper's model. */
#define REGISTERED_FULL_BYTES (6ull * 129254400u)
#define REGISTERED_BYTES      (REGISTERED_FULL_BYTES / 16)

/* v1 writes "no limit" as a number near the largest. */
#define NO_LIMIT	      (1ull << 60)

/* CAP_IPC_LOCK lifts the limit on locked memory. */
static bool may_lock_all(const struct wp_kernel *kernel)
{
	char text[8192];
	const char *at;

	if (wp_kernel_read(kernel, "/proc/self/status", text, sizeof(text)))
		return false;
	at = strstr(text, "\nCapEff:");
	return at && strtoull(at + strlen("\nCapEff:"), NULL, 16) & (1ull << CAP_IPC_LOCK);
}

static void look_at_memlock(struct wp_doctor *doctor)
{
	char soft[WP_UNITS_TEXT], hard[WP_UNITS_TEXT], small[WP_UNITS_TEXT], full[WP_UNITS_TEXT];
	struct wp_doctor_line *line;
	struct rlimit limit;

	wp_units_bytes(small, REGISTERED_BYTES);
	wp_units_bytes(full, REGISTERED_FULL_BYTES);
	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (may_lock_all(doctor->kernel) || limit.rlim_cur == RLIM_INFINITY) {
		wp_doctor_add(doctor, "memlock", WP_DOCTOR_OK,
			      "no limit on registered memory (needed: %s at scale 1/16, %s at 1)",
			      small, full);
		return;
	}
	wp_units_bytes(soft, limit.rlim_cur);
	wp_units_bytes(hard, limit.rlim_max);
	line = wp_doctor_add(
	    doctor, "memlock", limit.rlim_cur < REGISTERED_BYTES ? WP_DOCTOR_LESSER : WP_DOCTOR_OK,
	    "%s may be registered, at most %s; needed: %s at scale 1/16, %s at 1", soft,
	    limit.rlim_max == RLIM_INFINITY ? "anything" : hard, small, full);
	if (limit.rlim_cur < REGISTERED_FULL_BYTES)
		wp_doctor_remedy(line,
				 "ulimit -l %llu, or memlock in limits.conf; else buffers "
				 "are not registered",
				 REGISTERED_FULL_BYTES / 1024);
}

/* The least limit of a group and of those above it; UINT64_MAX: none. */
static uint64_t least_limit(const struct wp_kernel *kernel, struct wp_cgroup_place place,
			    const char *file)
{
	uint64_t least = UINT64_MAX;
	bool top;

	do {
		char text[64], above[WP_CGROUP_PATH_MAX];

		if (!wp_cgroup_read(kernel, place.directory, file, text, sizeof(text)) &&
		    *text >= '0' && *text <= '9') {
			uint64_t limit = strtoull(text, NULL, 10);

			least = limit < least && limit < NO_LIMIT ? limit : least;
		}
		top = wp_cgroup_parent(&place, above, sizeof(above)) != 0;
		if (!top) {
			memcpy(place.directory, above, sizeof(above));
			place.top = strcmp(above, place.mount) == 0;
		}
	} while (!top);
	return least;
}

static void look_at_memory(struct wp_doctor *doctor)
{
	char total[WP_UNITS_TEXT], bound[WP_UNITS_TEXT];
	uint64_t least = UINT64_MAX;
	struct wp_cgroup_place place;
	const char *version = "";
	struct wp_doctor_line *line;
	bool enough;

	if (!wp_cgroup_find_v1(&place, doctor->kernel, "memory")) {
		least = least_limit(doctor->kernel, place, "memory.limit_in_bytes");
		version = " v1";
	} else if (!wp_cgroup_find_v2(&place, doctor->kernel)) {
		least = least_limit(doctor->kernel, place, "memory.max");
		version = " v2";
	}
	if (least == UINT64_MAX)
		snprintf(bound, sizeof(bound), "no limit");
	else
		wp_units_bytes(bound, least);
	enough = least > 2 * REGISTERED_BYTES;
	line = wp_doctor_add(doctor, "memory", enough ? WP_DOCTOR_OK : WP_DOCTOR_NO,
			     "%s in the machine; control group%s: %s",
			     wp_units_bytes(total, doctor->machine.memory_bytes), version, bound);

	if (!enough)
		wp_doctor_remedy(line, "raise the memory limit of the container or service, or a "
				       "smaller --scale");
}

static void look_at_processor(struct wp_doctor *doctor)
{
	/* Those that fast paths of codecs and checksums use. */
	static const char *const names[] = {"sse4_2",  "avx2",	   "fma",   "f16c",
					    "avx512f", "avx512bw", "asimd", "sve"};
	char features[128] = "";
	char *text;

	if (!wp_kernel_read_all(doctor->kernel, "/proc/cpuinfo", &text)) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			size_t length = strlen(features);

			if (wp_kernel_list_has(text, " \t\n", names[i]))
				snprintf(features + length, sizeof(features) - length, " %s",
					 names[i]);
		}
		free(text);
	}
	wp_doctor_add(doctor, "processor", WP_DOCTOR_OK, "%s, %" PRIu32 " cores, %s%s%s",
		      doctor->machine.cpu_model[0] ? doctor->machine.cpu_model : "unnamed",
		      doctor->machine.cores, doctor->machine.architecture, features[0] ? ":" : "",
		      features);
}

/* The driver's library is loaded where it is used (device_cuda); here it is looked for. */
static bool has_library(const struct wp_kernel *kernel, const char *name)
{
	static const char *const folders[] = {
	    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
	    "/usr/lib/wsl/lib",		 "/usr/local/cuda/compat"};
	char path[256];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], name);
		if (wp_kernel_exists(kernel, path))
			return true;
	}
	return false;
}

/* Whether a GPU is there, and whether this program can use it. */
static void look_at_gpu(struct wp_doctor *doctor)
{
	bool node = wp_kernel_exists(doctor->kernel, "/dev/nvidia0") ||
		    wp_kernel_exists(doctor->kernel, "/dev/dxg");
	bool library = has_library(doctor->kernel, "libcuda.so.1");
	char why[WP_GPU_WHY], free_bytes[WP_UNITS_TEXT];
	struct wp_doctor_line *line;
	struct wp_gpu_facts gpu;
	int result = wp_gpu_cuda_probe(&gpu, why);

	if (result == 0) {
		wp_doctor_add(doctor, "gpu", WP_DOCTOR_OK,
			      "%s, compute capability %u.%u, %s free, CUDA %u.%u", gpu.name,
			      gpu.capability / 10, gpu.capability % 10,
			      wp_units_bytes(free_bytes, gpu.free_bytes), gpu.driver_version / 1000,
			      gpu.driver_version % 1000 / 10);
		return;
	}
	line = wp_doctor_add(doctor, "gpu", WP_DOCTOR_ABSENT,
			     "%s; %s; --world model stands in with synthetic timing",
			     node && library ? "device node and libcuda.so.1 found"
			     : node	     ? "device node, but no libcuda.so.1"
			     : library	     ? "libcuda.so.1, but no device node"
					     : "none (no /dev/nvidia0, no libcuda.so.1)",
			     why);
	if (result == -ENOTSUP)
		wp_doctor_remedy(line, "`make CUDA=1` where nvcc is, and an NVIDIA driver");
	else
		wp_doctor_remedy(line,
				 "an NVIDIA driver, and in a container its devices passed in");
}

static bool in_path(const char *program, char *found, size_t size)
{
	const char *folders = getenv("PATH");

	while (folders && *folders) {
		size_t span = strcspn(folders, ":");

		if (span &&
		    snprintf(found, size, "%.*s/%s", (int)span, folders, program) < (int)size &&
		    !access(found, X_OK))
			return true;
		folders += span + (folders[span] == ':');
	}
	return false;
}

static void look_at_program(struct wp_doctor *doctor, const char *name, const char *use)
{
	char path[WP_KERNEL_PATH_MAX];

	if (in_path(name, path, sizeof(path)))
		wp_doctor_add(doctor, name, WP_DOCTOR_OK, "%.250s", path);
	else
		wp_doctor_remedy(wp_doctor_add(doctor, name, WP_DOCTOR_LESSER,
					       "not in PATH; needed for %s", use),
				 "apt-get install %s (`make setup`)", name);
}

void wp_doctor_machine(struct wp_doctor *doctor)
{
	look_at_memlock(doctor);
	look_at_memory(doctor);
	look_at_processor(doctor);
	look_at_gpu(doctor);
	look_at_program(doctor, "fio", "calibration only");
	look_at_program(doctor, "gnuplot", "figures only");
}
