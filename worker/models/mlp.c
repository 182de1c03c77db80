/*
 * worker/models/mlp.c: fully connected layers with relu between them, softmax and cross entropy at
 * the end. Without a hidden layer it is softmax regression, which uses the same code.
 *
 * Layer l maps widths[l] to widths[l + 1] by weights[widths[l]][widths[l + 1]] and a bias; its
 * variables have the numbers 2 l and 2 l + 1 in the table.
 */
#include <assert.h>
#include <stdio.h>

#include "common/base/minmax.h"
#include "worker/models/models.h"

enum { LAYERS_MAX = MODEL_HIDDEN_MAX + 1 };

struct layers {
    uint32_t count;
    uint32_t widths[LAYERS_MAX + 1]; /* Inputs, hidden layers, outputs. */
};

static struct layers layers_of(const struct model_config *config)
{
    assert(config->hidden_count <= MODEL_HIDDEN_MAX);
    struct layers layers = {.count = config->hidden_count + 1};
    layers.widths[0] = config->inputs;
    for (uint32_t i = 0; i < config->hidden_count; i++) {
        layers.widths[i + 1] = config->hidden[i];
    }
    layers.widths[layers.count] = config->outputs;
    return layers;
}

static enum tn_status describe(const struct model_config *config, struct variable_table *table,
                               struct error *error)
{
    struct layers layers = layers_of(config);
    enum tn_status status = TN_OK;
    for (uint32_t l = 0; l < layers.count && status == TN_OK; l++) {
        bool last = l + 1 == layers.count;
        char layer[32] = "output", name[VARIABLE_NAME_MAX];
        if (!last && snprintf(layer, sizeof layer, "hidden%u", l + 1) < 0) { return TN_EINTERNAL; }
        if (snprintf(name, sizeof name, "%s/weights", layer) < 0) { return TN_EINTERNAL; }
        status = variable_table_add(table, name, 2, &layers.widths[l],
                                    last ? VARIABLE_GLOROT_UNIFORM : VARIABLE_HE_NORMAL, error);
        if (status != TN_OK) { break; }
        if (snprintf(name, sizeof name, "%s/bias", layer) < 0) { return TN_EINTERNAL; }
        status = variable_table_add(table, name, 1, &layers.widths[l + 1], VARIABLE_ZEROS, error);
    }
    return status;
}

/* Scratch memory has the output of each layer and two gradients of the output of the widest hidden
 * layer: one is read while the other is written. */
static size_t widest_hidden(const struct layers *layers)
{
    uint32_t widest = 0;
    for (uint32_t l = 1; l < layers->count; l++) { widest = u32_max(widest, layers->widths[l]); }
    return widest;
}

static size_t scratch_floats(const struct model_config *config, uint32_t examples_max)
{
    struct layers layers = layers_of(config);
    size_t floats = 2 * widest_hidden(&layers);
    for (uint32_t l = 0; l < layers.count; l++) { floats += layers.widths[l + 1]; }
    return floats * examples_max;
}

static float *output_of(const struct model *model, const struct layers *layers, uint32_t layer)
{
    assert(layer <= layers->count);
    float *at = model->scratch;
    for (uint32_t l = 0; l < layer; l++) {
        at += (size_t)layers->widths[l + 1] * model->examples_max;
    }
    return at;
}

/* Compute the output of every layer. Returns the logits. */
static float *forward(const struct model *model, const struct layers *layers, const float *values,
                      const struct examples *examples)
{
    const struct kernels *kernels = model->kernels;
    assert(examples->labels != NULL);
    assert(examples->count <= model->examples_max);
    const float *in = examples->inputs;
    float *out = NULL;
    for (uint32_t l = 0; l < layers->count; l++) {
        const struct variable *weights = &model->table.variables[2 * l];
        size_t width = layers->widths[l + 1];
        out = output_of(model, layers, l);
        kernels->multiply(false, false, examples->count, width, layers->widths[l], in,
                          values + weights->offset, out);
        kernels->add_bias(examples->count, width, values + weights[1].offset, out);
        if (l + 1 < layers->count) { kernels->relu(examples->count * width, out); }
        in = out;
    }
    return out;
}

/* Propagate `upper`, the gradient of the last layer's output, down through the layers. */
static void backward(const struct model *model, const struct layers *layers, const float *values,
                     const struct examples *examples, const float *upper, float *gradient_out)
{
    assert(layers->count >= 1);
    const struct kernels *kernels = model->kernels;
    size_t rows = examples->count;
    float *lower = output_of(model, layers, layers->count);
    float *spare = lower + widest_hidden(layers) * model->examples_max;
    for (uint32_t l = layers->count; l-- > 0;) {
        const struct variable *weights = &model->table.variables[2 * l];
        size_t inputs = layers->widths[l], outputs = layers->widths[l + 1];
        const float *in = l == 0 ? examples->inputs : output_of(model, layers, l - 1);
        kernels->multiply(true, false, inputs, outputs, rows, in, upper,
                          gradient_out + weights->offset);
        kernels->sum_rows(rows, outputs, upper, gradient_out + weights[1].offset);
        if (l == 0) { break; }
        kernels->multiply(false, true, rows, inputs, outputs, upper, values + weights->offset,
                          lower);
        kernels->relu_backward(rows * inputs, in, lower);
        float *written = lower;
        upper = written;
        lower = spare;
        spare = written;
    }
}

static double gradient(const struct model *model, const float *values,
                       const struct examples *examples, float scale, float *gradient_out)
{
    struct layers layers = layers_of(&model->config);
    float *logits = forward(model, &layers, values, examples);
    double loss_sum = model->kernels->softmax_cross_entropy(examples->count, model->config.outputs,
                                                            logits, examples->labels, scale);
    backward(model, &layers, values, examples, logits, gradient_out);
    return loss_sum;
}

static void evaluate(const struct model *model, const float *values,
                     const struct examples *examples, struct evaluation_sum *add_to)
{
    struct layers layers = layers_of(&model->config);
    float *logits = forward(model, &layers, values, examples);
    add_to->correct += model->kernels->count_correct(examples->count, model->config.outputs, logits,
                                                     examples->labels);
    add_to->loss_sum += model->kernels->softmax_cross_entropy(
        examples->count, model->config.outputs, logits, examples->labels, 1.0F);
}

const struct model_type model_mlp = {
    .name = "mlp",
    .is_classifier = true,
    .describe = describe,
    .scratch_floats = scratch_floats,
    .gradient = gradient,
    .evaluate = evaluate,
};

static enum tn_status describe_softmax(const struct model_config *config,
                                       struct variable_table *table, struct error *error)
{
    if (config->hidden_count != 0) {
        return error_set(error, TN_EINVAL,
                         "model.hidden has %u layers, but model.type 'softmax' has none: remove "
                         "them or use 'mlp'",
                         config->hidden_count);
    }
    return describe(config, table, error);
}

const struct model_type model_softmax = {
    .name = "softmax",
    .is_classifier = true,
    .describe = describe_softmax,
    .scratch_floats = scratch_floats,
    .gradient = gradient,
    .evaluate = evaluate,
};
