/* The table of what options need; see option_needs.h. */
#include "harness/replay/option_needs.h"

#include <string.h>

enum need {
	NEED_SESSION = 1,
	NEED_NVME = 2, /* a session that writes a store */
	NEED_STORE = 4,
	NEED_SIMULATED_DRIVE = 8,
	NEED_POSITIONS = 16,
};

static const struct {
	const char *option;
	unsigned needs;
} rows[] = {
    {"tiers", NEED_SESSION},
    {"eviction", NEED_SESSION},
    {"gpu-budget", NEED_SESSION},
    {"host-budget", NEED_SESSION},
    {"nvme-budget", NEED_SESSION | NEED_NVME},
    {"forget-oldest", NEED_SESSION | NEED_NVME},
    {"resume", NEED_SESSION | NEED_STORE | NEED_NVME},
    {"replace-session", NEED_SESSION | NEED_STORE},
    {"ack-log", NEED_SESSION | NEED_NVME},
    {"positions", NEED_POSITIONS},
    {"store", NEED_STORE},
    {"throttle", NEED_STORE},
    {"throttle-device", NEED_STORE},
    {"allow-unproven", NEED_STORE},
    {"drive", NEED_SIMULATED_DRIVE},
};

static int refuse(const char *option, const char *what, struct wp_error *error)
{
	return wp_error_set(error, WP_EXIT_USAGE, "--%s needs %s", option, what);
}

int wp_option_needs_check(const char *option, const struct wp_replay_plan *plan,
			  struct wp_error *error)
{
	bool measured = plan->world != WP_WORLD_VIRTUAL;
	unsigned needs = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].option, option) == 0)
			needs = rows[i].needs;
	if ((needs & NEED_SESSION) && !plan->tiered)
		return refuse(option, "--residency tiered", error);
	if ((needs & NEED_STORE) && !measured)
		return refuse(option, "--world model or real", error);
	if ((needs & NEED_SIMULATED_DRIVE) && measured)
		return refuse(option, "--world virtual", error);
	if ((needs & NEED_NVME) && !plan->session.tiers.nvme_blocks)
		return refuse(option, "--tiers gpu+dram+nvme", error);
	if ((needs & NEED_POSITIONS) && !plan->tiered && plan->world != WP_WORLD_REAL)
		return refuse(option, "--residency tiered or --world real", error);
	return 0;
}
