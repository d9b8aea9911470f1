/*
 * The tiered residency's state and its movements, shared by pager_tiered.c
 * (frames), tiered_moves.c (one block from tier to tier) and tiered_put.c (new
 * blocks).
 *
 *   LOAD     NVMe -> DRAM slot -> GPU slot
 *   PROMOTE          DRAM slot -> GPU slot
 *   SAVE             DRAM slot <- GPU slot     a new block, then written through
 *
 * A movement pins the slots it uses. Needed blocks and guesses hold a pin of
 * their own on their GPU slot from when it is valid, so that nothing takes it.
 *
 * Internal to these three files.
 */
#ifndef WP_TIERED_H
#define WP_TIERED_H

#include "pager/outstanding.h"
#include "pager/residency.h"
#include "pager/tiers.h"
#include "pager/writer.h"

#define WP_MOVE_NONE UINT32_MAX

enum wp_move_kind {
	WP_MOVE_IDLE,
	WP_MOVE_LOAD,
	WP_MOVE_PROMOTE,
	WP_MOVE_SAVE,
};

/* One a transfer, same index. */
struct wp_move {
	enum wp_move_kind kind;
	uint32_t block;
	uint32_t position; /* SAVE */
	bool needed;
	bool given_up; /* something of it is still in flight */
};

/* A block of the coming set, or a guess at one. */
struct wp_wanted {
	uint32_t block;
	bool pinned;	     /* its GPU slot is valid and held */
	bool placed;	     /* guess: held or on its way */
	enum wp_tier origin; /* where it was when it was asked for; WP_TIER_COUNT: NVMe */
	uint64_t done_ns;    /* when it came; 0: it was there */
};

/* A new block between put and its SAVE. */
struct wp_fresh {
	struct wp_request encode; /* first: a request is its block */
	bool active;
	uint32_t block;
	uint32_t position;
	struct wp_asked asked; /* while the device has it */
};

struct wp_tiered {
	struct wp_tiers *tiers;
	struct wp_writer *writer; /* NULL: no store */
	struct wp_move *moves;
	uint32_t move_count;
	struct wp_wanted *set;
	struct wp_wanted *guesses;
	uint32_t guess_count;
	struct wp_fresh *fresh;	       /* tiers.write_blocks of them */
	struct wp_outstanding encodes; /* what the device has */
	struct wp_queue encoded;
	struct wp_pager_fault fault;
	bool stopped;
};

static inline struct wp_tiered *wp_tiered_of(const struct wp_pager *pager)
{
	return pager->state;
}

/* The movement under way for `block`, given-up ones apart; WP_MOVE_NONE. */
uint32_t wp_tiered_find_move(const struct wp_pager *pager, uint32_t block);

/* Begins to bring `block` to the GPU. False: no slot now, or it is being given up. */
bool wp_tiered_bring(struct wp_pager *pager, uint32_t block, bool needed);

/* Begins to save a new block, whose slots are claimed and whose GPU slot is filled. */
void wp_tiered_save(struct wp_pager *pager, uint32_t block, uint32_t position);

void wp_tiered_give_up(struct wp_pager *pager, uint32_t move);

/* Ends what is over; true if a slot or a movement became free. */
bool wp_tiered_finish_moves(struct wp_pager *pager);

/* Takes what the device has encoded and begins to save it; true if anything was. A
 * failed encode, or one without an answer by its deadline, is the pager's fault. */
bool wp_tiered_take_encoded(struct wp_pager *pager);

/* Movements with bytes to read that somebody waits for. */
bool wp_tiered_is_reading_needed(const struct wp_pager *pager);

#endif
