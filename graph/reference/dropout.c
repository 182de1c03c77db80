/* graph/reference/dropout.c: dropout. */
#include "common/base/random.h"
#include "graph/ops/ops.h"
#include "graph/reference/real.h"

/* Element k of an example is kept if the k-th number of its stream is not below the rate. */
static void dropout(const struct kernel_call *call)
{
    const struct attributes *attributes = &call->node->attributes;
    const real *x = real_input(call, 0);
    real *y = real_output(call, 0), factor = (real)(1 / (1 - attributes->numbers[0]));
    uint64_t seed = random_at(call->seed, (uint64_t)attributes->integers[0], call->step);
    int64_t examples = attributes->integers[1] != 0 ? call->out[0].shape.dims[0] : 1;
    int64_t elements = output_elements(call) / examples;
    for (int64_t e = 0; e < examples; e++) {
        uint64_t stream = attributes->integers[1] != 0 ? call->first_example + (uint64_t)e : 0;
        for (int64_t i = 0; i < elements; i++, x++, y++) {
            float unit = random_unit_at(seed, stream, (uint64_t)i);
            *y = unit < (float)attributes->numbers[0] ? (real)0 : *x * factor;
        }
    }
}

const struct kernel_row REAL(reference_dropout)[] = {
    {&op_dropout, dropout},
    {NULL, NULL},
};
