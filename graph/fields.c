#include "graph/fields.h"

#include "graph/canonical.h"
#include "graph/ops/ops.h"

enum tn_status graph_fields(const struct tn_graph *graph,
                            enum tn_status (*check)(const void *ctx, const char *field,
                                                    const struct tn_shape *shape,
                                                    struct error *error),
                            const void *ctx, struct error *error)
{
    struct tn_graph *canonical = NULL;
    assert(graph != NULL && check != NULL);
    enum tn_status status = graph_canonical(graph, false, &canonical, error);
    for (uint32_t i = 0; status == TN_OK && i < canonical->count; i++) {
        const struct node *node = &canonical->nodes[i];
        if (node->op != &op_placeholder) { continue; }
        status = check(ctx, node->attributes.name, &node->shapes[0], error);
    }
    tn_graph_destroy(canonical);
    return status;
}
