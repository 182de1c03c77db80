#include "local/trainer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/time_spent.h"
#include "common/cluster/slices.h"
#include "common/cluster/variables.h"
#include "common/job/strategy.h"
#include "kernels/finite.h"
#include "worker/compute_team.h"

void trainer_release_arrays(struct buffer *arrays[static OPTIMIZER_ARRAYS_MAX])
{
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) {
        buffer_release(arrays[a]);
        arrays[a] = NULL;
    }
}

bool trainer_begin_load(struct trainer *trainer,
                        struct buffer *incoming[static OPTIMIZER_ARRAYS_MAX])
{
    const size_t bytes = trainer->parameters * sizeof(float);
    assert(trainer->arrays >= 1 && trainer->arrays <= OPTIMIZER_ARRAYS_MAX);
    memset(incoming, 0, OPTIMIZER_ARRAYS_MAX * sizeof incoming[0]);
    for (uint32_t a = 0; a < trainer->arrays; a++) {
        incoming[a] = buffer_acquire(trainer->pool, bytes);
        if (incoming[a] == NULL) {
            trainer_release_arrays(incoming);
            return false;
        }
        incoming[a]->size = bytes;
    }
    return true;
}

void trainer_adopt(struct trainer *trainer, struct buffer *incoming[static OPTIMIZER_ARRAYS_MAX],
                   uint64_t step)
{
    for (uint32_t a = 0; a < trainer->arrays; a++) { assert(incoming[a] != NULL); }
    trainer_release_arrays(trainer->current);
    memcpy(trainer->current, incoming, sizeof trainer->current);
    memset(incoming, 0, OPTIMIZER_ARRAYS_MAX * sizeof incoming[0]);
    trainer->step = step;
    trainer->loss = (double)NAN;
    compute_reset(&trainer->compute);
}

static bool load_initial(struct trainer *trainer)
{
    struct buffer *fresh[OPTIMIZER_ARRAYS_MAX];
    if (!trainer_begin_load(trainer, fresh)) { return false; }
    variables_init_range(&trainer->config.model->table, trainer->config.job->seed, 0,
                         trainer->parameters, fresh[0]->data);
    float *arrays[OPTIMIZER_ARRAYS_MAX] = {NULL};
    for (uint32_t a = 0; a < trainer->arrays; a++) { arrays[a] = fresh[a]->data; }
    optimizer_begin(&trainer->optimizer, trainer->parameters, arrays);
    trainer_adopt(trainer, fresh, 0);
    return true;
}

static bool open_measurements(struct trainer *trainer)
{
    if (!optimizer_needs_norms(&trainer->optimizer)) { return true; }
    const uint32_t count = thread_team_count(compute_team_threads(trainer->compute.team));
    trainer->measurements = calloc(count, sizeof *trainer->measurements);
    return trainer->measurements != NULL;
}

enum tn_status trainer_open(struct trainer *trainer, const struct compute_config *config,
                            struct error *error)
{
    const struct job *job = config->job;
    assert(strategy_of_job(job)->exact_steps);
    *trainer = (struct trainer){
        .config = *config,
        .optimizer = optimizer_of_job(job, &config->model->table),
        .parameters = config->model->table.parameter_count,
    };
    trainer->arrays = trainer->optimizer.arrays;
    trainer->pool = trainer->config.pool = buffer_pool_create(0);
    if (trainer->pool == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = tables_open(&trainer->tables, job, config->model, error);
    trainer->config.gpus = job->train.gpus;
    if (trainer->tables.set.count > 0) { trainer->config.rows = &trainer->tables.source; }
    if (status == TN_OK) { status = compute_open(&trainer->compute, &trainer->config, error); }
    if (status != TN_OK) {
        tables_close(&trainer->tables);
        buffer_pool_destroy(trainer->pool);
        *trainer = (struct trainer){0};
        return status;
    }
    assert(trainer->compute.parameters == trainer->parameters);
    trainer->choice = thread_choice_begin(!compute_team_is_small(&trainer->compute));
    if (open_measurements(trainer) && load_initial(trainer)) { return TN_OK; }
    trainer_close(trainer);
    return error_set(error, TN_ENOMEM, "out of memory for the parameters");
}

void trainer_close(struct trainer *trainer)
{
    if (trainer->pool == NULL) { return; }
    trainer_release_arrays(trainer->current);
    compute_close(&trainer->compute);
    tables_close(&trainer->tables);
    buffer_pool_destroy(trainer->pool);
    free(trainer->measurements);
    *trainer = (struct trainer){0};
}

static bool rows_are_finite(const struct trainer *trainer)
{
    return trainer->tables.set.count == 0 ||
           row_sums_are_finite(compute_node_rows(&trainer->compute));
}

/* ---------------------------------------------------------------- ranges */

/* A step's work on vectors, of which each thread has a range. */
struct ranges {
    struct trainer *trainer;
    const float *gradient;
    const float *in[OPTIMIZER_ARRAYS_MAX];
    float *out[OPTIMIZER_ARRAYS_MAX];
    _Atomic bool not_finite;
};

static struct thread_team *threads_of(const struct trainer *trainer)
{
    const struct compute *compute = &trainer->compute;
    return compute->alone ? NULL : compute_team_threads(compute->team);
}

/* The range of a thread, which is empty if there are more threads than leaves. */
static struct thread_share range_of(const struct trainer *trainer, uint32_t member)
{
    return thread_team_share(thread_team_count(threads_of(trainer)), member, trainer->parameters,
                             NORM_LEAF);
}

static void check_range(void *context, uint32_t member)
{
    struct ranges *ranges = context;
    const struct thread_share range = range_of(ranges->trainer, member);
    if (!all_finite(ranges->gradient + range.first, range.end - range.first)) {
        ranges->not_finite = true;
    }
}

static bool is_finite(struct trainer *trainer, const float *gradient)
{
    struct ranges ranges = {.trainer = trainer, .gradient = gradient};
    thread_team_run(threads_of(trainer), check_range, &ranges);
    return !ranges.not_finite;
}

static void offset_range(const struct ranges *ranges, uint64_t first,
                         const float *in[static OPTIMIZER_ARRAYS_MAX],
                         float *out[static OPTIMIZER_ARRAYS_MAX])
{
    for (uint32_t a = 0; a < ranges->trainer->arrays; a++) {
        in[a] = ranges->in[a] + first;
        out[a] = ranges->out[a] + first;
    }
}

static void measure_range(void *context, uint32_t member)
{
    const struct ranges *ranges = context;
    struct trainer *trainer = ranges->trainer;
    const struct thread_share range = range_of(trainer, member);
    const float *in[OPTIMIZER_ARRAYS_MAX] = {NULL};
    float *out[OPTIMIZER_ARRAYS_MAX] = {NULL};
    const uint64_t count = range.end - range.first;
    if (count == 0) { return; }
    offset_range(ranges, range.first, in, out);
    measurement_begin(&trainer->measurements[member], range.first, count);
    measurement_add(&trainer->measurements[member], &trainer->optimizer, trainer->step, count, in,
                    ranges->gradient + range.first);
}

/* The norms that the next update needs. */
static void measure(struct ranges *ranges)
{
    struct trainer *trainer = ranges->trainer;
    struct thread_team *threads = threads_of(trainer);
    uint32_t used = 0;
    thread_team_run(threads, measure_range, ranges);
    while (used < thread_team_count(threads)) {
        const struct thread_share range = range_of(trainer, used);
        if (range.first == range.end) { break; }
        used++;
    }
    measurement_join(trainer->measurements, used, &trainer->optimizer);
}

static void apply_range(void *context, uint32_t member)
{
    const struct ranges *ranges = context;
    struct trainer *trainer = ranges->trainer;
    const struct thread_share range = range_of(trainer, member);
    const float *in[OPTIMIZER_ARRAYS_MAX] = {NULL};
    float *out[OPTIMIZER_ARRAYS_MAX] = {NULL};
    offset_range(ranges, range.first, in, out);
    optimizer_apply(&trainer->optimizer, trainer->config.kernels, trainer->step, range.first,
                    range.end - range.first, ranges->gradient + range.first, in, out);
}

/* ----------------------------------------------------------------- steps */

/* The gradient of the whole batch; NULL: `error` is set. */
static const float *batch_gradient(struct trainer *trainer, struct error *error)
{
    const struct slice_node all = {0, trainer->config.job->train.slices};
    struct error cause = {.status = TN_OK};
    const float *sum =
        compute_node(&trainer->compute, trainer_values(trainer), trainer->step, all, &cause);
    if (sum != NULL && is_finite(trainer, sum) && rows_are_finite(trainer)) { return sum; }
    if (sum == NULL) {
        (void)!error_set(error, cause.status, "%s", cause.text);
        return NULL;
    }
    (void)!error_set(error, TN_EINVAL,
                     "gradient is not finite: step=%" PRIu64 ": training diverged or an example is "
                     "not a number; lower train.learning_rate or check the data",
                     trainer->step);
    return NULL;
}

/* With all threads or one. */
static enum tn_status run_step(struct trainer *trainer, struct error *error)
{
    struct buffer *fresh[OPTIMIZER_ARRAYS_MAX];
    struct ranges ranges = {.trainer = trainer};
    struct error cause;
    const float *gradient = batch_gradient(trainer, &cause);
    if (gradient == NULL) { return error_set(error, cause.status, "%s", cause.text); }
    if (!trainer_begin_load(trainer, fresh)) {
        return error_set(error, TN_ENOMEM, "out of memory for the parameters");
    }
    for (uint32_t a = 0; a < trainer->arrays; a++) {
        ranges.in[a] = trainer->current[a]->data;
        ranges.out[a] = fresh[a]->data;
    }
    ranges.gradient = gradient;
    const uint64_t begun_ns = clock_monotonic_ns();
    if (trainer->tables.set.count > 0) {
        const struct row_sums *rows = compute_node_rows(&trainer->compute);
        enum tn_status status = tables_apply(&trainer->tables, trainer->step, rows, error);
        if (status != TN_OK) {
            trainer_release_arrays(fresh);
            return status;
        }
    }
    if (trainer->measurements != NULL) { measure(&ranges); }
    thread_team_run(threads_of(trainer), apply_range, &ranges);
    time_spent_add(TIME_APPLY, begun_ns);
    trainer_release_arrays(trainer->current);
    memcpy(trainer->current, fresh, sizeof trainer->current);
    trainer->step++;
    trainer->loss = compute_node_loss(&trainer->compute) / trainer->config.job->train.batch;
    return TN_OK;
}

enum tn_status trainer_step(struct trainer *trainer, struct error *error)
{
    const uint64_t begun_ns = clock_monotonic_ns();
    trainer->compute.alone = !thread_choice_is_all(&trainer->choice);
    const enum tn_status status = run_step(trainer, error);
    if (status == TN_OK) { thread_choice_took(&trainer->choice, clock_monotonic_ns() - begun_ns); }
    return status;
}

const float *trainer_values(const struct trainer *trainer)
{
    assert(trainer->current[0] != NULL);
    return trainer->current[0]->data;
}

const float *trainer_averages(const struct trainer *trainer)
{
    if (!optimizer_has_average(&trainer->optimizer)) { return trainer_values(trainer); }
    return trainer->current[trainer->arrays - 1]->data;
}

struct evaluation trainer_evaluate(const struct trainer *trainer, struct error *failure)
{
    struct evaluation evaluation =
        compute_evaluate(&trainer->compute, trainer_values(trainer), trainer_averages(trainer),
                         trainer->step, failure);
    struct digest digest = {.low = evaluation.digest[0], .high = evaluation.digest[1]};
    struct error problem;
    if (row_set_digest(&trainer->tables.set, digest, &digest, &problem) != TN_OK) {
        log_warn("the digest of step %" PRIu64 " does not cover the tables: %s", trainer->step,
                 problem.text);
    }
    evaluation.digest[0] = digest.low;
    evaluation.digest[1] = digest.high;
    return evaluation;
}
