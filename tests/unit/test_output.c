/* Outputs of one process: none replaces what was read or written, but for what may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "harness/files/input_file.h"
#include "harness/files/output.h"

static char folder[] = "output-XXXXXX";

static void write_text(struct wp_output *output)
{
	struct wp_error error;

	fputs("text\n", output->stream);
	assert_int_equal(wp_output_commit(output, &error), 0);
	wp_output_abandon(output);
}

static int read_file(const char *path, struct wp_error *error)
{
	uint64_t size;
	int fd = wp_input_open(path, "a text", WP_EXIT_CONTENT, &size, error);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static void assert_refused(int result, const struct wp_error *error)
{
	assert_int_equal(result, -1);
	assert_int_equal(error->exit_code, WP_EXIT_USAGE);
}

static void test_once(void **state)
{
	struct wp_output output;
	struct wp_error error;

	(void)state;
	assert_int_equal(wp_output_open(&output, "once", &error), 0);
	write_text(&output);
	assert_refused(wp_output_check("./once", &error), &error);
	assert_refused(wp_output_open(&output, "once", &error), &error);
	wp_output_abandon(&output);
	/* What was written may be read, and what is gone be written. */
	assert_int_equal(read_file("once", &error), 0);
	assert_int_equal(unlink("once"), 0);
	assert_int_equal(wp_output_open(&output, "once", &error), 0);
	wp_output_abandon(&output);
}

static void test_again(void **state)
{
	struct wp_output output;
	struct wp_error error;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wp_output_open_again(&output, "again", &error), 0);
		write_text(&output);
		assert_int_equal(read_file("again", &error), 0);
	}
	assert_refused(wp_output_open(&output, "again", &error), &error);
}

static void test_a_checked_place_is_taken(void **state)
{
	struct wp_output output;
	struct wp_error error;

	(void)state;
	assert_int_equal(wp_output_check("taken", &error), 0);
	assert_refused(wp_output_check("taken", &error), &error);
	assert_refused(wp_output_open(&output, "./taken", &error), &error);
	assert_int_equal(wp_output_open(&output, "taken", &error), 0);
	assert_refused(wp_output_check("taken", &error), &error);
	wp_output_abandon(&output);
	/* Given up: free again. */
	assert_int_equal(wp_output_check("./taken", &error), 0);
}

static void test_what_is_to_be_written_is_not_read(void **state)
{
	struct wp_output output;
	struct wp_error error;

	(void)state;
	assert_int_equal(wp_output_open_again(&output, "both", &error), 0);
	write_text(&output);
	assert_int_equal(link("both", "link"), 0);
	assert_int_equal(wp_output_check("link", &error), 0);
	assert_refused(read_file("both", &error), &error);
	assert_non_null(strstr(error.text, "input"));
	/* Nor is it written any more. */
	assert_refused(wp_output_open(&output, "link", &error), &error);
	wp_output_abandon(&output);
}

static int enter(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
	(void)state;
	unlink("again");
	unlink("both");
	unlink("link");
	return chdir("..") == 0 ? rmdir(folder) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_to_be_written_is_not_read),
	    cmocka_unit_test(test_once),
	    cmocka_unit_test(test_again),
	    cmocka_unit_test(test_a_checked_place_is_taken),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
