#include "graph/passes/partition.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/core/build.h"
#include "graph/ops/ops.h"
#include "graph/passes/place.h"

static const char edge_prefix[] = "edge:";

struct cut {
    const struct tn_graph *graph;
    const uint32_t *tasks;
    bool *needed;      /* By node. */
    uint32_t *levels;  /* By node; those of leaves are 0. */
    tn_tensor *copies; /* By value: in the part that is being built. */
    struct partition *out;
    uint32_t edge_capacity, part_capacity;
};

void partition_edge_name(uint32_t edge, char out[static PARTITION_NAME_MAX])
{
    int length = snprintf(out, PARTITION_NAME_MAX, "%s%" PRIu32, edge_prefix, edge);
    assert(length > 0 && length < PARTITION_NAME_MAX);
}

bool partition_edge_number(const char *name, uint32_t *edge)
{
    char again[PARTITION_NAME_MAX];
    assert(name != NULL && edge != NULL);
    const size_t prefix = sizeof edge_prefix - 1;
    if (strncmp(name, edge_prefix, prefix) != 0 || strlen(name) >= sizeof again) { return false; }
    const unsigned long number = strtoul(name + prefix, NULL, 10);
    if (number > UINT32_MAX) { return false; }
    partition_edge_name((uint32_t)number, again);
    *edge = (uint32_t)number;
    return strcmp(name, again) == 0;
}

uint64_t partition_edge_bytes(const struct partition_edge *edge, uint32_t examples)
{
    const uint64_t each = (uint64_t)shape_elements(&edge->shape) * type_size(edge->type, false);
    return shape_has_batch(&edge->shape) ? each * examples : each;
}

uint32_t partition_edge_to(const struct partition *partition, tn_tensor value, uint32_t to)
{
    uint32_t edge = 0;
    while (partition->edges[edge].value.v != value.v || partition->edges[edge].to != to) {
        edge++;
        assert(edge < partition->edge_count);
    }
    return edge;
}

static enum tn_status out_of_memory(struct error *error)
{
    return error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
}

/* Constants and fields are wherever they are read; as results, in task 0. */
static uint32_t task_of(const struct cut *cut, uint32_t node)
{
    return cut->tasks[node] == PLACE_ANY ? 0 : cut->tasks[node];
}

static bool is_leaf(const struct cut *cut, uint32_t node)
{
    return cut->graph->nodes[node].op->traits.leaf;
}

/* Readers come after their inputs. */
static void find_needed(struct cut *cut, const struct partition_result *results, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) { cut->needed[tensor_node(results[i].value)] = true; }
    for (uint32_t i = cut->graph->count; i-- > 0;) {
        const struct node *node = &cut->graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count && cut->needed[i]; k++) {
            cut->needed[tensor_node(node->inputs[k])] = true;
        }
    }
}

/* Whether `value` reaches a node of `task` through an edge between tasks. */
static bool crosses(const struct cut *cut, uint32_t input, uint32_t task)
{
    return cut->tasks[input] != PLACE_ANY && cut->tasks[input] != task;
}

static void find_levels(struct cut *cut)
{
    for (uint32_t i = 0; i < cut->graph->count; i++) {
        const struct node *node = &cut->graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count; k++) {
            const uint32_t input = tensor_node(node->inputs[k]);
            const uint32_t level = cut->levels[input] + crosses(cut, input, cut->tasks[i]);
            if (level > cut->levels[i]) { cut->levels[i] = level; }
        }
    }
}

/* ----------------------------------------------------------------- edges and parts */

/* Memory for one more element of `size` bytes. False: there is none. */
static bool reserve(void **list, uint32_t count, uint32_t *capacity, size_t size)
{
    if (count < *capacity) { return true; }
    const uint32_t more = *capacity == 0 ? 16 : 2 * *capacity;
    void *grown = realloc(*list, more * size);
    if (grown == NULL) { return false; }
    *list = grown;
    *capacity = more;
    return true;
}

static uint32_t find_edge(const struct cut *cut, tn_tensor value, uint32_t to)
{
    uint32_t i = 0;
    const struct partition *out = cut->out;
    while (i < out->edge_count && (out->edges[i].value.v != value.v || out->edges[i].to != to)) {
        i++;
    }
    return i;
}

static bool add_edge(struct cut *cut, tn_tensor value, uint32_t from, uint32_t to)
{
    struct partition *out = cut->out;
    if (find_edge(cut, value, to) < out->edge_count) { return true; }
    if (!reserve((void **)&out->edges, out->edge_count, &cut->edge_capacity, sizeof *out->edges)) {
        return false;
    }
    out->edges[out->edge_count++] = (struct partition_edge){
        .value = value,
        .from = from,
        .to = to,
        .type = tn_type_of(cut->graph, value),
        .shape = *shape_of(cut->graph, value),
    };
    return true;
}

static bool add_part(struct cut *cut, uint32_t task, uint32_t level)
{
    struct partition *out = cut->out;
    for (uint32_t i = 0; i < out->part_count; i++) {
        if (out->parts[i].task == task && out->parts[i].level == level) { return true; }
    }
    if (!reserve((void **)&out->parts, out->part_count, &cut->part_capacity, sizeof *out->parts)) {
        return false;
    }
    out->parts[out->part_count++] = (struct partition_part){.task = task, .level = level};
    return true;
}

/* Whether a node of `task` at `level` gets `value` by an edge, not within its part. */
static bool needs_edge(const struct cut *cut, tn_tensor value, uint32_t task, uint32_t level)
{
    const uint32_t input = tensor_node(value);
    if (cut->graph->nodes[input].op == &op_placeholder) { return true; }
    if (is_leaf(cut, input)) { return crosses(cut, input, task); }
    return cut->tasks[input] != task || cut->levels[input] != level;
}

static bool add_edge_from(struct cut *cut, tn_tensor value, uint32_t to)
{
    const uint32_t input = tensor_node(value);
    const bool is_fed = cut->graph->nodes[input].op == &op_placeholder && to != PARTITION_CALLER;
    if (is_fed) { return add_edge(cut, value, PARTITION_CALLER, to); }
    const uint32_t from = task_of(cut, input);
    return add_edge(cut, value, from, to) && add_part(cut, from, cut->levels[input]);
}

static bool add_node(struct cut *cut, uint32_t number)
{
    const struct node *node = &cut->graph->nodes[number];
    const uint32_t task = cut->tasks[number], level = cut->levels[number];
    bool added = add_part(cut, task, level);
    for (uint32_t k = 0; k < node->input_count && added; k++) {
        if (!needs_edge(cut, node->inputs[k], task, level)) { continue; }
        added = add_edge_from(cut, node->inputs[k], task);
    }
    return added;
}

/* A field that the caller wants is fed to task 0 and comes back. */
static bool add_result(struct cut *cut, const struct partition_result *result)
{
    const bool is_field = node_of(cut->graph, result->value)->op == &op_placeholder;
    const bool returns = is_field && result->to == PARTITION_CALLER;
    return (!returns || add_edge(cut, result->value, PARTITION_CALLER, 0)) &&
           add_edge_from(cut, result->value, result->to);
}

static int by_level(const void *left, const void *right)
{
    const struct partition_part *a = left, *b = right;
    if (a->level != b->level) { return a->level < b->level ? -1 : 1; }
    return a->task < b->task ? -1 : a->task > b->task;
}

static bool list_all(struct cut *cut, const struct partition_result *results, uint32_t count)
{
    bool added = true;
    for (uint32_t i = 0; i < cut->graph->count && added; i++) {
        if (cut->needed[i] && !is_leaf(cut, i)) { added = add_node(cut, i); }
    }
    for (uint32_t i = 0; i < count && added; i++) { added = add_result(cut, &results[i]); }
    if (added && cut->out->part_count > 0) {
        qsort(cut->out->parts, cut->out->part_count, sizeof *cut->out->parts, by_level);
    }
    return added;
}

/* ------------------------------------------------------------------------- graphs */

static tn_tensor receive(struct cut *cut, struct partition_part *part, tn_tensor value)
{
    char name[PARTITION_NAME_MAX];
    const uint32_t number = find_edge(cut, value, part->task);
    assert(number < cut->out->edge_count);
    const struct partition_edge *edge = &cut->out->edges[number];
    partition_edge_name(number, name);
    const struct attributes attributes = {
        .name = graph_keep_text(part->graph, name), .type = edge->type, .shape = edge->shape};
    if (attributes.name == NULL) { return TN_NONE; }
    return graph_add(part->graph, &op_placeholder, NULL, 0, &attributes);
}

static void copy_node(struct cut *cut, struct partition_part *part, uint32_t number);

/* `value` in the part: received, or copied with its node. */
static tn_tensor value_in(struct cut *cut, struct partition_part *part, tn_tensor value)
{
    tn_tensor *copy = &cut->copies[value.v - 1];
    if (copy->v != 0) { return *copy; }
    if (needs_edge(cut, value, part->task, part->level)) {
        *copy = receive(cut, part, value);
    } else {
        assert(is_leaf(cut, tensor_node(value)));
        copy_node(cut, part, tensor_node(value));
    }
    return *copy;
}

static void copy_node(struct cut *cut, struct partition_part *part, uint32_t number)
{
    struct node node = cut->graph->nodes[number];
    for (uint32_t k = 0; k < node.input_count; k++) {
        node.inputs[k] = value_in(cut, part, node.inputs[k]);
        if (node.inputs[k].v == 0) { return; } /* The graph has an error. */
    }
    const tn_tensor copy = graph_append(part->graph, &node);
    part->graph->variable_count += node.op == &op_variable;
    for (uint32_t i = 0; i < node.op->outputs && copy.v != 0; i++) {
        cut->copies[number * OP_OUTPUTS_MAX + i] = tensor_of(tensor_node(copy), i);
    }
}

static void send(struct cut *cut, struct partition_part *part, uint32_t number)
{
    char name[PARTITION_NAME_MAX];
    const tn_tensor value = value_in(cut, part, cut->out->edges[number].value);
    if (value.v == 0) { return; }
    if (part->graph->mark_count == GRAPH_MARKS_MAX) {
        graph_fail(part->graph, TN_EINVAL,
                   "more than %d values leave one part of the model: divide it so that each part "
                   "has fewer layers",
                   GRAPH_MARKS_MAX);
        return;
    }
    partition_edge_name(number, name);
    tn_output(part->graph, name, value);
}

static bool leaves(const struct cut *cut, const struct partition_edge *edge,
                   const struct partition_part *part)
{
    return edge->from == part->task && cut->levels[tensor_node(edge->value)] == part->level;
}

static enum tn_status build_part(struct cut *cut, struct partition_part *part, struct error *error)
{
    const struct tn_graph *graph = cut->graph;
    struct tn_error created;
    if (tn_graph_create(&part->graph, &created) != TN_OK) { return out_of_memory(error); }
    memset(cut->copies, 0, (size_t)graph->count * OP_OUTPUTS_MAX * sizeof *cut->copies);
    for (uint32_t i = 0; i < graph->count; i++) {
        const bool is_here = cut->needed[i] && !is_leaf(cut, i) && cut->tasks[i] == part->task &&
                             cut->levels[i] == part->level;
        if (is_here && !graph_failed(part->graph)) { copy_node(cut, part, i); }
    }
    for (uint32_t e = 0; e < cut->out->edge_count; e++) {
        if (leaves(cut, &cut->out->edges[e], part)) { send(cut, part, e); }
    }
    if (!graph_failed(part->graph)) { return TN_OK; }
    const struct error *failed = &part->graph->error;
    return error_set(error, failed->status, "task %" PRIu32 ": %s", part->task, failed->text);
}

enum tn_status pass_partition(const struct tn_graph *graph, const uint32_t *tasks,
                              const struct partition_result *results, uint32_t result_count,
                              struct partition *out, struct error *error)
{
    assert(graph != NULL && tasks != NULL && out != NULL);
    struct cut cut = {.graph = graph, .tasks = tasks, .out = out};
    *out = (struct partition){.edges = NULL};
    cut.needed = calloc((size_t)graph->count + 1, sizeof *cut.needed);
    cut.levels = calloc((size_t)graph->count + 1, sizeof *cut.levels);
    cut.copies = calloc((size_t)graph->count * OP_OUTPUTS_MAX + 1, sizeof *cut.copies);
    enum tn_status status = TN_ENOMEM;
    if (cut.needed != NULL && cut.levels != NULL && cut.copies != NULL) {
        find_needed(&cut, results, result_count);
        find_levels(&cut);
        status = list_all(&cut, results, result_count) ? TN_OK : TN_ENOMEM;
    }
    if (status != TN_OK) { status = out_of_memory(error); }
    for (uint32_t i = 0; i < out->part_count && status == TN_OK; i++) {
        status = build_part(&cut, &out->parts[i], error);
    }
    free(cut.needed);
    free(cut.levels);
    free(cut.copies);
    return status;
}

void partition_free(struct partition *partition)
{
    assert(partition != NULL);
    for (uint32_t i = 0; i < partition->part_count; i++) {
        tn_graph_destroy(partition->parts[i].graph);
    }
    free(partition->parts);
    free(partition->edges);
    *partition = (struct partition){.edges = NULL};
}
