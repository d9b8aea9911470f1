/* Result documents: written whole, the same keys in every kind of run, read back strictly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "harness/files/json_value.h"
#include "harness/result/result.h"

#define FRAMES 160

static char folder[4096];
static char path[4200];

static int make_folder(void **state)
{
	const char *base = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof(folder), "%s/result-XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/document.json", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder); /* fails when a temporary file was left behind */
}

static char *arguments[] = {"worldpager replay",
			    "--trace",
			    "/somewhere/far/away.jsonl",
			    "--store=/a/b/store/",
			    "--bandwidth=0.25GB/s",
			    "--scale",
			    "1/16",
			    "b\xff"
			    "d",
			    NULL};

/* A plausible run; `frames` holds at least FRAMES. */
static void fill_run(struct wp_run *run, struct wp_frame_figures *frames, uint32_t count)
{
	uint64_t now_ns = 0;

	memset(run, 0, sizeof(*run));
	for (uint32_t i = 0; i < count; i++) {
		struct wp_frame_figures *frame = &frames[i];

		memset(frame, 0, sizeof(*frame));
		frame->frame = i;
		frame->needed_ns = now_ns;
		frame->stall_ns = (i * 7919u) % 1000u * 1000u;
		frame->ready_ns = now_ns + frame->stall_ns;
		frame->compute_ns = 75000000;
		frame->blocks_nvme = 2;
		frame->hit = 1;
		frame->missed = 1;
		now_ns = frame->ready_ns + frame->compute_ns;
	}
	run->argc = 8;
	run->argv = arguments;
	run->world = "virtual";
	run->trace_name = "a_yaw";
	run->trace_origin = "reconstructed";
	memcpy(run->trace_digest, "0123456789abcdef", 17);
	run->trace_model = run->model_name = "mg2";
	run->machine_name = "rtx4090";
	run->drive_name = "ideal";
	run->arm = "prefetch";
	run->hints = "hold_last";
	run->residency = "forced-nvme";
	run->codec = "int4";
	run->positions = "managed";
	run->k = 2;
	run->warmup_frames = 20;
	run->scale =
	    (struct wp_scale_figures){.asked = 0.0625, .effective = 0.0625, .text = "1/16"};
	run->block_bytes = 8078400;
	run->block_full_bytes = 129254400;
	run->compute_target_ns = 75000000;
	run->throttle.method = "bucket";
	run->throttle.asked = "auto";
	run->throttle.asked_bytes_per_s = 250000000;
	run->throttle.valid = true;
	run->store.backend = "virtual";
	run->frames = frames;
	run->frame_count = run->frame_target = count;
	run->wall_ns = now_ns;
	run->valid = true;
}

static void write_run(const struct wp_run *run)
{
	struct wp_error error = {0};

	unlink(path); /* what this process has read or written is not replaced */
	if (wp_result_write(run, path, &error) != 0)
		fail_msg("%s", error.text);
}

static void test_what_is_written_is_read(void **state)
{
	static struct wp_frame_figures frames[FRAMES];
	struct wp_result result;
	struct wp_error error = {0};
	struct wp_run run;

	(void)state;
	fill_run(&run, frames, FRAMES);
	write_run(&run);
	if (wp_result_load(path, &result, &error) != 0)
		fail_msg("%s", error.text);
	assert_true(result.valid);
	assert_false(result.interrupted);
	assert_string_equal(result.trace, "a_yaw");
	assert_string_equal(result.scale_text, "1/16");
	assert_string_equal(result.error, "");
	assert_int_equal(result.asked_bytes_per_s, 250000000);
	assert_int_equal(result.probe_bytes_per_s, 0);
	assert_int_equal(result.stall_ns.n, FRAMES - 20);
	assert_int_equal(result.stall_full_scale_ns.max, result.stall_ns.max * 16);
	for (size_t i = 0; i < FRAMES; i++)
		assert_int_equal(wp_result_frame_stall_ns(&result, i), frames[i].stall_ns * 16);
	wp_result_close(&result);
}

static void test_arguments_are_safe_to_publish(void **state)
{
	static const char *const expected[] = {
	    "worldpager replay",    "--trace", "away.jsonl", "--store=store",
	    "--bandwidth=0.25GB/s", "--scale", "1/16",	     "b\\xffd"};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		json_t *value = wp_json_argument(arguments[i]);

		assert_string_equal(json_string_value(value), expected[i]);
		json_decref(value);
	}
}

static void test_text_is_always_utf8(void **state)
{
	static const char *const bad[] = {
	    "\x80",	"\xc0\xaf", "\xed\xa0\x80",    "\xf5\x80\x80\x80",
	    "\xe2\x82", "cut \xe2", "\xf0\x8f\xbf\xbf"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *value = wp_json_text(bad[i]);

		assert_true(json_is_string(value));
		assert_non_null(strstr(json_string_value(value), "\\x"));
		json_decref(value);
	}
	for (const char *good = "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"; good;) {
		json_t *value = wp_json_text(good);

		assert_string_equal(json_string_value(value), good);
		json_decref(value);
		break;
	}
}

static void check_same_keys(const json_t *left, const json_t *right, const char *where)
{
	const char *key;
	json_t *value;

	assert_int_equal(json_object_size(left), json_object_size(right));
	json_object_foreach((json_t *)left, key, value)
	{
		const json_t *other = json_object_get(right, key);

		if (!other)
			fail_msg("%s.%s is missing", where, key);
		if (json_is_object(value))
			check_same_keys(value, other, key);
	}
}

/* An ordinary run, one without limit, one that failed at once, one that was interrupted. */
static void test_every_kind_of_run_has_the_same_keys(void **state)
{
	static struct wp_frame_figures frames[FRAMES];
	json_t *first = NULL;

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct wp_run run;
		json_t *document;

		fill_run(&run, frames, kind == 2 ? 0 : kind == 3 ? 1 : FRAMES);
		if (kind == 1)
			run.throttle =
			    (struct wp_throttle_figures){.method = "none", .valid = true};
		if (kind == 2) {
			snprintf(run.error, sizeof(run.error), "no such \xff thing");
			run.valid = false;
			run.machine_name = run.drive_name = NULL;
		}
		run.interrupted = kind == 3;
		write_run(&run);
		document = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(document);
		if (!first)
			first = json_incref(document);
		check_same_keys(first, document, "document");
		json_decref(document);
	}
	json_decref(first);
}

static void test_no_samples_are_null(void **state)
{
	static struct wp_frame_figures frames[FRAMES];
	struct wp_run run;
	json_t *document, *stall;

	(void)state;
	fill_run(&run, frames, 20); /* all of them warm-up */
	write_run(&run);
	document = json_load_file(path, 0, NULL);
	stall = json_object_get(json_object_get(document, "summary"), "stall_ns");
	assert_int_equal(json_integer_value(json_object_get(stall, "n")), 0);
	assert_true(json_is_null(json_object_get(stall, "p50")));
	assert_true(json_is_null(json_object_get(stall, "sum")));
	json_decref(document);
}

static void test_ratios_to_the_bound(void **state)
{
	static struct wp_frame_figures frames[FRAMES];
	struct wp_run run;
	json_t *document, *bound, *told, *hinted;

	(void)state;
	fill_run(&run, frames, FRAMES);
	for (uint32_t i = 0; i < FRAMES; i++)
		frames[i].ready_ns = frames[i].needed_ns + (frames[i].stall_ns = 3000);
	run.has_lower_bound = true;
	run.lower_bound.told = (struct wp_lower_bound_figures){140, 140 * 2000, 1500};
	run.lower_bound.hinted = (struct wp_lower_bound_figures){140, 0, 0};
	write_run(&run);
	document = json_load_file(path, 0, NULL);
	bound = json_object_get(json_object_get(document, "summary"), "lower_bound");
	told = json_object_get(bound, "told");
	hinted = json_object_get(bound, "hinted");
	assert_int_equal(json_integer_value(json_object_get(told, "sum_ns")), 140 * 2000);
	assert_int_equal(json_integer_value(json_object_get(told, "max_ns")), 1500);
	assert_true(json_real_value(json_object_get(told, "sum_ratio")) == 1.5);
	assert_true(json_real_value(json_object_get(told, "max_ratio")) == 2.0);
	assert_int_equal(json_integer_value(json_object_get(hinted, "sum_ns")), 0);
	assert_true(json_is_null(json_object_get(hinted, "sum_ratio")));
	assert_true(json_is_null(json_object_get(hinted, "max_ratio")));
	json_decref(document);
}

static void test_contradictions_are_found(void **state)
{
	static struct wp_frame_figures frames[FRAMES];
	char text[256];
	struct wp_run run;

	(void)state;
	fill_run(&run, frames, FRAMES);
	assert_true(wp_result_check(&run, text, sizeof(text)));
	frames[7].stall_ns++;
	assert_false(wp_result_check(&run, text, sizeof(text)));
	fill_run(&run, frames, FRAMES);
	frames[7].blocks_nvme = 1;
	assert_false(wp_result_check(&run, text, sizeof(text)));
	fill_run(&run, frames, FRAMES);
	frames[7].blocks_gpu = 1;
	assert_false(wp_result_check(&run, text, sizeof(text)));
	run.residency = "tiered"; /* a block found on the GPU is neither hit nor missed */
	assert_true(wp_result_check(&run, text, sizeof(text)));
	run.wall_ns++;
	assert_false(wp_result_check(&run, text, sizeof(text)));
	run.world = "model";
	assert_true(wp_result_check(&run, text, sizeof(text)));
	run.wall_ns = run.wall_ns / 98 * 100;
	assert_false(wp_result_check(&run, text, sizeof(text)));
	write_run(&run);
	struct wp_result result;
	struct wp_error error;
	assert_int_equal(wp_result_load(path, &result, &error), 0);
	assert_false(result.valid);
	wp_result_close(&result);
}

/* Deletes, one after another, everything that a reader needs, and one figure is edited. */
static void test_a_missing_section_is_named(void **state)
{
	static const char *const keys[] = {"schema_version", "tool",   "world",	      "machine",
					   "model",	     "trace",  "arm",	      "hints",
					   "residency",	     "codec",  "scale",	      "k",
					   "throttle",	     "store",  "interrupted", "error",
					   "summary",	     "frames", "block_bytes", "seed",
					   "machine_facts"};
	static struct wp_frame_figures frames[FRAMES];
	struct wp_result result;
	struct wp_error error;
	struct wp_run run;

	(void)state;
	fill_run(&run, frames, FRAMES);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *document;

		write_run(&run);
		document = json_load_file(path, 0, NULL);
		json_object_del(document, keys[i]);
		assert_int_equal(json_dump_file(document, path, 0), 0);
		json_decref(document);
		assert_int_equal(wp_result_load(path, &result, &error), -1);
		assert_int_equal(error.exit_code, WP_EXIT_CONTENT);
		if (!strstr(error.text, keys[i]))
			fail_msg("\"%s\" does not name %s", error.text, keys[i]);
	}
	write_run(&run);
	json_t *document = json_load_file(path, 0, NULL);
	json_t *frame = json_array_get(json_object_get(document, "frames"), 3);
	json_object_set_new(frame, "stall_ns", json_integer(0));
	assert_int_equal(json_dump_file(document, path, 0), 0);
	json_decref(document);
	assert_int_equal(wp_result_load(path, &result, &error), -1);
	assert_non_null(strstr(error.text, "digest"));
}

/* What tells two machines apart, and nothing that names one. */
static void test_the_machine_is_told_not_named(void **state)
{
	static struct wp_frame_figures frames[FRAMES];
	static const char *const never[] = {"host", "node_name", "serial", "uuid", "mac"};
	struct wp_result result;
	struct wp_error error;
	struct wp_run run;
	char *text;

	(void)state;
	fill_run(&run, frames, FRAMES);
	write_run(&run);
	assert_int_equal(wp_result_load(path, &result, &error), 0);
	assert_string_equal(result.fingerprint, "");
	assert_true(json_is_null(json_object_get(result.document, "machine_facts")));
	wp_result_close(&result);

	run.has_machine_facts = true;
	wp_machine_facts_read(&run.machine_facts, &wp_kernel_host, "/");
	write_run(&run);
	assert_int_equal(wp_result_load(path, &result, &error), 0);
	assert_int_equal(strlen(result.fingerprint), 16);
	assert_string_equal(result.kernel_release, run.machine_facts.kernel_release);
	text = json_dumps(json_object_get(result.document, "machine_facts"), 0);
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		char key[32];

		snprintf(key, sizeof(key), "\"%s", never[i]);
		assert_null(strstr(text, key));
	}
	free(text);
	wp_result_close(&result);
}

static void test_order_of_keys_does_not_matter(void **state)
{
	static struct wp_frame_figures frames[FRAMES];
	struct wp_result result;
	struct wp_error error;
	struct wp_run run;
	json_t *document;

	(void)state;
	fill_run(&run, frames, FRAMES);
	write_run(&run);
	document = json_load_file(path, 0, NULL);
	assert_int_equal(json_dump_file(document, path, JSON_SORT_KEYS | JSON_INDENT(4)), 0);
	json_decref(document);
	assert_int_equal(wp_result_load(path, &result, &error), 0);
	wp_result_close(&result);
}

static void test_a_failed_write_leaves_the_old_file(void **state)
{
	static struct wp_frame_figures frames[FRAMES];
	struct wp_error error;
	struct wp_run run;
	struct stat before, after;

	(void)state;
	fill_run(&run, frames, FRAMES);
	write_run(&run);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(wp_result_write(&run, "/dev/full", &error), -1);
	assert_int_equal(error.exit_code, WP_EXIT_CONTENT);
	assert_int_equal(stat("/dev/full", &after), 0);
	assert_true(S_ISCHR(after.st_mode));
	assert_int_equal(wp_result_write(&run, folder, &error), -1);
	assert_int_equal(wp_result_write(&run, "", &error), -1);
	assert_int_equal(wp_result_write(&run, "/proc/nowhere/document.json", &error), -1);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
}

static void test_a_link_keeps_pointing(void **state)
{
	static struct wp_frame_figures frames[FRAMES];
	char link_path[4300];
	struct stat status;
	struct wp_run run;
	struct wp_error error;
	FILE *older;

	(void)state;
	fill_run(&run, frames, FRAMES);
	unlink(path);
	older = fopen(path, "w"); /* of another process */
	assert_non_null(older);
	fclose(older);
	snprintf(link_path, sizeof(link_path), "%s/link.json", folder);
	assert_int_equal(symlink("document.json", link_path), 0);
	assert_int_equal(wp_result_write(&run, link_path, &error), 0);
	assert_int_equal(lstat(link_path, &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	unlink(link_path);
}

/* Decimal commas of the environment must not reach the document. */
static void test_any_locale(void **state)
{
	static struct wp_frame_figures frames[FRAMES];
	struct wp_result result;
	struct wp_error error;
	struct wp_run run;

	(void)state;
	if (!setlocale(LC_ALL, "de_DE.UTF-8"))
		skip();
	fill_run(&run, frames, FRAMES);
	write_run(&run);
	assert_int_equal(wp_result_load(path, &result, &error), 0);
	assert_true(result.scale == 0.0625);
	wp_result_close(&result);
	setlocale(LC_ALL, "C");
}

static void test_very_many_frames(void **state)
{
	struct wp_frame_figures *frames = calloc(100000, sizeof(*frames));
	struct wp_result result;
	struct wp_error error;
	struct wp_run run;

	(void)state;
	assert_non_null(frames);
	fill_run(&run, frames, 100000);
	write_run(&run);
	assert_int_equal(wp_result_load(path, &result, &error), 0);
	assert_int_equal(result.frame_count, 100000);
	wp_result_close(&result);
	free(frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_written_is_read),
	    cmocka_unit_test(test_arguments_are_safe_to_publish),
	    cmocka_unit_test(test_text_is_always_utf8),
	    cmocka_unit_test(test_every_kind_of_run_has_the_same_keys),
	    cmocka_unit_test(test_no_samples_are_null),
	    cmocka_unit_test(test_ratios_to_the_bound),
	    cmocka_unit_test(test_contradictions_are_found),
	    cmocka_unit_test(test_a_missing_section_is_named),
	    cmocka_unit_test(test_the_machine_is_told_not_named),
	    cmocka_unit_test(test_order_of_keys_does_not_matter),
	    cmocka_unit_test(test_a_failed_write_leaves_the_old_file),
	    cmocka_unit_test(test_a_link_keeps_pointing),
	    cmocka_unit_test(test_any_locale),
	    cmocka_unit_test(test_very_many_frames),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
