#include "tests/sim/reference.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/optimizer.h"
#include "worker/shuffle.h"

struct reference {
    struct job job;
    const struct model *model;
    const struct dataset *train;
    struct batch batch;
    struct optimizer optimizer;
    size_t parameters;
    uint32_t arrays;
    uint64_t steps; /* Number of steps computed so far. */
    float **values; /* values[s]: parameters after s steps. */
    float *state[2][OPTIMIZER_ARRAYS_MAX];
    float *gradients; /* One per slice. */
    uint32_t *indices;
};

static float *floats(size_t count)
{
    size_t bytes = (count * sizeof(float) + 63) / 64 * 64 + 64;
    float *array = aligned_alloc(64, bytes);
    assert(array != NULL);
    memset(array, 0, bytes);
    return array;
}

struct reference *reference_create(const struct job *job, const struct model *model,
                                   const struct dataset *train)
{
    struct reference *reference = calloc(1, sizeof *reference);
    assert(reference != NULL);
    reference->job = *job;
    reference->model = model;
    reference->train = train;
    reference->optimizer = optimizer_of_job(job);
    reference->parameters = (size_t)model->table.parameter_count;
    reference->arrays = optimizer_arrays(job->train.optimizer);
    struct error error;
    enum tn_status status = batch_open(train, job->train.batch, &reference->batch, &error);
    assert(status == TN_OK);
    for (int side = 0; side < 2; side++) {
        for (uint32_t a = 0; a < reference->arrays; a++) {
            reference->state[side][a] = floats(reference->parameters);
        }
    }
    reference->gradients = floats(reference->parameters * SLICES_MAX);
    reference->indices = calloc(job->train.batch, sizeof *reference->indices);
    reference->values = calloc((size_t)job->train.steps + 2, sizeof *reference->values);
    assert(reference->indices != NULL && reference->values != NULL);
    variables_init_range(&model->table, job->seed, 0, model->table.parameter_count,
                         reference->state[0][0]);
    reference->values[0] = floats(reference->parameters);
    memcpy(reference->values[0], reference->state[0][0], reference->parameters * sizeof(float));
    return reference;
}

void reference_free(struct reference *reference)
{
    if (reference == NULL) { return; }
    for (uint64_t s = 0; s <= reference->steps; s++) { free(reference->values[s]); }
    for (int side = 0; side < 2; side++) {
        for (uint32_t a = 0; a < reference->arrays; a++) { free(reference->state[side][a]); }
    }
    batch_close(&reference->batch);
    free(reference->values);
    free(reference->gradients);
    free(reference->indices);
    free(reference);
}

/* The sum of a node of the tree, by definition, into the gradients of its first slice. */
static void sum_node(struct reference *reference, struct slice_node node)
{
    if (node.count == 1) { return; }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    sum_node(reference, left);
    sum_node(reference, right);
    float *into = reference->gradients + left.first * reference->parameters;
    const float *from = reference->gradients + right.first * reference->parameters;
    for (size_t i = 0; i < reference->parameters; i++) { into[i] += from[i]; }
}

static void compute_step(struct reference *reference, uint64_t step)
{
    const struct job *job = &reference->job;
    int now = (int)(step % 2), next = 1 - now;
    for (uint32_t v = 0; v < job->train.slices; v++) {
        struct slice_range range = slices_positions(job->train.slices, job->train.batch, v);
        shuffle_batch(job->seed, reference->train->examples, job->train.batch, step, range.first,
                      range.count, reference->indices);
        struct examples examples =
            dataset_gather(reference->train, reference->indices, range.count, &reference->batch);
        double loss;
        model_gradient(reference->model, reference->state[now][0], &examples,
                       1.0f / (float)job->train.batch,
                       reference->gradients + v * reference->parameters, &loss);
    }
    sum_node(reference, (struct slice_node){0, job->train.slices});
    const float *in[OPTIMIZER_ARRAYS_MAX] = {0};
    float *out[OPTIMIZER_ARRAYS_MAX] = {0};
    for (uint32_t a = 0; a < reference->arrays; a++) {
        in[a] = reference->state[now][a];
        out[a] = reference->state[next][a];
    }
    optimizer_apply(&reference->optimizer, reference->model->kernels, step, reference->parameters,
                    reference->gradients, in, out);
    reference->values[step + 1] = floats(reference->parameters);
    memcpy(reference->values[step + 1], out[0], reference->parameters * sizeof(float));
}

const float *reference_values(struct reference *reference, uint64_t step)
{
    assert(step <= reference->job.train.steps);
    while (reference->steps < step) {
        compute_step(reference, reference->steps);
        reference->steps++;
    }
    return reference->values[step];
}

size_t reference_parameters(const struct reference *reference)
{
    return reference->parameters;
}

struct digest reference_digest(struct reference *reference, uint64_t step)
{
    return digest_of(reference_values(reference, step), reference->parameters * sizeof(float));
}

/* ---------------------------------------------------------------- ledger */

static double ledger_gradient(const struct model *model, const float *values,
                              const struct examples *examples, float scale, float *gradient_out)
{
    (void)values;
    size_t width = (size_t)model->table.parameter_count;
    memset(gradient_out, 0, width * sizeof *gradient_out);
    for (uint32_t e = 0; e < examples->count; e++) {
        for (size_t i = 0; i < width; i++) {
            gradient_out[i] -= scale * examples->inputs[e * width + i];
        }
    }
    return 0;
}

static void ledger_score(const struct model *model, const float *values,
                         const struct examples *examples, struct evaluation_sum *add_to)
{
    (void)model;
    (void)values;
    add_to->count += examples->count;
}

static size_t ledger_scratch(const struct model_config *config, uint32_t examples_max)
{
    (void)config;
    (void)examples_max;
    return 0;
}

static const struct model_type ledger_type = {
    .name = "ledger",
    .is_classifier = false,
    .scratch_floats = ledger_scratch,
    .gradient = ledger_gradient,
    .evaluate = ledger_score,
};

struct model *ledger_open(uint32_t examples, const struct kernels *kernels, uint32_t examples_max)
{
    struct model *model = calloc(1, sizeof *model);
    assert(model != NULL);
    model->type = &ledger_type;
    model->kernels = kernels;
    model->config.inputs = examples;
    model->config.outputs = 1;
    model->examples_max = examples_max;
    struct error error;
    enum tn_status status =
        variable_table_add(&model->table, "uses", 1, &examples, VARIABLE_ZEROS, &error);
    assert(status == TN_OK);
    return model;
}

void ledger_close(struct model *model)
{
    free(model);
}

struct dataset *ledger_dataset(uint32_t examples)
{
    struct dataset *dataset = calloc(1, sizeof *dataset);
    assert(dataset != NULL);
    dataset->examples = examples;
    dataset->inputs = examples;
    dataset->outputs = 1;
    dataset->input_floats = floats((size_t)examples * examples);
    dataset->targets = floats(examples);
    for (uint32_t e = 0; e < examples; e++) { dataset->input_floats[e * examples + e] = 1; }
    return dataset;
}
