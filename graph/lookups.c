#include "graph/lookups.h"

#include <stdlib.h>
#include <string.h>

#include "graph/canonical.h"
#include "graph/ops/ops.h"

enum tn_status graph_tables(const struct tn_graph *graph,
                            enum tn_status (*add)(void *to, const struct graph_table *table,
                                                  struct error *error),
                            void *to, struct error *error)
{
    struct tn_graph *canonical = NULL;
    assert(graph != NULL && add != NULL);
    enum tn_status status = graph_canonical(graph, false, &canonical, error);
    for (uint32_t i = 0; status == TN_OK && i < canonical->count; i++) {
        const struct node *node = &canonical->nodes[i];
        if (node->op != &op_table) { continue; }
        const struct graph_table table = {
            .name = node->attributes.name,
            .width = (uint32_t)node->shapes[0].dims[0],
            .rows = (uint64_t)node->attributes.integers[0],
            .scale = (float)node->attributes.numbers[0],
        };
        status = add(to, &table, error);
    }
    tn_graph_destroy(canonical);
    return status;
}

uint64_t graph_table_keys(const struct tn_graph *graph, const char *path)
{
    uint64_t keys = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        if (node->op != &op_lookup) { continue; }
        if (strcmp(node_of(graph, node->inputs[0])->attributes.name, path) == 0) {
            keys += (uint64_t)node->attributes.integers[1];
        }
    }
    return keys;
}

static const char *table_of(const struct tn_program *program, uint32_t at)
{
    return program->lookups[program->lookups_by_table[at]].table;
}

/* Behind the lookups of its table, which come before it. */
static void insert_by_table(struct tn_program *program, uint32_t number)
{
    uint32_t at = number;
    uint32_t *sorted = program->lookups_by_table;
    const char *table = program->lookups[number].table;
    for (; at > 0 && strcmp(table_of(program, at - 1), table) > 0; at--) {
        sorted[at] = sorted[at - 1];
    }
    sorted[at] = number;
}

enum tn_status program_list_lookups(struct tn_program *program, struct error *error)
{
    const struct tn_graph *graph = program->graph;
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->count; i++) { count += graph->nodes[i].op == &op_lookup; }
    if (count > TN_LOOKUPS_MAX) {
        return error_set(error, TN_EINVAL, "the graph has %u lookups: use at most %d", count,
                         TN_LOOKUPS_MAX);
    }
    program->lookups = calloc((size_t)count + 1, sizeof *program->lookups);
    program->lookups_by_table = calloc((size_t)count + 1, sizeof *program->lookups_by_table);
    if (program->lookups == NULL || program->lookups_by_table == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory: make the model smaller");
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        if (node->op != &op_lookup) { continue; }
        program->lookups[program->lookup_count] = (struct program_lookup){
            .node = i,
            .table = node_of(graph, node->inputs[0])->attributes.name,
        };
        insert_by_table(program, program->lookup_count++);
    }
    return TN_OK;
}

const uint32_t *program_lookups_of(const struct tn_program *program, const char *table,
                                   uint32_t *count)
{
    uint32_t begin = 0, end = program->lookup_count;
    assert(program != NULL && table != NULL);
    while (begin < end) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (strcmp(table_of(program, middle), table) < 0) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    while (end < program->lookup_count && strcmp(table_of(program, end), table) == 0) { end++; }
    *count = end - begin;
    return program->lookups_by_table + begin;
}

static void *memory_of(const struct tn_program *program, tn_tensor value)
{
    return value.v == 0 ? NULL : program_memory(program, &program->plan.places[value.v - 1]);
}

struct lookup_view program_lookup(const struct tn_program *program, uint32_t number)
{
    assert(number < program->lookup_count);
    const struct program_lookup *lookup = &program->lookups[number];
    const struct node *node = &program->graph->nodes[lookup->node];
    const tn_tensor keys = node->inputs[1];
    return (struct lookup_view){
        .width = (uint32_t)shape_last(&node->shapes[0]),
        .keys = memory_of(program, keys),
        .keys_each = (uint32_t)shape_last(shape_of(program->graph, keys)),
        .first = (uint32_t)node->attributes.integers[0],
        .count = (uint32_t)node->attributes.integers[1],
        .rows = memory_of(program, tensor_of(lookup->node, 0)),
        .gradient = memory_of(program, lookup->gradient),
    };
}
