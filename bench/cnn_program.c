/* bench/cnn_program.c: the network of cnn.h as a graph and a program. */
#include <stdlib.h>
#include <string.h>

#include "bench/cnn.h"
#include "bench/measure.h"
#include "tanist/graph.h"
#include "tanist/program.h"

static tn_tensor variable(struct tn_graph *graph, const char *name, struct tn_shape shape)
{
    return tn_variable(graph, name, shape,
                       &(struct tn_variable_options){.init = TN_INIT_NORMAL, .scale = 1});
}

static tn_tensor convolve(struct tn_graph *graph, const char *name, tn_tensor x, int64_t filters)
{
    struct tn_window pool = {.height = 2, .width = 2, .stride_height = 2, .stride_width = 2};
    int64_t channels = tn_shape_of(graph, x).dims[3];
    tn_scope_begin(graph, name);
    tn_tensor weights = variable(graph, "w", TN_SHAPE(3, 3, channels, filters));
    tn_tensor bias = variable(graph, "b", TN_SHAPE(filters));
    tn_scope_end(graph);
    tn_tensor y = tn_conv2d(graph, x, weights, (struct tn_window){.same = true}, 1);
    return tn_max_pool(graph, tn_activate(graph, tn_add(graph, y, bias), TN_RELU), pool);
}

static tn_tensor dense(struct tn_graph *graph, const char *name, tn_tensor x, int64_t width,
                       enum tn_activation activation)
{
    tn_scope_begin(graph, name);
    tn_tensor weights = variable(graph, "w", TN_SHAPE(tn_shape_of(graph, x).dims[1], width));
    tn_tensor bias = variable(graph, "b", TN_SHAPE(width));
    tn_scope_end(graph);
    tn_tensor y = tn_add(graph, tn_matmul(graph, x, weights, false, false), bias);
    return tn_activate(graph, y, activation);
}

struct tn_program *cnn_program_create(size_t batch, const float *images, const int32_t *labels)
{
    struct tn_graph *graph;
    struct tn_program *program = NULL;
    struct tn_error error;
    struct tn_program_options options = {
        .struct_size = sizeof options, .mode = TN_TRAIN, .examples = (uint32_t)batch};
    if (tn_graph_create(&graph, &error) != TN_OK) { exit(1); }
    tn_tensor x = tn_placeholder(graph, "x", TN_FLOAT32, TN_SHAPE(TN_BATCH, CNN_SIDE, CNN_SIDE, 1));
    tn_tensor wanted = tn_placeholder(graph, "label", TN_INT32, TN_SHAPE(TN_BATCH));
    x = convolve(graph, "one", x, CNN_CHANNELS1);
    x = convolve(graph, "two", x, CNN_CHANNELS2);
    x = tn_reshape(graph, x, TN_SHAPE(TN_BATCH, CNN_FLAT));
    x = dense(graph, "three", x, CNN_HIDDEN, TN_RELU);
    x = dense(graph, "four", x, CNN_CLASSES, TN_LINEAR);
    tn_loss(graph, tn_softmax_cross_entropy(graph, x, wanted), 1);
    if (tn_program_create(graph, &options, &program, &error) != TN_OK) {
        measure_require(error.status, &(struct error){.status = error.status});
    }
    tn_graph_destroy(graph);
    memcpy(tn_program_field(program, "x").data, images, batch * CNN_PIXELS * sizeof *images);
    memcpy(tn_program_field(program, "label").data, labels, batch * sizeof *labels);
    return program;
}

void cnn_program_step(struct tn_program *program, size_t batch, const struct cnn_parameters *values,
                      struct cnn_parameters *gradients)
{
    struct tn_run run = {.struct_size = sizeof run,
                         .values = values->w1,
                         .scale = 1.0F / (float)batch,
                         .gradient = gradients->w1};
    if (tn_program_run(program, &run, NULL) != TN_OK) { exit(1); }
}
