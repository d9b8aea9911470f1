/* The facts of a machine as documents carry them: unknown ones are null. */
#ifndef WP_MACHINE_JSON_H
#define WP_MACHINE_JSON_H

#include <jansson.h>

#include "harness/machine/machine.h"

/* A new reference. Its "fingerprint" is wp_machine_fingerprint's. */
json_t *wp_machine_json(const struct wp_machine_facts *facts);

#endif
