/* model/onnx/elementwise.c: operations on each element, and those that keep the value. */
#include <float.h>
#include <inttypes.h>
#include <string.h>

#include "model/onnx/node.h"

static tn_tensor relu(struct tn_graph *graph, tn_tensor x)
{
    return tn_activate(graph, x, TN_RELU);
}

static tn_tensor hyperbolic(struct tn_graph *graph, tn_tensor x)
{
    return tn_activate(graph, x, TN_TANH);
}

static tn_tensor negate(struct tn_graph *graph, tn_tensor x)
{
    return tn_scale(graph, x, -1);
}

static tn_tensor reciprocal(struct tn_graph *graph, tn_tensor x)
{
    return tn_power(graph, x, -1);
}

/* The graph's leaky relu has the slope 0.01. */
static void build_leaky_relu(struct onnx_call *call)
{
    const float slope = onnx_number(call, "alpha", 0.01F);
    const struct onnx_value *x = onnx_tensor_any(call, 0);
    if (x == NULL) { return; }
    tn_tensor y = tn_activate(call->graph, x->x, TN_LEAKY_RELU);
    if (slope != 0.01F) {
        tn_tensor below = relu(call->graph, negate(call->graph, x->x));
        y = tn_subtract(call->graph, relu(call->graph, x->x), tn_scale(call->graph, below, slope));
    }
    onnx_put_ordered(call, y, x->order, x->rank);
}

/* The graph's gelu is the approximation by tanh. */
static void build_gelu(struct onnx_call *call)
{
    static const float root_of_half = 0.70710678F;
    char approximation[32];
    onnx_text(call, "approximate", approximation);
    const struct onnx_value *x = onnx_tensor_any(call, 0);
    if (x == NULL) { return; }
    tn_tensor y = tn_activate(call->graph, x->x, TN_GELU);
    if (strcmp(approximation, "tanh") != 0) {
        tn_tensor erf = tn_erf(call->graph, tn_scale(call->graph, x->x, root_of_half));
        tn_tensor sum = tn_add(call->graph, x->x, tn_multiply(call->graph, x->x, erf));
        y = tn_scale(call->graph, sum, 0.5F);
    }
    onnx_put_ordered(call, y, x->order, x->rank);
}

/* As the last operation before the loss, it may be part of that. */
static void build_sigmoid(struct onnx_call *call)
{
    const struct onnx_value *x = onnx_tensor_any(call, 0);
    if (x == NULL) { return; }
    struct onnx_value value = {.kind = ONNX_TENSOR, .rank = x->rank};
    value.x = tn_activate(call->graph, x->x, TN_SIGMOID);
    memcpy(value.order, x->order, sizeof value.order);
    value.last = ONNX_LAST_SIGMOID;
    value.logits = x->x;
    onnx_put_value(call, value);
}

static void build_clip(struct onnx_call *call)
{
    float lowest = -FLT_MAX, highest = FLT_MAX;
    const struct onnx_value *x = onnx_tensor_any(call, 0);
    (void)onnx_static_number(call, 1, &lowest);
    (void)onnx_static_number(call, 2, &highest);
    if (x == NULL) { return; }
    onnx_put_ordered(call, tn_clip(call->graph, x->x, lowest, highest), x->order, x->rank);
}

static void build_power(struct onnx_call *call)
{
    float exponent = 1;
    const struct onnx_value *x = onnx_tensor_any(call, 0);
    (void)onnx_static_number(call, 1, &exponent);
    if (x == NULL) { return; }
    onnx_put_ordered(call, tn_power(call->graph, x->x, exponent), x->order, x->rank);
}

/* ------------------------------------------------------------- two operands */

typedef tn_tensor (*function2)(struct tn_graph *graph, tn_tensor a, tn_tensor b);

static function2 function_of(const char *name)
{
    return strcmp(name, "Add") == 0   ? tn_add
           : strcmp(name, "Sub") == 0 ? tn_subtract
           : strcmp(name, "Mul") == 0 ? tn_multiply
                                      : tn_divide;
}

static bool same_order(const struct onnx_value *a, const struct onnx_value *b)
{
    return a->rank == b->rank && memcmp(a->order, b->order, a->rank * sizeof *a->order) == 0;
}

/* Values whose dimensions are ordered alike, and numbers, need no permutation. */
static void build_binary(struct onnx_call *call)
{
    const function2 apply = function_of(call->operation->name);
    const struct onnx_value *a = onnx_tensor_any(call, 0), *b = onnx_tensor_any(call, 1);
    if (a == NULL || b == NULL) { return; }
    if (a->rank == 0 || b->rank == 0 || same_order(a, b)) {
        const struct onnx_value *larger = a->rank == 0 ? b : a;
        onnx_put_ordered(call, apply(call->graph, a->x, b->x), larger->order, larger->rank);
        return;
    }
    tn_tensor left = onnx_tensor(call, 0), right = onnx_tensor(call, 1);
    onnx_put(call, 0, apply(call->graph, left, right));
}

/* ------------------------------------------------------------- the value itself */

static void build_identity(struct onnx_call *call)
{
    struct onnx_value *x = onnx_input(call, 0);
    if (x == NULL) {
        onnx_refuse(call, "input 0 is left out: give it");
        return;
    }
    onnx_put_alias(call, x);
}

/* Elements are dropped in training, whatever the mode in the file is. */
static void build_dropout(struct onnx_call *call)
{
    float rate = onnx_number(call, "ratio", 0.5F);
    char name[32];
    const struct onnx_value *x = onnx_tensor_any(call, 0);
    (void)onnx_static_number(call, 1, &rate);
    if (onnx_output_count(call) > 1) { onnx_refuse(call, "output 1 (mask) is not supported"); }
    if (x == NULL || onnx_failed(call->import)) { return; }
    onnx_node_name(call, name);
    tn_tensor y = rate != 0 ? tn_dropout(call->graph, name, x->x, rate) : x->x;
    onnx_put_ordered(call, y, x->order, x->rank);
}

enum { FLOAT_TYPE = 1, INT32_TYPE = 6, INT64_TYPE = 7 };

static void build_cast(struct onnx_call *call)
{
    const int64_t to = onnx_integer(call, "to", 0);
    struct onnx_value *x = onnx_input(call, 0);
    if (x == NULL) {
        onnx_refuse(call, "input 0 is left out: give it");
        return;
    }
    const bool integers = to == INT32_TYPE || to == INT64_TYPE;
    const enum tn_type type = x->kind == ONNX_TENSOR ? tn_type_of(call->graph, x->x) : TN_FLOAT32;
    const bool has_integers =
        x->kind == ONNX_TENSOR ? type != TN_FLOAT32 : x->given.integers != NULL;
    if (integers ? has_integers : to == FLOAT_TYPE && !has_integers) {
        onnx_put_alias(call, x);
    } else if (to == FLOAT_TYPE && x->kind == ONNX_TENSOR) {
        onnx_put_ordered(call, tn_cast(call->graph, x->x, TN_FLOAT32, 1), x->order, x->rank);
    } else {
        onnx_refuse(call,
                    "a cast to type %" PRId64
                    " is not supported: only integers may become floats: export "
                    "the model in float32",
                    to);
    }
}

#define FUNCTION(title, calls)                                                                     \
    {                                                                                              \
        .name = title, .build = onnx_build_function, .attributes = "", .inputs_least = 1,          \
        .inputs_most = 1, .function = calls                                                        \
    }
#define BINARY(title)                                                                              \
    {                                                                                              \
        .name = title, .build = build_binary, .attributes = "", .inputs_least = 2,                 \
        .inputs_most = 2                                                                           \
    }

const struct onnx_operation onnx_elementwise[] = {
    FUNCTION("Relu", relu),
    FUNCTION("Tanh", hyperbolic),
    FUNCTION("Exp", tn_exp),
    FUNCTION("Log", tn_log),
    FUNCTION("Sqrt", tn_sqrt),
    FUNCTION("Erf", tn_erf),
    FUNCTION("Neg", negate),
    FUNCTION("Reciprocal", reciprocal),
    {"LeakyRelu", build_leaky_relu, "alpha ", 1, 1, NULL, NULL},
    {"Gelu", build_gelu, "approximate ", 1, 1, NULL, NULL},
    {"Sigmoid", build_sigmoid, "", 1, 1, NULL, NULL},
    {"Clip", build_clip, "", 1, 3, NULL, NULL},
    {"Pow", build_power, "", 2, 2, NULL, NULL},
    BINARY("Add"),
    BINARY("Sub"),
    BINARY("Mul"),
    BINARY("Div"),
    {"Identity", build_identity, "", 1, 1, NULL, NULL},
    {"Dropout", build_dropout, "ratio seed ", 1, 3, NULL, NULL},
    {"Cast", build_cast, "to saturate ", 1, 1, NULL, NULL},
    {NULL, NULL, NULL, 0, 0, NULL, NULL},
};
