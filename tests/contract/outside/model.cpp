// A program with a model of its own, in C++.
#include <tanist/tanist.h>

static void build(tn_graph *graph, const tn_build *about, void *)
{
    tn_tensor x = tn_placeholder(graph, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, about->inputs));
    tn_tensor y = tn_placeholder(graph, "labels", TN_UINT8, TN_SHAPE(TN_BATCH));
    tn_tensor logits = tn_dense(graph, "logits", x, about->outputs, TN_LINEAR);
    tn_loss(graph, tn_softmax_cross_entropy(graph, logits, y), 1);
    tn_metric(graph, "accuracy", tn_is_correct(graph, logits, y));
}

TN_MODEL_WITH("classes", build, R"({"model": {"inputs": 16, "outputs": 3},
    "data": {"type": "synthetic", "examples": 256, "test_examples": 64}, "train": {"steps": 20}})",
              nullptr)

int main(int argc, char **argv)
{
    return tn_main(argc, argv, &tanist_model);
}
