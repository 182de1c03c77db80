/*
 * worker/row_lookup.h: the rows of tables that a worker asks the ps for: which ones, the bodies of
 * LOOKUP frames that name them, and their values, from which slices and evaluations are computed.
 *
 * A lookup is begun, rows are added, then it is settled; each row is asked for once, of the ps that
 * has it, in pieces of at most a frame in both directions. The next piece is asked for when the one
 * before has been taken; until then it may be asked for again.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef WORKER_ROW_LOOKUP_H
#define WORKER_ROW_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cluster/row_owner.h"
#include "common/cluster/variables.h"
#include "model/slice_rows.h"

struct row_lookup;

/* For the row tables of `variables`, which outlive it, and `ps` ps, which are at most PS_MAX, with
 * these borders between their rows. `frame_bytes`: the largest body. TN_ENOMEM; TN_EINVAL: a row of
 * a table does not fit in a frame.
 */
MUST_CHECK enum tn_status row_lookup_open(const struct variable_table *variables,
                                          const struct row_borders *borders, uint32_t ps,
                                          size_t frame_bytes, struct row_lookup **out,
                                          struct error *error);
void row_lookup_close(struct row_lookup *lookup); /* NULL is allowed. */

/* Begin another lookup: all rows of the one before are forgotten. */
void row_lookup_begin(struct row_lookup *lookup);
/* Adds rows to the lookup that was begun. Borrowed. */
const struct row_sink *row_lookup_sink(const struct row_lookup *lookup);
/* All rows were added. `*ps_set` is a bit for each ps that has some. TN_ENOMEM. */
MUST_CHECK enum tn_status row_lookup_settle(struct row_lookup *lookup, uint64_t *ps_set,
                                            struct error *error);

/* The body of the next piece for `ps`, which has rows that were not taken: written to `body`, at
 * most the size of a frame. Returns its size. */
size_t row_lookup_ask(struct row_lookup *lookup, uint32_t ps, void *body);
/* Take the rows of the piece that `ps` was asked for last. False: they have another size; nothing
 * has changed. Sets `*more`: rows of this ps are left. */
bool row_lookup_take(struct row_lookup *lookup, uint32_t ps, const void *rows, size_t size,
                     bool *more);

/* The rows, for computations. Every row that is read was taken. Borrowed. */
const struct row_source *row_lookup_source(const struct row_lookup *lookup);

#endif
