#include "graph/evaluation_cut.h"

#include <stdlib.h>
#include <string.h>

#include "graph/canonical.h"
#include "graph/ops/ops.h"

static enum tn_status out_of_memory(struct error *error)
{
    return error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
}

/* The devices of the training graph have decided. */
static void check_variables(const struct training_cut *training, const struct tn_graph *graph,
                            const uint32_t *tasks)
{
    for (uint32_t i = 0; i < graph->count; i++) {
        uint32_t v = 0;
        if (graph->nodes[i].op != &op_variable) { continue; }
        while (strcmp(training->variables[v].name, graph->nodes[i].attributes.name) != 0) {
            v++;
            assert(v < training->variable_count);
        }
        assert(training->variables[v].task == tasks[i]);
    }
}

static enum tn_status partition(struct evaluation_cut *cut, const uint32_t *tasks,
                                struct error *error)
{
    const uint32_t count = cut->graph->mark_count;
    struct partition_result *results = calloc((size_t)count + 1, sizeof *results);
    cut->results = calloc((size_t)count + 1, sizeof *cut->results);
    if (results == NULL || cut->results == NULL) {
        free(results);
        return out_of_memory(error);
    }
    for (uint32_t i = 0; i < count; i++) {
        results[i] = (struct partition_result){.value = cut->graph->marks[i].value, .to = 0};
    }
    enum tn_status status =
        pass_partition(cut->graph, tasks, results, count, &cut->partition, error);
    free(results);
    return status;
}

static void list_results(struct evaluation_cut *cut)
{
    for (uint32_t i = 0; i < cut->graph->mark_count; i++) {
        const struct mark *mark = &cut->graph->marks[i];
        cut->results[cut->result_count++] = (struct cut_result){
            .kind = mark->kind,
            .name = mark->name,
            .weight = mark->weight,
            .edge = partition_edge_to(&cut->partition, mark->value, 0),
        };
    }
}

enum tn_status evaluation_cut_create(const struct training_cut *training,
                                     struct evaluation_cut *out, struct error *error)
{
    assert(training != NULL && training->graph != NULL && out != NULL);
    *out = (struct evaluation_cut){.graph = NULL};
    enum tn_status status = graph_canonical(training->graph, true, &out->graph, error);
    if (status != TN_OK) { return status; }
    uint32_t *tasks = calloc((size_t)out->graph->count + 1, sizeof *tasks);
    if (tasks == NULL) { return out_of_memory(error); }
    status = pass_place(out->graph, training->tasks, tasks, error);
    if (status == TN_OK) {
        check_variables(training, out->graph, tasks);
        status = partition(out, tasks, error);
    }
    if (status == TN_OK) { list_results(out); }
    free(tasks);
    return status;
}

bool evaluation_cut_field(const struct evaluation_cut *cut, const char *name, enum tn_type *type,
                          struct tn_shape *shape)
{
    assert(cut != NULL && name != NULL);
    for (uint32_t i = 0; i < cut->partition.edge_count; i++) {
        const struct partition_edge *edge = &cut->partition.edges[i];
        if (edge->from != PARTITION_CALLER) { continue; }
        if (strcmp(node_of(cut->graph, edge->value)->attributes.name, name) != 0) { continue; }
        *type = edge->type;
        *shape = edge->shape;
        return true;
    }
    return false;
}

void evaluation_cut_free(struct evaluation_cut *cut)
{
    assert(cut != NULL);
    partition_free(&cut->partition);
    tn_graph_destroy(cut->graph);
    free(cut->results);
    *cut = (struct evaluation_cut){.graph = NULL};
}
