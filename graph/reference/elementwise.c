/* graph/reference/elementwise.c: sums, differences, products and quotients with broadcasting. */
#include "graph/core/strides.h"
#include "graph/ops/ops.h"
#include "graph/reference/real.h"

#define BINARY(name, expression)                                                                   \
    static void name(const struct kernel_call *call)                                               \
    {                                                                                              \
        const real *left = real_input(call, 0), *right = real_input(call, 1);                      \
        real *out = real_output(call, 0);                                                          \
        struct walk l = walk_broadcast(&call->out[0].shape, &call->in[0].shape);                   \
        struct walk r = walk_broadcast(&call->out[0].shape, &call->in[1].shape);                   \
        for (int64_t i = 0, end = output_elements(call); i < end;                                  \
             i++, walk_next(&l), walk_next(&r)) {                                                  \
            real a = left[l.at], b = right[r.at];                                                  \
            out[i] = (expression);                                                                 \
        }                                                                                          \
    }

BINARY(add, a + b)
BINARY(subtract, a - b)
BINARY(multiply, a *b)
BINARY(divide, a / b)

const struct kernel_row REAL(reference_elementwise)[] = {
    {&op_add, add}, {&op_subtract, subtract}, {&op_multiply, multiply}, {&op_divide, divide},
    {NULL, NULL},
};
