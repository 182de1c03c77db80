/* tests/unit/support/graphs.h: small models for the tests of graph/, and their runs. */
#ifndef TESTS_UNIT_SUPPORT_GRAPHS_H
#define TESTS_UNIT_SUPPORT_GRAPHS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tanist/program.h"

static inline struct tn_graph *new_graph(void)
{
    struct tn_graph *graph = NULL;
    assert_int_equal(tn_graph_create(&graph, NULL), TN_OK);
    return graph;
}

static inline tn_tensor weights_of(struct tn_graph *graph, const char *name, struct tn_shape shape)
{
    struct tn_variable_options options = {.init = TN_INIT_NORMAL, .scale = 0.5F};
    return tn_variable(graph, name, shape, &options);
}

/* x W + b under a scope. */
static inline tn_tensor dense_layer(struct tn_graph *graph, const char *name, tn_tensor x,
                                    int64_t width)
{
    tn_scope_begin(graph, name);
    tn_tensor weights =
        weights_of(graph, "weights", TN_SHAPE(tn_shape_of(graph, x).dims[1], width));
    tn_tensor bias = weights_of(graph, "bias", TN_SHAPE(width));
    tn_tensor y = tn_add(graph, tn_matmul(graph, x, weights, false, false), bias);
    tn_scope_end(graph);
    return y;
}

/* A network of `layers` layers with exp(-x^2) between them and a squared loss. */
static inline struct tn_graph *layered_graph(uint32_t layers)
{
    struct tn_graph *graph = new_graph();
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, 6));
    for (uint32_t i = 0; i < layers; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer%u", i);
        x = dense_layer(graph, name, x, i + 1 == layers ? 3 : 5 + i % 4);
        if (i + 1 < layers) { x = tn_exp(graph, tn_scale(graph, tn_power(graph, x, 2), -1)); }
    }
    tn_tensor target = tn_placeholder(graph, "y", TN_FLOAT32, TN_SHAPE(TN_BATCH, 3));
    tn_tensor error = tn_power(graph, tn_subtract(graph, x, target), 2);
    tn_loss(graph, tn_mean(graph, error, (uint32_t[]){1}, 1), 1);
    tn_output(graph, "prediction", x);
    assert_int_equal(tn_graph_status(graph, NULL), TN_OK);
    return graph;
}

static inline struct tn_program *new_program(const struct tn_graph *graph,
                                             struct tn_program_options options)
{
    struct tn_program *program = NULL;
    struct tn_error error = {.text = ""};
    options.struct_size = sizeof options;
    if (options.examples == 0) { options.examples = 4; }
    if (tn_program_create(graph, &options, &program, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    return program;
}

static inline void fill_floats(struct tn_view view, float first)
{
    size_t count = 1;
    for (uint32_t i = 0; i < view.shape.rank; i++) { count *= (size_t)view.shape.dims[i]; }
    for (size_t i = 0; i < count; i++) {
        ((float *)view.data)[i] = first + 0.125F * (float)(i * 5 % 7);
    }
}

#endif
