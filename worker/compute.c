#include "worker/compute.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/digest.h"
#include "common/base/minmax.h"
#include "worker/shuffle.h"

uint32_t compute_slice_examples(const struct job *job)
{
    uint32_t most = 1;
    for (uint32_t v = 0; v < job->train.slices; v++) {
        most = u32_max(most, slices_positions(job->train.slices, job->train.batch, v).count);
    }
    return most;
}

static double spread_of_targets(const struct dataset *test)
{
    if (test == NULL || test->targets == NULL) { return 0; }
    double spread = 0;
    for (uint32_t c = 0; c < test->outputs; c++) {
        double sum = 0, squares = 0;
        for (uint32_t i = 0; i < test->examples; i++) {
            sum += (double)test->targets[(size_t)i * test->outputs + c];
        }
        double mean = sum / test->examples;
        for (uint32_t i = 0; i < test->examples; i++) {
            double deviation = (double)test->targets[(size_t)i * test->outputs + c] - mean;
            squares += deviation * deviation;
        }
        spread += squares;
    }
    return spread;
}

enum tn_status compute_open(struct compute *compute, const struct compute_config *config,
                            struct error *error)
{
    assert(config->job->train.slices <= SLICES_MAX);
    assert(config->train != NULL && config->train->examples >= 1);
    assert(config->pool != NULL);
    *compute = (struct compute){.config = *config};
    compute->parameters = config->model->table.parameter_count;
    compute->slice_examples = compute_slice_examples(config->job);
    if (config->model->examples_max < compute->slice_examples) {
        return error_set(error, TN_EINVAL,
                         "the model was opened for %" PRIu32 " examples, but a slice has %" PRIu32,
                         config->model->examples_max, compute->slice_examples);
    }
    compute->indices = calloc(compute->slice_examples, sizeof *compute->indices);
    if (compute->indices == NULL) {
        return error_set(error, TN_ENOMEM, "out of memory for a batch");
    }
    enum tn_status status =
        batch_open(config->train, compute->slice_examples, &compute->batch, error);
    if (status != TN_OK) {
        free(compute->indices);
        return status;
    }
    compute->target_spread = spread_of_targets(config->test);
    return TN_OK;
}

void compute_close(struct compute *compute)
{
    for (uint32_t i = 0; i < COMPUTE_LEVELS_MAX; i++) { buffer_release(compute->levels[i]); }
    batch_close(&compute->batch);
    free(compute->indices);
    *compute = (struct compute){0};
}

/* --------------------------------------------------------------- gradients */

static float *level(struct compute *compute, uint32_t depth)
{
    assert(depth < COMPUTE_LEVELS_MAX);
    struct buffer **buffer = &compute->levels[depth];
    if (*buffer == NULL) {
        *buffer = buffer_acquire(compute->config.pool, compute->parameters * sizeof(float));
    }
    return *buffer != NULL ? (*buffer)->data : NULL;
}

/* Add to the entry of `step` in the ring, which may still be that of an earlier step. */
static void add_loss(struct compute *compute, uint64_t step, double loss_sum, uint32_t examples)
{
    const size_t at = step % COMPUTE_RECENT_STEPS;
    if (compute->recent[at].step != step) {
        compute->recent[at].step = step;
        compute->recent[at].loss_sum = 0;
        compute->recent[at].examples = 0;
    }
    compute->recent[at].loss_sum += loss_sum;
    compute->recent[at].examples += examples;
}

static void slice_gradient(struct compute *compute, const float *values, uint64_t step,
                           uint32_t slice, float *out)
{
    const struct job *job = compute->config.job;
    assert(slice < job->train.slices);
    struct slice_range range = slices_positions(job->train.slices, job->train.batch, slice);
    shuffle_batch(job->seed, compute->config.train->examples, job->train.batch, step, range.first,
                  range.count, compute->indices);
    struct examples examples =
        dataset_gather(compute->config.train, compute->indices, range.count, &compute->batch);
    double loss_sum = 0;
    model_gradient(compute->config.model, values, &examples, 1.0f / (float)job->train.batch, out,
                   &loss_sum);
    add_loss(compute, step, loss_sum, range.count);
}

/* Sum the left subtree into this level and the right one into the next, then add them. */
static bool sum_node(struct compute *compute, const float *values, uint64_t step,
                     struct slice_node node, uint32_t depth)
{
    assert(node.count >= 1);
    float *sum = level(compute, depth);
    if (sum == NULL) { return false; }
    if (node.count == 1) {
        slice_gradient(compute, values, step, node.first, sum);
        return true;
    }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    if (!sum_node(compute, values, step, left, depth)) { return false; }
    if (!sum_node(compute, values, step, right, depth + 1)) { return false; }
    compute->config.model->kernels->add(compute->parameters, level(compute, depth + 1), sum);
    return true;
}

const float *compute_node(struct compute *compute, const float *values, uint64_t step,
                          struct slice_node node)
{
    assert(slices_is_node(compute->config.job->train.slices, node.first, node.count));
    return sum_node(compute, values, step, node, 0) ? level(compute, 0) : NULL;
}

/* -------------------------------------------------------------- evaluation */

/* A worker that had no slices for a while still has the losses from before. */
double compute_train_loss(const struct compute *compute, uint64_t step)
{
    double loss_sum = 0;
    uint64_t examples = 0;
    for (uint32_t i = 0; i < COMPUTE_RECENT_STEPS; i++) {
        if (compute->recent[i].step + COMPUTE_RECENT_STEPS < step) { continue; }
        loss_sum += compute->recent[i].loss_sum;
        examples += compute->recent[i].examples;
    }
    return examples > 0 ? loss_sum / (double)examples : (double)NAN;
}

void compute_reset(struct compute *compute)
{
    memset(compute->recent, 0, sizeof compute->recent);
}

static struct evaluation_sum evaluate_all(const struct compute *compute, const float *values)
{
    const struct dataset *test = compute->config.test;
    assert(test != NULL);
    struct evaluation_sum sum = {0};
    for (uint32_t first = 0; first < test->examples; first += compute->slice_examples) {
        uint32_t count = u32_min(test->examples - first, compute->slice_examples);
        struct examples examples = dataset_gather_range(test, first, count, &compute->batch);
        model_evaluate(compute->config.model, values, &examples, &sum);
    }
    return sum;
}

/* For a regression: R squared, 1 - residuals / spread. Its loss is a mean over the outputs. */
static double accuracy_of(const struct compute *compute, const struct evaluation_sum *sum)
{
    assert(sum->count >= 1);
    const struct model *model = compute->config.model;
    if (model->type->is_classifier) { return (double)sum->correct / (double)sum->count; }
    if (compute->target_spread <= 0) { return (double)NAN; }
    return 1.0 - sum->loss_sum * model->config.outputs / compute->target_spread;
}

struct evaluation compute_evaluate(const struct compute *compute, const float *values,
                                   uint64_t step)
{
    assert(values != NULL);
    struct digest digest = digest_of(values, compute->parameters * sizeof(float));
    struct evaluation evaluation = {
        .step = step,
        .loss = (double)NAN,
        .accuracy = (double)NAN,
        .train_loss = compute_train_loss(compute, step),
        .digest = {digest.low, digest.high},
    };
    const struct dataset *test = compute->config.test;
    if (test == NULL || test->examples == 0) { return evaluation; }
    struct evaluation_sum sum = evaluate_all(compute, values);
    evaluation.loss = sum.loss_sum / (double)sum.count;
    evaluation.accuracy = accuracy_of(compute, &sum);
    return evaluation;
}
