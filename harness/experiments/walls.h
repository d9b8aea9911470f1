/*
 * The capacity walls (claims P5, P6, P9), run rather than computed: four
 * sessions on one trace, each until it ends.
 *
 *   bf16, GPU and DRAM only      |==|                     host budget
 *   Int4, GPU and DRAM only      |=======|                host budget
 *   Int4, NVMe, native positions |===========|            position table
 *   the full system              |===============...=====>  the trace's last frame
 *
 * DRAM is what the blocks in it take, payload only.
 */
#ifndef WP_WALLS_H
#define WP_WALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"

#define WP_WALLS_SESSIONS   4u
#define WP_WALLS_FRAMES_MAX 100000u

/* What is tried; the last is the full system. */
struct wp_walls_setup {
	const char *name, *codec, *tiers, *positions;
};
extern const struct wp_walls_setup wp_walls_setups[WP_WALLS_SESSIONS];

struct wp_walls_session {
	char name[32];
	char wall[32]; /* empty: none was met */
	bool valid;
	uint32_t blocks;      /* made, all of them kept */
	uint32_t blocks_nvme; /* retrieved from NVMe and verified */
	double video_s;	      /* playing time of the blocks */
	double generated_fps; /* stalls included */
	uint64_t written_bytes;
	uint64_t *dram_bytes; /* `blocks` of them: after each frame, at full scale */
};

struct wp_walls {
	char world[16], model[64], machine[64], trace[64], scale_text[32];
	double playback_fps, frame_video_s;
	uint64_t host_bytes; /* all of host memory, at full scale */
	uint64_t bandwidth_bytes_per_s;
	struct wp_walls_session sessions[WP_WALLS_SESSIONS];
};

struct wp_replay_settings;

/* Plays the four sessions; `settings` gives all that they share. 0 or -1 as replays. */
int wp_walls_run(struct wp_walls *walls, const struct wp_replay_settings *settings,
		 struct wp_error *error) WP_MUST_USE;
void wp_walls_done(struct wp_walls *walls); /* an all-zero one is allowed */

/* walls_json.c: FOLDER/walls_WORLD.json. Exit 4. */
int wp_walls_write(const struct wp_walls *walls, const char *path,
		   struct wp_error *error) WP_MUST_USE;

/* The document of `world` in the folder: 1 read, 0 there is none, -1 with `error`. */
int wp_walls_load(struct wp_walls *walls, const char *folder, const char *world,
		  struct wp_error *error) WP_MUST_USE;

#endif
