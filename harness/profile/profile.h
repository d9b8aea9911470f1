/*
 * Profiles: the figures of a model, a machine and a drive, as configs/ holds
 * them. `inferred` lists the keys whose values are deductions, not published
 * figures; results carry them on.
 */
#ifndef WP_PROFILE_H
#define WP_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/error.h"
#include "pager/store.h"

#define WP_INFERRED_MAX 16

struct wp_inferred {
	uint32_t count;
	char keys[WP_INFERRED_MAX][48];
};

/* One frame of the model leaves one block: K and V of all its layers and heads
 * for tokens_per_latent * latents_per_frame tokens. */
struct wp_model {
	char name[64];
	uint32_t layers;
	uint32_t heads; /* of K and of V */
	uint32_t head_dim;
	uint32_t tokens_per_latent;
	uint32_t latents_per_frame;
	uint32_t video_frames_per_frame;
	double playback_fps;
	uint64_t compute_ns; /* of one frame */
	/* positions */
	uint32_t position_rows;	 /* of the table of temporal positions: latents */
	uint32_t action_rows;	 /* the same of the action modules; 0: the model has none */
	uint32_t window_latents; /* longest sequence it was trained on */
	uint32_t local_latents;	 /* of past frames that the model keeps itself */
	uint32_t rope_dims;	 /* of a head that turn with time: even */
	double rope_theta;
	struct wp_inferred inferred;
};

struct wp_machine {
	char name[64];
	uint64_t host_bytes;		  /* host memory the system may take */
	uint32_t host_block_percent;	  /* share of it for blocks; 0: the budget was given */
	uint64_t host_block_budget_bytes; /* host_bytes * host_block_percent / 100, or as given */
	uint64_t gpu_block_budget_bytes;
	uint64_t copy_bytes_per_s;	    /* host to device */
	uint64_t device_decode_bytes_per_s; /* decoded bytes, rotation included; 0: no time */
	struct wp_inferred inferred;
};

struct wp_drive_profile {
	char name[64];
	struct wp_drive drive;
	uint64_t rated_bytes_written; /* rated endurance; 0: not known */
	struct wp_inferred inferred;
};

/* Names or paths; all errors are exit 2. Nothing to free. */
int wp_model_load(struct wp_model *model, const char *name_or_path,
		  struct wp_error *error) WP_MUST_USE;
int wp_machine_load(struct wp_machine *machine, const char *name_or_path,
		    struct wp_error *error) WP_MUST_USE;
int wp_drive_load(struct wp_drive_profile *drive, const char *name_or_path,
		  struct wp_error *error) WP_MUST_USE;

/*
 * A model at a scale: max(1, round(tokens_per_latent * asked)) tokens a latent;
 * the effective scale is that / tokens_per_latent and holds for bytes, compute
 * and budgets alike.
 */
struct wp_scale {
	double asked;
	double effective;
	uint32_t tokens;      /* a latent */
	uint32_t tokens_full; /* a latent at scale 1 */
};

struct wp_scale wp_scale_make(const struct wp_model *model, double asked);

/* `value` times the effective scale, rounded to nearest: bytes, budgets, compute. */
uint64_t wp_scale_apply(const struct wp_scale *scale, uint64_t value);

/* Elements of one block at a scale (NULL: full). */
uint64_t wp_model_elements(const struct wp_model *model, const struct wp_scale *scale);

#endif
