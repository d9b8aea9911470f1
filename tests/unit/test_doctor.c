/*
 * Doctor and machine facts: findings follow what the kernel's files say, each
 * has words and, unless all is well, a remedy; the document is valid JSON that
 * says the same; and looking leaves nothing behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>

#include "harness/machine/doctor.h"
#include "tests/support/fake_kernel.h"

static struct fake_kernel fake;
static struct wp_doctor doctor;

static int setup(void **state)
{
	(void)state;
	fake_open(&fake);
	memset(&doctor, 0, sizeof(doctor));
	doctor.kernel = &fake.kernel;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_close(&fake);
	return 0;
}

static const struct wp_doctor_line *line_of(const char *name)
{
	for (uint32_t i = 0; i < doctor.count; i++)
		if (strcmp(doctor.lines[i].name, name) == 0)
			return &doctor.lines[i];
	fail_msg("no line '%s'", name);
	return NULL;
}

/* The least limit on the way to the top decides, whichever group has it. */
static void test_memory_limit_v1(void **state)
{
	(void)state;
	fake_put(&fake, "/proc/self/cgroup", "4:memory:/a/b\n");
	fake_put(&fake, "/proc/self/mountinfo",
		 "34 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
	fake_put(&fake, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	fake_put(&fake, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "67108864\n");
	fake_put(&fake, "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "8589934592\n");
	wp_doctor_machine(&doctor);
	assert_int_equal(line_of("memory")->state, WP_DOCTOR_NO);
	assert_non_null(strstr(line_of("memory")->found, "v1: 67.1 MB"));
	assert_false(wp_doctor_able(&doctor));
	doctor.count = 0;
	fake_put(&fake, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
	fake_put(&fake, "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
	wp_doctor_machine(&doctor);
	assert_int_equal(line_of("memory")->state, WP_DOCTOR_OK);
	assert_non_null(strstr(line_of("memory")->found, "no limit"));
}

static void test_memory_limit_v2(void **state)
{
	(void)state;
	fake_put(&fake, "/proc/self/cgroup", "0::/a\n");
	fake_put(&fake, "/proc/self/mountinfo",
		 "34 30 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	fake_put(&fake, "/sys/fs/cgroup/a/memory.max", "max\n");
	wp_doctor_machine(&doctor);
	assert_non_null(strstr(line_of("memory")->found, "v2: no limit"));
	doctor.count = 0;
	fake_put(&fake, "/sys/fs/cgroup/a/memory.max", "1073741824\n");
	wp_doctor_machine(&doctor);
	assert_int_equal(line_of("memory")->state, WP_DOCTOR_OK);
	assert_non_null(strstr(line_of("memory")->found, "1.1 GB"));
}

static void test_facts(void **state)
{
	struct wp_machine_facts facts;

	(void)state;
	fake_mount_v1(&fake, true);
	fake_put(&fake, "/proc/cpuinfo",
		 "processor\t: 0\nmodel name\t: Quick 9000\nflags\t\t: fpu avx2 f16c\n");
	fake_put(&fake, "/proc/meminfo", "MemTotal:       24683620 kB\nMemFree: 1 kB\n");
	wp_machine_facts_read(&facts, &fake.kernel, NULL);
	assert_string_equal(facts.cpu_model, "Quick 9000");
	assert_int_equal(facts.memory_bytes, 24683620ull * 1024);
	assert_string_equal(facts.cgroup, "hybrid");
	assert_string_equal(facts.io_controller, "v1");
	assert_string_equal(facts.disk, "");
	assert_int_equal(facts.disk_rotational, -1);
	wp_doctor_machine(&doctor);
	assert_non_null(strstr(line_of("processor")->found, ": avx2 f16c"));
}

/* Updates of kernel and firmware keep it; another processor, memory or drive changes it. */
static void test_fingerprint(void **state)
{
	struct wp_machine_facts facts = {.architecture = "x86_64",
					 .cpu_model = "Quick 9000",
					 .cores = 8,
					 .memory_bytes = 33500000000,
					 .kernel_release = "6.1.0",
					 .disk = "259:0",
					 .disk_name = "nvme0n1",
					 .disk_model = "Fast 2TB",
					 .disk_bytes = 2000398934016,
					 .disk_sector_bytes = 512};
	char first[WP_MACHINE_FINGERPRINT], then[WP_MACHINE_FINGERPRINT];
	struct wp_machine_facts other = facts;

	(void)state;
	wp_machine_fingerprint(&facts, first);
	strcpy(other.kernel_release, "6.8.0");
	strcpy(other.disk, "259:3");
	strcpy(other.disk_name, "nvme1n1");
	other.memory_bytes += 5 << 20;
	wp_machine_fingerprint(&other, then);
	assert_string_equal(first, then);
	for (int i = 0; i < 5; i++) {
		other = facts;
		if (i == 0)
			strcpy(other.cpu_model, "Quick 9001");
		else if (i == 1)
			other.cores = 4;
		else if (i == 2)
			other.memory_bytes *= 2;
		else if (i == 3)
			strcpy(other.disk_model, "Fast 1TB");
		else
			other.disk_sector_bytes = 4096;
		wp_machine_fingerprint(&other, then);
		assert_string_not_equal(first, then);
	}
}

static void test_empty_machine(void **state)
{
	struct wp_machine_facts facts;

	(void)state;
	wp_machine_facts_read(&facts, &fake.kernel, "/no/such/place");
	assert_string_equal(facts.cpu_model, "");
	assert_string_equal(facts.cgroup, "none");
	assert_string_equal(facts.io_controller, "");
}

static void check_lines(void)
{
	assert_true(doctor.count >= 9);
	for (uint32_t i = 0; i < doctor.count; i++) {
		const struct wp_doctor_line *line = &doctor.lines[i];

		assert_true(strlen(line->found) > 1);
		assert_null(strchr(line->found, '\n'));
		if (line->state == WP_DOCTOR_NO)
			assert_true(strlen(line->remedy) > 1);
	}
}

/* The running machine, and the same in JSON; the folder is as empty as before. */
static void test_this_machine(void **state)
{
	char path[PATH_MAX];
	struct wp_error error;
	json_error_t fault;
	json_t *root;

	(void)state;
	fake_path(&fake, path, sizeof(path), "/store");
	assert_int_equal(mkdir(path, 0700), 0);
	wp_doctor_examine(&doctor, &wp_kernel_host, path);
	check_lines();
	assert_int_equal(rmdir(path), 0);
	fake_path(&fake, path, sizeof(path), "/doctor.json");
	if (wp_doctor_write(&doctor, path, &error))
		fail_msg("%s", error.text);
	root = json_load_file(path, 0, &fault);
	assert_non_null(root);
	assert_int_equal(json_is_true(json_object_get(root, "able")), wp_doctor_able(&doctor));
	assert_int_equal(json_array_size(json_object_get(root, "lines")), doctor.count);
	json_decref(root);
}

static void test_memory_filesystem(void **state)
{
	(void)state;
	wp_doctor_examine(&doctor, &wp_kernel_host, "/proc/no/store");
	check_lines();
	assert_int_equal(line_of("device")->state, WP_DOCTOR_NO);
	assert_false(wp_doctor_able(&doctor));
}

#define OVER_TREE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    OVER_TREE(test_memory_limit_v1), OVER_TREE(test_memory_limit_v2),
	    OVER_TREE(test_facts),	     OVER_TREE(test_empty_machine),
	    OVER_TREE(test_this_machine),    OVER_TREE(test_memory_filesystem),
	    OVER_TREE(test_fingerprint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
