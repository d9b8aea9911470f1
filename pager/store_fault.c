/* Words for what goes wrong with a store; formatting only. */
#include "pager/store_fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void wp_store_errno_text(int error, char *text, size_t size)
{
	const char *name = strerrorname_np(error < 0 ? -error : error);
	const char *description = strerrordesc_np(error < 0 ? -error : error);

	if (name && description)
		snprintf(text, size, "%s (%s)", name, description);
	else
		snprintf(text, size, "error %d", error);
}

/* What the store is, as against what the machine lets us do. */
static bool errno_is_content(int error)
{
	switch (-error) {
	case ENOENT:
	case ENOTDIR:
	case EISDIR:
	case ELOOP:
	case EIO:
	case EBADMSG:
		return true;
	default:
		return false;
	}
}

int wp_store_fault_errno(struct wp_store_fault *fault, int error, const char *format, ...)
{
	char reason[128];
	size_t length;
	va_list arguments;

	memset(fault, 0, sizeof(*fault));
	fault->error = error;
	fault->content = errno_is_content(error);
	va_start(arguments, format);
	vsnprintf(fault->text, sizeof(fault->text), format, arguments);
	va_end(arguments);
	wp_store_errno_text(error, reason, sizeof(reason));
	length = strlen(fault->text);
	snprintf(fault->text + length, sizeof(fault->text) - length, ": %s", reason);
	return error;
}

int wp_store_fault_text(struct wp_store_fault *fault, int error, bool content, const char *format,
			...)
{
	va_list arguments;

	memset(fault, 0, sizeof(*fault));
	fault->error = error;
	fault->content = content;
	va_start(arguments, format);
	vsnprintf(fault->text, sizeof(fault->text), format, arguments);
	va_end(arguments);
	return error;
}

void wp_store_reason_add(char *reasons, size_t size, const char *format, ...)
{
	size_t length = strlen(reasons);
	va_list arguments;

	if (length > 0) {
		snprintf(reasons + length, size - length, "; ");
		length = strlen(reasons);
	}
	va_start(arguments, format);
	vsnprintf(reasons + length, size - length, format, arguments);
	va_end(arguments);
}
