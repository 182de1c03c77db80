/* bench/plain_networks.c: see plain.h. Variables are in the order of Tanist's table: weights and
 * bias of each layer. */
#include <stdlib.h>
#include <string.h>

#include "bench/cnn.h"
#include "bench/dense.h"
#include "bench/plain.h"
#include "kernels/kernels.h"

struct mlp {
    const struct portable *kernels;
    size_t batch, inputs, hidden, outputs;
    float *packed1, *packed2[2]; /* The second one is for the backward pass. */
    float *activations, *logits, *losses, *weights, *back;
};

static float *floats(size_t count)
{
    float *memory = kernels_allocate(count);
    if (memory == NULL) { exit(1); }
    memset(memory, 0, count * sizeof *memory);
    return memory;
}

static void mlp_gradient(void *self, const float *values, const float *inputs,
                         const int32_t *labels, float *gradient)
{
    struct mlp *net = self;
    const struct portable *k = net->kernels;
    size_t batch = net->batch, in = net->inputs, hidden = net->hidden, out = net->outputs;
    const float *w1 = values, *b1 = w1 + in * hidden, *w2 = b1 + hidden, *b2 = w2 + hidden * out;
    float *d1 = gradient, *c1 = d1 + in * hidden, *d2 = c1 + hidden, *c2 = d2 + hidden * out;
    dense_pack(k, hidden, out, w2, net->packed2[1]);
    dense_forward(k, batch, in, hidden, inputs, w1, net->packed1, b1, true, net->activations);
    dense_forward(k, batch, hidden, out, net->activations, w2, net->packed2[0], b2, false,
                  net->logits);
    k->softmax->cross_entropy(batch, out, net->logits, labels, net->losses, net->logits);
    k->softmax->cross_entropy_backward(batch, out, net->logits, labels, net->weights, net->logits);
    k->reduce->sum_rows(batch, out, net->logits, out, false, c2);
    dense_gradient(k, batch, hidden, out, net->activations, net->logits, d2);
    dense_input_gradient(k, batch, hidden, out, net->logits, net->packed2[1], net->back);
    k->elementwise->gradient[ELEMENTWISE_RELU](batch * hidden, net->activations, net->back,
                                               net->back);
    k->reduce->sum_rows(batch, hidden, net->back, hidden, false, c1);
    dense_gradient(k, batch, in, hidden, inputs, net->back, d1);
}

struct plain_network plain_mlp(const struct portable *kernels, size_t batch, size_t inputs,
                               size_t hidden, size_t outputs)
{
    struct mlp *net = calloc(1, sizeof *net);
    if (net == NULL) { exit(1); }
    *net = (struct mlp){
        .kernels = kernels, .batch = batch, .inputs = inputs, .hidden = hidden, .outputs = outputs};
    net->packed1 = floats(matmul_packed_size(kernels, inputs, hidden));
    net->packed2[0] = floats(matmul_packed_size(kernels, hidden, outputs));
    net->packed2[1] = floats(matmul_packed_size(kernels, outputs, hidden));
    net->activations = floats(batch * hidden);
    net->back = floats(batch * hidden);
    net->logits = floats(batch * outputs);
    net->losses = floats(batch);
    net->weights = floats(batch);
    for (size_t i = 0; i < batch; i++) { net->weights[i] = 1.0F / (float)batch; }
    return (struct plain_network){mlp_gradient, net,
                                  (inputs + 1) * hidden + (hidden + 1) * outputs};
}

static void cnn_gradient(void *self, const float *values, const float *inputs,
                         const int32_t *labels, float *gradient)
{
    const struct cnn_parameters *parameters = (const struct cnn_parameters *)values;
    cnn_pack(self, parameters);
    cnn_step(self, parameters, inputs, labels, (struct cnn_parameters *)gradient);
}

struct plain_network plain_cnn(const struct portable *kernels, size_t batch)
{
    size_t parameters = sizeof(struct cnn_parameters) / sizeof(float);
    return (struct plain_network){cnn_gradient, cnn_open(kernels, batch), parameters};
}
