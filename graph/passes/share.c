/* graph/passes/share.c: common subexpressions. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "graph/ops/ops.h"
#include "graph/passes/passes.h"

#define NONE UINT32_MAX /* An empty entry. */

/* Nodes by hash; open addressing in a table of a power of two. */
struct table {
    uint32_t *nodes;
    uint32_t mask;
};

static uint64_t hash_of(const struct node *node)
{
    const struct attributes *attributes = &node->attributes;
    uint64_t hash = XXH3_64bits(node->inputs, node->input_count * sizeof node->inputs[0]);
    hash = XXH3_64bits_withSeed(attributes->integers, sizeof attributes->integers, hash);
    hash = XXH3_64bits_withSeed(attributes->numbers, sizeof attributes->numbers, hash);
    return XXH3_64bits_withSeed(node->op->name, strlen(node->op->name), hash);
}

static bool equal_attributes(const struct attributes *a, const struct attributes *b)
{
    uint64_t left[OP_NUMBERS_MAX], right[OP_NUMBERS_MAX]; /* Bits: 0 and -0 differ. */
    memcpy(left, a->numbers, sizeof left);
    memcpy(right, b->numbers, sizeof right);
    if (a->custom != b->custom || memcmp(a->integers, b->integers, sizeof a->integers) != 0 ||
        memcmp(left, right, sizeof left) != 0) {
        return false;
    }
    return a->data_bytes == b->data_bytes &&
           (a->data_bytes == 0 || memcmp(a->data, b->data, a->data_bytes) == 0);
}

static bool equal_nodes(const struct node *a, const struct node *b)
{
    if (a->op != b->op || a->input_count != b->input_count || strcmp(a->device, b->device) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < a->input_count; i++) {
        if (a->inputs[i].v != b->inputs[i].v) { return false; }
    }
    for (uint32_t o = 0; o < a->op->outputs; o++) {
        if (a->types[o] != b->types[o] || !shape_equal(&a->shapes[o], &b->shapes[o])) {
            return false;
        }
    }
    return equal_attributes(&a->attributes, &b->attributes);
}

static bool is_shareable(const struct node *node)
{
    return !node->op->traits.varies && node->op != &op_variable && node->op != &op_placeholder;
}

/* The first node equal to node `number`; without one, `number` itself is entered. */
static uint32_t find_or_add(struct table *table, const struct tn_graph *graph, uint32_t number)
{
    uint64_t at = hash_of(&graph->nodes[number]) & table->mask;
    while (table->nodes[at] != NONE) {
        if (equal_nodes(&graph->nodes[table->nodes[at]], &graph->nodes[number])) {
            return table->nodes[at];
        }
        at = (at + 1) & table->mask;
    }
    table->nodes[at] = number;
    return number;
}

static tn_tensor moved(const uint32_t *same, tn_tensor value)
{
    return tensor_of(same[tensor_node(value)], tensor_output(value));
}

static uint32_t share(const struct pass *pass, struct table *table, uint32_t *same)
{
    uint32_t shared = 0;
    for (uint32_t i = 0; i < pass->graph->count; i++) {
        struct node *node = &pass->graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count; k++) {
            node->inputs[k] = moved(same, node->inputs[k]);
        }
        same[i] = is_shareable(node) ? find_or_add(table, pass->graph, i) : i;
        shared += same[i] != i;
    }
    for (uint32_t i = 0; i < pass->root_count; i++) {
        if (pass->roots[i].v != 0) { pass->roots[i] = moved(same, pass->roots[i]); }
    }
    return shared;
}

enum tn_status pass_share(const struct pass *pass, uint32_t *shared, struct error *error)
{
    struct table table = {.mask = 1};
    assert(pass->roots != NULL || pass->root_count == 0);
    while (table.mask < 2 * pass->graph->count) { table.mask = 2 * table.mask + 1; }
    table.nodes = malloc(((size_t)table.mask + 1) * sizeof *table.nodes);
    uint32_t *same = calloc((size_t)pass->graph->count + 1, sizeof *same);
    enum tn_status status = TN_ENOMEM;
    if (table.nodes != NULL && same != NULL) {
        memset(table.nodes, 0xff, ((size_t)table.mask + 1) * sizeof *table.nodes);
        *shared = share(pass, &table, same);
        status = TN_OK;
    }
    free(table.nodes);
    free(same);
    return status == TN_OK ? TN_OK
                           : error_set(error, status, "out of memory: make the model smaller");
}
