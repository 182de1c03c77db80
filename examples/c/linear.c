/* Linear regression: `./linear` trains it in this process, `./linear run` on a cluster. */
#include <tanist/tanist.h>

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    (void)user;
    tn_tensor x = tn_placeholder(g, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, b->inputs));
    tn_tensor y = tn_placeholder(g, "targets", TN_FLOAT32, TN_SHAPE(TN_BATCH, b->outputs));
    tn_tensor outputs = tn_dense(g, "line", x, b->outputs, TN_LINEAR);
    tn_loss(g, tn_squared_error(g, outputs, y), 1);
    tn_output(g, "outputs", outputs);
}

TN_MODEL_WITH("line", build,
              "{\"model\": {\"inputs\": 8, \"outputs\": 1, \"loss\": \"squared_error\"},"
              " \"data\": {\"type\": \"synthetic\", \"examples\": 1024, \"test_examples\": 256},"
              " \"train\": {\"steps\": 300, \"batch\": 32, \"learning_rate\": 0.05},"
              " \"cluster\": {\"ps\": 1}}",
              NULL)

int main(int argc, char **argv)
{
    return tn_main(argc, argv, &tanist_model);
}
