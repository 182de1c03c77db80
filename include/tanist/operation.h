/*
 * tanist/operation.h: custom operations. A model describes an operation by a constant struct
 * tn_operation, its shape rule and its kernels, and adds it to graphs by tn_custom(). Programs,
 * tn_check_gradients() and clusters then treat it like those of graph.h.
 *
 * Name, version and constants of an operation are part of the graph's hash; the code of its kernels
 * is not. Nodes may run different builds of it, so a kernel keeps these rules:
 *
 *   - Its result is a function of the inputs and constants alone: no state, time or random numbers.
 *   - An example's part of the result does not depend on the other examples; only the gradient of
 *     an input without the batch is a sum over them.
 *   - Sums have a fixed order. Floating-point numbers are added, subtracted, multiplied, divided,
 *     and rooted by sqrt() and sqrtf(); tn_exact_exp() and tn_exact_log() replace exp() and log(),
 *     whose last bits depend on the C library and the processor. The compiler may not join or
 *     reorder operations: -ffp-contract=off, which Tanist::tanist and tanist.pc bring, and no
 *     -ffast-math.
 *   - It writes its whole result, and allocates nothing. Several threads may call it at once.
 */
#ifndef TANIST_OPERATION_H
#define TANIST_OPERATION_H

#include "tanist/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_OPERATION_INPUTS_MAX = 6, TN_OPERATION_INTEGERS_MAX = 8, TN_OPERATION_NUMBERS_MAX = 2 };

/* The constants of one use of an operation; what they mean is up to the operation. */
struct tn_constants {
    int64_t integers[TN_OPERATION_INTEGERS_MAX];
    double numbers[TN_OPERATION_NUMBERS_MAX];
};

/* The type and shape of a value; shape.dims[0] may be TN_BATCH. */
struct tn_value {
    enum tn_type type;
    struct tn_shape shape;
};

/* A call of a kernel. Shapes have no TN_BATCH. No two values overlap. */
struct tn_kernel_call {
    size_t struct_size;
    const struct tn_constants *constants;
    uint32_t input_count;
    const struct tn_view *inputs;
    struct tn_view output; /* Written by forward, read by backward. */
    /* Backward only: the gradient of the output, and that of input `input`, which is written. */
    uint32_t input;
    struct tn_view output_gradient, input_gradient;
};

typedef void (*tn_kernel)(const struct tn_kernel_call *call);

/* An operation with one result. It outlives its graphs and programs: make it a constant. */
struct tn_operation {
    size_t struct_size; /* sizeof of this struct. */
    const char *name;   /* As in graph.h; unique in a graph. */
    uint32_t version;   /* At least 1: raise it when the kernels compute something else. */
    uint32_t inputs;    /* 1 to TN_OPERATION_INPUTS_MAX. */

    /* Set the type and shape of the output, which has the batch exactly if an input has it. NULL:
     * those of input 0. False: the inputs do not fit; the reason and remedy are written to `why`,
     * TN_ERROR_TEXT_MAX bytes. */
    bool (*infer)(const struct tn_value *inputs, const struct tn_constants *constants,
                  struct tn_value *output, char *why);

    tn_kernel forward;
    /* Called once for each input of float32 whose gradient is needed. NULL: no gradient, and a loss
     * that depends on a variable through this operation is refused. */
    tn_kernel backward;
    /* The same with double in the place of float, in all views of TN_FLOAT32: gradients are checked
     * in double precision. */
    tn_kernel forward_double, backward_double;
};

/* Append `operation`, which is kept, with its inputs, operation->inputs in number. `constants` are
 * copied; NULL: all are zero. The graph then has the error TN_EINVAL if the description is not
 * complete, or if another operation of this name is in the graph. */
TN_API tn_tensor tn_custom(struct tn_graph *graph, const struct tn_operation *operation,
                           const tn_tensor *inputs, const struct tn_constants *constants);

/* exp() and log() with the same bits on every machine and relative errors below 1e-15. Beyond
 * exp(700) and exp(-700) are infinity and 0; the log of less than the least normal number is
 * -infinity. */
TN_API double tn_exact_exp(double x);
TN_API double tn_exact_log(double x);

#ifdef __cplusplus
}
#endif
#endif
