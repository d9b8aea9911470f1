/* P5, P6 and P9 against a document of the capacity walls. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/experiments/claims.h"
#include "harness/units.h"

static bool is_near(double value, double claimed, double tolerance)
{
	return fabs(value - claimed) <= tolerance * claimed;
}

/* Where each lesser system ended, in seconds of video. */
static bool check_p5(const struct wp_claims *claims, const struct wp_walls *walls,
		     struct wp_finding *finding)
{
	static const char *const causes[] = {"host budget", "host budget", "positions"};
	bool agrees = true;
	char seconds[WP_UNITS_TEXT];

	for (uint32_t i = 0; i < WP_CLAIM_WALLS; i++) {
		const struct wp_walls_session *session = &walls->sessions[i];
		size_t used = strlen(finding->text);

		agrees &= session->valid && strcmp(session->wall, causes[i]) == 0 &&
			  is_near(session->video_s, claims->p5_video_s[i], claims->p5_tolerance);
		snprintf(finding->text + used, sizeof(finding->text) - used,
			 "%s%s: %s s, %" PRIu32 " blocks", used ? "; " : "", session->name,
			 wp_units_fixed(seconds, session->video_s, 2), session->blocks);
	}
	return agrees;
}

static bool check_p6(const struct wp_claims *claims, const struct wp_walls *walls,
		     struct wp_finding *finding)
{
	const struct wp_walls_session *session = &walls->sessions[WP_WALLS_SESSIONS - 1];
	char video[WP_UNITS_TEXT], most[WP_UNITS_TEXT];
	uint64_t most_bytes = 0;

	for (uint32_t i = 0; i < session->blocks; i++)
		if (session->dram_bytes[i] > most_bytes)
			most_bytes = session->dram_bytes[i];
	snprintf(finding->text, sizeof(finding->text),
		 "%" PRIu32 " frames, %s min; at most %s GiB of blocks in DRAM; %" PRIu32
		 " blocks read back from NVMe and verified",
		 session->blocks, wp_units_fixed(video, session->video_s / 60, 1),
		 wp_units_fixed(most, (double)most_bytes / (1ull << 30), 1), session->blocks_nvme);
	return session->valid && !session->wall[0] && session->blocks >= claims->p6_frames &&
	       most_bytes <= claims->p6_host_bytes && walls->host_bytes <= claims->p6_host_bytes;
}

static bool check_p9(const struct wp_claims *claims, const struct wp_walls *walls,
		     struct wp_finding *finding)
{
	const struct wp_walls_session *session = &walls->sessions[WP_WALLS_SESSIONS - 1];
	char generated[WP_UNITS_TEXT], playback[WP_UNITS_TEXT];

	snprintf(finding->text, sizeof(finding->text), "%s fps generated, %s fps played",
		 wp_units_fixed(generated, session->generated_fps, 2),
		 wp_units_fixed(playback, walls->playback_fps, 0));
	return session->valid && walls->playback_fps == claims->p9_playback_fps &&
	       session->generated_fps < claims->p9_playback_fps;
}

struct wp_finding wp_claims_check_walls(const struct wp_claims *claims, enum wp_claim claim,
					const struct wp_walls *walls)
{
	struct wp_finding finding = {.verdict = WP_VERDICT_NOT_COVERED};
	bool agrees;

	if (!walls->world[0] || strcmp(walls->model, claims->model) != 0) {
		snprintf(finding.text, sizeof(finding.text), "%s",
			 wp_verdict_text(finding.verdict));
		return finding;
	}
	agrees = claim == WP_CLAIM_P5	? check_p5(claims, walls, &finding)
		 : claim == WP_CLAIM_P6 ? check_p6(claims, walls, &finding)
					: check_p9(claims, walls, &finding);
	finding.verdict = agrees ? WP_VERDICT_AGREES : WP_VERDICT_DIFFERS;
	return finding;
}
