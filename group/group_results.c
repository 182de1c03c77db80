/*
 * The results of an evaluation, at the head: sums over the chunks, and the metrics that follow from
 * them (W7).
 */
#include <math.h>
#include <string.h>

#include "graph/core/shape.h"
#include "group/group_private.h"
#include "worker/compute.h"

/* ------------------------------------------------------------- sums of a chunk */

static bool is_classifier(const struct group_worker *worker)
{
    for (uint32_t i = 0; i < worker->evaluation_cut.result_count; i++) {
        const struct cut_result *result = &worker->evaluation_cut.results[i];
        if (result->kind == MARK_METRIC && strcmp(result->name, "accuracy") == 0) { return true; }
    }
    return false;
}

static void add_metric(struct group_worker *worker, const char *name, double sum)
{
    if (strcmp(name, "accuracy") == 0) { worker->evaluating.sum.correct += sum; }
    for (uint32_t i = 0; worker->metrics[i] != NULL; i++) {
        if (strcmp(name, worker->metrics[i]) == 0) { worker->evaluating.sum.metrics[i] += sum; }
    }
}

/* Read the labels and targets of the chunk, with which the head compares the outputs. */
static enum tn_status read_truth(struct group_worker *worker, uint32_t count, struct fields *fields)
{
    struct tn_view labels = worker->labels_view, targets = worker->targets_view;
    const uint64_t first =
        (uint64_t)worker->evaluating.chunk * compute_slice_examples(worker->config.job);
    struct fields found = {.labels = NULL};
    enum tn_status status = TN_OK;
    *fields = (struct fields){.labels = NULL};
    if (labels.data != NULL) {
        labels.shape.dims[0] = count;
        status =
            group_examples_test(&worker->examples, first, count, "labels", labels, &worker->error);
        if (status != TN_OK) { return status; }
        status = group_examples_fields("labels", labels, count, &found, &worker->error);
        *fields = found;
    }
    if (targets.data != NULL && status == TN_OK) {
        targets.shape.dims[0] = count;
        status = group_examples_test(&worker->examples, first, count, "targets", targets,
                                     &worker->error);
        fields->targets = targets.data;
        fields->targets_each = (uint32_t)((uint64_t)shape_elements(&targets.shape) / count);
    }
    return status;
}

enum tn_status group_results_add(struct group_worker *worker)
{
    struct group_evaluating *evaluating = &worker->evaluating;
    const uint32_t count = chunk_evaluation_examples(worker->evaluator, evaluating->chunk);
    struct evaluation_outputs outputs = {.logits = {.data = NULL}};
    struct fields fields;
    const enum tn_status status = read_truth(worker, count, &fields);
    if (status != TN_OK) { return status; }
    double loss = 0;
    for (uint32_t i = 0; i < worker->evaluation_cut.result_count; i++) {
        const struct cut_result *result = &worker->evaluation_cut.results[i];
        const struct tn_view view = chunk_evaluation_result(worker->evaluator, result);
        const bool is_sum = result->kind == MARK_LOSS || result->kind == MARK_METRIC;
        const double sum = is_sum ? evaluation_sum_floats(view.data, count) : 0;
        switch (result->kind) {
        case MARK_LOSS: loss += (double)result->weight * sum; break;
        case MARK_METRIC: add_metric(worker, result->name, sum); break;
        case MARK_OUTPUT:
            if (strcmp(result->name, "logits") == 0) { outputs.logits = view; }
            if (strcmp(result->name, "outputs") == 0) { outputs.outputs = view; }
            break;
        case MARK_KINDS: break;
        }
    }
    evaluating->sum.loss += loss;
    evaluating->sum.squares += evaluation_sum_squares(&outputs.outputs, fields.targets,
                                                      (uint64_t)count * fields.targets_each);
    evaluating->sum.count += count;
    evaluation_details_add(&evaluating->details, &outputs, &fields);
    return TN_OK;
}

/* ------------------------------------------------------------- the evaluation */

void group_results_end(struct group_worker *worker)
{
    const struct group_evaluating *evaluating = &worker->evaluating;
    const struct digest digest = digest_end(&evaluating->digest);
    struct evaluation *evaluation = &worker->evaluation;
    *evaluation = (struct evaluation){
        .step = evaluating->label.step,
        .loss = (double)NAN,
        .accuracy = (double)NAN,
        .train_loss = recent_losses_mean(&worker->recent, evaluating->label.step),
        .digest = {digest.low, digest.high},
    };
    const struct evaluation_sum *sum = &evaluating->sum;
    if (sum->count == 0) { return; }
    evaluation->loss = sum->loss / (double)sum->count;
    evaluation->accuracy =
        evaluation_sum_accuracy(sum, is_classifier(worker), worker->target_spread);
    for (uint32_t i = 0; worker->metrics[i] != NULL; i++) {
        metrics_add(&evaluation->metrics, worker->metrics[i], sum->metrics[i] / (double)sum->count);
    }
    evaluation_details_metrics(&evaluating->details, evaluation);
    const struct evaluation_details_source source = {
        .dir = worker->config.details,
        .variables = &worker->config.model->table,
        .test = worker->config.test,
    };
    if (source.dir != NULL) { evaluation_details_write(&evaluating->details, &source, evaluation); }
}

/* -------------------------------------------------------------------- opening */

/* Memory for a field of a chunk that the head compares; none if the model does not read it. */
static enum tn_status open_truth(struct group_worker *worker, const char *name,
                                 struct tn_view *view, struct buffer **memory, struct error *error)
{
    const uint32_t chunk = compute_slice_examples(worker->config.job);
    if (!evaluation_cut_field(&worker->evaluation_cut, name, &view->type, &view->shape)) {
        return TN_OK;
    }
    uint64_t elements = chunk;
    for (uint32_t d = 1; d < view->shape.rank; d++) { elements *= (uint64_t)view->shape.dims[d]; }
    *memory = buffer_acquire(worker->ports.buffers, elements * sizeof(float));
    if (*memory == NULL) { return error_set(error, TN_ENOMEM, "out of memory for %s", name); }
    view->data = (*memory)->data;
    return TN_OK;
}

static void list_metrics(struct group_worker *worker)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < worker->evaluation_cut.result_count; i++) {
        const struct cut_result *result = &worker->evaluation_cut.results[i];
        if (result->kind != MARK_METRIC || strcmp(result->name, "accuracy") == 0) { continue; }
        if (count == METRICS_OWN_MAX || strlen(result->name) >= METRIC_NAME_BYTES) { continue; }
        worker->metrics[count++] = result->name;
    }
}

enum tn_status group_results_open(struct group_worker *worker, struct error *error)
{
    worker->target_spread = dataset_spread(worker->config.test);
    list_metrics(worker);
    const enum tn_status status =
        open_truth(worker, "labels", &worker->labels_view, &worker->test_labels, error);
    if (status != TN_OK) { return status; }
    return open_truth(worker, "targets", &worker->targets_view, &worker->test_targets, error);
}

void group_results_close(struct group_worker *worker)
{
    buffer_release(worker->test_labels);
    buffer_release(worker->test_targets);
}
