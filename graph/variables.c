#include "graph/variables.h"

#include <stdlib.h>

#include "graph/canonical.h"
#include "graph/passes/place.h"

enum tn_status graph_variables(const struct tn_graph *graph,
                               enum tn_status (*add)(void *to,
                                                     const struct graph_variable *variable,
                                                     struct error *error),
                               void *to, struct error *error)
{
    struct tn_graph *canonical = NULL;
    assert(graph != NULL && add != NULL);
    enum tn_status status = graph_canonical(graph, false, &canonical, error);
    for (uint32_t i = 0; status == TN_OK && i < canonical->count; i++) {
        const struct node *node = &canonical->nodes[i];
        if (node->attributes.variable == NULL) { continue; }
        struct graph_variable variable = {
            .name = node->attributes.name,
            .device = node->device,
            .shape = node->shapes[0],
            .options = *node->attributes.variable,
        };
        if (node->attributes.initial != NULL) {
            variable.initial = node->attributes.initial->values;
            variable.initial_digest = node->attributes.initial->digest;
        }
        status = add(to, &variable, error);
    }
    tn_graph_destroy(canonical);
    return status;
}

enum tn_status graph_variable_tasks(const struct tn_graph *graph, uint32_t tasks, uint32_t *out,
                                    struct error *error)
{
    struct tn_graph *canonical = NULL;
    uint32_t *places = NULL;
    assert(graph != NULL && out != NULL && tasks >= 1);
    enum tn_status status = graph_canonical(graph, false, &canonical, error);
    if (status == TN_OK) {
        places = calloc((size_t)canonical->count + 1, sizeof *places);
        status = places != NULL
                     ? pass_place(canonical, tasks, places, error)
                     : error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
    }
    for (uint32_t i = 0, v = 0; status == TN_OK && i < canonical->count; i++) {
        if (canonical->nodes[i].attributes.variable != NULL) { out[v++] = places[i]; }
    }
    free(places);
    tn_graph_destroy(canonical);
    return status;
}
