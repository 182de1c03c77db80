#include "graph/schedule.h"

#include <stdlib.h>

struct search {
    const struct tn_graph *graph;
    bool *done;
    uint32_t *stack; /* Each node is below its reader once: never more entries than nodes. */
    uint32_t depth, count;
    uint32_t *order;
};

/* Push the first input that has not run. False: all have. */
static bool push_input(struct search *search, const struct node *node)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t input = tensor_node(node->inputs[i]);
        if (!search->done[input]) {
            search->stack[search->depth++] = input;
            return true;
        }
    }
    return false;
}

static void visit(struct search *search, uint32_t root)
{
    if (search->done[root]) { return; }
    search->stack[search->depth++] = root;
    while (search->depth > 0) {
        uint32_t number = search->stack[search->depth - 1];
        if (push_input(search, &search->graph->nodes[number])) { continue; }
        search->done[number] = true;
        search->order[search->count++] = number;
        search->depth--;
    }
}

uint32_t graph_schedule(const struct tn_graph *graph, const tn_tensor *roots, uint32_t root_count,
                        uint32_t *order)
{
    assert(order != NULL);
    struct search search = {.graph = graph, .order = order};
    search.done = calloc((size_t)graph->count + 1, sizeof *search.done);
    search.stack = calloc((size_t)graph->count + 1, sizeof *search.stack);
    if (search.done != NULL && search.stack != NULL) {
        for (uint32_t i = 0; i < root_count; i++) {
            if (roots[i].v != 0) { visit(&search, tensor_node(roots[i])); }
        }
    }
    free(search.done);
    free(search.stack);
    return search.count;
}
