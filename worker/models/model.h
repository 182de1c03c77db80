/*
 * worker/models/model.h: a model as the worker uses it: its variables, the gradient of a slice, and
 * evaluation. Each model is one file in worker/models/; a new one implements `struct model_type`
 * and is added to the table in model.c.
 *
 * The gradient of a slice is the sum over its examples of d loss / d values, times `scale`. With
 * scale = 1 / (global batch), summing slices over the tree of common/cluster/slices.h gives the
 * mean gradient. Equal inputs give equal bits on nodes with equal kernel fingerprints.
 *
 * Threads: a model belongs to one thread at a time. Nothing blocks; only model_open() allocates.
 */
#ifndef WORKER_MODELS_MODEL_H
#define WORKER_MODELS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/cluster/job.h"
#include "common/cluster/variables.h"
#include "kernels/kernels.h"

enum { MODEL_HIDDEN_MAX = JOB_HIDDEN_MAX, MODEL_TYPE_MAX = 32 };
enum { MODEL_WIDTH_MAX = 1 << 20 /* The widest layer. */, MODEL_CLASSES_MAX = 256 };

/* As in the job file: "model": {"type": "mlp", "inputs": 784, "hidden": [128], "outputs": 10}. */
struct model_config {
    char type[MODEL_TYPE_MAX]; /* "mlp", "softmax" or "linear". */
    uint32_t inputs, outputs;
    uint32_t hidden[MODEL_HIDDEN_MAX]; /* "mlp" only. */
    uint32_t hidden_count;
};

/* Examples, row by row: inputs[count][config.inputs], and either labels[count] (classifiers) or
 * targets[count][config.outputs] (regression). Borrowed. */
struct examples {
    const float *inputs;
    const uint8_t *labels;
    const float *targets;
    uint32_t count;
};

/* Sums over examples; zeroed at the start. */
struct evaluation_sum {
    double loss_sum;
    uint64_t correct; /* Classifiers only. */
    uint64_t count;
};

struct model;

/* A type of model. Only model.c calls these functions, with a config that was checked. */
struct model_type {
    const char *name;
    bool is_classifier;
    /* Fill the table. TN_EINVAL: the configuration does not fit this type. */
    enum tn_status (*describe)(const struct model_config *config, struct variable_table *table,
                               struct error *error);
    /* Floats of scratch memory for slices of up to `examples_max` examples. */
    size_t (*scratch_floats)(const struct model_config *config, uint32_t examples_max);
    /* Write the gradient to gradient_out[parameter_count]; return the sum of the losses. */
    double (*gradient)(const struct model *model, const float *values,
                       const struct examples *examples, float scale, float *gradient_out);
    void (*evaluate)(const struct model *model, const float *values,
                     const struct examples *examples, struct evaluation_sum *add_to);
};

/* Model types read the fields; other code uses the functions below. */
struct model {
    const struct model_type *type;
    const struct kernels *kernels;
    struct model_config config;
    struct variable_table table;
    uint32_t examples_max;
    float *scratch; /* Owned; 64-byte aligned. */
};

/* The type called `name`. TN_EINVAL: "unknown model.type 'x': one of mlp, softmax, linear". */
MUST_CHECK enum tn_status model_find(const char *name, const struct model_type **out,
                                     struct error *error);

/* The configuration of the job's model. */
struct model_config model_config_of_job(const struct job *job);

/* Check `config` and fill `table`. A ps needs only this. TN_EINVAL: the error names the field, its
 * value and the remedy. */
MUST_CHECK enum tn_status model_describe(const struct model_config *config,
                                         struct variable_table *table, struct error *error);

/*
 * Open a model for slices of up to `examples_max` examples (at least 1). `kernels` must outlive it.
 *
 *   TN_EINVAL  as model_describe()
 *   TN_ENOMEM  out of scratch memory; the error has the number of MB needed
 */
MUST_CHECK enum tn_status model_open(const struct model_config *config,
                                     const struct kernels *kernels, uint32_t examples_max,
                                     struct model **out, struct error *error);
void model_close(struct model *model); /* NULL is allowed. */

/*
 * Compute the gradient of one slice of 0 to examples_max examples. `values` and `gradient_out` have
 * parameter_count floats in the order of the table. `*loss_sum` is set to the sum of the losses of
 * the examples, not scaled. Labels must be below config.outputs.
 */
void model_gradient(const struct model *model, const float *values, const struct examples *examples,
                    float scale, float *gradient_out, double *loss_sum);

/* Add the losses and the correct answers of any number of examples to `*add_to`. */
void model_evaluate(const struct model *model, const float *values, const struct examples *examples,
                    struct evaluation_sum *add_to);

#endif
