#include "tests/sim/reference.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/optimizer.h"
#include "kernels/optimizer/norm.h"
#include "worker/shuffle.h"

struct reference {
    struct job job;
    const struct model *model;
    const struct kernels *kernels;
    const struct dataset *train;
    struct training *training;
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

/* One program for each size of slices. */
static struct training *open_training(const struct job *job, const struct model *model)
{
    struct training_config config = {.model = model, .kernels = "reference"};
    struct training *training = NULL;
    struct error error;
    config.gradient[0] = slices_positions(job->train.slices, job->train.batch, 0).count;
    for (uint32_t v = 1; v < job->train.slices; v++) {
        uint32_t count = slices_positions(job->train.slices, job->train.batch, v).count;
        if (count != config.gradient[0]) { config.gradient[1] = count; }
    }
    enum tn_status status = training_open(&config, &training, &error);
    assert(status == TN_OK);
    return training;
}

struct reference *reference_create(const struct job *job, const struct model *model,
                                   const struct kernels *kernels, const struct dataset *train)
{
    struct reference *reference = calloc(1, sizeof *reference);
    assert(reference != NULL);
    reference->job = *job;
    reference->model = model;
    reference->kernels = kernels;
    reference->train = train;
    reference->training = open_training(job, model);
    reference->optimizer = optimizer_of_job(job, &model->table);
    reference->parameters = (size_t)model->table.parameter_count;
    reference->arrays = optimizer_arrays(job->train.optimizer);
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
    training_close(reference->training);
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

static void compute_slice(struct reference *reference, uint64_t step, uint32_t slice)
{
    const struct job *job = &reference->job;
    struct slice_range range = slices_positions(job->train.slices, job->train.batch, slice);
    struct slice_run run = {
        .values = reference->state[step % 2][0],
        .seed = job->seed,
        .step = step,
        .first = range.first,
        .count = range.count,
        .scale = 1.0f / (float)job->train.batch,
        .gradient = reference->gradients + slice * reference->parameters,
    };
    if (range.count > 0) {
        struct fields fields = training_fields(reference->training, TN_TRAIN, range.count);
        shuffle_batch(job->seed, reference->train->examples, job->train.batch, step, range.first,
                      range.count, reference->indices);
        dataset_gather(reference->train, reference->indices, range.count, &fields);
    }
    enum tn_status status = training_gradient(reference->training, &run, NULL);
    assert(status == TN_OK);
}

static void compute_step(struct reference *reference, uint64_t step)
{
    const struct job *job = &reference->job;
    int now = (int)(step % 2), next = 1 - now;
    for (uint32_t v = 0; v < job->train.slices; v++) { compute_slice(reference, step, v); }
    sum_node(reference, (struct slice_node){0, job->train.slices});
    const float *in[OPTIMIZER_ARRAYS_MAX] = {0};
    float *out[OPTIMIZER_ARRAYS_MAX] = {0};
    for (uint32_t a = 0; a < reference->arrays; a++) {
        in[a] = reference->state[now][a];
        out[a] = reference->state[next][a];
    }
    struct norm_part part = norm_begin(0);
    norm_add(&part, reference->parameters, reference->gradients);
    reference->optimizer.norm = norm_of(&part);
    optimizer_apply(&reference->optimizer, reference->kernels, step, 0, reference->parameters,
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

struct model *ledger_open(uint32_t examples)
{
    const struct tn_variable_options zeros = {.init = TN_INIT_ZEROS};
    struct tn_graph *graph = NULL;
    struct model *model = NULL;
    struct error error;
    enum tn_status status = tn_graph_create(&graph, NULL);
    assert(status == TN_OK);
    tn_tensor inputs =
        tn_placeholder(graph, "inputs", TN_FLOAT32, TN_SHAPE(TN_BATCH, (int64_t)examples));
    tn_tensor uses = tn_variable(graph, "uses", TN_SHAPE((int64_t)examples), &zeros);
    tn_tensor own = tn_sum(graph, tn_multiply(graph, inputs, uses), (uint32_t[]){1}, 1);
    tn_loss(graph, tn_scale(graph, own, -1), 1);
    status = model_open_graph(graph, &model, &error);
    assert(status == TN_OK);
    return model;
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
