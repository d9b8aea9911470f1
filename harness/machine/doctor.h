/*
 * What this machine can measure, and what to change: one line a capability,
 * found by trying where trying is harmless.
 *
 *   ok      there
 *   lesser  not there; runs go on without it and say so in their results
 *   no      not there, and real storage cannot be measured without it
 *   absent  not there and not needed for the main job
 */
#ifndef WP_DOCTOR_H
#define WP_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/error.h"
#include "harness/machine/machine.h"
#include "harness/system/kernel.h"

enum wp_doctor_state {
	WP_DOCTOR_OK,
	WP_DOCTOR_LESSER,
	WP_DOCTOR_NO,
	WP_DOCTOR_ABSENT,
};

struct wp_doctor_line {
	const char *name; /* a key: "io_uring" */
	enum wp_doctor_state state;
	char found[320];
	char remedy[256]; /* empty when there is nothing to change */
};

#define WP_DOCTOR_LINES_MAX 24

struct wp_doctor {
	const struct wp_kernel *kernel;
	const char *store;    /* as asked */
	char directory[4096]; /* the store, or the nearest directory on its way */
	struct wp_machine_facts machine;
	uint32_t count;
	struct wp_doctor_line lines[WP_DOCTOR_LINES_MAX];
};

/* Examines the machine and the place `store`; creates nothing that stays. */
void wp_doctor_examine(struct wp_doctor *doctor, const struct wp_kernel *kernel, const char *store);

/* No line says `no`. */
bool wp_doctor_able(const struct wp_doctor *doctor);

/* "ok" "lesser" "no" "absent" */
const char *wp_doctor_state_name(enum wp_doctor_state state);

void wp_doctor_print(FILE *stream, const struct wp_doctor *doctor);

/* doctor_json.c: one document to FILE, or to standard output for "-". */
int wp_doctor_write(const struct wp_doctor *doctor, const char *file,
		    struct wp_error *error) WP_MUST_USE;

/* For the parts: doctor_storage.c and doctor_machine.c each add their lines. */
void wp_doctor_storage(struct wp_doctor *doctor);
void wp_doctor_machine(struct wp_doctor *doctor);
struct wp_doctor_line *wp_doctor_add(struct wp_doctor *doctor, const char *name,
				     enum wp_doctor_state state, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void wp_doctor_remedy(struct wp_doctor_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
