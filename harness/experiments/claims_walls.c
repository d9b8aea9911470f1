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

static void add_text(struct wp_finding *finding, const char *text)
{
	size_t used = strlen(finding->text);

	snprintf(finding->text + used, sizeof(finding->text) - used, "%s%s", used ? "; " : "",
		 text);
}

/* The host memory that the claims speak of, and that the document does not have. */
static void add_memory(struct wp_finding *finding, const struct wp_claims *claims,
		       const struct wp_walls *walls)
{
	char claimed[WP_UNITS_TEXT], had[WP_UNITS_TEXT], text[2 * WP_UNITS_TEXT + 64];

	snprintf(text, sizeof(text), "not tried: %s GiB of host memory, but %s",
		 wp_units_fixed(claimed, (double)claims->p6_host_bytes / (1ull << 30), 1),
		 wp_units_fixed(had, (double)walls->host_bytes / (1ull << 30), 1));
	add_text(finding, text);
}

/* A trace that ended before the paper's wall could be met. */
static bool is_cut(const struct wp_walls_session *session, double claimed_s, double tolerance)
{
	return !session->wall[0] && session->video_s <= claimed_s * (1 + tolerance);
}

/* Where each lesser system ended, in seconds of video. */
static enum wp_verdict check_p5(const struct wp_claims *claims, const struct wp_walls *walls,
				struct wp_finding *finding)
{
	static const char *const causes[] = {"host budget", "host budget", "positions"};
	bool agrees = true, valid = true;
	uint32_t cut = 0;
	char seconds[WP_UNITS_TEXT], text[WP_UNITS_TEXT + 96];

	for (uint32_t i = 0; i < WP_CLAIM_WALLS; i++) {
		const struct wp_walls_session *session = &walls->sessions[i];
		bool ended = is_cut(session, claims->p5_video_s[i], claims->p5_tolerance);

		valid &= session->valid;
		cut += ended;
		agrees &= ended ||
			  (strcmp(session->wall, causes[i]) == 0 &&
			   is_near(session->video_s, claims->p5_video_s[i], claims->p5_tolerance));
		snprintf(text, sizeof(text), "%s: %s s, %" PRIu32 " blocks%s", session->name,
			 wp_units_fixed(seconds, session->video_s, 2), session->blocks,
			 ended ? ", ended by the trace" : "");
		add_text(finding, text);
	}
	if (!valid)
		return WP_VERDICT_NOT_MEASURABLE;
	if (walls->host_bytes != claims->p6_host_bytes) {
		add_memory(finding, claims, walls);
		return WP_VERDICT_NOT_COVERED;
	}
	if (!agrees)
		return WP_VERDICT_DIFFERS;
	return cut ? WP_VERDICT_NOT_COVERED : WP_VERDICT_AGREES;
}

static enum wp_verdict check_p6(const struct wp_claims *claims, const struct wp_walls *walls,
				struct wp_finding *finding)
{
	const struct wp_walls_session *session = &walls->sessions[WP_WALLS_SESSIONS - 1];
	char video[WP_UNITS_TEXT], most[WP_UNITS_TEXT], text[64];
	uint64_t most_bytes = 0;

	for (uint32_t i = 0; i < session->blocks; i++)
		if (session->dram_bytes[i] > most_bytes)
			most_bytes = session->dram_bytes[i];
	snprintf(finding->text, sizeof(finding->text),
		 "%" PRIu32 " frames, %s min; at most %s GiB of blocks in DRAM; %" PRIu32
		 " blocks read back from NVMe and verified",
		 session->blocks, wp_units_fixed(video, session->video_s / 60, 1),
		 wp_units_fixed(most, (double)most_bytes / (1ull << 30), 1), session->blocks_nvme);
	if (!session->valid)
		return WP_VERDICT_NOT_MEASURABLE;
	if (walls->host_bytes > claims->p6_host_bytes ||
	    (session->wall[0] && walls->host_bytes < claims->p6_host_bytes)) {
		add_memory(finding, claims, walls);
		return WP_VERDICT_NOT_COVERED;
	}
	if (session->wall[0] || most_bytes > claims->p6_host_bytes)
		return WP_VERDICT_DIFFERS;
	if (session->blocks >= claims->p6_frames)
		return WP_VERDICT_AGREES;
	snprintf(text, sizeof(text), "not tried: %" PRIu32 " frames", claims->p6_frames);
	add_text(finding, text);
	return WP_VERDICT_NOT_COVERED;
}

static enum wp_verdict check_p9(const struct wp_claims *claims, const struct wp_walls *walls,
				struct wp_finding *finding)
{
	const struct wp_walls_session *session = &walls->sessions[WP_WALLS_SESSIONS - 1];
	char generated[WP_UNITS_TEXT], playback[WP_UNITS_TEXT];

	snprintf(finding->text, sizeof(finding->text), "%s fps generated, %s fps played",
		 wp_units_fixed(generated, session->generated_fps, 2),
		 wp_units_fixed(playback, walls->playback_fps, 0));
	if (!session->valid)
		return WP_VERDICT_NOT_MEASURABLE;
	if (walls->playback_fps != claims->p9_playback_fps)
		return WP_VERDICT_NOT_COVERED;
	return session->generated_fps < claims->p9_playback_fps ? WP_VERDICT_AGREES
								: WP_VERDICT_DIFFERS;
}

struct wp_finding wp_claims_check_walls(const struct wp_claims *claims, enum wp_claim claim,
					const struct wp_walls *walls)
{
	struct wp_finding finding = {.verdict = WP_VERDICT_NOT_COVERED};

	if (!walls->world[0] || strcmp(walls->model, claims->model) != 0) {
		snprintf(finding.text, sizeof(finding.text), "%s",
			 wp_verdict_text(finding.verdict));
		return finding;
	}
	finding.verdict = claim == WP_CLAIM_P5	 ? check_p5(claims, walls, &finding)
			  : claim == WP_CLAIM_P6 ? check_p6(claims, walls, &finding)
						 : check_p9(claims, walls, &finding);
	return finding;
}
