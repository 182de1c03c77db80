/*
 * Shared by the tests of the CUDA kernels: a backend for graphs in which every operation that has a
 * CUDA kernel runs in the emulation. The others run on the backend "portable", as the emulation's
 * memory is that of the process.
 */
#ifndef TESTS_UNIT_KERNELS_CUDA_EMULATED_BACKEND_H
#define TESTS_UNIT_KERNELS_CUDA_EMULATED_BACKEND_H

#include "tests/unit/kernels/cuda/emulated_window.h"

/* Calls since the test began. */
static size_t emulated_calls, portable_calls;
static const struct backend *portable_backend;

#define EMULATE_UNARY(name, which)                                                                 \
    OPERATION(emulate_##name)                                                                      \
    {                                                                                              \
        KERNELS->unary[ELEMENTWISE_##which](elements(&call->out[0]), IN(0), OUT(0));               \
    }
#define EMULATE_GRADIENT(name, which)                                                              \
    OPERATION(emulate_##name##_gradient)                                                           \
    {                                                                                              \
        KERNELS->gradient[ELEMENTWISE_##which](elements(&call->out[0]), IN(0), IN(1), OUT(0));     \
    }
#define EMULATED_UNARIES(X)                                                                        \
    X(sqrt, SQRT)                                                                                  \
    X(exp, EXP)                                                                                    \
    X(log, LOG)                                                                                    \
    X(erf, ERF)
#define EMULATED_ACTIVATIONS(X)                                                                    \
    X(relu, RELU)                                                                                  \
    X(sigmoid, SIGMOID)                                                                            \
    X(tanh, TANH)                                                                                  \
    X(gelu, GELU_TANH)                                                                             \
    X(silu, SILU)
EMULATED_UNARIES(EMULATE_UNARY)
EMULATED_ACTIVATIONS(EMULATE_UNARY)
EMULATED_ACTIVATIONS(EMULATE_GRADIENT)

OPERATION(emulate_leaky_relu)
{
    KERNELS->leaky_relu(elements(&call->out[0]), NUMBER, IN(0), IN(0), OUT(0));
}

OPERATION(emulate_leaky_relu_gradient)
{
    KERNELS->leaky_relu(elements(&call->out[0]), NUMBER, IN(0), IN(1), OUT(0));
}

OPERATION(emulate_scale)
{
    KERNELS->scale(elements(&call->out[0]), NUMBER, IN(0), OUT(0));
}

OPERATION(emulate_clip)
{
    KERNELS->clip(elements(&call->out[0]), NUMBER, (float)call->node->attributes.numbers[1], IN(0),
                  OUT(0));
}

/* Strides of an operand that is repeated where its size is 1. */
static inline struct cuda_strides strides_of(const struct tn_shape *y, const struct tn_shape *x)
{
    struct cuda_strides strides = {.first = 0};
    size_t stride = 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        const size_t size = (size_t)x->dims[x->rank - 1 - i];
        strides.stride[y->rank - 1 - i] = size == 1 ? 0 : stride;
        stride *= size;
    }
    return strides;
}

#define EMULATE_BINARY(name, which)                                                                \
    OPERATION(emulate_##name)                                                                      \
    {                                                                                              \
        const struct tn_shape *y = &call->out[0].shape;                                            \
        struct cuda_shape shape = {.rank = y->rank};                                               \
        for (uint32_t i = 0; i < y->rank; i++) { shape.dims[i] = (size_t)y->dims[i]; }             \
        const struct cuda_strides left = strides_of(y, &call->in[0].shape);                        \
        const struct cuda_strides right = strides_of(y, &call->in[1].shape);                       \
        KERNELS->binary[ELEMENTWISE_##which](&shape, IN(0), &left, IN(1), &right, OUT(0));         \
    }
#define EMULATED_BINARIES(X)                                                                       \
    X(add, ADD)                                                                                    \
    X(subtract, SUBTRACT)                                                                          \
    X(multiply, MULTIPLY)                                                                          \
    X(divide, DIVIDE)
EMULATED_BINARIES(EMULATE_BINARY)

/* As graph/portable/matmul.c: pairs that are added up are one product if rows continue from pair to
 * pair, else one after another. */
static inline void multiply_matrices(const struct kernel_call *call, const float *bias, bool relu)
{
    const bool turned_a = INTEGERS[0] != 0, turned_b = INTEGERS[1] != 0, add_up = INTEGERS[2] != 0;
    const size_t m = dim_of(&call->out[0], 2), n = dim_of(&call->out[0], 1);
    const size_t k = dim_of(&call->in[0], turned_a ? 2 : 1);
    const size_t count = elements(&call->in[0]) / (m * k);
    const bool shares_b = elements(&call->in[1]) == k * n;
    struct cuda_matmul task = {
        .batch = add_up ? 1 : count,
        .m = m,
        .n = n,
        .k = k,
        .a = {IN(0), m * k, turned_a ? 1 : k, turned_a ? m : 1},
        .b = {IN(1), shares_b ? 0 : k * n, turned_b ? 1 : n, turned_b ? k : 1},
        .out = OUT(0),
        .bias = bias,
        .relu = relu,
    };
    const bool is_one = !add_up || (turned_a && !turned_b);
    if (add_up && is_one) { task.k *= count; }
    for (size_t i = 0; i < (is_one ? 1 : count); i++) {
        KERNELS->matmul(&task);
        task.a.data += m * k;
        task.b.data += k * n;
        task.accumulate = true;
    }
}

OPERATION(emulate_matmul)
{
    multiply_matrices(call, NULL, false);
}

OPERATION(emulate_matmul_add)
{
    multiply_matrices(call, IN(2), false);
}

OPERATION(emulate_matmul_add_relu)
{
    multiply_matrices(call, IN(2), true);
}

static inline struct cuda_softmax all_columns(const struct kernel_call *call)
{
    const size_t columns = dim_of(&call->out[0], 1);
    return (struct cuda_softmax){elements(&call->out[0]) / columns, columns, 1, columns, 0, 1};
}

OPERATION(emulate_softmax)
{
    const struct cuda_softmax rows = all_columns(call);
    KERNELS->softmax(&rows, IN(0), OUT(0));
}

OPERATION(emulate_softmax_gradient)
{
    const struct cuda_softmax rows = all_columns(call);
    KERNELS->softmax_gradient(&rows, IN(0), IN(1), OUT(0));
}

static inline uint32_t bytes_of(const struct tn_view *view)
{
    return view->type == TN_UINT8 ? 1 : view->type == TN_INT64 ? 8 : 4;
}

OPERATION(emulate_softmax_cross_entropy)
{
    const size_t columns = dim_of(&call->in[0], 1);
    KERNELS->cross_entropy(elements(&call->in[1]), columns, IN(0), call->in[1].data,
                           bytes_of(&call->in[1]), NUMBER, OUT(1), OUT(0));
}

OPERATION(emulate_softmax_cross_entropy_gradient)
{
    const size_t columns = dim_of(&call->in[0], 1);
    KERNELS->cross_entropy_gradient(elements(&call->in[1]), columns, IN(0), call->in[1].data,
                                    bytes_of(&call->in[1]), NUMBER, IN(2), OUT(0));
}

OPERATION(emulate_layer_norm)
{
    const size_t columns = dim_of(&call->in[0], 1);
    KERNELS->layer_norm(elements(&call->in[0]) / columns, columns, NUMBER, IN(0), IN(1), IN(2),
                        OUT(0), OUT(1), OUT(2));
}

OPERATION(emulate_layer_norm_gradient)
{
    const size_t columns = dim_of(&call->in[0], 1);
    KERNELS->layer_norm_gradient(elements(&call->in[0]) / columns, columns, IN(0), IN(1), IN(2),
                                 IN(3), IN(4), OUT(0), OUT(1), OUT(2));
}

OPERATION(emulate_batch_norm)
{
    const size_t columns = dim_of(&call->in[0], 1);
    KERNELS->batch_norm(elements(&call->in[0]) / columns, columns,
                        call->node->attributes.numbers[0], IN(0), IN(1), IN(2), OUT(0), OUT(1),
                        OUT(2));
}

OPERATION(emulate_batch_norm_gradient)
{
    const size_t columns = dim_of(&call->in[0], 1);
    KERNELS->batch_norm_gradient(elements(&call->in[0]) / columns, columns,
                                 call->node->attributes.numbers[0], IN(0), IN(1), IN(2), IN(3),
                                 IN(4), OUT(0), OUT(1), OUT(2));
}

OPERATION(emulate_dropout)
{
    const bool has_batch = INTEGERS[1] != 0;
    const size_t examples = has_batch ? (size_t)call->out[0].shape.dims[0] : 1;
    const struct cuda_dropout task = {
        .key = random_at(call->seed, (uint64_t)INTEGERS[0], 0),
        .step = call->step,
        .example = has_batch ? (uint32_t)call->first_example : 0,
        .examples = examples,
        .count = elements(&call->out[0]) / examples,
        .rate = NUMBER,
    };
    KERNELS->dropout(&task, IN(0), OUT(0));
}

static inline struct cuda_attention attention_of(const struct kernel_call *call)
{
    return (struct cuda_attention){
        .batch = dim_of(&call->in[0], 4),
        .heads = dim_of(&call->in[0], 3),
        .queries = dim_of(&call->in[0], 2),
        .keys = dim_of(&call->in[2], 2),
        .width = dim_of(&call->in[0], 1),
        .value_width = dim_of(&call->in[2], 1),
        .causal = INTEGERS[0] != 0,
        .scale = NUMBER,
    };
}

OPERATION(emulate_attention)
{
    const struct cuda_attention task = attention_of(call);
    KERNELS->attention(&task, IN(0), IN(1), IN(2), OUT(1), OUT(0));
}

OPERATION(emulate_attention_gradient)
{
    const struct cuda_attention task = attention_of(call);
    float *ds = device_memory(elements(&call->in[3]) * sizeof *ds);
    KERNELS->attention_gradient(&task, IN(0), IN(1), IN(2), IN(3), IN(4), ds, OUT(0), OUT(1),
                                OUT(2));
    library->release(ds);
}

OPERATION(emulate_gather)
{
    const size_t rows = (size_t)call->in[0].shape.dims[0];
    KERNELS->gather(elements(&call->in[1]), call->in[1].data, bytes_of(&call->in[1]), rows,
                    elements(&call->in[0]) / rows, IN(0), OUT(0));
}

OPERATION(emulate_gather_gradient)
{
    const size_t rows = (size_t)call->out[0].shape.dims[0];
    KERNELS->gather_gradient(elements(&call->in[0]), call->in[0].data, bytes_of(&call->in[0]), rows,
                             elements(&call->out[0]) / rows, IN(1), OUT(0));
}

/* False: x is not [outer][rows][columns] of which the rows are added, as graph/portable/reduce.c
 * has it. */
static inline bool is_one_range(const struct kernel_call *call, size_t *outer, size_t *rows,
                                size_t *columns)
{
    const struct tn_shape *x = &call->in[0].shape;
    for (uint32_t i = 0; i < x->rank; i++) {
        const bool is_removed = (INTEGERS[0] >> i & 1) != 0;
        if (x->dims[i] == 1) { continue; }
        if (is_removed && *columns > 1) { return false; }
        size_t *size = is_removed ? rows : *rows > 1 ? columns : outer;
        *size *= (size_t)x->dims[i];
    }
    return true;
}

OPERATION(emulate_sum)
{
    size_t outer = 1, rows = 1, columns = 1;
    if (!is_one_range(call, &outer, &rows, &columns)) {
        portable_backend->find(call->node->op)(call);
        return;
    }
    const struct cuda_shape kept = {.rank = 2, .dims = {outer, columns}};
    const struct cuda_shape added = {.rank = 1, .dims = {rows}};
    const struct cuda_strides by_result = {.stride = {rows * columns, 1}};
    const struct cuda_strides by_row = {.stride = {columns}};
    if (columns == 1) {
        KERNELS->sum_columns(outer, rows, IN(0), OUT(0));
    } else {
        KERNELS->sum(&kept, &by_result, &added, &by_row, IN(0), OUT(0));
    }
}

OPERATION(emulate_cast)
{
    if (call->in[0].type != TN_UINT8 || call->out[0].type != TN_FLOAT32) {
        portable_backend->find(call->node->op)(call);
        return;
    }
    KERNELS->cast_bytes(elements(&call->out[0]), call->in[0].data, NUMBER, OUT(0));
}

#define EMULATED_OTHERS(X)                                                                         \
    X(leaky_relu)                                                                                  \
    X(leaky_relu_gradient)                                                                         \
    X(scale)                                                                                       \
    X(clip)                                                                                        \
    X(matmul)                                                                                      \
    X(matmul_add)                                                                                  \
    X(matmul_add_relu)                                                                             \
    X(conv2d)                                                                                      \
    X(conv2d_add)                                                                                  \
    X(conv2d_add_relu)                                                                             \
    X(conv2d_input_gradient)                                                                       \
    X(conv2d_weights_gradient)                                                                     \
    X(conv2d_add_relu_max_pool)                                                                    \
    X(conv2d_pool_gradients)                                                                       \
    X(mean_pool)                                                                                   \
    X(mean_pool_gradient)                                                                          \
    X(softmax)                                                                                     \
    X(softmax_gradient)                                                                            \
    X(softmax_cross_entropy)                                                                       \
    X(softmax_cross_entropy_gradient)                                                              \
    X(layer_norm)                                                                                  \
    X(layer_norm_gradient)                                                                         \
    X(batch_norm)                                                                                  \
    X(batch_norm_gradient)                                                                         \
    X(dropout)                                                                                     \
    X(attention)                                                                                   \
    X(attention_gradient)                                                                          \
    X(gather)                                                                                      \
    X(gather_gradient)                                                                             \
    X(sum)                                                                                         \
    X(cast)

static const struct emulated_row {
    const struct op_type *op;
    kernel_function kernel;
} emulated_rows[] = {
#define OTHER_ROW(name)           {&op_##name, emulate_##name},
#define ROW(name, which)          {&op_##name, emulate_##name},
#define GRADIENT_ROW(name, which) {&op_##name##_gradient, emulate_##name##_gradient},
    EMULATED_UNARIES(ROW) EMULATED_BINARIES(ROW) EMULATED_ACTIVATIONS(ROW)
        EMULATED_ACTIVATIONS(GRADIENT_ROW) EMULATED_OTHERS(OTHER_ROW){
            &op_conv2d_pool_all_gradients,
            emulate_conv2d_pool_gradients,
        },
};

static inline kernel_function emulated_kernel(const struct op_type *op)
{
    for (size_t i = 0; i < sizeof emulated_rows / sizeof emulated_rows[0]; i++) {
        if (emulated_rows[i].op == op) { return emulated_rows[i].kernel; }
    }
    return NULL;
}

OPERATION(run_anywhere)
{
    const kernel_function kernel = emulated_kernel(call->node->op);
    if (kernel != NULL) {
        emulated_calls++;
        kernel(call);
    } else {
        portable_calls++;
        portable_backend->find(call->node->op)(call);
    }
}

static inline kernel_function find_anywhere(const struct op_type *op)
{
    return portable_backend->find(op) != NULL ? run_anywhere : NULL;
}

/* Needs `library`. */
static inline const struct backend *emulated_backend(void)
{
    static struct backend backend;
    struct error error;
    assert_int_equal(backend_portable(NULL, &portable_backend, &error), TN_OK);
    backend = (struct backend){
        .name = "emulated",
        .kernels = portable_backend->kernels,
        .find = find_anywhere,
        .needs = portable_backend->needs,
        .pack = portable_backend->pack,
    };
    return &backend;
}

#endif
