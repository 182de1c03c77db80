/*
 * The convolutional network of ../cnn.json in C: the same graph, hence the same parameters.
 *
 *     ./cnn                         trains it in this process, into runs/cnn
 *     ./cnn run --dir /tmp/cnn      on a cluster on this machine
 *     ./cnn graph                   shows the graph
 */
#include <tanist/tanist.h>

static tn_tensor network(struct tn_graph *g, tn_tensor image, uint32_t classes)
{
    const struct tn_window window = {.height = 3, .width = 3, .same = true};
    const struct tn_window halve = {.height = 2, .width = 2, .stride_height = 2, .stride_width = 2};
    tn_tensor x = tn_conv(g, "conv2d1", image, 16, window, TN_RELU);
    x = tn_max_pool(g, x, halve);
    x = tn_conv(g, "conv2d3", x, 32, window, TN_RELU);
    x = tn_max_pool(g, x, halve);
    x = tn_reshape(g, x, TN_SHAPE(TN_BATCH, 7 * 7 * 32));
    x = tn_dense(g, "dense6", x, 128, TN_RELU);
    x = tn_dropout(g, "dropout7", x, 0.25F);
    return tn_dense(g, "dense8", x, classes, TN_LINEAR);
}

static void build(struct tn_graph *g, const struct tn_build *b, void *user)
{
    (void)user;
    tn_tensor image = tn_placeholder(g, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, 28, 28, 1));
    tn_tensor labels = tn_placeholder(g, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
    tn_tensor logits = network(g, image, b->outputs);
    tn_loss(g, tn_softmax_cross_entropy(g, logits, labels), 1);
    tn_metric(g, "accuracy", tn_is_correct(g, logits, labels));
    tn_output(g, "logits", logits);
}

/* The defaults of the job are those of ../cnn.json. */
TN_MODEL_WITH("cnn", build,
              "{\"model\": {\"inputs\": 784, \"outputs\": 10},"
              " \"data\": {\"type\": \"idx\", \"path\": \"/usr/share/datasets/fashion-mnist\"},"
              " \"train\": {\"kernels\": \"portable\", \"steps\": 2000, \"batch\": 256,"
              "             \"optimizer\": \"adam\", \"learning_rate\": 0.002,"
              "             \"decay_steps\": 2000},"
              " \"evaluate\": {\"every_steps\": 500},"
              " \"checkpoint\": {\"every_steps\": 500}}",
              NULL)

int main(int argc, char **argv)
{
    return tn_main(argc, argv, &tanist_model);
}
