/* Sessions: budgets, positions, walls; see session.h. No frames are played here. */
#include "harness/replay/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/files/output.h"
#include "harness/units.h"

#define WRITE_DEPTH	     8u		   /* small writes in flight, behind the reads */
#define WRITE_BLOCKS	     4u		   /* unacknowledged at once */
#define RESIDENT_SLACK_BYTES (64ull << 20) /* code, stacks, trace, index, ring */

int wp_session_positions(struct wp_positions *positions, const char *mode,
			 const struct wp_model *model, const struct wp_trace *trace,
			 struct wp_error *error)
{
	int result;

	*positions = (struct wp_positions){
	    .mode = strcmp(mode, "native") == 0 ? WP_POSITIONS_NATIVE : WP_POSITIONS_MANAGED,
	    .latents_per_frame = model->latents_per_frame,
	    .set_blocks_max = trace->rule.k,
	    .local_blocks = model->local_latents / model->latents_per_frame,
	    .window_latents = model->window_latents,
	    .table_rows = model->position_rows,
	    .action_rows = model->action_rows,
	};
	result = wp_positions_check(positions);
	if (result == -ERANGE)
		return wp_error_set(
		    error, WP_EXIT_USAGE, "k = %u: %u latents do not fit the model's window of %u",
		    trace->rule.k, wp_positions_latents_max(positions), model->window_latents);
	if (result < 0)
		return wp_error_set(error, WP_EXIT_USAGE, "positions of the model profile: %s",
				    strerror(-result));
	return 0;
}

static uint32_t slots_of(uint64_t budget_bytes, uint64_t block_bytes)
{
	uint64_t slots = budget_bytes / block_bytes;

	return slots < WP_BLOCKS_MAX ? (uint32_t)slots : WP_BLOCKS_MAX;
}

/* `least` slots, or an error with what was asked for and the smallest budget that works. `what`
 * is where the budget comes from: an option, or a key of a profile. */
static int check_budget(const char *what, uint64_t budget_bytes, uint64_t block_bytes,
			const struct wp_scale *scale, uint32_t least, struct wp_error *error)
{
	char have[WP_UNITS_TEXT], need[WP_UNITS_TEXT], held[WP_UNITS_TEXT];
	uint64_t least_bytes = (uint64_t)((double)(least * block_bytes) / scale->effective);
	uint32_t slots = slots_of(budget_bytes, block_bytes);

	if (slots >= least)
		return 0;
	while (wp_scale_apply(scale, least_bytes) < least * block_bytes)
		least_bytes++;
	return wp_error_set(error, WP_EXIT_USAGE,
			    "%s: %s at this scale hold %s; %u %s the least that works, "
			    "%lluB at full scale, %s",
			    what, wp_units_bytes(have, budget_bytes),
			    wp_units_counted(held, slots, "block"), least,
			    least == 1 ? "is" : "are", (unsigned long long)least_bytes,
			    wp_units_bytes(need, least_bytes));
}

/* A block is written from its DRAM slot while others load into theirs. */
static int check_memory_budgets(const struct wp_session_plan *plan,
				const struct wp_session_settings *settings,
				const struct wp_machine *machine, const struct wp_scale *scale,
				uint32_t device_least, uint32_t host_least, struct wp_error *error)
{
	char gpu[160] = "--gpu-budget", host[160] = "--host-budget";

	if (!settings->gpu_budget_bytes)
		snprintf(gpu, sizeof(gpu), "gpu_block_budget_bytes of machine profile %s",
			 machine->name);
	if (!settings->host_budget_bytes)
		snprintf(host, sizeof(host), "%s of machine profile %s",
			 machine->host_block_percent ? "host_bytes and host_block_percent"
						     : "host_block_budget_bytes",
			 machine->name);
	if (check_budget(gpu, plan->gpu_budget_bytes, plan->block_bytes, scale, device_least,
			 error) != 0)
		return -1;
	return check_budget(host, plan->host_budget_bytes, plan->block_bytes, scale, host_least,
			    error);
}

int wp_session_check_names(const struct wp_session_settings *settings, struct wp_error *error)
{
	const char *tiers = settings->tiers, *eviction = settings->eviction;

	if (tiers && strcmp(tiers, "gpu+dram+nvme") != 0 && strcmp(tiers, "gpu+dram") != 0)
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--tiers: '%s' is none of gpu+dram gpu+dram+nvme", tiers);
	if (eviction && !wp_eviction_find(eviction))
		return wp_error_set(error, WP_EXIT_USAGE,
				    "--eviction: '%s' is none of lru farthest next_use", eviction);
	return 0;
}

static int set_tiers(struct wp_session_plan *plan, const struct wp_session_settings *settings,
		     const struct wp_machine *machine, const struct wp_scale *scale,
		     const struct wp_trace *trace, struct wp_error *error)
{
	struct wp_pager_tiers *tiers = &plan->tiers;
	bool nvme = strcmp(settings->tiers, "gpu+dram+nvme") == 0;
	uint32_t room;

	tiers->eviction = wp_eviction_find(settings->eviction);
	WP_CHECK(tiers->eviction);
	if (check_memory_budgets(plan, settings, machine, scale, trace->rule.k + 1, nvme ? 2 : 1,
				 error) != 0)
		return -1;
	tiers->device_slots = slots_of(plan->gpu_budget_bytes, plan->block_bytes);
	tiers->host_slots = slots_of(plan->host_budget_bytes, plan->block_bytes);
	tiers->blocks_max = trace->frames;
	tiers->write_depth = WRITE_DEPTH;
	tiers->write_blocks = WRITE_BLOCKS;
	if (!nvme)
		return 0;
	tiers->nvme_blocks = trace->frames;
	if (!settings->nvme_budget_bytes)
		return 0;
	plan->nvme_budget_bytes = wp_scale_apply(scale, settings->nvme_budget_bytes);
	room = slots_of(plan->nvme_budget_bytes, plan->block_bytes);
	tiers->forget_oldest = settings->forget_oldest && room < trace->frames;
	if (room < tiers->nvme_blocks)
		tiers->nvme_blocks = room;
	return check_budget("--nvme-budget", plan->nvme_budget_bytes, plan->block_bytes, scale,
			    tiers->forget_oldest ? 2 * WRITE_BLOCKS + 1 : 1, error);
}

int wp_session_plan(struct wp_session_plan *plan, const struct wp_session_settings *settings,
		    const struct wp_model *model, const struct wp_machine *machine,
		    const struct wp_scale *scale, uint64_t block_bytes,
		    const struct wp_trace *trace, struct wp_error *error)
{
	uint64_t gpu_bytes = settings->gpu_budget_bytes ? settings->gpu_budget_bytes
							: machine->gpu_block_budget_bytes;
	uint64_t host_bytes = settings->host_budget_bytes ? settings->host_budget_bytes
							  : machine->host_block_budget_bytes;

	memset(plan, 0, sizeof(*plan));
	plan->block_bytes = block_bytes;
	plan->gpu_budget_bytes = wp_scale_apply(scale, gpu_bytes);
	plan->host_budget_bytes = wp_scale_apply(scale, host_bytes);
	plan->host_bytes = wp_scale_apply(scale, machine->host_bytes);
	if (wp_session_positions(&plan->positions, settings->positions, model, trace, error) != 0)
		return -1;
	return set_tiers(plan, settings, machine, scale, trace, error);
}

/* One line, one write: whoever reads it may rely on the block. */
static void log_acknowledged(void *context, uint32_t block)
{
	struct wp_session *session = context;

	if (fprintf(session->ack_log, "%" PRIu32 "\n", block) < 0 || fflush(session->ack_log) != 0)
		session->ack_log_failed = true;
}

int wp_session_open(struct wp_session *session, const struct wp_session_plan *plan,
		    const struct wp_session_settings *settings, const struct wp_trace *trace,
		    struct wp_pager_tiers *tiers, struct wp_error *error)
{
	memset(session, 0, sizeof(*session));
	session->plan = plan;
	session->settings = settings;
	*tiers = plan->tiers;
	if (tiers->eviction->ranks) {
		if (wp_eviction_rank_open(&session->rank, settings->eviction, trace, error) != 0)
			return -1;
		tiers->rank = wp_eviction_rank_of;
		tiers->rank_context = session->rank;
	}
	if (settings->ack_log) {
		if (wp_output_check(settings->ack_log, error) != 0)
			return -1;
		session->ack_log_is_new = access(settings->ack_log, F_OK) != 0;
		/* What an earlier session wrote there stays until it is known that this one begins.
		 */
		session->ack_log = fopen(settings->ack_log, "ae");
		if (!session->ack_log)
			return wp_error_set(error, WP_EXIT_CONTENT, "%s: %s", settings->ack_log,
					    strerror(errno));
		tiers->acknowledged = log_acknowledged;
		tiers->acknowledged_context = session;
	}
	return 0;
}

int wp_session_begin(struct wp_session *session, struct wp_error *error)
{
	struct stat status;

	session->begun = true;
	if (!session->ack_log || session->settings->resume)
		return 0;
	if (fstat(fileno(session->ack_log), &status) == 0 &&
	    (!S_ISREG(status.st_mode) || ftruncate(fileno(session->ack_log), 0) == 0))
		return 0;
	return wp_error_set(error, WP_EXIT_CONTENT, "%s: %s", session->settings->ack_log,
			    strerror(errno));
}

void wp_session_close(struct wp_session *session)
{
	if (session->ack_log_is_new && session->ack_log && !session->begun)
		unlink(session->settings->ack_log);
	wp_eviction_rank_close(session->rank);
	if (session->ack_log && fclose(session->ack_log) != 0)
		session->ack_log_failed = true;
	session->rank = NULL;
	session->ack_log = NULL;
}

int wp_session_position(const struct wp_session *session, uint32_t frame, const uint32_t *set,
			uint32_t count, uint32_t *position)
{
	struct wp_placement placement;
	int result = wp_positions_place(&session->plan->positions, frame, set, count, &placement);

	if (result == 0)
		*position = wp_placement_own(&placement)->latent;
	return result;
}

void wp_session_advance(struct wp_session *session, uint32_t frame)
{
	if (session->rank)
		wp_eviction_rank_advance(session->rank, frame);
}

void wp_session_describe(const struct wp_session *session, const struct wp_model *model,
			 struct wp_session_figures *figures)
{
	const struct wp_session_plan *plan = session->plan;

	figures->tiers = session->settings->tiers;
	figures->eviction = session->settings->eviction;
	figures->gpu_budget_bytes = plan->gpu_budget_bytes;
	figures->host_budget_bytes = plan->host_budget_bytes;
	figures->nvme_budget_bytes = plan->nvme_budget_bytes;
	figures->host_bytes = plan->host_bytes;
	figures->gpu_slots = plan->tiers.device_slots;
	figures->host_slots = plan->tiers.host_slots;
	figures->nvme_slots = plan->tiers.nvme_blocks;
	figures->first_frame = session->first_frame;
	figures->playback_fps = model->playback_fps;
	figures->generated_fps =
	    (double)model->video_frames_per_frame * 1e9 / (double)model->compute_ns;
	figures->frame_video_s = (double)model->video_frames_per_frame / model->playback_fps;
}

void wp_session_finish(const struct wp_session *session, const struct wp_pager_usage *usage,
		       uint64_t device_bytes, struct wp_session_figures *figures)
{
	struct rusage resident;

	figures->blocks_stored = usage->nvme_blocks;
	figures->blocks_forgotten = usage->forgotten;
	figures->bytes_written = usage->bytes_written;
	if (getrusage(RUSAGE_SELF, &resident) == 0)
		figures->resident_bytes_max = (uint64_t)resident.ru_maxrss * 1024;
	figures->resident_allowed_bytes =
	    session->plan->host_bytes + device_bytes + RESIDENT_SLACK_BYTES;
}
