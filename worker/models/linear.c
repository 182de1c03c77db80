/* worker/models/linear.c: linear regression, outputs = inputs weights + bias, squared error. */
#include <assert.h>

#include "worker/models/models.h"

static enum tn_status describe(const struct model_config *config, struct variable_table *table,
                               struct error *error)
{
    if (config->hidden_count != 0) {
        return error_set(
            error, TN_EINVAL,
            "model.hidden has %u layers, but model.type 'linear' has none: remove them",
            config->hidden_count);
    }
    const uint32_t shape[] = {config->inputs, config->outputs};
    enum tn_status status = variable_table_add(table, "weights", 2, shape, VARIABLE_ZEROS, error);
    if (status == TN_OK) {
        status = variable_table_add(table, "bias", 1, &config->outputs, VARIABLE_ZEROS, error);
    }
    return status;
}

static size_t scratch_floats(const struct model_config *config, uint32_t examples_max)
{
    return (size_t)config->outputs * examples_max;
}

/* Replaces the outputs in scratch by the gradient of the loss with respect to them. Returns the sum
 * of the losses. */
static double forward(const struct model *model, const float *values,
                      const struct examples *examples, float scale)
{
    assert(examples->targets != NULL);
    assert(examples->count <= model->examples_max);
    const struct kernels *kernels = model->kernels;
    size_t rows = examples->count, outputs = model->config.outputs;
    kernels->multiply(false, false, rows, outputs, model->config.inputs, examples->inputs, values,
                      model->scratch);
    kernels->add_bias(rows, outputs, values + model->table.variables[1].offset, model->scratch);
    return kernels->squared_error(rows, outputs, model->scratch, examples->targets, scale);
}

static double gradient(const struct model *model, const float *values,
                       const struct examples *examples, float scale, float *gradient_out)
{
    size_t rows = examples->count, outputs = model->config.outputs;
    double loss_sum = forward(model, values, examples, scale);
    model->kernels->multiply(true, false, model->config.inputs, outputs, rows, examples->inputs,
                             model->scratch, gradient_out);
    model->kernels->sum_rows(rows, outputs, model->scratch,
                             gradient_out + model->table.variables[1].offset);
    return loss_sum;
}

static void evaluate(const struct model *model, const float *values,
                     const struct examples *examples, struct evaluation_sum *add_to)
{
    add_to->loss_sum += forward(model, values, examples, 1.0F);
}

const struct model_type model_linear = {
    .name = "linear",
    .is_classifier = false,
    .describe = describe,
    .scratch_floats = scratch_floats,
    .gradient = gradient,
    .evaluate = evaluate,
};
