/* The table of strategies: which row a job has, and its facts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/job/strategy.h"

static enum tn_status read_text(struct job *job, const char *text, struct error *error)
{
    job_init(job);
    return job_read_text(job, text, strlen(text), "test", error);
}

/* Without a strategy a job runs on parameter servers, by its mode. */
static void mode_chooses_among_the_strategies_with_ps(void **state)
{
    (void)state;
    struct job job;
    assert_int_equal(read_text(&job, "{}", NULL), TN_OK);
    assert_int_equal(strategy_of_job(&job)->kind, STRATEGY_PS_SYNC);
    assert_int_equal(read_text(&job, "{\"train\": {\"mode\": \"async\"}}", NULL), TN_OK);
    assert_int_equal(strategy_of_job(&job)->kind, STRATEGY_PS_ASYNC);
}

/* A step is exact, or each slice is an update of its own. */
static void facts_of_each_strategy(void **state)
{
    (void)state;
    for (enum strategy_kind kind = STRATEGY_PS_SYNC; kind <= STRATEGY_LOCAL; kind++) {
        const struct strategy *strategy = strategy_of_kind(kind);
        assert_int_equal(strategy->kind, kind);
        assert_true(strategy->exact_steps != strategy->slice_updates);
        assert_int_equal(strategy->on_cluster, kind != STRATEGY_LOCAL);
    }
}

/* A local run has no cluster, and no async mode. */
static void local_is_sync_only(void **state)
{
    (void)state;
    struct job job;
    struct error error;
    assert_int_equal(read_text(&job, "{\"strategy\": {\"type\": \"local\"}}", NULL), TN_OK);
    assert_int_equal(strategy_of_job(&job)->kind, STRATEGY_LOCAL);
    assert_int_equal(job_check(&job, &error), TN_OK);
    job.train.mode = TRAIN_ASYNC;
    assert_int_equal(job_check(&job, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "strategy.type is local"));
    assert_non_null(strstr(error.text, "--set train.mode=sync"));
}

/* An unknown strategy is refused with those that exist. */
static void unknown_strategies_are_refused(void **state)
{
    (void)state;
    struct job job;
    struct error error;
    assert_int_equal(read_text(&job, "{\"strategy\": {\"type\": \"ring\"}}", &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "strategy.type"));
    assert_non_null(strstr(error.text, "ps"));
    assert_non_null(strstr(error.text, "local"));
}

/* The strategy may change between two starts: it changes no bit of the parameters. */
static void strategy_is_no_part_of_the_hash(void **state)
{
    (void)state;
    struct job job, local;
    job_init(&job);
    local = job;
    local.strategy.type = STRATEGY_TYPE_LOCAL;
    assert_int_equal(job_hash(&job), job_hash(&local));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mode_chooses_among_the_strategies_with_ps),
        cmocka_unit_test(facts_of_each_strategy),
        cmocka_unit_test(local_is_sync_only),
        cmocka_unit_test(unknown_strategies_are_refused),
        cmocka_unit_test(strategy_is_no_part_of_the_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
