/*
 * A custom operation: a layer of bells, units that answer to inputs near their centers, and
 * its kernels. `./bell` trains; `./bell check` compares its gradients with central differences.
 */
#include <stdio.h>
#include <string.h>
#include <tanist/tanist.h>

#define REAL       float
#define NAME(name) name##_float
#include "bell_kernels.h"
#undef REAL
#undef NAME
#define REAL       double
#define NAME(name) name##_double
#include "bell_kernels.h"

enum { EXAMPLES = 3, SAMPLES = 8, SEED = 1 };

/* x[batch][features], centers[units][features] -> [batch][units]. */
static bool infer(const struct tn_value *inputs, const struct tn_constants *constants,
                  struct tn_value *output, char *why)
{
    const struct tn_shape *x = &inputs[0].shape, *centers = &inputs[1].shape;
    (void)constants;
    *output = (struct tn_value){TN_FLOAT32, TN_SHAPE(x->dims[0], centers->dims[0])};
    if (inputs[0].type == TN_FLOAT32 && x->rank == 2 && centers->rank == 2 &&
        x->dims[1] == centers->dims[1]) {
        return true;
    }
    snprintf(why, TN_ERROR_TEXT_MAX, "give [batch][features] and [units][features]");
    return false;
}

static const struct tn_operation bells = {
    .struct_size = sizeof bells,
    .name = "bells",
    .version = 1,
    .inputs = 2,
    .infer = infer,
    .forward = forward_float,
    .backward = backward_float,
    .forward_double = forward_double,
    .backward_double = backward_double,
};

static tn_tensor bell_layer(struct tn_graph *g, const char *name, tn_tensor x, int64_t units,
                            double sharpness)
{
    const struct tn_variable_options spread = {.init = TN_INIT_NORMAL, .scale = 1};
    const struct tn_constants constants = {.numbers = {sharpness}};
    const int64_t features = tn_shape_of(g, x).dims[1];
    tn_scope_begin(g, name);
    tn_tensor centers = tn_variable(g, "centers", TN_SHAPE(units, features), &spread);
    tn_tensor y = tn_custom(g, &bells, (const tn_tensor[]){x, centers}, &constants);
    tn_scope_end(g);
    return y;
}

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    (void)user;
    tn_tensor x = tn_placeholder(g, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, b->inputs));
    tn_tensor labels = tn_placeholder(g, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
    tn_tensor hidden = tn_dense(g, "hidden", x, 8, TN_TANH);
    tn_tensor near = bell_layer(g, "bells", hidden, 32, 0.25);
    tn_tensor logits = tn_dense(g, "output", near, b->outputs, TN_LINEAR);
    tn_loss(g, tn_softmax_cross_entropy(g, logits, labels), 1);
    tn_metric(g, "accuracy", tn_is_correct(g, logits, labels));
}

/* Every operation's own test should do this. */
static int check(void)
{
    const struct tn_build about = {
        .struct_size = sizeof about, .options = "{}", .inputs = 8, .outputs = 3};
    struct tn_graph *graph = NULL;
    struct tn_error error = {.text = ""};
    double worst = 1;
    if (tn_graph_create(&graph, &error) == TN_OK) {
        build(graph, &about, NULL);
        (void)!tn_check_gradients(graph, SEED, EXAMPLES, SAMPLES, &worst, &error);
    }
    tn_graph_destroy(graph);
    printf("worst relative difference: %.1e %s\n", worst, error.text);
    return worst < 1e-4 ? 0 : 1;
}

TN_MODEL_WITH("bell", build,
              "{\"model\": {\"inputs\": 8, \"outputs\": 3},"
              " \"data\": {\"type\": \"synthetic\", \"examples\": 1024, \"test_examples\": 256},"
              " \"train\": {\"steps\": 300, \"batch\": 32, \"learning_rate\": 0.2},"
              " \"cluster\": {\"ps\": 1}}",
              NULL)

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "check") == 0) { return check(); }
    return tn_main(argc, argv, &tanist_model);
}
