#include "graph/ops/registry.h"

#include <assert.h>
#include <string.h>

#include "graph/ops/ops.h"

static const struct op_type *const operations[] = {
    &op_placeholder,   &op_variable, &op_constant, &op_loss_seed, &op_add,
    &op_subtract,      &op_multiply, &op_divide,   &op_scale,     &op_power,
    &op_sqrt,          &op_exp,      &op_log,      &op_clip,      &op_clip_gradient,
    &op_copy,          &op_matmul,   &op_sum,      &op_broadcast, &op_reshape,
    &op_stop_gradient, &op_permute,  &op_concat,   &op_slice,     &op_pad,
};

const struct op_type *const *op_all(uint32_t *count)
{
    assert(count != NULL);
    *count = sizeof operations / sizeof operations[0];
    return operations;
}

const struct op_type *op_find(const char *name)
{
    assert(name != NULL);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (strcmp(operations[i]->name, name) == 0) { return operations[i]; }
    }
    return NULL;
}
