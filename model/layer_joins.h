/*
 * model/layer_joins.h: the layers of job files that contain other layers: branches that read the
 * same value, and the operation that joins their results. Private to model/.
 *
 * Threads: no state.
 */
#ifndef MODEL_LAYER_JOINS_H
#define MODEL_LAYER_JOINS_H

#include "common/base/error.h"
#include "tanist/graph.h"

enum { LAYER_JOINS = 5, LAYER_BRANCHES_MAX = 8 };

struct layer_join {
    const char *name;
    bool with_input;   /* Its value is one branch; the other one is the input itself. */
    bool last_differs; /* The results may differ in their last dimension. */
    tn_tensor (*build)(struct tn_graph *graph, const tn_tensor *branches, uint32_t count);
    const char *remedy; /* For results whose shapes do not fit. */
};

extern const struct layer_join layer_joins[LAYER_JOINS];

/* NULL: `name` is not a join. */
const struct layer_join *layer_join_find(const char *name);

/* Join `branches`, of which there is at least one. TN_EINVAL: their shapes do not fit; the error,
 * which begins with `where`, has them and the remedy. Errors of operations stick to the graph. */
MUST_CHECK enum tn_status layer_join_build(const struct layer_join *join, struct tn_graph *graph,
                                           const tn_tensor *branches, uint32_t count,
                                           const char *where, tn_tensor *out, struct error *error);

enum { LAYER_SHAPE_MAX = 96 };

/* "[batch, 28, 28, 1]" */
void layer_shape_text(const struct tn_graph *graph, tn_tensor x, char out[static LAYER_SHAPE_MAX]);

#endif
