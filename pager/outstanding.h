/*
 * What a seam has been asked for and has not answered, in the order in which it
 * was asked, so that what takes too long is found without a search. An entry is
 * part of its owner's memory; nothing here reads the request, which belongs to
 * the seam meanwhile.
 */
#ifndef WP_OUTSTANDING_H
#define WP_OUTSTANDING_H

#include <stdint.h>

#include "pager/check.h"
#include "pager/limits.h"

struct wp_request;

struct wp_asked {
	struct wp_request *request;
	uint64_t asked_ns;
	struct wp_asked *older, *newer;
};

/* All zero but `limit_ns`: nothing is outstanding. */
struct wp_outstanding {
	uint64_t limit_ns; /* from asked to overdue; 0: never overdue */
	uint32_t count;
	struct wp_asked *oldest, *newest;
};

/* A seam has taken the request at `asked_ns`, no earlier than the one before. */
static inline void wp_outstanding_add(struct wp_outstanding *list, struct wp_asked *asked,
				      struct wp_request *request, uint64_t asked_ns)
{
	*asked = (struct wp_asked){
	    .request = request,
	    .asked_ns = asked_ns,
	    .older = list->newest,
	};
	if (list->newest)
		list->newest->newer = asked;
	else
		list->oldest = asked;
	list->newest = asked;
	list->count++;
}

/* It has answered. */
static inline void wp_outstanding_remove(struct wp_outstanding *list, struct wp_asked *asked)
{
	WP_CHECK(list->count > 0);
	list->count--;
	if (asked->older)
		asked->older->newer = asked->newer;
	else
		list->oldest = asked->newer;
	if (asked->newer)
		asked->newer->older = asked->older;
	else
		list->newest = asked->older;
}

static inline uint64_t wp_outstanding_limit_of(const struct wp_outstanding *list,
					       const struct wp_asked *asked)
{
	return asked && list->limit_ns ? asked->asked_ns + list->limit_ns : WP_TIME_NEVER;
}

/* When the first of it is overdue; WP_TIME_NEVER if nothing will be. */
static inline uint64_t wp_outstanding_deadline_ns(const struct wp_outstanding *list)
{
	return wp_outstanding_limit_of(list, list->oldest);
}

/* When the last of it is. */
static inline uint64_t wp_outstanding_last_deadline_ns(const struct wp_outstanding *list)
{
	return wp_outstanding_limit_of(list, list->newest);
}

/* The request that is overdue at `now_ns`, the oldest of them; NULL if none is. */
static inline struct wp_request *wp_outstanding_overdue(const struct wp_outstanding *list,
							uint64_t now_ns)
{
	return now_ns >= wp_outstanding_deadline_ns(list) && list->oldest ? list->oldest->request
									  : NULL;
}

/* Aborts unless the list is whole and in order. */
static inline void wp_outstanding_check(const struct wp_outstanding *list)
{
	const struct wp_asked *before = NULL;
	uint32_t count = 0;

	for (const struct wp_asked *one = list->oldest; one; one = one->newer) {
		WP_CHECK(one->older == before);
		WP_CHECK(!before || before->asked_ns <= one->asked_ns);
		before = one;
		count++;
	}
	WP_CHECK(before == list->newest && count == list->count);
}

#endif
