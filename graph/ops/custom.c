/*
 * graph/ops/custom.c: tn_custom(): operations of the user. One type of node stands for all of them,
 * and one for their gradients: attribute `custom` is the description. The name is an attribute and
 * the version an integer, so both are part of the graph's hash, and no name meets one of Tanist's.
 */
#include <string.h>

#include "graph/ops/ops.h"

enum {
    CUSTOM_VERSION = TN_OPERATION_INTEGERS_MAX, /* Integers behind the user's. */
    CUSTOM_INPUT,                               /* Gradients: of which input. */
};
_Static_assert((int)CUSTOM_INPUT < (int)OP_INTEGERS_MAX, "all integers have a place");
_Static_assert((int)TN_OPERATION_NUMBERS_MAX <= (int)OP_NUMBERS_MAX, "all numbers have a place");
_Static_assert((int)TN_OPERATION_INPUTS_MAX + 2 <= (int)OP_INPUTS_MAX, "gradients read y and dy");

struct tn_constants custom_constants(const struct attributes *attributes)
{
    struct tn_constants constants;
    memcpy(constants.integers, attributes->integers, sizeof constants.integers);
    memcpy(constants.numbers, attributes->numbers, sizeof constants.numbers);
    return constants;
}

uint32_t custom_gradient_input(const struct node *node)
{
    assert(node->op == &op_custom_gradient);
    return (uint32_t)node->attributes.integers[CUSTOM_INPUT];
}

/* The result is one of each example if an input is, and no example depends on another. */
static enum tn_status check_batch(const struct tn_graph *graph, const struct node *node,
                                  struct error *error)
{
    bool batch = false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        batch |= shape_has_batch(input_shape(graph, node, i));
    }
    if (shape_has_batch(&node->shapes[0]) == batch) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     batch ? "its shape rule drops the batch, but an example's result must not "
                             "depend on the others: let dims[0] be TN_BATCH"
                           : "its shape rule gives a batch, but no input has one: give the shape "
                             "of the inputs");
}

static enum tn_status infer_custom(const struct tn_graph *graph, struct node *node,
                                   struct error *error)
{
    const struct tn_operation *operation = node->attributes.custom;
    const struct tn_constants constants = custom_constants(&node->attributes);
    struct tn_value inputs[OP_INPUTS_MAX], output;
    char why[TN_ERROR_TEXT_MAX] = "the shapes do not fit";
    for (uint32_t i = 0; i < node->input_count; i++) {
        inputs[i] = (struct tn_value){input_type(graph, node, i), *input_shape(graph, node, i)};
    }
    output = inputs[0];
    if (operation->infer != NULL && !operation->infer(inputs, &constants, &output, why)) {
        return error_set(error, TN_EINVAL, "%.*s", (int)sizeof why - 1, why);
    }
    if (output.type < TN_FLOAT32 || output.type > TN_UINT8 || output.shape.rank > TN_RANK_MAX) {
        return error_set(
            error, TN_EINVAL,
            "its shape rule gives type %d and rank %u: give one of enum tn_type and at "
            "most %d dimensions",
            (int)output.type, output.shape.rank, TN_RANK_MAX);
    }
    node->types[0] = output.type;
    node->shapes[0] = output.shape;
    return check_batch(graph, node, error);
}

static void gradient_of_custom(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                               tn_tensor *dx)
{
    const struct node node = *node_of(graph, self);
    struct attributes attributes = node.attributes;
    tn_tensor inputs[OP_INPUTS_MAX];
    if (attributes.custom->backward == NULL) {
        graph_fail(graph, TN_EINVAL,
                   "custom operation '%s' has no gradient, but the loss depends on a variable "
                   "through it: set its backward kernels, or use tn_stop_gradient()",
                   attributes.name);
        return;
    }
    memcpy(inputs, node.inputs, sizeof inputs);
    inputs[node.input_count] = self;
    inputs[node.input_count + 1] = dy[0];
    for (uint32_t i = 0; i < node.input_count; i++) {
        if (input_type(graph, &node, i) != TN_FLOAT32) { continue; }
        attributes.integers[CUSTOM_INPUT] = i;
        attributes.shape = *input_shape(graph, &node, i);
        dx[i] = graph_add(graph, &op_custom_gradient, inputs, node.input_count + 2, &attributes);
    }
}

const struct op_type op_custom = {
    .name = "custom",
    .version = 1,
    .inputs_min = 1,
    .inputs_max = TN_OPERATION_INPUTS_MAX,
    .outputs = 1,
    .infer = infer_custom,
    .build_gradient = gradient_of_custom,
};

const struct op_type op_custom_gradient = {
    .name = "custom_gradient",
    .version = 1,
    .inputs_min = 3,
    .inputs_max = TN_OPERATION_INPUTS_MAX + 2,
    .outputs = 1,
    .infer = infer_from_attributes,
};

/* The first fault of a description, and its remedy. NULL: none. */
static const char *find_fault(const struct tn_operation *operation)
{
    if (operation->struct_size != sizeof *operation) {
        return "struct_size is not sizeof(struct tn_operation): set it";
    }
    if (operation->version < 1) { return "its version is 0: begin with 1"; }
    if (operation->inputs < 1 || operation->inputs > TN_OPERATION_INPUTS_MAX) {
        return "it needs 1 to 6 inputs: set `inputs`";
    }
    if (operation->forward == NULL || operation->forward_double == NULL) {
        return "a kernel is missing: set forward and forward_double";
    }
    if ((operation->backward == NULL) != (operation->backward_double == NULL)) {
        return "a kernel is missing: set backward and backward_double, or neither";
    }
    return NULL;
}

static bool is_name(const char *name)
{
    const char *allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    const size_t length = name != NULL ? strnlen(name, TN_NAME_MAX) : 0;
    return length > 0 && length < TN_NAME_MAX && strspn(name, allowed) == length;
}

static tn_tensor refuse(struct tn_graph *graph, const char *name, const char *fault)
{
    return graph_fail(graph, TN_EINVAL, "custom operation '%s': %s", name, fault);
}

tn_tensor tn_custom(struct tn_graph *graph, const struct tn_operation *operation,
                    const tn_tensor *inputs, const struct tn_constants *constants)
{
    assert(graph != NULL && operation != NULL && inputs != NULL);
    if (graph_failed(graph)) { return TN_NONE; }
    const char *fault = find_fault(operation);
    if (fault == NULL && !is_name(operation->name)) {
        fault = "its name is not valid: use letters, digits, \"_\", \"-\" and \".\"";
    }
    if (fault != NULL) {
        return refuse(graph, is_name(operation->name) ? operation->name : "", fault);
    }
    tn_tensor found = graph_find(graph, &op_custom, operation->name);
    if (found.v != 0 && node_of(graph, found)->attributes.custom != operation) {
        return refuse(graph, operation->name,
                      "another one has this name: define an operation once, or rename one");
    }
    struct attributes attributes = {
        .name = found.v != 0 ? node_of(graph, found)->attributes.name
                             : graph_keep_text(graph, operation->name),
        .custom = operation,
    };
    if (constants != NULL) {
        memcpy(attributes.integers, constants->integers, sizeof constants->integers);
        memcpy(attributes.numbers, constants->numbers, sizeof constants->numbers);
    }
    attributes.integers[CUSTOM_VERSION] = operation->version;
    return graph_add(graph, &op_custom, inputs, operation->inputs, &attributes);
}
