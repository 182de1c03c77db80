/*
 * model/model.h: the model of a job: its graph, and the table of its variables, by which ps and
 * coordinators know it. Kernels are not needed here; model/training.h computes.
 *
 * Threads: a model belongs to one thread at a time.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "common/base/error.h"
#include "common/cluster/variables.h"
#include "common/job/job.h"
#include "tanist/graph.h"

struct model {
    struct tn_graph *graph; /* Owned. */
    /* Numbered in the canonical order of the graph, as row tables are. */
    struct variable_table table;
};

/*
 * Build the model of a job, its variables placed. A model with tables is refused where they cannot
 * be trained: see model/table_training.h.
 *
 *   TN_EINVAL  the error names the key, its value and the remedy
 *   TN_ENOMEM  out of memory
 */
MUST_CHECK enum tn_status model_open(const struct job *job, struct model **out,
                                     struct error *error);

/* Open the model of a graph without places, which belongs to the model afterwards, also after a
 * failure. TN_EINVAL: it has an error, or a variable that does not fit the table; TN_ENOMEM. */
MUST_CHECK enum tn_status model_open_graph(struct tn_graph *graph, struct model **out,
                                           struct error *error);
void model_close(struct model *model); /* NULL is allowed. */

/* Only the table, of which given initial values are not known. Errors as model_open(). */
MUST_CHECK enum tn_status model_describe(const struct job *job, struct variable_table *table,
                                         struct error *error);

#endif
