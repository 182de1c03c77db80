/* The keys that a strategy allows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/job/job_strategy.h"
#include "common/job/strategy.h"

static struct job job;
static struct error error;

static int set_up(void **state)
{
    (void)state;
    job_init(&job);
    job.strategy.type = STRATEGY_TYPE_MIRROR;
    strategy_settle(&job);
    return 0;
}

static void check_refused(const char *key, const char *remedy)
{
    assert_int_equal(job_check_strategy(&job, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, key));
    assert_non_null(strstr(error.text, remedy));
}

/* The defaults train without ps, whatever number of ps was given. */
static void mirror_needs_no_other_key(void **state)
{
    (void)state;
    assert_int_equal(job.cluster.ps, 0);
    assert_int_equal(strategy_shards(&job), 1);
    assert_int_equal(job_check_strategy(&job, &error), TN_OK);
    assert_int_equal(strategy_of_job(&job)->kind, STRATEGY_MIRROR);
}

/* Each key that mirror cannot honour is refused with its remedy. */
static void mirror_refuses_what_it_cannot_do(void **state)
{
    (void)state;
    job.train.mode = TRAIN_ASYNC;
    check_refused("train.mode", "--set train.mode=sync");
    set_up(state);
    job.cluster.workers = MIRROR_WORKERS_MAX + 1;
    check_refused("cluster.workers", "--set cluster.workers=120");
    set_up(state);
    job.cluster.evaluators = 1;
    check_refused("cluster.evaluators", "--set cluster.evaluators=0");
    set_up(state);
    job.checkpoint.best = BEST_LOSS;
    check_refused("checkpoint.best", "--set checkpoint.best=none");
    set_up(state);
    job.on_chief_failure = CHIEF_FAILURE_RESTORE;
    check_refused("on_chief_failure", "--set on_chief_failure=continue");
    set_up(state);
    job.transport.lane = LANE_SHM;
    check_refused("transport.lane", "--set transport.lane=auto");
    set_up(state);
    job.placement.strategy = PLACEMENT_GREEDY;
    check_refused("placement.strategy", "--set placement.strategy=ranges");
    set_up(state);
    job.placement.rule_count = 1;
    check_refused("placement.variables", "--set strategy.type=ps");
}

/* Only mirror has no ps. */
static void others_need_a_ps(void **state)
{
    (void)state;
    job_init(&job);
    assert_int_equal(job_check_strategy(&job, &error), TN_OK);
    job.cluster.ps = 0;
    check_refused("cluster.ps is 0", "--set strategy.type=mirror");
}

/* The number of workers that is allowed fits the connections of a node, two to each other one. */
static void workers_fit_the_connections(void **state)
{
    (void)state;
    job.cluster.workers = MIRROR_WORKERS_MAX;
    assert_int_equal(job_check_strategy(&job, &error), TN_OK);
    assert_true(2 * (MIRROR_WORKERS_MAX - 1) < 256);
}

static int set_up_group(void **state)
{
    (void)state;
    job_init(&job);
    job.strategy.type = STRATEGY_TYPE_GROUP;
    job.placement.strategy = PLACEMENT_GREEDY;
    strategy_settle(&job);
    return 0;
}

/* For chief and ps a group is a worker; without a group each worker is one. */
static void a_group_has_members(void **state)
{
    (void)state;
    assert_int_equal(job_check_strategy(&job, &error), TN_OK);
    assert_int_equal(strategy_of_job(&job)->kind, STRATEGY_PS_SYNC);
    assert_int_equal(strategy_members(&job), 2);
    job.cluster.ps = 5;
    assert_int_equal(strategy_member_of_ps(&job, 3), 1);
    assert_int_equal(strategy_member_of_ps(&job, 4), 0);
    job.strategy.type = STRATEGY_TYPE_PS;
    assert_int_equal(strategy_members(&job), 1);
    assert_int_equal(strategy_member_of_ps(&job, 3), 0);
}

/* Without ps, each member has all values, and no variable need be whole on a ps. */
static void a_group_may_have_no_ps(void **state)
{
    (void)state;
    job.cluster.ps = 0;
    check_refused("placement.strategy", "--set placement.strategy=ranges");
    job.placement.strategy = PLACEMENT_RANGES;
    assert_int_equal(job_check_strategy(&job, &error), TN_OK);
    assert_int_equal(strategy_of_job(&job)->kind, STRATEGY_MIRROR);
    assert_int_equal(strategy_members(&job), 2);
    assert_int_equal(strategy_shards(&job), 1);
    job.cluster.workers = MIRROR_WORKERS_MAX;
    check_refused("at most 119 workers", "give cluster.ps");
    job.cluster.workers = MIRROR_WORKERS_MAX - 2;
    assert_int_equal(job_check_strategy(&job, &error), TN_OK);
    job.checkpoint.best = BEST_LOSS;
    check_refused("group without ps", "--set checkpoint.best=none");
}

static void group_refuses_what_it_cannot_do(void **state)
{
    (void)state;
    job.train.mode = TRAIN_ASYNC;
    check_refused("train.mode", "--set train.mode=sync");
    set_up_group(state);
    job.train.kernels = JOB_KERNELS_CUDA;
    check_refused("train.kernels is cuda", "--set train.kernels=portable");
    job.train.kernels = JOB_KERNELS_CUBLAS;
    check_refused("train.kernels is cublas", "--set train.kernels=portable");
    set_up_group(state);
    job.train.ema = 0.5;
    check_refused("train.ema", "--set train.ema=0");
    set_up_group(state);
    job.cluster.workers_least = 1;
    check_refused("cluster.workers is a range", "--set cluster.workers=2");
    set_up_group(state);
    job.cluster.evaluators = 1;
    check_refused("cluster.evaluators", "--set cluster.evaluators=0");
    set_up_group(state);
    job.transport.lane = LANE_SHM;
    check_refused("transport.lane", "--set transport.lane=auto");
    set_up_group(state);
    job.placement.strategy = PLACEMENT_RANGES;
    check_refused("placement.strategy", "--set placement.strategy=greedy");
}

/* Workers make up whole groups, and each member has a ps. */
static void sizes_of_groups_fit(void **state)
{
    (void)state;
    job.cluster.workers = 3;
    check_refused("cluster.workers is 3, but strategy.members is 2", "a multiple");
    job.cluster.workers = 4;
    assert_int_equal(job_check_strategy(&job, &error), TN_OK);
    job.cluster.min_workers = 3;
    check_refused("cluster.min_workers is 3", "only 2 groups");
    set_up_group(state);
    job.cluster.ps = 1;
    check_refused("cluster.ps is 1", "at least as many");
}

/* A worker without slices is often a step behind, so it needs sums that are kept. */
static void sums_are_kept_for_workers_without_slices(void **state)
{
    job.strategy.keep_sums = 0;
    job.cluster.workers = job.train.slices;
    assert_int_equal(job_check_strategy(&job, &error), TN_OK);
    job.cluster.workers = job.train.slices + 1;
    check_refused("strategy.keep_sums is 0, but there are more workers",
                  "--set strategy.keep_sums=1");
    set_up_group(state);
    job.strategy.keep_sums = 0;
    assert_int_equal(job_check_strategy(&job, &error), TN_OK); /* The values are those of ps. */
    job.cluster.ps = 0;
    job.placement.strategy = PLACEMENT_RANGES;
    check_refused("only one worker of each group", "--set strategy.keep_sums=1");
}

/* Workers share a process only with ps, and if their number does not change. */
static void few_jobs_share_processes(void **state)
{
    (void)state;
    job.cluster.workers_per_process = 2;
    check_refused("strategy.type is mirror", "cluster.workers_per_process=1");
    job.strategy.type = STRATEGY_TYPE_PS;
    job.cluster.ps = 1;
    assert_int_equal(job_check_strategy(&job, &error), TN_OK);
    job.cluster.workers_least = 1;
    check_refused("cluster.workers is a range", "cluster.workers_per_process=1");
    job.cluster.workers_least = 0;
    job.train.kernels = JOB_KERNELS_CUDA;
    check_refused("train.kernels is cuda", "cluster.workers_per_process=1");
    job.train.kernels = JOB_KERNELS_CUBLAS;
    check_refused("train.kernels is cublas", "cluster.workers_per_process=1");
}

/* Other kernels than cuBLAS have no products with rounded operands. */
static void other_precisions_need_cublas(void **state)
{
    (void)state;
    job.strategy.type = STRATEGY_TYPE_LOCAL;
    for (enum job_kernels i = JOB_KERNELS_PORTABLE; i <= JOB_KERNELS_CUBLAS; i++) {
        job.train.kernels = i;
        job.train.precision = JOB_PRECISION_FLOAT32;
        assert_int_equal(job_check_strategy(&job, &error), TN_OK);
        for (enum job_precision p = JOB_PRECISION_TF32; p <= JOB_PRECISION_BF16; p++) {
            job.train.precision = p;
            if (i == JOB_KERNELS_CUBLAS) {
                assert_int_equal(job_check_strategy(&job, &error), TN_OK);
            } else {
                check_refused("train.kernels is not cublas", "--set train.precision=float32");
                assert_non_null(strstr(error.text, precision_name(p)));
            }
        }
    }
}

/* The slices of a step are shared on CPUs only, and where a worker has several. */
static void threads_share_slices(void **state)
{
    (void)state;
    job.strategy.type = STRATEGY_TYPE_MIRROR;
    job.train.threads = 2;
    assert_int_equal(job_check_strategy(&job, &error), TN_OK);
    job.strategy.type = STRATEGY_TYPE_LOCAL;
    assert_int_equal(job_check_strategy(&job, &error), TN_OK);
    job.train.kernels = JOB_KERNELS_CUDA;
    check_refused("train.threads is 2, but train.kernels is cuda", "--set train.threads=1");
    job.train.threads = 1;
    assert_int_equal(job_check_strategy(&job, &error), TN_OK);
    job.train.threads = 3;
    job.train.kernels = JOB_KERNELS_PORTABLE;
    job.strategy.type = STRATEGY_TYPE_PS;
    job.cluster.ps = 1;
    job.train.mode = TRAIN_ASYNC;
    check_refused("train.mode is async", "--set train.threads=1");
    assert_int_equal(job_worker_threads(&job), 3);
    job.train.threads = 0;
    assert_int_equal(job_check_strategy(&job, &error), TN_OK);
    assert_int_equal(job_worker_threads(&job), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(other_precisions_need_cublas, set_up),
        cmocka_unit_test_setup(threads_share_slices, set_up),
        cmocka_unit_test_setup(mirror_needs_no_other_key, set_up),
        cmocka_unit_test_setup(mirror_refuses_what_it_cannot_do, set_up),
        cmocka_unit_test_setup(others_need_a_ps, set_up),
        cmocka_unit_test_setup(workers_fit_the_connections, set_up),
        cmocka_unit_test_setup(sums_are_kept_for_workers_without_slices, set_up),
        cmocka_unit_test_setup(few_jobs_share_processes, set_up),
        cmocka_unit_test_setup(a_group_has_members, set_up_group),
        cmocka_unit_test_setup(a_group_may_have_no_ps, set_up_group),
        cmocka_unit_test_setup(group_refuses_what_it_cannot_do, set_up_group),
        cmocka_unit_test_setup(sizes_of_groups_fit, set_up_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
