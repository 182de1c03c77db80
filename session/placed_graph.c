#include "session/placed_graph.h"

#include <stdlib.h>
#include <string.h>

#include "graph/canonical.h"
#include "graph/ops/ops.h"
#include "graph/passes/place.h"

static void list_variables(struct placed_graph *placed)
{
    for (uint32_t i = 0; i < placed->graph->count; i++) {
        if (placed->graph->nodes[i].op != &op_variable) { continue; }
        const uint32_t server = placed->tasks[i];
        struct placed_variable *variable = &placed->variables[placed->variable_count++];
        *variable = (struct placed_variable){
            .node = i,
            .server = server,
            .offset = placed->parameters,
            .server_offset = placed->floats[server],
            .count = (uint64_t)shape_elements(&placed->graph->nodes[i].shapes[0]),
        };
        placed->parameters += variable->count;
        placed->floats[server] += variable->count;
    }
}

enum tn_status placed_graph_create(const struct tn_graph *graph, uint32_t servers,
                                   struct placed_graph *out, struct error *error)
{
    assert(graph != NULL && out != NULL);
    *out = (struct placed_graph){.servers = servers};
    enum tn_status status = graph_canonical(graph, true, &out->graph, error);
    if (status != TN_OK) { return status; }
    if (out->graph->count == 0) {
        return error_set(error, TN_EINVAL, "the graph computes nothing: call tn_output()");
    }
    out->tasks = calloc(out->graph->count, sizeof *out->tasks);
    out->variables = calloc((size_t)out->graph->variable_count + 1, sizeof *out->variables);
    out->floats = calloc(servers, sizeof *out->floats);
    if (out->tasks == NULL || out->variables == NULL || out->floats == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
    }
    status = pass_place(out->graph, servers, out->tasks, error);
    if (status == TN_OK) { list_variables(out); }
    return status;
}

void placed_graph_free(struct placed_graph *placed)
{
    tn_graph_destroy(placed->graph);
    free(placed->tasks);
    free(placed->variables);
    free(placed->floats);
    *placed = (struct placed_graph){.servers = 0};
}

tn_tensor placed_graph_find(const struct placed_graph *placed, const char *name)
{
    assert(name != NULL);
    for (uint32_t i = 0; i < placed->graph->mark_count; i++) {
        const struct mark *mark = &placed->graph->marks[i];
        if (mark->name != NULL && strcmp(mark->name, name) == 0) { return mark->value; }
    }
    return TN_NONE;
}

void placed_graph_gather(const struct placed_graph *placed, uint32_t server, const float *values,
                         float *out)
{
    assert(server < placed->servers);
    for (uint32_t i = 0; i < placed->variable_count; i++) {
        const struct placed_variable *variable = &placed->variables[i];
        if (variable->server != server) { continue; }
        memcpy(out + variable->server_offset, values + variable->offset,
               (size_t)variable->count * sizeof *out);
    }
}
