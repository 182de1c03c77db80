/*
 * worker/row_lookup.h: the rows of tables that a worker asks the ps for: which ones, the bodies of
 * LOOKUP frames that name them, and their values, from which slices and evaluations are computed.
 *
 * A lookup is begun, rows are added, then it is settled; each row is asked for once, of the ps that
 * has it, in pieces of at most a frame in both directions. The next piece is asked for when the one
 * before has been taken; until then it may be asked for again.
 *
 * A member of a sharing does not ask for rows that another member has or has asked for at the same
 * step (worker/row_sharing.h): they arrive on the other's thread.
 *
 * Threads: the owner's. Nothing blocks, but see worker/row_sharing.h.
 */
#ifndef WORKER_ROW_LOOKUP_H
#define WORKER_ROW_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cluster/row_owner.h"
#include "common/cluster/variables.h"
#include "model/slice_rows.h"
#include "worker/row_sharing.h"

struct row_lookup;

struct row_lookup_config {
    const struct variable_table *variables; /* Outlives the lookup. */
    const struct row_borders *borders;      /* Between the rows of `ps` ps, at most PS_MAX. */
    uint32_t ps;
    size_t frame_bytes; /* The largest body. */
    struct row_member member;
};

/* For the row tables of the variables. TN_ENOMEM; TN_EINVAL: a row of a table does not fit in a
 * frame. */
MUST_CHECK enum tn_status row_lookup_open(const struct row_lookup_config *config,
                                          struct row_lookup **out, struct error *error);
/* The lookup leaves its sharing. NULL is allowed. */
void row_lookup_close(struct row_lookup *lookup);

/* Begin another lookup, of rows of this step: those of the one before are forgotten. */
void row_lookup_begin(struct row_lookup *lookup, uint64_t generation, uint64_t step);
/* Adds rows to the lookup that was begun. Borrowed. */
const struct row_sink *row_lookup_sink(const struct row_lookup *lookup);
/* All rows were added. `*ps_set` is a bit for each ps that has some which are missing.
 * TN_ENOMEM. */
MUST_CHECK enum tn_status row_lookup_settle(struct row_lookup *lookup, uint64_t *ps_set,
                                            struct error *error);

/* The body of the next piece for `ps`: written to `body`, at most the size of a frame. Returns its
 * size; 0: nothing has to be asked, because all rows that are missing were asked for by others. */
size_t row_lookup_ask(struct row_lookup *lookup, uint32_t ps, void *body);
/* Take the rows of the piece that `ps` was asked for last. False: they have another size; nothing
 * has changed. Sets `*more`: rows of this ps are missing. */
bool row_lookup_take(struct row_lookup *lookup, uint32_t ps, const void *rows, size_t size,
                     bool *more);
/* The piece that `ps` was asked for is no longer awaited. */
void row_lookup_abandon(struct row_lookup *lookup, uint32_t ps);

enum row_lookup_state {
    ROWS_COMPLETE, /* All rows of this ps have arrived. */
    ROWS_ASKED,    /* The missing rows were asked for, by this member or by others. */
    ROWS_MISSING,  /* Some have to be asked for. */
};
/* The lookup is settled. The state may change with the wake() of the member. */
enum row_lookup_state row_lookup_state(struct row_lookup *lookup, uint32_t ps);

/* The memory of keys and rows, in bytes. */
uint64_t row_lookup_bytes(const struct row_lookup *lookup);
/* About the same for a table with `rows` different rows of a lookup that has many examples. */
uint64_t row_lookup_bytes_of(uint32_t width, uint64_t rows);

/* The rows, for computations. Every row that is read was taken. Borrowed. */
const struct row_source *row_lookup_source(const struct row_lookup *lookup);

#endif
