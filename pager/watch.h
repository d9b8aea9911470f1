/*
 * What a seam has been asked for and has not answered, in the order in which it
 * was asked, so that what takes too long is found without a search. The watched
 * is part of its owner's memory; nothing here reads the request, which belongs
 * to the seam meanwhile.
 */
#ifndef WP_WATCH_H
#define WP_WATCH_H

#include <stdint.h>

#include "pager/check.h"
#include "pager/limits.h"

struct wp_request;

struct wp_watched {
	struct wp_request *request;
	uint64_t asked_ns;
	struct wp_watched *older, *newer;
};

/* All zero but `limit_ns`: nothing is watched. */
struct wp_watch {
	uint64_t limit_ns; /* from asked to overdue; 0: never overdue */
	uint32_t count;
	struct wp_watched *oldest, *newest;
};

/* A seam has taken the request at `asked_ns`, no earlier than the one before. */
static inline void wp_watch_begin(struct wp_watch *watch, struct wp_watched *watched,
				  struct wp_request *request, uint64_t asked_ns)
{
	*watched = (struct wp_watched){
	    .request = request,
	    .asked_ns = asked_ns,
	    .older = watch->newest,
	};
	if (watch->newest)
		watch->newest->newer = watched;
	else
		watch->oldest = watched;
	watch->newest = watched;
	watch->count++;
}

/* It has answered. */
static inline void wp_watch_end(struct wp_watch *watch, struct wp_watched *watched)
{
	WP_CHECK(watch->count > 0);
	watch->count--;
	if (watched->older)
		watched->older->newer = watched->newer;
	else
		watch->oldest = watched->newer;
	if (watched->newer)
		watched->newer->older = watched->older;
	else
		watch->newest = watched->older;
}

static inline uint64_t wp_watch_limit_of(const struct wp_watch *watch,
					 const struct wp_watched *watched)
{
	return watched && watch->limit_ns ? watched->asked_ns + watch->limit_ns : WP_TIME_NEVER;
}

/* When the first of what is watched is overdue; WP_TIME_NEVER if nothing will be. */
static inline uint64_t wp_watch_deadline_ns(const struct wp_watch *watch)
{
	return wp_watch_limit_of(watch, watch->oldest);
}

/* When the last of it is. */
static inline uint64_t wp_watch_last_deadline_ns(const struct wp_watch *watch)
{
	return wp_watch_limit_of(watch, watch->newest);
}

/* The request that is overdue at `now_ns`, the oldest of them; NULL if none is. */
static inline struct wp_request *wp_watch_overdue(const struct wp_watch *watch, uint64_t now_ns)
{
	return now_ns >= wp_watch_deadline_ns(watch) && watch->oldest ? watch->oldest->request
								      : NULL;
}

/* Aborts unless the list is whole and in order. */
static inline void wp_watch_check(const struct wp_watch *watch)
{
	const struct wp_watched *before = NULL;
	uint32_t count = 0;

	for (const struct wp_watched *one = watch->oldest; one; one = one->newer) {
		WP_CHECK(one->older == before);
		WP_CHECK(!before || before->asked_ns <= one->asked_ns);
		before = one;
		count++;
	}
	WP_CHECK(before == watch->newest && count == watch->count);
}

#endif
