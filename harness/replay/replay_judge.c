/* What a finished run is worth, and what its reader should know of it. */
#include <string.h>

#include "harness/replay/replay.h"

void wp_replay_judge(const struct wp_replay_plan *plan, struct wp_run *run)
{
	bool fits = !run->has_session ||
		    run->session.resident_bytes_max <= run->session.resident_allowed_bytes;

	for (uint32_t i = 0; i < run->throttle.note_count; i++)
		wp_run_note(run, "%s", run->throttle.notes[i]);
	if (strcmp(run->trace_model, run->model_name) != 0)
		wp_run_note(run, "the trace was made for model %s and is played with profile %s",
			    run->trace_model, run->model_name);
	if (run->store.fallback[0])
		wp_run_note(run, "%s", run->store.fallback);
	if (run->copy_governed_by_memcpy)
		wp_run_note(run, "copies to the device took longer than the modelled rate: the "
				 "host's memcpy governs");
	if (run->frame_count <= run->warmup_frames)
		wp_run_note(run, "no frame came after the warm-up: the summary is over none");
	if (plan->settings->allow_unproven)
		wp_run_note(run, "the store may be served from memory: not proven to be a drive");
	if (plan->faults.count)
		wp_run_note(run, "faults were injected into the store");
	if (!fits)
		wp_run_note(run, "the process took more memory than the budgets allow");
	run->valid = fits && !run->error[0] && !run->interrupted && run->throttle.valid &&
		     !plan->settings->allow_unproven && !plan->faults.count;
}
