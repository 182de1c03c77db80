/*
 * A custom loss: the error whose minimum is a quantile of the targets instead of their mean.
 * `./quantile` trains; `./quantile check` compares its gradients with central differences.
 */
#include <stdio.h>
#include <string.h>
#include <tanist/tanist.h>

enum { EXAMPLES = 3, SAMPLES = 4, SEED = 1 };

/* The mean over the outputs of max(q d, (q - 1) d), where d = target - output. */
static tn_tensor quantile_error(struct tn_graph *g, tn_tensor outputs, tn_tensor targets, float q)
{
    const uint32_t axis = 1;
    tn_tensor d = tn_subtract(g, targets, outputs);
    tn_tensor above = tn_scale(g, tn_activate(g, d, TN_RELU), q);
    tn_tensor below = tn_scale(g, tn_activate(g, tn_scale(g, d, -1), TN_RELU), 1 - q);
    return tn_mean(g, tn_add(g, above, below), &axis, 1);
}

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    (void)user;
    tn_tensor x = tn_placeholder(g, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, b->inputs));
    tn_tensor y = tn_placeholder(g, "targets", TN_FLOAT32, TN_SHAPE(TN_BATCH, b->outputs));
    tn_tensor hidden = tn_dense(g, "hidden", x, 16, TN_TANH);
    tn_tensor outputs = tn_dense(g, "output", hidden, b->outputs, TN_LINEAR);
    tn_loss(g, quantile_error(g, outputs, y, 0.9F), 1);
    tn_metric(g, "distance", tn_absolute_error(g, outputs, y));
    tn_output(g, "outputs", outputs);
}

/* Every model's own test should do this. */
static int check(void)
{
    const struct tn_build about = {
        .struct_size = sizeof about, .options = "{}", .inputs = 8, .outputs = 1};
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

TN_MODEL_WITH("quantile", build,
              "{\"model\": {\"inputs\": 8, \"outputs\": 1, \"loss\": \"squared_error\"},"
              " \"data\": {\"type\": \"synthetic\", \"examples\": 1024, \"test_examples\": 256},"
              " \"train\": {\"steps\": 300, \"batch\": 32, \"learning_rate\": 0.05},"
              " \"cluster\": {\"ps\": 1}}",
              NULL)

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "check") == 0) { return check(); }
    return tn_main(argc, argv, &tanist_model);
}
