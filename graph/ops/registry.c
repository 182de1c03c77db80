#include "graph/ops/registry.h"

#include <assert.h>
#include <string.h>

#include "graph/ops/ops.h"

static const struct op_type *const operations[] = {
    &op_placeholder,
    &op_variable,
    &op_constant,
    &op_loss_seed,
    &op_add,
    &op_subtract,
    &op_multiply,
    &op_divide,
    &op_scale,
    &op_power,
    &op_sqrt,
    &op_exp,
    &op_log,
    &op_erf,
    &op_clip,
    &op_clip_gradient,
    &op_copy,
    &op_matmul,
    &op_matmul_add,
    &op_matmul_add_relu,
    &op_conv2d_add,
    &op_conv2d_add_relu,
    &op_conv2d_add_relu_max_pool,
    &op_conv2d_pool_gradients,
    &op_conv2d_pool_all_gradients,
    &op_sum,
    &op_broadcast,
    &op_reshape,
    &op_stop_gradient,
    &op_permute,
    &op_concat,
    &op_slice,
    &op_pad,
    &op_relu,
    &op_relu_gradient,
    &op_leaky_relu,
    &op_leaky_relu_gradient,
    &op_sigmoid,
    &op_sigmoid_gradient,
    &op_tanh,
    &op_tanh_gradient,
    &op_gelu,
    &op_gelu_gradient,
    &op_silu,
    &op_silu_gradient,
    &op_softmax,
    &op_softmax_gradient,
    &op_gather,
    &op_gather_gradient,
    &op_one_hot,
    &op_cast,
    &op_table,
    &op_lookup,
    &op_key_share,
    &op_softmax_cross_entropy,
    &op_softmax_cross_entropy_gradient,
    &op_is_correct,
    &op_squared_error,
    &op_squared_error_gradient,
    &op_absolute_error,
    &op_absolute_error_gradient,
    &op_huber_error,
    &op_huber_error_gradient,
    &op_sigmoid_cross_entropy,
    &op_sigmoid_cross_entropy_gradient,
    &op_slice_softmax_cross_entropy,
    &op_slice_softmax_cross_entropy_gradient,
    &op_is_retrieved,
    &op_conv2d,
    &op_conv2d_input_gradient,
    &op_conv2d_weights_gradient,
    &op_max_pool,
    &op_max_pool_gradient,
    &op_mean_pool,
    &op_mean_pool_gradient,
    &op_layer_norm,
    &op_layer_norm_gradient,
    &op_batch_norm,
    &op_batch_norm_gradient,
    &op_slice_moment,
    &op_dropout,
    &op_attention,
    &op_attention_gradient,
    &op_custom,
    &op_custom_gradient,
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
