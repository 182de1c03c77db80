#include "graph/training_cut.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "graph/canonical.h"
#include "graph/core/device.h"
#include "graph/differentiate.h"
#include "graph/ops/ops.h"

/* While a cut is made. */
struct making {
    struct training_cut *cut;
    uint32_t *tasks;      /* By node. */
    tn_tensor *gradients; /* By variable. */
    struct partition_result *results;
    uint32_t result_count;
};

static enum tn_status out_of_memory(struct error *error)
{
    return error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
}

static void name_task(uint32_t task, char out[static DEVICE_TEXT_MAX])
{
    struct device device = device_none();
    struct text text = text_begin(device.job, sizeof device.job);
    text_add(&text, "worker");
    device.task = (int32_t)task;
    device_format(&device, out);
}

/* Give each node the device of its task, which its gradients inherit. */
static enum tn_status pin(struct making *making, struct error *error)
{
    struct tn_graph *graph = making->cut->graph;
    const char *devices[PLACE_TASKS_MAX] = {NULL};
    making->tasks = calloc((size_t)graph->count + 1, sizeof *making->tasks);
    if (making->tasks == NULL) { return out_of_memory(error); }
    enum tn_status status = pass_place(graph, making->cut->tasks, making->tasks, error);
    for (uint32_t i = 0; i < graph->count && status == TN_OK; i++) {
        const uint32_t task = making->tasks[i];
        if (task == PLACE_ANY) { continue; }
        if (devices[task] == NULL) {
            char name[DEVICE_TEXT_MAX];
            name_task(task, name);
            devices[task] = graph_keep_text(graph, name);
            if (devices[task] == NULL) { status = out_of_memory(error); }
        }
        graph->nodes[i].device = devices[task];
    }
    free(making->tasks);
    making->tasks = NULL;
    return status;
}

static enum tn_status refuse_tables(const struct tn_graph *graph, struct error *error)
{
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        if (node->op != &op_table) { continue; }
        return error_set(error, TN_EINVAL,
                         "table '%s': a model with tables of rows is not cut into parts",
                         node->attributes.name);
    }
    return TN_OK;
}

static enum tn_status differentiate(struct making *making, struct error *error)
{
    struct tn_graph *graph = making->cut->graph;
    making->gradients = calloc(TN_VARIABLES_MAX, sizeof *making->gradients);
    if (making->gradients == NULL) { return out_of_memory(error); }
    enum tn_status status = graph_differentiate(graph, making->gradients, NULL, error);
    if (status != TN_OK) { return status; }
    making->tasks = calloc(graph->count, sizeof *making->tasks);
    if (making->tasks == NULL) { return out_of_memory(error); }
    return pass_place(graph, making->cut->tasks, making->tasks, error);
}

static enum tn_status list_variables(struct making *making, struct error *error)
{
    struct training_cut *cut = making->cut;
    uint64_t offset = 0;
    cut->variables = calloc((size_t)cut->graph->variable_count + 1, sizeof *cut->variables);
    if (cut->variables == NULL) { return out_of_memory(error); }
    for (uint32_t i = 0; i < cut->graph->count; i++) {
        const struct node *node = &cut->graph->nodes[i];
        if (node->op != &op_variable) { continue; }
        assert(cut->variable_count < cut->graph->variable_count);
        struct cut_variable *variable = &cut->variables[cut->variable_count++];
        *variable = (struct cut_variable){
            .name = node->attributes.name,
            .task = making->tasks[i],
            .offset = offset,
            .count = (uint64_t)shape_elements(&node->shapes[0]),
            .task_offset = cut->floats[making->tasks[i]],
            .gradient = CUT_NO_EDGE,
        };
        offset += variable->count;
        cut->floats[variable->task] += variable->count;
    }
    return TN_OK;
}

static uint32_t count_losses(const struct tn_graph *graph)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->mark_count; i++) { count += graph->marks[i].kind == MARK_LOSS; }
    return count;
}

static void add_result(struct making *making, tn_tensor value, uint32_t to)
{
    making->results[making->result_count++] = (struct partition_result){value, to};
}

/* The losses for every task, and each gradient for the task of its variable. */
static enum tn_status list_results(struct making *making, struct error *error)
{
    struct training_cut *cut = making->cut;
    cut->loss_count = count_losses(cut->graph);
    cut->losses = calloc((size_t)cut->loss_count + 1, sizeof *cut->losses);
    making->results = calloc((size_t)cut->loss_count * cut->tasks + cut->variable_count + 1,
                             sizeof *making->results);
    if (cut->losses == NULL || making->results == NULL) { return out_of_memory(error); }
    for (uint32_t i = 0; i < cut->graph->mark_count; i++) {
        const struct mark *mark = &cut->graph->marks[i];
        if (mark->kind != MARK_LOSS) { continue; }
        for (uint32_t t = 0; t < cut->tasks; t++) { add_result(making, mark->value, t); }
    }
    for (uint32_t i = 0; i < cut->variable_count; i++) {
        if (making->gradients[i].v == 0) { continue; }
        add_result(making, making->gradients[i], cut->variables[i].task);
    }
    return TN_OK;
}

static void find_edges(struct making *making)
{
    struct training_cut *cut = making->cut;
    for (uint32_t i = 0, loss = 0; i < cut->graph->mark_count; i++) {
        const struct mark *mark = &cut->graph->marks[i];
        if (mark->kind != MARK_LOSS) { continue; }
        cut->losses[loss].weight = mark->weight;
        for (uint32_t t = 0; t < cut->tasks; t++) {
            cut->losses[loss].edges[t] = partition_edge_to(&cut->partition, mark->value, t);
        }
        loss++;
    }
    for (uint32_t i = 0; i < cut->variable_count; i++) {
        const tn_tensor gradient = making->gradients[i];
        if (gradient.v == 0) { continue; }
        cut->variables[i].gradient =
            partition_edge_to(&cut->partition, gradient, cut->variables[i].task);
    }
}

enum tn_status training_cut_create(const struct tn_graph *graph, uint32_t tasks,
                                   struct training_cut *out, struct error *error)
{
    assert(graph != NULL && out != NULL && tasks >= 1 && tasks <= PLACE_TASKS_MAX);
    *out = (struct training_cut){.tasks = tasks};
    struct making making = {.cut = out};
    enum tn_status status = graph_canonical(graph, false, &out->graph, error);
    if (status == TN_OK) { status = refuse_tables(out->graph, error); }
    if (status == TN_OK) { status = pin(&making, error); }
    if (status == TN_OK) { status = differentiate(&making, error); }
    if (status == TN_OK) { status = list_variables(&making, error); }
    if (status == TN_OK) { status = list_results(&making, error); }
    if (status == TN_OK) {
        status = pass_partition(out->graph, making.tasks, making.results, making.result_count,
                                &out->partition, error);
    }
    if (status == TN_OK) { find_edges(&making); }
    free(making.tasks);
    free(making.gradients);
    free(making.results);
    return status;
}

void training_cut_free(struct training_cut *cut)
{
    assert(cut != NULL);
    partition_free(&cut->partition);
    tn_graph_destroy(cut->graph);
    free(cut->variables);
    free(cut->losses);
    *cut = (struct training_cut){.tasks = 0};
}

double training_cut_loss_sum(const struct training_cut *cut, const float *const *values,
                             uint32_t examples)
{
    double total = 0;
    for (uint32_t i = 0; i < cut->loss_count; i++) {
        double sum = 0;
        assert(values[i] != NULL);
        for (uint32_t e = 0; e < examples; e++) { sum += (double)values[i][e]; }
        total += (double)cut->losses[i].weight * sum;
    }
    return total;
}
