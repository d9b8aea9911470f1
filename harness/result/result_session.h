/* The part of a result document that only tiered sessions have. */
#ifndef WP_RESULT_SESSION_H
#define WP_RESULT_SESSION_H

#include "harness/files/json_value.h"
#include "harness/replay/run.h"

/* A new reference; null for a run that is no session. */
json_t *wp_result_session_json(const struct wp_run *run);

#endif
