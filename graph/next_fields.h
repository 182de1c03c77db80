/*
 * graph/next_fields.h: the fields of the next run of a program are filled, and copied to a device,
 * while the present one computes. Without a device there is nothing to gain, and `fill` is not
 * called. The mode of the program is TN_TRAIN.
 *
 * Threads: as for programs.
 */
#ifndef GRAPH_NEXT_FIELDS_H
#define GRAPH_NEXT_FIELDS_H

#include <stdbool.h>

#include "tanist/program.h"

/* In the next run, call `fill` once when no instruction will read the fields of the host. It
 * fills them for the run after this one and returns true; false: that run will fill them. */
void next_fields_fill(struct tn_program *program, bool (*fill)(void *user), void *user);

/* The next run reads what `fill` has filled in the last one. Without this call, it reads the
 * fields as they are when it begins. */
void next_fields_use(struct tn_program *program);

#endif
