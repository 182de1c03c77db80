/*
 * graph/evaluation_cut.h: the evaluation of a model that several tasks train together
 * (graph/training_cut.h): its forward pass as parts, as in TN_EVALUATE, whose losses, metrics and
 * outputs are brought to task 0. Each operation is computed by the task that computes it in
 * training, and each variable belongs to the same one.
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef GRAPH_EVALUATION_CUT_H
#define GRAPH_EVALUATION_CUT_H

#include "graph/core/mark.h"
#include "graph/training_cut.h"

/* A value that the author named. */
struct cut_result {
    enum mark_kind kind;
    const char *name; /* As long as the cut; NULL for losses. */
    float weight;     /* Losses only. */
    uint32_t edge;    /* Brings it to task 0. */
};

struct evaluation_cut {
    struct tn_graph *graph;     /* Canonical, for evaluation. */
    struct cut_result *results; /* Losses, metrics, outputs, each in the order of their calls. */
    uint32_t result_count;
    struct partition partition;
};

/* Cut the model that `training` was made of. `out` is released by evaluation_cut_free(), also after
 * an error. TN_EINVAL: more than GRAPH_MARKS_MAX values leave one part. TN_ENOMEM. */
MUST_CHECK enum tn_status evaluation_cut_create(const struct training_cut *training,
                                                struct evaluation_cut *out, struct error *error);
/* The type and shape of a field, with TN_BATCH. False: the model does not read it. */
bool evaluation_cut_field(const struct evaluation_cut *cut, const char *name, enum tn_type *type,
                          struct tn_shape *shape);
void evaluation_cut_free(struct evaluation_cut *cut);

#endif
