/*
 * cli/plan/memory_plan_data.h: what only the data of a job show about the memory that it needs: the
 * bytes of examples, and how many different keys of tables they have.
 *
 * Keys are read of at most PLANNED_EXAMPLES examples of each split, in blocks from all over it;
 * cli/plan/key_growth.h continues their number. Keys that cannot be read, or not within some
 * seconds, count as none: `tanist data check` finds faults of data.
 *
 * Threads: any. Blocking: on the disk.
 */
#ifndef CLI_PLAN_MEMORY_PLAN_DATA_H
#define CLI_PLAN_MEMORY_PLAN_DATA_H

#include <stdbool.h>

#include "cli/plan/key_growth.h"
#include "data/dataset.h"
#include "model/model.h"

enum { PLANNED_EXAMPLES = 32768 };

/* Zeroed: it is unknown. */
struct memory_data {
    bool known;
    bool certain;   /* Only keys that were read count; their number is not continued. */
    uint64_t bytes; /* The examples that a worker has in memory. */
    uint64_t trained, evaluated; /* Examples. */
    /* By table of the model. */
    struct key_growth trained_keys[ROW_TABLES_MAX], evaluated_keys[ROW_TABLES_MAX];
};

/* Read open data: `evaluated` is the split that workers evaluate, or NULL. */
void memory_data_read(const struct model *model, const struct dataset *train,
                      const struct dataset *evaluated, struct memory_data *out);

/* Open the data and read them; `known` is false if they cannot be opened on this machine. The
 * errors of model_open(), and TN_EINVAL: a batch has more examples than there are. */
MUST_CHECK enum tn_status memory_data_open(const struct job *job, struct memory_data *out,
                                           struct error *error);

#endif
