/* graph/portable/dropout.c: dropout, example by example. */
#include "kernels/portable/dropout.h"

#include "common/base/random.h"
#include "graph/ops/ops.h"
#include "graph/portable/table.h"

static void dropout(const struct kernel_call *call)
{
    const struct attributes *attributes = &call->node->attributes;
    const float *x = float_input(call, 0);
    float *y = float_output(call, 0);
    bool has_batch = attributes->integers[1] != 0;
    size_t examples = has_batch ? (size_t)call->out[0].shape.dims[0] : 1;
    size_t elements = elements_of(&call->out[0]) / examples;
    struct dropout_stream stream = {
        .key = random_at(call->seed, (uint64_t)attributes->integers[0], 0),
        .step = call->step,
        .example = has_batch ? (uint32_t)call->first_example : 0,
    };
    for (size_t e = 0; e < examples; e++, x += elements, y += elements, stream.example++) {
        kernels_of(call)->dropout->apply(&stream, elements, (float)attributes->numbers[0], x, y);
    }
}

const struct portable_row portable_dropout[] = {
    {&op_dropout, dropout, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
