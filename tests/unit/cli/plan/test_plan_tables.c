/* The advice of `tanist plan` to run the workers of a host in one process. */
#include "cli/plan/plan_tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct job job;
static struct variable_table variables;

/* Four workers, each a process, which read a table of two ps. */
static int set_up(void **state)
{
    (void)state;
    job_init(&job);
    variables = (struct variable_table){.row_table_count = 1};
    job.cluster.ps = 2;
    job.cluster.workers = 4;
    return 0;
}

static void test_workers_of_a_host_can_share_rows(void **state)
{
    (void)state;
    assert_int_equal(plan_tables_shared_workers(&job, &variables), 4);
    job.train.mode = TRAIN_ASYNC;
    assert_int_equal(plan_tables_shared_workers(&job, &variables), 0);
}

static void test_no_advice_where_they_share_them(void **state)
{
    (void)state;
    job.cluster.workers_per_process = 2;
    assert_int_equal(plan_tables_shared_workers(&job, &variables), 0);
    job.cluster.workers_per_process = 1;
    job.cluster.workers = 1;
    assert_int_equal(plan_tables_shared_workers(&job, &variables), 0);
}

static void test_no_advice_without_tables_on_ps(void **state)
{
    (void)state;
    variables.row_table_count = 0;
    assert_int_equal(plan_tables_shared_workers(&job, &variables), 0);
    variables.row_table_count = 1;
    job.strategy.type = STRATEGY_TYPE_LOCAL;
    assert_int_equal(plan_tables_shared_workers(&job, &variables), 0);
}

/* The workers of a range come and go, so the job would be refused. */
static void test_no_advice_that_would_be_refused(void **state)
{
    (void)state;
    job.cluster.workers_least = 2;
    assert_int_equal(plan_tables_shared_workers(&job, &variables), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_workers_of_a_host_can_share_rows, set_up),
        cmocka_unit_test_setup(test_no_advice_where_they_share_them, set_up),
        cmocka_unit_test_setup(test_no_advice_without_tables_on_ps, set_up),
        cmocka_unit_test_setup(test_no_advice_that_would_be_refused, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
