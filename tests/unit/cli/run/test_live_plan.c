/* Changes of a running job: which job is wanted, and what a run that ends answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/run/live_plan.h"

/* Groups of two; with `ps` 0 their members have all values. */
static struct job group_job(uint32_t ps)
{
    struct job job;
    job_init_existing(&job);
    job.strategy.type = STRATEGY_TYPE_GROUP;
    job.strategy.members = 2;
    job.placement.strategy = ps > 0 ? PLACEMENT_GREEDY : PLACEMENT_RANGES;
    job.cluster.ps = ps;
    job.cluster.workers = 4;
    job.cluster.workers_per_process = 1;
    job.train.steps = 100;
    return job;
}

static void another_number_of_workers_keeps_the_strategy(void **state)
{
    (void)state;
    for (uint32_t ps = 0; ps <= 2; ps += 2) {
        const struct change_request request = {.ps = ps, .workers = 6};
        struct job job = group_job(ps);
        const enum placement_strategy placement = job.placement.strategy;
        live_plan_job(&job, &request);
        assert_int_equal(job.strategy.type, STRATEGY_TYPE_GROUP);
        assert_int_equal(job.placement.strategy, placement);
        assert_int_equal(job.cluster.ps, ps);
        assert_int_equal(job.cluster.workers, 6);
    }
}

static void groups_get_ps(void **state)
{
    (void)state;
    const struct change_request request = {.strategy = CHANGE_TO_GROUP, .ps = 2};
    struct job job = group_job(0);
    live_plan_job(&job, &request);
    assert_int_equal(job.strategy.type, STRATEGY_TYPE_GROUP);
    assert_int_equal(job.placement.strategy, PLACEMENT_GREEDY);
    assert_int_equal(job.cluster.ps, 2);
}

/* The remedy is the same change, not another one. */
static void a_run_that_ends_names_the_setting(void **state)
{
    static const struct {
        struct change_request request;
        const char *setting;
    } cases[] = {
        {{.ps = 3}, "--set cluster.ps=3`"},
        {{.ps = 2, .workers = 6}, "--set cluster.workers=6`"},
        {{.strategy = CHANGE_TO_MIRROR}, "--set strategy.type=mirror`"},
        {{.strategy = CHANGE_TO_PS, .ps = 2}, "--set strategy.type=ps --set cluster.ps=2`"},
    };
    static const struct run ends = {.phase = RUN_STOPPING, .generation = 1};
    (void)state;
    const struct job job = group_job(2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error error;
        assert_int_equal(live_plan_check(&job, &cases[i].request, &ends, &error), TN_EUNHEALTHY);
        assert_non_null(strstr(error.text, "the run ends (phase stopping)"));
        assert_non_null(strstr(error.text, cases[i].setting));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_number_of_workers_keeps_the_strategy),
        cmocka_unit_test(groups_get_ps),
        cmocka_unit_test(a_run_that_ends_names_the_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
