/* Losses of recent steps, and evaluation: loss, accuracy and other metrics on the test set, and the
 * digest of the values. */
#include <assert.h>
#include <math.h>

#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/minmax.h"
#include "common/base/time_spent.h"
#include "worker/compute.h"
#include "worker/compute_team.h"
#include "worker/evaluation_details.h"

double compute_train_loss(const struct compute *compute, uint64_t step)
{
    return recent_losses_mean(&compute->recent, step);
}

static void add_details(const struct training *training, const struct fields *fields,
                        uint32_t count, struct evaluation_details *details)
{
    const struct evaluation_outputs outputs = {
        .logits = training_output(training, count, "logits"),
        .outputs = training_output(training, count, "outputs"),
    };
    evaluation_details_add(details, &outputs, fields);
}

/* The next chunks of the test set, one for each thread. */
struct wave {
    const struct compute *compute;
    const float *values;
    struct compute_chunk own; /* Without a team. */
};

static struct compute_chunk *chunk_of(struct wave *wave, uint32_t member)
{
    const struct compute *compute = wave->compute;
    if (compute_team_threads(compute->team) == NULL) { return &wave->own; }
    return compute_team_chunk(compute->team, member);
}

static void evaluate_chunk(void *context, uint32_t member)
{
    struct wave *wave = context;
    const struct dataset *test = wave->compute->config.test;
    struct compute_chunk *chunk = chunk_of(wave, member);
    chunk->sum = (struct evaluation_sum){0};
    chunk->error.status = TN_OK;
    if (chunk->count == 0) { return; }
    chunk->fields = training_fields(chunk->training, TN_EVALUATE, chunk->count);
    enum tn_status status =
        dataset_gather_range(test, chunk->first, chunk->count, &chunk->fields, &chunk->error);
    if (status == TN_OK) {
        status = training_evaluate(chunk->training, wave->values, chunk->count, &chunk->sum,
                                   &chunk->error);
    }
    chunk->error.status = status;
}

/* The sums and details of the chunks are added in the order of the examples, so their bits do not
 * depend on the number of threads. */
static enum tn_status evaluate_all(const struct compute *compute, const float *values,
                                   struct evaluation_sum *sum, struct evaluation_details *details,
                                   struct error *error)
{
    const struct dataset *test = compute->config.test;
    struct thread_team *threads = compute_team_threads(compute->team);
    struct wave wave = {.compute = compute, .values = values, .own.training = compute->training};
    assert(test != NULL);
    for (uint64_t first = 0; first < test->examples;) {
        for (uint32_t m = 0; m < thread_team_count(threads); m++) {
            struct compute_chunk *chunk = chunk_of(&wave, m);
            chunk->first = first;
            chunk->count = (uint32_t)u64_min(test->examples - first, compute->slice_examples);
            first += chunk->count;
        }
        thread_team_run(threads, evaluate_chunk, &wave);
        for (uint32_t m = 0; m < thread_team_count(threads); m++) {
            const struct compute_chunk *chunk = chunk_of(&wave, m);
            if (chunk->error.status != TN_OK) {
                return error_set(error, chunk->error.status, "%s", chunk->error.text);
            }
            if (chunk->count == 0) { break; }
            evaluation_sum_add(sum, &chunk->sum);
            add_details(chunk->training, &chunk->fields, chunk->count, details);
        }
    }
    return TN_OK;
}

/* The metrics of the model come first: they replace others of the same name. */
static void set_metrics(const struct compute *compute, const struct evaluation_sum *sum,
                        const struct evaluation_details *details, struct evaluation *evaluation)
{
    const char *name;
    for (uint32_t i = 0; (name = training_metric(compute->training, i)) != NULL; i++) {
        metrics_add(&evaluation->metrics, name, sum->metrics[i] / (double)sum->count);
    }
    evaluation_details_metrics(details, evaluation);
}

static void write_details(const struct compute *compute, const struct evaluation_details *details,
                          const float *averages, const struct evaluation *evaluation)
{
    const bool histograms = compute->config.job->metrics.histograms;
    const struct evaluation_details_source source = {
        .dir = compute->config.details,
        .variables = &compute->config.model->table,
        .test = compute->config.test,
        .values = histograms ? averages : NULL,
        .gradient = histograms && compute->has_gradient ? compute->sum : NULL,
    };
    if (source.dir != NULL) { evaluation_details_write(details, &source, evaluation); }
}

uint64_t compute_evaluation_slices(const struct compute *compute)
{
    const struct dataset *test = compute->config.test;
    assert(compute->slice_examples >= 1);
    if (test == NULL) { return 0; }
    return test->examples / compute->slice_examples +
           (test->examples % compute->slice_examples != 0 ? 1 : 0);
}

struct evaluation compute_evaluate(const struct compute *compute, const float *values,
                                   const float *averages, uint64_t step, struct error *failure)
{
    assert(values != NULL && averages != NULL);
    const uint64_t begun_ns = clock_monotonic_ns();
    struct digest digest = variable_table_digest(&compute->config.model->table, values);
    struct evaluation evaluation = {
        .step = step,
        .loss = (double)NAN,
        .accuracy = (double)NAN,
        .train_loss = compute_train_loss(compute, step),
        .digest = {digest.low, digest.high},
    };
    if (failure != NULL) { failure->status = TN_OK; }
    const struct dataset *test = compute->config.test;
    if (test == NULL || test->examples == 0) { return evaluation; }
    struct evaluation_sum sum = {0};
    struct evaluation_details details = {0};
    struct error error = {.status = TN_OK};
    enum tn_status status = evaluate_all(compute, averages, &sum, &details, &error);
    if (status == TN_EDEVICE) { (void)error_set(failure, status, "%s", error.text); }
    if (status == TN_OK) {
        evaluation.loss = sum.loss / (double)sum.count;
        evaluation.accuracy = evaluation_sum_accuracy(
            &sum, training_is_classifier(compute->training), compute->target_spread);
        set_metrics(compute, &sum, &details, &evaluation);
        write_details(compute, &details, averages, &evaluation);
    }
    evaluation_details_close(&details);
    time_spent_add(TIME_EVALUATE, begun_ns);
    return evaluation;
}
