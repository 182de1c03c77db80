/* The keys that a strategy allows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cluster/job_strategy.h"
#include "common/cluster/strategy.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(mirror_needs_no_other_key, set_up),
        cmocka_unit_test_setup(mirror_refuses_what_it_cannot_do, set_up),
        cmocka_unit_test_setup(others_need_a_ps, set_up),
        cmocka_unit_test_setup(workers_fit_the_connections, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
