// A small network for images, built from C++; a mistake sticks to its graph.
#include <cstdio>
#include <cstring>
#include <tanist/tanist.h>

static tn_tensor network(tn_graph *graph, tn_tensor images)
{
    tn_window window = {};
    window.height = window.width = 3;
    window.same = true;
    tn_tensor x = tn_conv(graph, "conv", images, 4, window, TN_RELU);
    return tn_dense(graph, "logits", tn_global_mean_pool(graph, x), 10, TN_LINEAR);
}

int main()
{
    tn_graph *graph = nullptr;
    tn_error error = {};
    if (tn_graph_create(&graph, &error) != TN_OK) { return 1; }
    tn_tensor images = tn_placeholder(graph, "images", TN_FLOAT32, TN_SHAPE(TN_BATCH, 8, 8, 1));
    tn_tensor labels = tn_placeholder(graph, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
    tn_loss(graph, tn_softmax_cross_entropy(graph, network(graph, images), labels), 1);
    double worst = 1;
    if (tn_check_gradients(graph, 2, 16, 1, &worst, &error) != TN_OK || !(worst < 1e-4)) {
        std::fprintf(stderr, "%s (%g)\n", error.text, worst);
        return 1;
    }
    tn_reshape(graph, images, TN_SHAPE(TN_BATCH, 63));
    const bool refused = tn_graph_status(graph, &error) == TN_EINVAL;
    std::printf("%s\n", refused ? "refused" : "accepted");
    tn_graph_destroy(graph);
    return refused ? 0 : 1;
}
