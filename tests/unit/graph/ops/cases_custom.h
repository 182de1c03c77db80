/* Cases of graph/ops/custom.c, and operations of a user for its tests. */
#ifndef TESTS_UNIT_GRAPH_OPS_CASES_CUSTOM_H
#define TESTS_UNIT_GRAPH_OPS_CASES_CUSTOM_H

#include "tanist/operation.h"
#include "tests/unit/support/op_cases.h"

/* a[batch][n], b[n] -> a^2 b, times number 0. */
#define WEIGHED_SQUARES(real, forward, backward)                                                   \
    static void forward(const struct tn_kernel_call *call)                                         \
    {                                                                                              \
        const int64_t rows = call->output.shape.dims[0], columns = call->output.shape.dims[1];     \
        const real factor = (real)call->constants->numbers[0];                                     \
        const real *a = call->inputs[0].data, *b = call->inputs[1].data;                           \
        real *y = call->output.data;                                                               \
        for (int64_t i = 0; i < rows * columns; i++) {                                             \
            y[i] = a[i] * a[i] * b[i % columns] * factor;                                          \
        }                                                                                          \
    }                                                                                              \
    static void backward(const struct tn_kernel_call *call)                                        \
    {                                                                                              \
        const int64_t rows = call->output.shape.dims[0], columns = call->output.shape.dims[1];     \
        const real factor = (real)call->constants->numbers[0];                                     \
        const real *a = call->inputs[0].data, *b = call->inputs[1].data;                           \
        const real *dy = call->output_gradient.data;                                               \
        real *dx = call->input_gradient.data;                                                      \
        for (int64_t k = 0; call->input == 1 && k < columns; k++) { dx[k] = 0; }                   \
        for (int64_t i = 0; i < rows * columns; i++) {                                             \
            if (call->input == 0) { dx[i] = 2 * a[i] * b[i % columns] * factor * dy[i]; }          \
            if (call->input == 1) { dx[i % columns] += a[i] * a[i] * factor * dy[i]; }             \
        }                                                                                          \
    }

WEIGHED_SQUARES(float, squares_forward, squares_backward)
WEIGHED_SQUARES(double, squares_forward_double, squares_backward_double)

static bool infer_squares(const struct tn_value *inputs, const struct tn_constants *constants,
                          struct tn_value *output, char *why)
{
    (void)constants;
    const struct tn_shape *a = &inputs[0].shape, *b = &inputs[1].shape;
    *output = inputs[0];
    if (a->rank == 2 && b->rank == 1 && a->dims[1] == b->dims[0]) { return true; }
    snprintf(why, TN_ERROR_TEXT_MAX, "give a weight for each of the columns");
    return false;
}

static const struct tn_operation squares = {
    .struct_size = sizeof squares,
    .name = "squares",
    .version = 1,
    .inputs = 2,
    .infer = infer_squares,
    .forward = squares_forward,
    .backward = squares_backward,
    .forward_double = squares_forward_double,
    .backward_double = squares_backward_double,
};

static tn_tensor squares_of(struct tn_graph *g, int64_t columns, const struct tn_operation *op)
{
    const struct tn_constants constants = {.numbers = {0.5}};
    const tn_tensor inputs[] = {batch_value(g, "a", TN_SHAPE(TN_BATCH, 4)),
                                variable(g, "b", TN_SHAPE(columns))};
    return tn_custom(g, op, inputs, &constants);
}

static tn_tensor weighed_squares(struct tn_graph *g)
{
    return squares_of(g, 4, &squares);
}

static tn_tensor squares_that_do_not_fit(struct tn_graph *g)
{
    return squares_of(g, 5, &squares);
}

static const struct op_case cases_custom[] = {
    {"an operation of the user", "custom", weighed_squares, .shape = "float32 [batch, 4]"},
    {"its shape rule is asked", "custom", squares_that_do_not_fit,
     .error = "custom squares(float32 [batch, 4], float32 [5]): give a weight for each"},
};

#endif
