/* bench/cnn.c: the network of cnn.h. An image passes all layers up to the dense ones by itself, so
 * that its values stay in the caches. */
#include "bench/cnn.h"

#include <stdlib.h>
#include <string.h>

#include "bench/dense.h"
#include "kernels/kernels.h"
#include "kernels/portable/conv.h"

enum { SIDE2 = CNN_SIDE / 2, POOLED1 = SIDE2 * SIDE2 * CNN_CHANNELS1 };

static const struct conv2d conv1 = {1, CNN_SIDE, CNN_SIDE, 1, 3, 3, CNN_CHANNELS1,
                                    1, 1,        1,        1, 1, 1, 1};
static const struct conv2d conv2 = {1, SIDE2, SIDE2, CNN_CHANNELS1, 3, 3, CNN_CHANNELS2, 1, 1, 1, 1,
                                    1, 1,     1};
static const struct pool2d pool1 = {1, CNN_SIDE, CNN_SIDE, CNN_CHANNELS1, 2,    2, 2,
                                    2, 0,        0,        SIDE2,         SIDE2};
static const struct pool2d pool2 = {1, SIDE2, SIDE2, CNN_CHANNELS2, 2,        2, 2,
                                    2, 0,     0,     SIDE2 / 2,     SIDE2 / 2};

struct cnn {
    const struct portable *kernels;
    size_t batch;
    /* Packed weights; the second of each pair is for the backward pass. */
    float *w1, *w2[2], *w3[2], *w4[2];
    float *pooled1, *flat, *hidden, *logits, *losses, *weights;
    uint8_t *which1, *which2;
    float *flat_gradient, *hidden_gradient, *pooled1_gradient;
    float *conv1_gradient, *conv2_gradient, *workspace;
};

static float *floats(size_t count)
{
    float *memory = kernels_allocate(count);
    if (memory == NULL) { exit(1); }
    memset(memory, 0, count * sizeof *memory);
    return memory;
}

struct cnn *cnn_open(const struct portable *kernels, size_t batch)
{
    struct cnn *net = calloc(1, sizeof *net);
    if (net == NULL) { exit(1); }
    net->kernels = kernels;
    net->batch = batch;
    net->w1 = floats(conv2d_packed_size(kernels, &conv1));
    net->w2[0] = floats(conv2d_packed_size(kernels, &conv2));
    net->w2[1] = floats(conv2d_packed_backward_size(kernels, &conv2));
    net->w3[0] = floats(matmul_packed_size(kernels, CNN_FLAT, CNN_HIDDEN));
    net->w3[1] = floats(matmul_packed_size(kernels, CNN_HIDDEN, CNN_FLAT));
    net->w4[0] = floats(matmul_packed_size(kernels, CNN_HIDDEN, CNN_CLASSES));
    net->w4[1] = floats(matmul_packed_size(kernels, CNN_CLASSES, CNN_HIDDEN));
    net->pooled1 = floats(batch * POOLED1);
    net->flat = floats(batch * CNN_FLAT);
    net->hidden = floats(batch * CNN_HIDDEN);
    net->logits = floats(batch * CNN_CLASSES);
    net->losses = floats(batch);
    net->weights = floats(batch);
    net->flat_gradient = floats(batch * CNN_FLAT);
    net->hidden_gradient = floats(batch * CNN_HIDDEN);
    net->pooled1_gradient = floats(POOLED1);
    net->conv1_gradient = floats(CNN_PIXELS * CNN_CHANNELS1);
    net->conv2_gradient = floats((size_t)SIDE2 * SIDE2 * CNN_CHANNELS2);
    net->workspace = floats(conv2d_workspace(&conv1) + conv2d_workspace(&conv2) +
                            conv2d_pack_scratch(&conv2) + 4 * CNN_SIDE * CNN_CHANNELS2);
    net->which1 = malloc(batch * POOLED1);
    net->which2 = malloc(batch * CNN_FLAT);
    if (net->which1 == NULL || net->which2 == NULL) { exit(1); }
    for (size_t i = 0; i < batch; i++) { net->weights[i] = 1.0F / (float)batch; }
    return net;
}

void cnn_close(struct cnn *net)
{
    float *const all[] = {
        net->w1,
        net->w2[0],
        net->w2[1],
        net->w3[0],
        net->w3[1],
        net->w4[0],
        net->w4[1],
        net->pooled1,
        net->flat,
        net->hidden,
        net->logits,
        net->losses,
        net->weights,
        net->flat_gradient,
        net->hidden_gradient,
        net->pooled1_gradient,
        net->conv1_gradient,
        net->conv2_gradient,
        net->workspace,
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) { free(all[i]); }
    free(net->which1), free(net->which2), free(net);
}

void cnn_pack(struct cnn *net, const struct cnn_parameters *values)
{
    conv2d_pack(net->kernels, &conv1, values->w1, net->w1);
    conv2d_pack(net->kernels, &conv2, values->w2, net->w2[0]);
    conv2d_pack_backward(net->kernels, &conv2, values->w2, net->w2[1], net->workspace);
    dense_pack(net->kernels, CNN_FLAT, CNN_HIDDEN, values->w3, net->w3[1]);
    dense_pack(net->kernels, CNN_HIDDEN, CNN_CLASSES, values->w4, net->w4[1]);
}

static void forward(struct cnn *net, const struct cnn_parameters *values, const float *images)
{
    const struct portable *k = net->kernels;
    struct conv2d_epilogue first = {values->b1, true}, second = {values->b2, true};
    for (size_t n = 0; n < net->batch; n++) {
        float *pooled1 = net->pooled1 + n * POOLED1;
        conv2d_forward_pooled(k, &conv1, 2, images + n * CNN_PIXELS, net->w1, first, pooled1,
                              net->which1 + n * POOLED1, net->workspace);
        conv2d_forward_pooled(k, &conv2, 2, pooled1, net->w2[0], second, net->flat + n * CNN_FLAT,
                              net->which2 + n * CNN_FLAT, net->workspace);
    }
    dense_forward(k, net->batch, CNN_FLAT, CNN_HIDDEN, net->flat, values->w3, net->w3[0],
                  values->b3, true, net->hidden);
    dense_forward(k, net->batch, CNN_HIDDEN, CNN_CLASSES, net->hidden, values->w4, net->w4[0],
                  values->b4, false, net->logits);
}

static void backward_dense(struct cnn *net, struct cnn_parameters *d)
{
    const struct portable *k = net->kernels;
    elementwise_gradient_function *relu = k->elementwise->gradient[ELEMENTWISE_RELU];
    float *dhidden = net->hidden_gradient, *dflat = net->flat_gradient;
    size_t batch = net->batch;
    k->reduce->sum_rows(batch, CNN_CLASSES, net->logits, CNN_CLASSES, false, d->b4);
    dense_gradient(k, batch, CNN_HIDDEN, CNN_CLASSES, net->hidden, net->logits, d->w4);
    dense_input_gradient(k, batch, CNN_HIDDEN, CNN_CLASSES, net->logits, net->w4[1], dhidden);
    relu(batch * CNN_HIDDEN, net->hidden, dhidden, dhidden);
    k->reduce->sum_rows(batch, CNN_HIDDEN, dhidden, CNN_HIDDEN, false, d->b3);
    dense_gradient(k, batch, CNN_FLAT, CNN_HIDDEN, net->flat, dhidden, d->w3);
    dense_input_gradient(k, batch, CNN_FLAT, CNN_HIDDEN, dhidden, net->w3[1], dflat);
    relu(batch * CNN_FLAT, net->flat, dflat, dflat);
}

static void backward_image(struct cnn *net, size_t n, const float *image, struct cnn_parameters *d)
{
    const struct portable *k = net->kernels;
    const float *pooled1 = net->pooled1 + n * POOLED1;
    float *dpooled1 = net->pooled1_gradient, *dy1 = net->conv1_gradient, *dy2 = net->conv2_gradient;
    size_t at = n * CNN_FLAT;
    k->pool->max_backward(&pool2, net->flat_gradient + at, net->which2 + at, dy2);
    k->reduce->sum_rows((size_t)SIDE2 * SIDE2, CNN_CHANNELS2, dy2, CNN_CHANNELS2, n > 0, d->b2);
    conv2d_backward_weights(k, &conv2, pooled1, dy2, n > 0, d->w2, net->workspace);
    conv2d_backward_data(k, &conv2, dy2, net->w2[1], dpooled1, net->workspace);
    k->elementwise->gradient[ELEMENTWISE_RELU](POOLED1, pooled1, dpooled1, dpooled1);
    k->pool->max_backward(&pool1, dpooled1, net->which1 + n * POOLED1, dy1);
    k->reduce->sum_rows(CNN_PIXELS, CNN_CHANNELS1, dy1, CNN_CHANNELS1, n > 0, d->b1);
    conv2d_backward_weights(k, &conv1, image, dy1, n > 0, d->w1, net->workspace);
}

void cnn_step(struct cnn *net, const struct cnn_parameters *values, const float *images,
              const int32_t *labels, struct cnn_parameters *gradients)
{
    const struct softmax_kernels *softmax = net->kernels->softmax;
    forward(net, values, images);
    softmax->cross_entropy(net->batch, CNN_CLASSES, net->logits, labels, net->losses, net->logits);
    softmax->cross_entropy_backward(net->batch, CNN_CLASSES, net->logits, labels, net->weights,
                                    net->logits);
    backward_dense(net, gradients);
    for (size_t n = 0; n < net->batch; n++) {
        backward_image(net, n, images + n * CNN_PIXELS, gradients);
    }
}
