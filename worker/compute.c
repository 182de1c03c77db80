#include "worker/compute.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "common/base/time_spent.h"
#include "common/job/strategy.h"
#include "graph/device_sums.h"
#include "kernels/optimizer.h"
#include "worker/compute_gpus.h"
#include "worker/compute_team.h"

uint32_t compute_slice_examples(const struct job *job)
{
    uint32_t most = 1;
    for (uint32_t v = 0; v < job->train.slices; v++) {
        most = u32_max(most, slices_positions(job->train.slices, job->train.batch, v).count);
    }
    return most;
}

/* The at most two sizes of slices. Slices without examples need no program. */
static void list_sizes(const struct job *job, uint32_t sizes[static TRAINING_SIZES_MAX])
{
    for (uint32_t v = 0; v < job->train.slices; v++) {
        uint32_t size = slices_positions(job->train.slices, job->train.batch, v).count;
        if (size == sizes[0] || size == sizes[1]) { continue; }
        assert(sizes[0] == 0 || sizes[1] == 0);
        sizes[sizes[0] != 0] = size;
    }
}

static enum tn_status open_training(struct compute *compute, struct error *error)
{
    const struct compute_config *config = &compute->config;
    uint32_t most = compute->slice_examples;
    struct training_config training = {
        .model = config->model, .kernels = config->programs, .rows = config->rows};
    if (compute->placed[0] != NULL) { training.placed = compute->placed; }
    if (!config->evaluates_only) { list_sizes(config->job, training.gradient); }
    if (config->test != NULL && config->test->examples > 0) {
        training.evaluation[0] = config->test->examples >= most ? most : 0;
        training.evaluation[1] = (uint32_t)(config->test->examples % most);
    }
    enum tn_status status = training_open(&training, &compute->training, error);
    if (status != TN_OK || config->evaluates_only) { return status; }
    const struct fields fields = training_fields(compute->training, TN_TRAIN, most);
    return compute_check_fields(&fields, config->train, error);
}

static enum tn_status open_reader(struct compute *compute, struct error *error)
{
    const struct job *job = compute->config.job;
    compute->reader = compute->config.reader;
    if (compute->reader != NULL) { return TN_OK; }
    const struct read_ahead_config config = {
        .dataset = compute->config.train,
        .order = {job->seed, compute->config.train->examples, job->data.shuffle},
        .batch = job->train.batch,
        .slices = job->train.slices,
        .threads = job->data.threads * compute_team_members(compute),
    };
    return read_ahead_open(&config, &compute->reader, error);
}

enum tn_status compute_open(struct compute *compute, const struct compute_config *config,
                            struct error *error)
{
    assert(config->job->train.slices <= SLICES_MAX);
    assert(config->train != NULL && config->train->examples >= 1);
    assert(config->pool != NULL && config->kernels != NULL);
    *compute = (struct compute){.config = *config, .all_programs = config->programs};
    compute->parameters = config->model->table.parameter_count;
    compute->slice_examples = compute_slice_examples(config->job);
    if (config->member == 0 && config->test != NULL) {
        compute->target_spread = dataset_spread(config->test);
    }
    enum tn_status status = compute_gpu_choose(compute, error);
    if (status == TN_OK) { status = open_training(compute, error); }
    if (status == TN_OK) { status = open_reader(compute, error); }
    if (status == TN_OK && config->rows != NULL) {
        status = row_sums_open(&config->model->table, &compute->spare_rows, error);
    }
    if (status == TN_OK && config->member == 0) { status = compute_team_open(compute, error); }
    if (status != TN_OK) { compute_close(compute); }
    return status;
}

void compute_close(struct compute *compute)
{
    compute_team_close(compute->team);
    for (uint32_t i = 0; i < COMPUTE_LEVELS_MAX; i++) {
        buffer_release(compute->levels[i]);
        row_sums_close(&compute->rows[i]);
    }
    row_sums_close(&compute->spare_rows);
    training_close(compute->training);
    if (compute->config.reader == NULL) { read_ahead_close(compute->reader); }
    *compute = (struct compute){0};
}

/* --------------------------------------------------------------- gradients */

static float *level(struct compute *compute, uint32_t depth)
{
    assert(depth < COMPUTE_LEVELS_MAX);
    if (depth == 0 || compute->sums != NULL) { return compute->sum; }
    struct buffer **buffer = &compute->levels[depth];
    if (*buffer == NULL) {
        *buffer = buffer_acquire(compute->config.pool, compute->parameters * sizeof(float));
    }
    return *buffer != NULL ? (*buffer)->data : NULL;
}

/* A8: the norm of a slice that is an update of its own is at most a V-th of the limit. */
static bool clips_slices(const struct job *job)
{
    return strategy_of_job(job)->slice_updates && job->train.clip_norm > 0;
}

static void clip_slice(const struct compute *compute, float *gradient)
{
    const struct job *job = compute->config.job;
    const double limit = job->train.clip_norm / job->train.slices;
    struct norm_part whole = norm_begin(0);
    const struct variable_table *variables = &compute->config.model->table;
    optimizer_add_norm(variables, 0, compute->parameters, gradient, &whole);
    const double norm = norm_of(&whole);
    if (norm > limit) {
        optimizer_scale(variables, compute->config.kernels, (float)(limit / norm), gradient);
    }
}

/* T8: the remedy for numbers that are not finite. */
static enum tn_status explain_divergence(struct error *error)
{
    struct error cause = {.status = TN_EINVAL, .text = "the loss is not finite"};
    if (error == NULL) { return TN_EINVAL; }
    if (error->status != TN_OK) { cause = *error; }
    return error_set(error, TN_EINVAL,
                     "%.600s: training diverged or an example is not a number; lower "
                     "train.learning_rate or check the data; TANIST_CHECK_NUMERICS=1 in the "
                     "environment names the operation",
                     cause.text);
}

/* The gradient of a node's last slice is final from `first` on. So are the sums of all nodes that
 * end with this slice: their left subtrees are in the levels above. */
static void became_final(void *user, uint64_t first)
{
    struct compute *compute = user;
    const uint64_t end = compute->final_from;
    if (end == compute->parameters) {
        compute->losses[compute->last_depth] = compute->last->loss_sum;
        for (uint32_t depth = compute->last_depth; depth > 0; depth--) {
            compute->losses[depth - 1] += compute->losses[depth];
        }
    }
    for (uint32_t depth = compute->last_depth; depth > 0; depth--) {
        compute->config.kernels->add(end - first, level(compute, depth) + first,
                                     level(compute, depth - 1) + first);
    }
    compute->final_from = first;
    const struct compute_watch *watch = compute->watch;
    if (watch != NULL && isfinite(compute->losses[0])) {
        watch->became_final(watch->user, first, end);
    }
}

/* The loss of a slice at the present step. */
static void add_loss(struct compute *compute, uint32_t slice, double loss, uint32_t examples)
{
    if (compute->losses_of_slices == NULL) {
        recent_losses_add(&compute->recent, compute->step, loss, examples);
        return;
    }
    compute->losses_of_slices[slice] = (struct compute_loss){loss, examples};
}

/* With the examples in the fields. */
static enum tn_status run_examples(struct compute *compute, struct slice_run *run,
                                   struct error *error)
{
    const uint64_t begun_ns = clock_monotonic_ns();
    enum tn_status status = training_gradient(compute->training, run, error);
    time_spent_add(TIME_COMPUTE, begun_ns);
    if (status == TN_EDEVICE) { return status; } /* There is no loss. */
    if (status == TN_EINVAL || !isfinite(run->loss_sum)) { status = explain_divergence(error); }
    return status;
}

/* Read the next slice's examples while this one is computed. If that fails, it is read again. */
static bool read_next(void *user)
{
    struct compute *compute = user;
    struct fields fields = training_fields(compute->training, TN_TRAIN, compute->next_count);
    compute->has_next = read_ahead_take(compute->reader, compute->step, compute->next_slice,
                                        &fields, NULL) == TN_OK;
    return compute->has_next;
}

/* A slice of the same node and as many examples has the same fields. The parts of the last slice's
 * gradient would have to wait. */
static void plan_next(struct compute *compute, uint32_t slice, const struct slice_run *run)
{
    const struct job *job = compute->config.job;
    compute->has_next = false;
    compute->next_slice = slice + 1;
    compute->next_count = run->count;
    if (slice + 1 == compute->end_slice || run->count == 0) { return; }
    if (slices_positions(job->train.slices, job->train.batch, slice + 1).count != run->count) {
        return;
    }
    training_fill_next(compute->training, run->count, read_next, compute);
}

/* Run the slice with its examples. */
static enum tn_status run_slice(struct compute *compute, uint32_t slice, struct slice_run *run,
                                struct error *error)
{
    enum tn_status status = TN_OK;
    const bool is_read = compute->has_next && compute->next_slice == slice;
    if (run->count > 0 && !is_read) {
        struct fields fields = training_fields(compute->training, TN_TRAIN, run->count);
        const uint64_t begun_ns = clock_monotonic_ns();
        status = read_ahead_take(compute->reader, run->step, slice, &fields, error);
        time_spent_add(TIME_READ, begun_ns);
    }
    if (status != TN_OK) { return status; }
    if (is_read) { training_use_next(compute->training, run->count); }
    plan_next(compute, slice, run);
    status = run_examples(compute, run, error);
    if (status == TN_OK) { return TN_OK; }
    return error_context(error, "step %" PRIu64 ", slice %u", run->step, slice);
}

/* The gradient and loss of a slice at level `depth`; those of the last one at all levels. */
static enum tn_status slice_gradient(struct compute *compute, uint32_t slice, uint32_t depth,
                                     bool is_last, struct error *error)
{
    const struct job *job = compute->config.job;
    assert(slice < job->train.slices);
    struct slice_range range = slices_positions(job->train.slices, job->train.batch, slice);
    struct slice_run run = {
        .values = compute->values,
        .version = compute->version,
        .seed = job->seed,
        .step = compute->step,
        .first = range.first,
        .count = range.count,
        .scale = 1.0f / (float)job->train.batch,
        .gradient = level(compute, depth),
        .sums = compute->sums,
        .vector = compute->vector + depth,
        .row_sums = compute->config.rows != NULL ? &compute->rows[depth] : NULL,
        .became_final = is_last && !clips_slices(job) ? became_final : NULL,
        .user = compute,
    };
    compute->last = is_last ? &run : NULL;
    enum tn_status status = run_slice(compute, slice, &run, error);
    if (status == TN_OK) {
        add_loss(compute, slice, run.loss_sum, range.count);
        if (clips_slices(job)) { clip_slice(compute, run.gradient); }
        if (is_last && compute->final_from > 0) { became_final(compute, 0); }
        if (!is_last) { compute->losses[depth] = run.loss_sum; }
    }
    compute->last = NULL;
    return status;
}

static enum tn_status get_level(struct compute *compute, uint32_t depth, struct error *error)
{
    struct row_sums *rows = &compute->rows[depth];
    if (compute->config.rows != NULL && rows->tables == NULL) {
        enum tn_status status = row_sums_open(&compute->config.model->table, rows, error);
        if (status != TN_OK) { return status; }
    }
    if (compute->sums != NULL || level(compute, depth) != NULL) { return TN_OK; }
    return error_set(error, TN_ENOMEM, "out of memory for the gradients of %" PRIu64 " parameters",
                     compute->parameters);
}

/* Add the rows of the next level, those of the right subtree, to this one. */
static enum tn_status add_rows(struct compute *compute, uint32_t depth, struct error *error)
{
    if (compute->config.rows == NULL) { return TN_OK; }
    return row_sums_add(&compute->rows[depth], &compute->rows[depth + 1], &compute->spare_rows,
                        error);
}

/* Add the next level, the sum of the right subtree, to this one. */
static enum tn_status add_level(struct compute *compute, uint32_t depth, struct error *error)
{
    compute->losses[depth] += compute->losses[depth + 1];
    if (compute->sums != NULL) {
        const uint32_t left = compute->vector + depth;
        return device_sums_add(compute->sums, left, compute->sums, left + 1, error);
    }
    compute->config.kernels->add(compute->parameters, level(compute, depth + 1),
                                 level(compute, depth));
    return add_rows(compute, depth, error);
}

/* Sum the left subtree into this level and the right one into the next, then add them. */
static enum tn_status sum_node(struct compute *compute, struct slice_node node, uint32_t depth,
                               struct error *error)
{
    assert(node.count >= 1);
    enum tn_status status = get_level(compute, depth, error);
    if (status != TN_OK) { return status; }
    if (node.count == 1) { return slice_gradient(compute, node.first, depth, false, error); }
    struct slice_node left, right;
    slices_children(node, &left, &right);
    status = sum_node(compute, left, depth, error);
    if (status == TN_OK) { status = sum_node(compute, right, depth + 1, error); }
    return status == TN_OK ? add_level(compute, depth, error) : status;
}

/* ------------------------------------------------------- slices in one run */

bool compute_joins(const struct job *job, const struct variable_table *variables,
                   struct slice_node node, uint32_t *examples)
{
    *examples = slices_positions(job->train.slices, job->train.batch, node.first).count;
    if (node.count == 1 || *examples == 0 || clips_slices(job) || variables->row_table_count > 0 ||
        *examples * (uint64_t)node.count > COMPUTE_JOINED_EXAMPLES) {
        return false;
    }
    for (uint32_t v = node.first; v < node.first + node.count; v++) {
        if (slices_positions(job->train.slices, job->train.batch, v).count != *examples) {
            return false;
        }
    }
    return true;
}

/* Read the examples of all slices into the fields of the program. */
static enum tn_status read_slices(struct compute *compute, struct slice_node node,
                                  struct fields fields, uint32_t examples, struct error *error)
{
    const struct dataset *train = compute->config.train;
    const uint64_t begun_ns = clock_monotonic_ns();
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; i < node.count && status == TN_OK; i++) {
        status = read_ahead_take(compute->reader, compute->step, node.first + i, &fields, error);
        dataset_skip(train, examples, &fields);
    }
    time_spent_add(TIME_READ, begun_ns);
    return status;
}

/* The first slice of a run whose loss is not finite. */
static uint32_t find_diverged(const struct compute *compute, struct slice_node node,
                              uint32_t examples)
{
    uint32_t i = 0;
    while (i + 1 < node.count &&
           isfinite(training_joined_loss(compute->training, examples, node.count, i))) {
        i++;
    }
    return node.first + i;
}

static enum tn_status run_joined(struct compute *compute, struct slice_node node, uint32_t examples,
                                 struct slice_run *run, struct error *error)
{
    enum tn_status status = run_examples(compute, run, error);
    if (status != TN_OK) {
        return error_context(error, "step %" PRIu64 ", slice %" PRIu32, run->step,
                             find_diverged(compute, node, examples));
    }
    for (uint32_t i = 0; i < node.count; i++) {
        const double loss = training_joined_loss(compute->training, examples, node.count, i);
        add_loss(compute, node.first + i, loss, examples);
    }
    return TN_OK;
}

static enum tn_status joined_gradient(struct compute *compute, struct slice_node node,
                                      uint32_t examples, struct error *error)
{
    const struct job *job = compute->config.job;
    const struct slice_range first =
        slices_positions(job->train.slices, job->train.batch, node.first);
    struct slice_run run = {
        .values = compute->values,
        .version = compute->version,
        .seed = job->seed,
        .step = compute->step,
        .first = first.first,
        .count = examples * node.count,
        .slices = node.count,
        .scale = 1.0f / (float)job->train.batch,
        .gradient = compute->sum,
        .sums = compute->sums,
        .vector = compute->vector,
        .became_final = compute->sums == NULL ? became_final : NULL,
        .user = compute,
    };
    const struct fields fields = training_joined_fields(compute->training, examples, node.count);
    compute->last = &run;
    enum tn_status status = read_slices(compute, node, fields, examples, error);
    if (status == TN_OK) { status = run_joined(compute, node, examples, &run, error); }
    if (compute->sums != NULL) { compute->losses[0] = run.loss_sum; }
    if (status == TN_OK && run.became_final != NULL && compute->final_from > 0) {
        became_final(compute, 0);
    }
    compute->last = NULL;
    return status;
}

/* One by one, each added to the sums of the nodes that end with it. */
static enum tn_status sum_slices(struct compute *compute, struct slice_node node,
                                 struct error *error)
{
    enum tn_status status = TN_OK;
    uint32_t depth = 0;
    for (; node.count > 1 && status == TN_OK; depth++) {
        struct slice_node left, right;
        slices_children(node, &left, &right);
        status = sum_node(compute, left, depth, error);
        node = right;
    }
    compute->last_depth = depth;
    if (status == TN_OK) { status = get_level(compute, depth, error); }
    if (status == TN_OK) { status = slice_gradient(compute, node.first, depth, true, error); }
    for (; depth > 0 && status == TN_OK; depth--) { status = add_rows(compute, depth - 1, error); }
    return status;
}

enum tn_status compute_part(struct compute *compute, struct slice_node node, float *sum,
                            struct error *error)
{
    compute->sum = sum;
    compute->final_from = compute->parameters;
    compute->last_depth = 0;
    compute->end_slice = node.first + node.count;
    compute->has_next = false;
    uint32_t examples;
    const struct compute_config *config = &compute->config;
    const bool joins = compute_joins(config->job, &config->model->table, node, &examples) &&
                       training_joins(compute->training, examples, node.count);
    if (joins) { return joined_gradient(compute, node, examples, error); }
    return compute->sums != NULL ? sum_node(compute, node, 0, error)
                                 : sum_slices(compute, node, error);
}

enum tn_status compute_node_into(struct compute *compute, const float *values, uint64_t step,
                                 struct slice_node node, float *sum,
                                 const struct compute_watch *watch, struct error *error)
{
    assert(slices_is_node(compute->config.job->train.slices, node.first, node.count));
    compute->version++; /* The slices of a node have the same values; later ones may not. */
    compute->values = values;
    compute->step = step;
    compute->sum = sum;
    compute->watch = watch;
    enum tn_status status = compute->team != NULL && !compute->alone && node.count > 1
                                ? compute_team_sum(compute->team, compute, node, error)
                                : compute_part(compute, node, sum, error);
    compute->has_gradient = status == TN_OK;
    return status;
}

const float *compute_node(struct compute *compute, const float *values, uint64_t step,
                          struct slice_node node, struct error *error)
{
    struct buffer **own = &compute->levels[0];
    const size_t bytes = compute->parameters * sizeof(float);
    if (*own == NULL) { *own = buffer_acquire(compute->config.pool, bytes); }
    float *sum = *own != NULL ? (*own)->data : NULL;
    compute->sum = sum;
    if (get_level(compute, 0, error) != TN_OK) { return NULL; }
    enum tn_status status = compute_node_into(compute, values, step, node, sum, NULL, error);
    return status == TN_OK ? sum : NULL;
}

double compute_node_loss(const struct compute *compute)
{
    assert(compute->sum != NULL);
    return compute->losses[0];
}

void compute_reset(struct compute *compute)
{
    compute->recent = (struct recent_losses){0};
    compute->has_gradient = false;
}
