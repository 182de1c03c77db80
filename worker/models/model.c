#include "worker/models/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"

#include "worker/models/models.h"

static const struct model_type *const types[] = {&model_mlp, &model_softmax, &model_linear, NULL};

enum tn_status model_find(const char *name, const struct model_type **out, struct error *error)
{
    *out = NULL;
    for (int i = 0; types[i] != NULL; i++) {
        if (strcmp(types[i]->name, name) == 0) { *out = types[i]; }
    }
    if (*out != NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL, "unknown model.type '%s': one of mlp, softmax, linear",
                     name);
}

struct model_config model_config_of_job(const struct job *job)
{
    struct model_config config = {
        .inputs = job->model.inputs,
        .outputs = job->model.outputs,
        .hidden_count = job->model.hidden_count,
    };
    static_assert(sizeof config.type == sizeof job->model.type, "same type names");
    static_assert(sizeof config.hidden == sizeof job->model.hidden, "same layers");
    memcpy(config.type, job->model.type, sizeof config.type);
    memcpy(config.hidden, job->model.hidden, sizeof config.hidden);
    return config;
}

static enum tn_status check_width(const char *field, uint32_t width, struct error *error)
{
    if (width >= 1 && width <= MODEL_WIDTH_MAX) { return TN_OK; }
    return error_set(error, TN_EINVAL, "%s is %u: give a number from 1 to %d", field, width,
                     MODEL_WIDTH_MAX);
}

static enum tn_status check_config(const struct model_type *type, const struct model_config *config,
                                   struct error *error)
{
    enum tn_status status = check_width("model.inputs", config->inputs, error);
    if (status == TN_OK) { status = check_width("model.outputs", config->outputs, error); }
    if (status != TN_OK) { return status; }
    if (type->is_classifier && (config->outputs < 2 || config->outputs > MODEL_CLASSES_MAX)) {
        return error_set(error, TN_EINVAL,
                         "model.outputs is %u: a classifier needs 2 to %d, one for each class",
                         config->outputs, MODEL_CLASSES_MAX);
    }
    if (config->hidden_count > MODEL_HIDDEN_MAX) {
        return error_set(error, TN_EINVAL, "model.hidden has %u layers: give at most %d",
                         config->hidden_count, MODEL_HIDDEN_MAX);
    }
    for (uint32_t i = 0; i < config->hidden_count && status == TN_OK; i++) {
        status = check_width("model.hidden", config->hidden[i], error);
    }
    return status;
}

enum tn_status model_describe(const struct model_config *config, struct variable_table *table,
                              struct error *error)
{
    const struct model_type *type;
    memset(table, 0, sizeof *table);
    enum tn_status status = model_find(config->type, &type, error);
    if (status != TN_OK) { return status; }
    assert(type != NULL);
    status = check_config(type, config, error);
    if (status == TN_OK) { status = type->describe(config, table, error); }
    return status;
}

enum tn_status model_open(const struct model_config *config, const struct kernels *kernels,
                          uint32_t examples_max, struct model **out, struct error *error)
{
    assert(examples_max >= 1);
    assert(kernels != NULL);
    *out = NULL;
    struct model *model = calloc(1, sizeof *model);
    if (model == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a model"); }
    model->config = *config;
    model->kernels = kernels;
    model->examples_max = examples_max;
    enum tn_status status = model_find(config->type, &model->type, error);
    if (status == TN_OK) { status = model_describe(config, &model->table, error); }
    if (status != TN_OK) { goto fail; }

    size_t floats = model->type->scratch_floats(config, examples_max);
    model->scratch = kernels_allocate(floats);
    if (model->scratch == NULL) {
        status = error_set(error, TN_ENOMEM,
                           "out of memory for a model: slices of %u examples need %zu MB: lower "
                           "train.batch or raise train.slices",
                           examples_max, floats / 250000);
        goto fail;
    }
    *out = model;
    return TN_OK;
fail:
    model_close(model);
    return status;
}

void model_close(struct model *model)
{
    if (model == NULL) { return; }
    free(model->scratch);
    free(model);
}

void model_gradient(const struct model *model, const float *values, const struct examples *examples,
                    float scale, float *gradient_out, double *loss_sum)
{
    assert(examples->count <= model->examples_max);
    if (examples->count == 0) {
        memset(gradient_out, 0, model->table.parameter_count * sizeof *gradient_out);
        *loss_sum = 0;
        return;
    }
    *loss_sum = model->type->gradient(model, values, examples, scale, gradient_out);
}

void model_evaluate(const struct model *model, const float *values, const struct examples *examples,
                    struct evaluation_sum *add_to)
{
    assert(values != NULL);
    for (uint32_t first = 0; first < examples->count;) {
        struct examples part = *examples;
        part.count = u32_min(examples->count - first, model->examples_max);
        part.inputs += (size_t)first * model->config.inputs;
        if (part.labels != NULL) { part.labels += first; }
        if (part.targets != NULL) { part.targets += (size_t)first * model->config.outputs; }
        model->type->evaluate(model, values, &part, add_to);
        add_to->count += part.count;
        first += part.count;
    }
}
