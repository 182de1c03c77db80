/*
 * Evaluations (G6, W7). The head orders one chunk of the test set after the other; all members
 * compute their parts of it, and the head adds up the results. Then it reads the values of all
 * variables, in the order of their numbers, from the members that have them, for their digest: no
 * member holds them all.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/base/time_spent.h"
#include "common/faults/failpoint.h"
#include "group/group_private.h"
#include "worker/compute.h"

/* ------------------------------------------------------------------- values */

static const struct variable *variable_of(const struct group_worker *worker, uint32_t number)
{
    const struct variable_table *table = &worker->config.model->table;
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->variables[i].number == number) { return &table->variables[i]; }
    }
    return NULL;
}

/* The values of a variable of this member from float `at` on. */
static const float *values_of(const struct group_worker *worker, const struct variable *variable,
                              uint64_t at)
{
    for (uint32_t i = 0; i < worker->cut.variable_count; i++) {
        const struct cut_variable *own = &worker->cut.variables[i];
        if (strcmp(own->name, variable->name) != 0) { continue; }
        assert(own->task == worker->index);
        return (const float *)worker->current->data + own->task_offset + at;
    }
    assert(!"every variable is in the cut");
    return NULL;
}

/* READ: a piece of a variable from float `at` on has so many floats. */
static uint64_t piece(const struct group_worker *worker, const struct variable *variable,
                      uint64_t at)
{
    return u64_min(variable->count - at, worker->ports.transport.chunk_bytes / sizeof(float));
}

static bool is_current(const struct group_worker *worker, const struct schedule_label *label)
{
    return value_labels_are_current(&worker->labels,
                                    (struct value_label){label->generation, label->step});
}

/* ------------------------------------------------------------------ results */

/* Sums in ascending order, as in training_evaluate(). */
static double sum_floats(const struct tn_view *view, uint32_t count)
{
    const float *values = view->data;
    double sum = 0;
    for (uint32_t e = 0; e < count; e++) { sum += (double)values[e]; }
    return sum;
}

static uint64_t elements_of(const struct tn_view *view)
{
    uint64_t elements = 1;
    for (uint32_t d = 0; d < view->shape.rank; d++) { elements *= (uint64_t)view->shape.dims[d]; }
    return elements;
}

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

/* The labels and targets of the chunk, which the head compares with the outputs. */
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
        fields->targets_each = (uint32_t)(elements_of(&targets) / count);
    }
    return status;
}

/* The chunk is done: its results are here. */
static enum tn_status take_results(struct group_worker *worker)
{
    struct group_evaluating *evaluating = &worker->evaluating;
    const uint32_t count = group_evaluation_examples(worker->evaluator, evaluating->chunk);
    struct evaluation_outputs outputs = {.logits = {.data = NULL}};
    struct fields fields;
    const enum tn_status status = read_truth(worker, count, &fields);
    if (status != TN_OK) { return status; }
    double loss = 0;
    for (uint32_t i = 0; i < worker->evaluation_cut.result_count; i++) {
        const struct cut_result *result = &worker->evaluation_cut.results[i];
        const struct tn_view view = group_evaluation_result(worker->evaluator, result);
        switch (result->kind) {
        case MARK_LOSS: loss += (double)result->weight * sum_floats(&view, count); break;
        case MARK_METRIC: add_metric(worker, result->name, sum_floats(&view, count)); break;
        case MARK_OUTPUT:
            if (strcmp(result->name, "logits") == 0) { outputs.logits = view; }
            if (strcmp(result->name, "outputs") == 0) { outputs.outputs = view; }
            break;
        case MARK_KINDS: break;
        }
    }
    evaluating->sum.loss += loss;
    evaluating->sum.squares += training_squares(&outputs.outputs, &fields, count);
    evaluating->sum.count += count;
    evaluation_details_add(&evaluating->details, &outputs, &fields);
    return TN_OK;
}

/* -------------------------------------------------------------------- chunks */

static struct schedule_label chunk_label(const struct group_worker *worker)
{
    const struct group_evaluating *evaluating = &worker->evaluating;
    return (struct schedule_label){evaluating->label.generation, evaluating->label.step,
                                   evaluating->chunk};
}

/* Compute what can be computed. `*done`: the chunk is done. */
static void advance(struct group_worker *worker, bool *done)
{
    const enum tn_status status = group_evaluation_advance(worker->evaluator, done, &worker->error);
    if (status != TN_OK) { group_failed(worker, status); }
}

/* Why a chunk cannot be computed, or NULL. */
static const char *begin_chunk(struct group_worker *worker, const struct schedule_label *label,
                               bool *done)
{
    *done = false;
    if (worker->evaluator == NULL || !is_current(worker, label)) {
        return "values that are to be evaluated are not here";
    }
    if (!group_evaluation_order(worker->evaluator, label, worker->current->data,
                                worker->labels.version)) {
        return "a chunk that is to be evaluated is not the next one";
    }
    advance(worker, done);
    return NULL;
}

static void read_next(struct group_worker *worker);

/* Order the next chunk; the digest, after the last one. */
static void next_chunk(struct group_worker *worker)
{
    struct group_evaluating *evaluating = &worker->evaluating;
    bool done = true;
    while (done && !worker->finished) {
        const struct schedule_label label = chunk_label(worker);
        const struct member_frame message = {.kind = MEMBER_FRAME_EVALUATE, .label = label};
        if (worker->evaluator == NULL ||
            group_evaluation_examples(worker->evaluator, evaluating->chunk) == 0) {
            read_next(worker);
            return;
        }
        for (uint32_t m = 1; m < worker->members; m++) {
            member_send(worker->member, m, message, NULL);
        }
        const char *fault = begin_chunk(worker, &label, &done);
        if (fault != NULL) {
            member_fail(worker->member, fault);
            return;
        }
        if (!done) { return; }
        const enum tn_status status = take_results(worker);
        if (status != TN_OK) { group_failed(worker, status); }
        evaluating->chunk++;
    }
}

static const char *result_arrived(struct group_worker *worker, const struct member_frame *message,
                                  struct buffer *body)
{
    bool done;
    if (!group_evaluation_arrived(worker->evaluator, &message->label, message->number, body)) {
        return "a result is not of the present chunk";
    }
    advance(worker, &done);
    if (!done || !group_is_head(worker) || !worker->evaluating.is_active) { return NULL; }
    const enum tn_status status = take_results(worker);
    if (status != TN_OK) { group_failed(worker, status); }
    worker->evaluating.chunk++;
    if (!worker->finished) { next_chunk(worker); }
    return NULL;
}

/* -------------------------------------------------------------------- digest */

static void add_own(struct group_worker *worker, const struct variable *variable)
{
    const float *values = values_of(worker, variable, 0);
    digest_add(&worker->evaluating.digest, values, variable->count * sizeof *values);
    worker->evaluating.variable++;
}

/* Read the variables; the rest of the evaluation waits for those of other members. */
static void read_next(struct group_worker *worker)
{
    struct group_evaluating *evaluating = &worker->evaluating;
    const struct variable *variable;
    while ((variable = variable_of(worker, evaluating->variable)) != NULL &&
           variable->member == worker->index) {
        add_own(worker, variable);
    }
    evaluating->is_requested = variable != NULL;
    if (variable == NULL) { return; }
    const uint64_t each = worker->ports.transport.chunk_bytes / sizeof(float);
    const struct member_frame message = {
        .kind = MEMBER_FRAME_READ,
        .label = {evaluating->label.generation, evaluating->label.step,
                  (uint32_t)(evaluating->at / each)},
        .number = evaluating->variable,
    };
    member_send(worker->member, variable->member, message, NULL);
}

static const char *read_wanted(struct group_worker *worker, const struct member_frame *message)
{
    const struct variable *variable = variable_of(worker, message->number);
    const uint64_t each = worker->ports.transport.chunk_bytes / sizeof(float);
    const uint64_t at = message->label.slice * each;
    if (variable == NULL || variable->member != worker->index || at >= variable->count) {
        return "values that are to be read are not here";
    }
    if (!is_current(worker, &message->label)) { return "values that are to be read are not here"; }
    const uint64_t bytes = piece(worker, variable, at) * sizeof(float);
    struct buffer *body = buffer_acquire(worker->ports.buffers, bytes);
    if (body == NULL) {
        (void)error_set(&worker->error, TN_ENOMEM, "out of memory for values that are read");
        group_failed(worker, TN_ENOMEM);
        return NULL;
    }
    memcpy(body->data, values_of(worker, variable, at), bytes);
    body->size = bytes;
    const struct member_frame answer = {
        .kind = MEMBER_FRAME_FLOATS, .label = message->label, .number = message->number};
    member_send(worker->member, 0, answer, body);
    return NULL;
}

static const char *floats_arrived(struct group_worker *worker, const struct member_frame *message,
                                  const struct buffer *body)
{
    struct group_evaluating *evaluating = &worker->evaluating;
    const struct variable *variable = variable_of(worker, evaluating->variable);
    if (!evaluating->is_active || !evaluating->is_requested || variable == NULL || body == NULL ||
        message->number != evaluating->variable ||
        body->size != piece(worker, variable, evaluating->at) * sizeof(float)) {
        return "values were not asked for";
    }
    digest_add(&evaluating->digest, body->data, body->size);
    evaluating->at += body->size / sizeof(float);
    if (evaluating->at == variable->count) {
        evaluating->at = 0;
        evaluating->variable++;
    }
    read_next(worker);
    return NULL;
}

/* -------------------------------------------------------------------- result */

/* For a regression: R squared, 1 - residuals / spread. */
static double accuracy_of(const struct group_worker *worker)
{
    const struct evaluation_sum *sum = &worker->evaluating.sum;
    if (is_classifier(worker)) { return sum->correct / (double)sum->count; }
    return worker->target_spread > 0 ? 1.0 - sum->squares / worker->target_spread : (double)NAN;
}

static void set_result(struct group_worker *worker)
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
    evaluation->accuracy = accuracy_of(worker);
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

bool group_evaluate_is_over(const struct group_worker *worker)
{
    const struct group_evaluating *evaluating = &worker->evaluating;
    return evaluating->is_active && variable_of(worker, evaluating->variable) == NULL;
}

void group_evaluate_end(struct group_worker *worker)
{
    struct group_evaluating *evaluating = &worker->evaluating;
    assert(group_evaluate_is_over(worker));
    evaluating->is_active = false;
    /* The result of a generation that was given up is of no use. */
    if (evaluating->label.generation == worker->core.generation) {
        set_result(worker);
        log_info("evaluated step %" PRIu64 ": test_loss=%.4f accuracy=%.4f training_loss=%.4f",
                 worker->evaluation.step, worker->evaluation.loss, worker->evaluation.accuracy,
                 worker->evaluation.train_loss);
    }
    evaluation_details_close(&evaluating->details);
    evaluating->details = (struct evaluation_details){.failed = false};
    time_spent_add(TIME_EVALUATE, evaluating->begun_ns);
    FAILPOINT("worker.evaluated");
}

/* ------------------------------------------------------------------- dispatch */

void group_evaluate_begin(struct group_worker *worker, const struct loop_action *action)
{
    struct group_evaluating *evaluating = &worker->evaluating;
    assert(!evaluating->is_active);
    *evaluating = (struct group_evaluating){
        .is_active = true,
        .label = {action->generation, action->step},
        .begun_ns = clock_monotonic_ns(),
    };
    digest_begin(&evaluating->digest);
    next_chunk(worker);
}

uint64_t group_evaluate_expects(void *ctx, uint32_t peer, const struct member_frame *message)
{
    const struct group_worker *worker = ctx;
    (void)peer;
    if (worker->evaluator == NULL || message->kind != MEMBER_FRAME_RESULT) { return 0; }
    return group_evaluation_expects(worker->evaluator, message->label.slice, message->number);
}

const char *group_evaluate_message(struct group_worker *worker, const struct member_frame *message,
                                   struct buffer *body)
{
    bool done;
    switch (message->kind) {
    case MEMBER_FRAME_EVALUATE: return begin_chunk(worker, &message->label, &done);
    case MEMBER_FRAME_RESULT: return result_arrived(worker, message, body);
    case MEMBER_FRAME_READ: return read_wanted(worker, message);
    case MEMBER_FRAME_FLOATS: return floats_arrived(worker, message, body);
    default: return "a group with ps does not use this message";
    }
}

/* -------------------------------------------------------------------- opening */

static enum tn_status fill(void *ctx, const struct schedule_label *label, const char *field,
                           struct tn_view view, struct error *error)
{
    const struct group_worker *worker = ctx;
    const uint64_t chunk = compute_slice_examples(worker->config.job);
    return group_examples_test(&worker->examples, label->slice * chunk,
                               group_evaluation_examples(worker->evaluator, label->slice), field,
                               view, error);
}

static void send_result(void *ctx, uint32_t to, const struct schedule_label *label, uint32_t edge,
                        struct buffer *value)
{
    struct group_worker *worker = ctx;
    const struct member_frame message = {
        .kind = MEMBER_FRAME_RESULT, .label = *label, .number = edge};
    member_send(worker->member, to, message, buffer_retain(value));
}

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

enum tn_status group_evaluate_open(struct group_worker *worker, struct error *error)
{
    const struct dataset *test = worker->config.test;
    enum tn_status status = evaluation_cut_create(&worker->cut, &worker->evaluation_cut, error);
    if (status != TN_OK || test == NULL || test->examples == 0) { return status; }
    const struct group_evaluation_config config = {
        .cut = &worker->cut,
        .evaluation = &worker->evaluation_cut,
        .task = worker->index,
        .examples = test->examples,
        .chunk = compute_slice_examples(worker->config.job),
        .kernels = worker->config.programs,
        .pool = worker->ports.buffers,
        .fill = fill,
        .send = send_result,
        .ctx = worker,
    };
    status = group_evaluation_create(&config, &worker->evaluator, error);
    if (status != TN_OK || !group_is_head(worker)) { return status; }
    worker->target_spread = dataset_spread(test);
    list_metrics(worker);
    status = open_truth(worker, "labels", &worker->labels_view, &worker->test_labels, error);
    if (status != TN_OK) { return status; }
    return open_truth(worker, "targets", &worker->targets_view, &worker->test_targets, error);
}

void group_evaluate_close(struct group_worker *worker)
{
    evaluation_details_close(&worker->evaluating.details);
    group_evaluation_destroy(worker->evaluator);
    buffer_release(worker->test_labels);
    buffer_release(worker->test_targets);
    evaluation_cut_free(&worker->evaluation_cut);
}

void group_evaluate_reset(struct group_worker *worker)
{
    if (worker->evaluator != NULL) { group_evaluation_reset(worker->evaluator); }
    evaluation_details_close(&worker->evaluating.details);
    worker->evaluating = (struct group_evaluating){.is_active = false};
}
