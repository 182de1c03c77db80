/*
 * graph/core/node.h: the nodes of a graph, as operations, passes and programs see them. Private to
 * graph/.
 *
 * Nodes are appended and never removed; inputs precede their readers. All texts and data that nodes
 * point to belong to the graph.
 *
 * Threads: a graph belongs to one thread at a time.
 */
#ifndef GRAPH_CORE_NODE_H
#define GRAPH_CORE_NODE_H

#include <assert.h>

#include "graph/core/mark.h"
#include "graph/core/op.h"
#include "graph/core/shape.h"
#include "graph/core/values.h"
#include "tanist/operation.h"

/* The constants of an operation. Each op's file documents the fields that it uses; the others are
 * zero. */
struct attributes {
    int64_t integers[OP_INTEGERS_MAX];
    double numbers[OP_NUMBERS_MAX];
    struct tn_shape shape;
    enum tn_type type;
    const char *name; /* Path of a variable or a random operation, field of a placeholder. */
    const struct tn_variable_options *variable; /* Variables only. */
    const struct shared_values *initial;        /* Variables with given values only. */
    const struct tn_operation *custom;          /* Operations of the user only. */
    const void *data;                           /* Constants only. */
    size_t data_bytes;
};

struct node {
    const struct op_type *op;
    uint32_t input_count;
    tn_tensor inputs[OP_INPUTS_MAX];
    struct attributes attributes;
    struct tn_shape shapes[OP_OUTPUTS_MAX];
    enum tn_type types[OP_OUTPUTS_MAX];
    const char *scope;  /* Where it was created, "" for no scope. */
    const char *device; /* Canonical, "" for none. */
};

/* A value that was named as a loss, a metric or an output. */
struct mark {
    enum mark_kind kind;
    const char *name; /* NULL for losses. */
    tn_tensor value;
    float weight; /* Losses only. */
};

enum { GRAPH_MARKS_MAX = 256, GRAPH_PATH_MAX = TN_NAME_MAX, GRAPH_CHUNK_BYTES = 16 * 1024 };

struct chunk;
struct held_values;

struct tn_graph {
    struct node *nodes;
    uint32_t count, capacity;
    struct mark marks[GRAPH_MARKS_MAX];
    uint32_t mark_count, variable_count;
    char scope[GRAPH_PATH_MAX]; /* Path of the open scopes. */
    uint32_t scope_lengths[TN_SCOPES_MAX], scope_depth;
    const char *devices[TN_SCOPES_MAX];
    uint32_t device_depth;
    struct chunk *chunks;
    struct held_values *held; /* graph/core/values.h */
    struct error error;
};

static inline uint32_t tensor_node(tn_tensor x)
{
    assert(x.v != 0);
    return (x.v - 1) / OP_OUTPUTS_MAX;
}

static inline uint32_t tensor_output(tn_tensor x)
{
    assert(x.v != 0);
    return (x.v - 1) % OP_OUTPUTS_MAX;
}

static inline tn_tensor tensor_of(uint32_t node, uint32_t output)
{
    return (tn_tensor){1 + node * OP_OUTPUTS_MAX + output};
}

static inline const struct node *node_of(const struct tn_graph *graph, tn_tensor x)
{
    assert(tensor_node(x) < graph->count);
    return &graph->nodes[tensor_node(x)];
}

static inline const struct tn_shape *shape_of(const struct tn_graph *graph, tn_tensor x)
{
    return &node_of(graph, x)->shapes[tensor_output(x)];
}

static inline const struct tn_shape *input_shape(const struct tn_graph *graph,
                                                 const struct node *node, uint32_t input)
{
    assert(input < node->input_count);
    return shape_of(graph, node->inputs[input]);
}

static inline enum tn_type input_type(const struct tn_graph *graph, const struct node *node,
                                      uint32_t input)
{
    assert(input < node->input_count);
    return node_of(graph, node->inputs[input])->types[tensor_output(node->inputs[input])];
}

/* Input `input` of the node that `x` belongs to. */
static inline tn_tensor input_of(const struct tn_graph *graph, tn_tensor x, uint32_t input)
{
    assert(input < node_of(graph, x)->input_count);
    return node_of(graph, x)->inputs[input];
}

/* A copy of `size` bytes, aligned to 64, with the lifetime of the graph. NULL: out of memory,
 * which is then the graph's error. */
void *graph_keep(struct tn_graph *graph, const void *data, size_t size);
/* The same of a string. */
const char *graph_keep_text(struct tn_graph *graph, const char *text);

#endif
