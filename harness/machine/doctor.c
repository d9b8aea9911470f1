/* The list of findings: collecting, printing, the verdict. What is looked at is in doctor_*.c. */
#include "harness/machine/doctor.h"

#include <stdarg.h>
#include <string.h>

#include "harness/system/blockdev.h"

struct wp_doctor_line *wp_doctor_add(struct wp_doctor *doctor, const char *name,
				     enum wp_doctor_state state, const char *format, ...)
{
	struct wp_doctor_line *line;
	va_list arguments;

	WP_CHECK(doctor->count < WP_DOCTOR_LINES_MAX);
	line = &doctor->lines[doctor->count++];
	line->name = name;
	line->state = state;
	va_start(arguments, format);
	vsnprintf(line->found, sizeof(line->found), format, arguments);
	va_end(arguments);
	return line;
}

void wp_doctor_remedy(struct wp_doctor_line *line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line->remedy, sizeof(line->remedy), format, arguments);
	va_end(arguments);
}

void wp_doctor_examine(struct wp_doctor *doctor, const struct wp_kernel *kernel, const char *store)
{
	memset(doctor, 0, sizeof(*doctor));
	doctor->kernel = kernel;
	doctor->store = store;
	if (wp_blockdev_existing(doctor->directory, sizeof(doctor->directory), store))
		snprintf(doctor->directory, sizeof(doctor->directory), ".");
	wp_machine_facts_read(&doctor->machine, kernel, doctor->directory);
	wp_doctor_storage(doctor);
	wp_doctor_machine(doctor);
}

bool wp_doctor_able(const struct wp_doctor *doctor)
{
	for (uint32_t i = 0; i < doctor->count; i++)
		if (doctor->lines[i].state == WP_DOCTOR_NO)
			return false;
	return true;
}

const char *wp_doctor_state_name(enum wp_doctor_state state)
{
	static const char *const names[] = {
	    [WP_DOCTOR_OK] = "ok",
	    [WP_DOCTOR_LESSER] = "lesser",
	    [WP_DOCTOR_NO] = "no",
	    [WP_DOCTOR_ABSENT] = "absent",
	};

	return names[state];
}

/* Paths and device names may hold anything: nothing of it drives the terminal. */
static void print_plain(FILE *stream, const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, stream);
}

void wp_doctor_print(FILE *stream, const struct wp_doctor *doctor)
{
	for (uint32_t i = 0; i < doctor->count; i++) {
		const struct wp_doctor_line *line = &doctor->lines[i];

		fprintf(stream, "%-7s %-17s ", wp_doctor_state_name(line->state), line->name);
		print_plain(stream, line->found);
		if (line->remedy[0]) {
			fputs("; to change: ", stream);
			print_plain(stream, line->remedy);
		}
		fputc('\n', stream);
	}
	fputs(wp_doctor_able(doctor)
		  ? "Real storage can be measured here (lesser: results say what was missing).\n"
		  : "Real storage cannot be measured here; --world virtual can, anywhere.\n",
	      stream);
}
