/*
 * bench/cnn.h: one training step of a convolutional network for 28 x 28 images, made directly of
 * the portable kernels: conv 3 x 3 to 32 channels, relu, pool, conv 3 x 3 to 64, relu, pool, dense
 * 128, relu, dense 10, cross entropy.
 */
#ifndef BENCH_CNN_H
#define BENCH_CNN_H

#include "kernels/portable/portable.h"

enum {
    CNN_SIDE = 28,
    CNN_PIXELS = CNN_SIDE * CNN_SIDE,
    CNN_CHANNELS1 = 32,
    CNN_CHANNELS2 = 64,
    CNN_FLAT = CNN_SIDE / 4 * (CNN_SIDE / 4) * CNN_CHANNELS2,
    CNN_HIDDEN = 128,
    CNN_CLASSES = 10,
};

/* Values, or gradients, one array behind another. */
struct cnn_parameters {
    float w1[9 * CNN_CHANNELS1], b1[CNN_CHANNELS1];
    float w2[9 * CNN_CHANNELS1 * CNN_CHANNELS2], b2[CNN_CHANNELS2];
    float w3[CNN_FLAT * CNN_HIDDEN], b3[CNN_HIDDEN];
    float w4[CNN_HIDDEN * CNN_CLASSES], b4[CNN_CLASSES];
};

struct cnn;
struct cnn *cnn_open(const struct portable *kernels, size_t batch);
void cnn_close(struct cnn *net);
/* Pack the weights: once per step, for all slices. */
void cnn_pack(struct cnn *net, const struct cnn_parameters *values);
/* The gradient of the mean loss of images[batch][28][28]. */
void cnn_step(struct cnn *net, const struct cnn_parameters *values, const float *images,
              const int32_t *labels, struct cnn_parameters *gradients);

/* The same network as a program: its variables are those of cnn_parameters, in that order. */
struct tn_program;
struct tn_program *cnn_program_create(size_t batch, const float *images, const int32_t *labels);
void cnn_program_step(struct tn_program *program, size_t batch, const struct cnn_parameters *values,
                      struct cnn_parameters *gradients);

#endif
