#include "graph/openblas/table.h"

#include <math.h>
#include <string.h>

enum { CLASSES_MAX = 256 };

static size_t elements_of(const struct tn_view *view)
{
    return (size_t)shape_elements(&view->shape);
}

/* The kernels work in place: begin with a copy of input `input`. */
static float *copy_input(const struct kernel_call *call, uint32_t input)
{
    if (call->out[0].data != call->in[input].data) {
        memcpy(call->out[0].data, call->in[input].data,
               elements_of(&call->in[input]) * sizeof(float));
    }
    return call->out[0].data;
}

/* Matrices of the last two dimensions, one after another. */
static bool multiply_all(const struct kernels *kernels, const struct kernel_call *call)
{
    const int64_t *integers = call->node->attributes.integers;
    const struct tn_shape *a = &call->in[0].shape, *b = &call->in[1].shape;
    const struct tn_shape *y = &call->out[0].shape;
    size_t depth = (size_t)a->dims[a->rank - (integers[0] != 0 ? 2 : 1)];
    size_t rows = (size_t)y->dims[y->rank - 2], columns = (size_t)shape_last(y);
    size_t matrices = elements_of(&call->out[0]) / (rows * columns);
    size_t others = elements_of(&call->in[1]) / (depth * columns);
    if (integers[2] != 0) {
        /* A sum over matrices, [count rows][m]^T [count rows][n], is one product. */
        if (integers[0] == 0 || integers[1] != 0) { return false; }
        depth = elements_of(&call->in[0]) / rows;
        others = 1;
    } else if (b->rank == 2 && integers[0] == 0) { /* One b for all: one product. */
        rows *= matrices;
        matrices = 1;
    }
    const float *left = call->in[0].data, *right = call->in[1].data;
    float *out = call->out[0].data;
    for (size_t i = 0; i < matrices; i++) {
        const float *second = others == 1 ? right : right + i * depth * columns;
        kernels->multiply(integers[0] != 0, integers[1] != 0, rows, columns, depth,
                          left + i * rows * depth, second, out + i * rows * columns);
    }
    return true;
}

static void add_bias_to(const struct kernels *kernels, const struct kernel_call *call,
                        const float *bias)
{
    size_t columns = (size_t)shape_last(&call->out[0].shape);
    kernels->add_bias(elements_of(&call->out[0]) / columns, columns, bias, call->out[0].data);
}

void table_matmul(const struct kernels *kernels, const struct kernel_call *call,
                  kernel_function other)
{
    assert(kernels != NULL && other != NULL);
    if (!multiply_all(kernels, call)) { other(call); }
}

void table_matmul_add(const struct kernels *kernels, const struct kernel_call *call,
                      kernel_function other)
{
    if (!multiply_all(kernels, call)) {
        other(call);
        return;
    }
    add_bias_to(kernels, call, call->in[2].data);
}

void table_matmul_add_relu(const struct kernels *kernels, const struct kernel_call *call,
                           kernel_function other)
{
    if (!multiply_all(kernels, call)) {
        other(call);
        return;
    }
    add_bias_to(kernels, call, call->in[2].data);
    kernels->relu(elements_of(&call->out[0]), call->out[0].data);
}

void table_add(const struct kernels *kernels, const struct kernel_call *call, kernel_function other)
{
    const struct tn_shape *y = &call->out[0].shape, *b = &call->in[1].shape;
    bool is_bias = b->rank == 1 && b->dims[0] == shape_last(y);
    bool is_same = shape_equal(b, y) && call->out[0].data != call->in[1].data;
    if (!shape_equal(&call->in[0].shape, y) || (!is_bias && !is_same) ||
        call->in[0].data == call->in[1].data || (is_bias && y->rank == 1)) {
        other(call);
        return;
    }
    float *out = copy_input(call, 0);
    if (is_bias) {
        add_bias_to(kernels, call, call->in[1].data);
    } else {
        kernels->add(elements_of(&call->out[0]), call->in[1].data, out);
    }
}

/* Sums of all rows: every axis but the last. */
void table_sum(const struct kernels *kernels, const struct kernel_call *call, kernel_function other)
{
    const struct tn_shape *x = &call->in[0].shape;
    uint64_t axes = (uint64_t)call->node->attributes.integers[0];
    if (x->rank < 2 || axes != (UINT64_C(1) << (x->rank - 1)) - 1) {
        other(call);
        return;
    }
    size_t columns = (size_t)shape_last(x);
    kernels->sum_rows(elements_of(&call->in[0]) / columns, columns, call->in[0].data,
                      call->out[0].data);
}

void table_relu(const struct kernels *kernels, const struct kernel_call *call,
                kernel_function other)
{
    assert(other != NULL);
    kernels->relu(elements_of(&call->out[0]), copy_input(call, 0));
}

void table_relu_gradient(const struct kernels *kernels, const struct kernel_call *call,
                         kernel_function other)
{
    if (call->out[0].data == call->in[0].data) { /* The activations would be lost. */
        other(call);
        return;
    }
    kernels->relu_backward(elements_of(&call->out[0]), call->in[0].data, copy_input(call, 1));
}

/* Whether the table has this loss: few classes, no smoothing, bytes as labels in range. */
static bool has_loss(const struct kernel_call *call)
{
    int64_t classes = shape_last(&call->in[0].shape);
    if (classes > CLASSES_MAX || call->in[1].type != TN_UINT8 ||
        call->node->attributes.numbers[0] != 0) {
        return false;
    }
    const uint8_t *labels = call->in[1].data;
    for (size_t i = 0; i < elements_of(&call->in[1]); i++) {
        if (labels[i] >= classes) { return false; }
    }
    return true;
}

void table_softmax_cross_entropy(const struct kernels *kernels, const struct kernel_call *call,
                                 kernel_function other)
{
    size_t classes = (size_t)shape_last(&call->in[0].shape);
    if (!has_loss(call)) {
        other(call);
        return;
    }
    const uint8_t *labels = call->in[1].data;
    float *row = copy_input(call, 0), *losses = call->out[1].data;
    for (size_t i = 0; i < elements_of(&call->in[1]); i++, row += classes) {
        losses[i] = (float)kernels->cross_entropy(classes, row, labels[i]);
    }
}

void table_softmax_cross_entropy_gradient(const struct kernels *kernels,
                                          const struct kernel_call *call, kernel_function other)
{
    size_t classes = (size_t)shape_last(&call->in[0].shape);
    if (!has_loss(call)) {
        other(call);
        return;
    }
    const uint8_t *labels = call->in[1].data;
    const float *dy = call->in[2].data;
    float *row = copy_input(call, 0);
    for (size_t i = 0; i < elements_of(&call->in[1]); i++, row += classes) {
        kernels->cross_entropy_backward(classes, row, labels[i], dy[i]);
    }
}
