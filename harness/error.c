/* Errors a user meets: formatting only. */
#include "harness/error.h"

#include <stdarg.h>
#include <string.h>

int wp_error_set(struct wp_error *error, enum wp_exit exit_code, const char *format, ...)
{
	va_list arguments;

	memset(error, 0, sizeof(*error));
	error->exit_code = exit_code;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return -1;
}

int wp_error_at(struct wp_error *error, enum wp_exit exit_code, const char *file, int line,
		int column, const char *format, ...)
{
	va_list arguments;

	memset(error, 0, sizeof(*error));
	error->exit_code = exit_code;
	error->line = line;
	error->column = column;
	snprintf(error->file, sizeof(error->file), "%s", file);
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return -1;
}

/* File names and quoted input may hold anything: nothing of it drives the terminal. */
static void print_visible(FILE *stream, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		if (*at < 0x20 || *at == 0x7f)
			fprintf(stream, "\\x%02x", *at);
		else
			fputc(*at, stream);
	}
}

static bool was_printed;

bool wp_error_was_printed(void)
{
	return was_printed;
}

void wp_error_print(FILE *stream, const struct wp_error *error)
{
	was_printed = true;
	fputs("worldpager: ", stream);
	if (error->file[0]) {
		print_visible(stream, error->file);
		if (error->line > 0)
			fprintf(stream, ":%d", error->line);
		if (error->line > 0 && error->column > 0)
			fprintf(stream, ":%d", error->column);
		fputs(": ", stream);
	}
	print_visible(stream, error->text);
	fputc('\n', stream);
}
