/* graph/reference/custom.c: calls of the kernels that come with operations of the user. */
#include "graph/ops/ops.h"
#include "graph/reference/real.h"

#ifdef REFERENCE_WIDE
#define FORWARD(operation)  (operation)->forward_double
#define BACKWARD(operation) (operation)->backward_double
#else
#define FORWARD(operation)  (operation)->forward
#define BACKWARD(operation) (operation)->backward
#endif

static void custom(const struct kernel_call *call)
{
    const struct attributes *attributes = &call->node->attributes;
    const struct tn_constants constants = custom_constants(attributes);
    const struct tn_kernel_call user = {
        .struct_size = sizeof user,
        .constants = &constants,
        .input_count = call->node->input_count,
        .inputs = call->in,
        .output = call->out[0],
    };
    FORWARD(attributes->custom)(&user);
}

/* The inputs of the operation are followed by its output and the gradient of that. */
static void custom_gradient(const struct kernel_call *call)
{
    const struct attributes *attributes = &call->node->attributes;
    const struct tn_constants constants = custom_constants(attributes);
    const uint32_t count = call->node->input_count - 2;
    const struct tn_kernel_call user = {
        .struct_size = sizeof user,
        .constants = &constants,
        .input_count = count,
        .inputs = call->in,
        .output = call->in[count],
        .input = custom_gradient_input(call->node),
        .output_gradient = call->in[count + 1],
        .input_gradient = call->out[0],
    };
    BACKWARD(attributes->custom)(&user);
}

const struct kernel_row REAL(reference_custom)[] = {
    {&op_custom, custom},
    {&op_custom_gradient, custom_gradient},
    {NULL, NULL},
};
