/* graph/reference/dropout.c: dropout. */
#include "common/base/random.h"
#include "graph/ops/ops.h"
#include "graph/reference/philox.h"
#include "graph/reference/real.h"

/* An element is dropped if its random bits are below rate * 2^32. */
static void dropout(const struct kernel_call *call)
{
    const struct attributes *attributes = &call->node->attributes;
    const real *x = real_input(call, 0);
    real *y = real_output(call, 0), rate = (real)attributes->numbers[0];
    real factor = 1 / (1 - rate);
    uint32_t limit = (uint32_t)((double)rate * 0x1p32);
    uint64_t key = random_at(call->seed, (uint64_t)attributes->integers[0], 0);
    bool batch = attributes->integers[1] != 0;
    int64_t examples = batch ? call->out[0].shape.dims[0] : 1;
    int64_t elements = output_elements(call) / examples;
    for (int64_t e = 0; e < examples; e++) {
        uint32_t example = batch ? (uint32_t)(call->first_example + (uint64_t)e) : 0;
        for (int64_t i = 0; i < elements; i++, x++, y++) {
            bool is_dropped = philox_bits(key, call->step, example, (uint64_t)i) < limit;
            *y = is_dropped ? (real)0 : *x * factor;
        }
    }
}

const struct kernel_row REAL(reference_dropout)[] = {
    {&op_dropout, dropout},
    {NULL, NULL},
};
