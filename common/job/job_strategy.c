#include "common/job/job_strategy.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/job/strategy.h"

/* A value that a strategy does not support. */
struct rule {
    bool is_refused;
    const char *key, *value, *remedy;
};

static enum tn_status check_rules(const char *strategy, const struct rule *rules, size_t count,
                                  struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (!rules[i].is_refused) { continue; }
        return error_set(error, TN_EINVAL,
                         "%s is %s, which strategy.type %s does not support: give --set %s",
                         rules[i].key, rules[i].value, strategy, rules[i].remedy);
    }
    return TN_OK;
}

/* A worker that owns slices is never a step behind without a loss. Others would fetch all values in
 * almost each step. */
static enum tn_status check_kept_sums(const struct job *job, struct error *error)
{
    const bool is_group = job->strategy.type == STRATEGY_TYPE_GROUP;
    if (job->strategy.keep_sums > 0) { return TN_OK; }
    if (!is_group && job->cluster.workers <= job->train.slices) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "strategy.keep_sums is 0, but %s, and each of these would fetch all values in "
                     "almost each step: give --set strategy.keep_sums=1",
                     is_group ? "only one worker of each group has slices"
                              : "there are more workers than train.slices");
}

/* Without ps: type mirror, or groups whose members have all values. */
static enum tn_status check_replicas(const struct job *job, const char *strategy,
                                     struct error *error)
{
    const struct rule rules[] = {
        {job->train.mode == TRAIN_ASYNC, "train.mode", "async", "train.mode=sync"},
        {job->cluster.ps != 0, "cluster.ps", "not 0", "cluster.ps=0"},
        {job->cluster.workers > MIRROR_WORKERS_MAX, "cluster.workers", "more than 120",
         "cluster.workers=120"},
        {job->cluster.evaluators > 0, "cluster.evaluators", "1", "cluster.evaluators=0"},
        {job->checkpoint.best != BEST_NONE, "checkpoint.best", "a metric", "checkpoint.best=none"},
        {job->on_chief_failure == CHIEF_FAILURE_RESTORE, "on_chief_failure", "restore",
         "on_chief_failure=continue"},
        {job->transport.lane == LANE_SHM, "transport.lane", "shm", "transport.lane=auto"},
        {job->placement.strategy != PLACEMENT_RANGES, "placement.strategy", "not ranges",
         "placement.strategy=ranges"},
        {job->placement.rule_count > 0, "placement.variables", "a list", "strategy.type=ps"},
    };
    const enum tn_status status =
        check_rules(strategy, rules, sizeof rules / sizeof rules[0], error);
    return status == TN_OK ? check_kept_sums(job, error) : status;
}

/* The tasks of a group, and the variables of its members on ps. */
static enum tn_status check_group_sizes(const struct job *job, struct error *error)
{
    const uint32_t members = job->strategy.members, workers = job->cluster.workers;
    if (workers % members != 0) {
        return error_set(error, TN_EINVAL,
                         "cluster.workers is %" PRIu32 ", but strategy.members is %" PRIu32
                         ": give a multiple of it, the number of workers of a group",
                         workers, members);
    }
    if (job->cluster.min_workers > workers / members) {
        return error_set(error, TN_EINVAL,
                         "cluster.min_workers is %" PRIu32 ", but there are only %" PRIu32
                         " groups of %" PRIu32 " workers: training would never start; lower it",
                         job->cluster.min_workers, workers / members, members);
    }
    if (job->cluster.ps != 0 && job->cluster.ps < members) {
        return error_set(error, TN_EINVAL,
                         "cluster.ps is %" PRIu32 ", but strategy.members is %" PRIu32
                         ": give at least as many, each ps has variables of one member, or 0: each "
                         "worker then has all values",
                         job->cluster.ps, members);
    }
    /* Beside two connections between each pair of workers, one between members. */
    if (job->cluster.ps == 0 && 2 * workers + members > 2 * MIRROR_WORKERS_MAX) {
        return error_set(error, TN_EINVAL,
                         "cluster.workers is %" PRIu32 ", but groups of %" PRIu32
                         " without ps have at most %d workers: lower it, or give cluster.ps",
                         workers, members, (2 * MIRROR_WORKERS_MAX - (int)members) / 2);
    }
    return TN_OK;
}

static const char *gpu_kernels(const struct job *job)
{
    return job->train.kernels == JOB_KERNELS_CUBLAS ? "cublas" : "cuda";
}

static enum tn_status check_group(const struct job *job, struct error *error)
{
    const struct rule rules[] = {
        {job->train.mode == TRAIN_ASYNC, "train.mode", "async", "train.mode=sync"},
        {job_has_gpus(job), "train.kernels", gpu_kernels(job),
         "strategy.type=ps, or for a new run --set train.kernels=portable"},
        {job->train.ema > 0, "train.ema", "not 0", "train.ema=0"},
        {job->cluster.workers_least != 0, "cluster.workers", "a range", "cluster.workers=2"},
        {job->cluster.evaluators > 0, "cluster.evaluators", "1", "cluster.evaluators=0"},
        {job->transport.lane == LANE_SHM, "transport.lane", "shm", "transport.lane=auto"},
        {job->cluster.ps != 0 && job->placement.strategy == PLACEMENT_RANGES, "placement.strategy",
         "ranges, which cuts variables", "placement.strategy=greedy"},
    };
    enum tn_status status = check_rules("group", rules, sizeof rules / sizeof rules[0], error);
    if (status == TN_OK && job->cluster.ps == 0) {
        status = check_replicas(job, "group without ps", error);
    }
    return status == TN_OK ? check_group_sizes(job, error) : status;
}

static enum tn_status check_borders(const struct job *job, struct error *error)
{
    const char *fault = row_borders_fault(&job->placement.rows, job->cluster.ps);
    if (fault == NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "placement.buckets: %s: it has %" PRIu32 " borders, and cluster.ps is %" PRIu32
                     "; --set placement.buckets=[] gives each ps an equal part of the rows",
                     fault, job->placement.rows.count, job->cluster.ps);
}

enum tn_status job_check_workers_per_process(const struct job *job, struct error *error)
{
    const enum strategy_type type = job->strategy.type;
    const struct {
        bool is_refused;
        const char *reason;
    } rules[] = {
        {type == STRATEGY_TYPE_MIRROR, "strategy.type is mirror, where each worker has a store"},
        {type == STRATEGY_TYPE_GROUP, "strategy.type is group, where workers listen"},
        {job->cluster.workers_least != 0, "cluster.workers is a range, so workers come and go"},
        {job->train.kernels == JOB_KERNELS_CUDA, "train.kernels is cuda, with a GPU each"},
        {job->train.kernels == JOB_KERNELS_CUBLAS, "train.kernels is cublas, with a GPU each"},
    };
    if (job->cluster.workers_per_process == 1) { return TN_OK; }
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (!rules[i].is_refused) { continue; }
        return error_set(error, TN_EINVAL,
                         "cluster.workers_per_process is %" PRIu32
                         ", but %s: give --set cluster.workers_per_process=1",
                         job->cluster.workers_per_process, rules[i].reason);
    }
    return TN_OK;
}

static enum tn_status check_type(const struct job *job, struct error *error)
{
    if (check_borders(job, error) != TN_OK) { return error->status; }
    if (job->strategy.type == STRATEGY_TYPE_MIRROR) { return check_replicas(job, "mirror", error); }
    if (job->strategy.type == STRATEGY_TYPE_GROUP) { return check_group(job, error); }
    if (job->cluster.ps == 0 && job->strategy.type != STRATEGY_TYPE_LOCAL) {
        return error_set(error, TN_EINVAL,
                         "cluster.ps is 0, but the parameters need a ps: give at least 1, or "
                         "--set strategy.type=mirror");
    }
    if (job->strategy.type != STRATEGY_TYPE_LOCAL || job->train.mode != TRAIN_ASYNC) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "train.mode is async, but strategy.type is local (--local), which has no "
                     "workers that could be ahead of one another: give --set train.mode=sync, "
                     "or --set strategy.type=ps without --local");
}

/* Several GPUs share the slices of a node of the slice tree. */
static enum tn_status check_gpus(const struct job *job, struct error *error)
{
    const char *reason = NULL;
    if (!job_has_gpus(job)) {
        reason = "train.kernels is not cuda or cublas";
    } else if (job->train.mode == TRAIN_ASYNC) {
        reason = "train.mode is async, where a worker computes one slice at a time";
    }
    if (job->train.gpus == 1 || reason == NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL, "train.gpus is %" PRIu32 ", but %s: give --set train.gpus=1",
                     job->train.gpus, reason);
}

/* Several threads share the slices of a node of the slice tree, too. */
static enum tn_status check_threads(const struct job *job, struct error *error)
{
    const char *reason = NULL;
    if (job_has_gpus(job)) {
        reason = "train.kernels is cuda or cublas, where GPUs compute the slices";
    } else if (job->train.mode == TRAIN_ASYNC) {
        reason = "train.mode is async, where a worker computes one slice at a time";
    } else if (job->strategy.type == STRATEGY_TYPE_GROUP) {
        reason = "strategy.type is group, where the members of a group share a slice";
    }
    if (job->train.threads <= 1 || reason == NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "train.threads is %" PRIu32 ", but %s: give --set train.threads=1",
                     job->train.threads, reason);
}

static enum tn_status check_ps_kernels(const struct job *job, struct error *error)
{
    const char *reason = NULL;
    if (job->strategy.type == STRATEGY_TYPE_LOCAL) {
        reason = "strategy.type is local (--local), which has no ps";
    } else if (job->cluster.ps == 0 || job->strategy.type == STRATEGY_TYPE_MIRROR) {
        reason = "the job has no ps: each worker updates all parameters on its CPU";
    } else if (job->train.mode == TRAIN_ASYNC) {
        reason = "train.mode is async, where each slice would be copied to the GPU and back";
    }
    if (!job_ps_has_gpu(job) || reason == NULL) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "train.ps_kernels is cuda, but %s: give --set train.ps_kernels=cpu", reason);
}

/* Products with rounded operands are those of cuBLAS. */
static enum tn_status check_precision(const struct job *job, struct error *error)
{
    if (job->train.precision == JOB_PRECISION_FLOAT32 || job->train.kernels == JOB_KERNELS_CUBLAS) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "train.precision is %s, but train.kernels is not cublas, and the other "
                     "kernels compute in float32: give --set train.kernels=cublas, or --set "
                     "train.precision=float32",
                     precision_name(job->train.precision));
}

enum tn_status job_check_strategy(const struct job *job, struct error *error)
{
    enum tn_status status = check_type(job, error);
    if (status == TN_OK) { status = check_gpus(job, error); }
    if (status == TN_OK) { status = check_threads(job, error); }
    if (status == TN_OK) { status = check_ps_kernels(job, error); }
    if (status == TN_OK) { status = check_precision(job, error); }
    return status == TN_OK ? job_check_workers_per_process(job, error) : status;
}
