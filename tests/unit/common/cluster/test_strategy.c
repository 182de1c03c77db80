/* The table of strategies: which row a job has, and what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cluster/strategy.h"

static enum tn_status read_text(struct job *job, const char *text, struct error *error)
{
    job_init(job);
    return job_read_text(job, text, strlen(text), "test", error);
}

/* The mode of a job chooses among the strategies with ps. */
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
    for (enum strategy_kind kind = STRATEGY_PS_SYNC; kind <= STRATEGY_PS_ASYNC; kind++) {
        const struct strategy *strategy = strategy_of_kind(kind);
        assert_int_equal(strategy->kind, kind);
        assert_true(strategy->exact_steps != strategy->slice_updates);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mode_chooses_among_the_strategies_with_ps),
        cmocka_unit_test(facts_of_each_strategy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
