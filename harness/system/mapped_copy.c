/* SIGBUS as an error: a handler can reach nothing but globals, and leaves by a jump. */
#include "harness/system/mapped_copy.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#define PAGE_BYTES 4096u

static sigjmp_buf away;
static uintptr_t watched_from, watched_to;
static volatile uintptr_t fault_at;

static void on_bus(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;

	(void)context;
	if (at < watched_from || at >= watched_to) {
		/* Somebody else's: it faults again, and ends the program as it should. */
		signal(number, SIG_DFL);
		return;
	}
	fault_at = at;
	siglongjmp(away, 1);
}

int wp_mapped_copy(void *to, const void *from, uint64_t bytes, uint64_t *bad_offset)
{
	struct sigaction action, before;
	int result = 0;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_bus;
	action.sa_flags = SA_SIGINFO;
	watched_from = (uintptr_t)from;
	watched_to = watched_from + bytes;
	fault_at = 0;
	WP_CHECK(sigaction(SIGBUS, &action, &before) == 0);
	if (sigsetjmp(away, 1) == 0)
		memcpy(to, from, bytes);
	WP_CHECK(sigaction(SIGBUS, &before, NULL) == 0);
	if (fault_at) {
		*bad_offset = (fault_at - watched_from) / PAGE_BYTES * PAGE_BYTES;
		result = -EIO;
	}
	return result;
}
