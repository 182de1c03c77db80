/*
 * data/read_ahead.h: examples of slices, which are gathered before they are needed: by threads,
 * those of a slice's next step while the present one is computed, or when their keys are asked for.
 * All are what dataset_gather() gives for (step, slice): reading ahead changes when rows are read,
 * and nothing else. A slice that moves to another worker drops its entry.
 *
 * Threads: several may take different slices at the same time; those that read ahead belong to the
 * object. Blocking: read_ahead_take() on the disk.
 */
#ifndef DATA_READ_AHEAD_H
#define DATA_READ_AHEAD_H

#include "data/dataset.h"
#include "data/shuffle.h"

struct read_ahead_config {
    const struct dataset *dataset; /* Outlives the object. */
    struct shuffle_order order;
    uint32_t batch, slices;
    uint32_t threads; /* 0: examples are gathered when they are taken. */
};

struct read_ahead;

/* TN_ENOMEM: also if a thread cannot be created. */
MUST_CHECK enum tn_status read_ahead_open(const struct read_ahead_config *config,
                                          struct read_ahead **out, struct error *error);
void read_ahead_close(struct read_ahead *ahead); /* NULL is allowed. */

/* Write the examples of `slice` at `step` to `fields`, and begin to gather those of the next step.
 * Errors as dataset_gather(). */
MUST_CHECK enum tn_status read_ahead_take(struct read_ahead *ahead, uint64_t step, uint32_t slice,
                                          const struct fields *fields, struct error *error);

/* The keys of tables of its examples, which are kept for read_ahead_take() of the same step with
 * the same fields: no example is read twice. Errors as dataset_gather(). */
MUST_CHECK enum tn_status read_ahead_keys(struct read_ahead *ahead, uint64_t step, uint32_t slice,
                                          const struct fields *fields, struct error *error);

#endif
