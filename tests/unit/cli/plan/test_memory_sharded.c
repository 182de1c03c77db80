/* The memory of a host if a job without ps had a ps beside each worker. */
#include "cli/plan/memory_sharded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"

/* 32 MiB of parameters. */
static const char TEXT[] =
    "{\"name\": \"sharded\", \"model\": {\"type\": \"linear\", \"inputs\": 1023, \"outputs\": "
    "8192},"
    " \"data\": {\"type\": \"synthetic\", \"examples\": 32, \"test_examples\": 8},"
    " \"train\": {\"steps\": 10, \"batch\": 4, \"slices\": 4, \"optimizer\": \"adam\"},"
    " \"checkpoint\": {\"every_seconds\": 0}, \"strategy\": {\"type\": \"mirror\"},"
    " \"cluster\": {\"workers\": 4}}";

static struct job job;
static struct variable_table variables;
static struct memory_plan plan;

static int set_up(void **state)
{
    (void)state;
    struct error error = {0};
    struct model *model = NULL;
    job_init(&job);
    if (job_read_text(&job, TEXT, strlen(TEXT), "the job", &error) != TN_OK) { return -1; }
    strategy_settle(&job);
    if (model_open(&job, &model, &error) != TN_OK) { return -1; }
    variables = model->table;
    model_close(model);
    return 0;
}

static struct sharded_memory sharded(void)
{
    struct sharded_memory out = {.ps = 99};
    assert_int_equal(memory_sharded_make(&job, &variables, NULL, &out, NULL), TN_OK);
    return out;
}

/* The memory is that of a worker and a ps of the job with as many ps as workers. It is less than
 * that of a worker of the job without ps. The state of Adam is two arrays of one range. */
static void test_it_is_the_job_with_ps(void **state)
{
    (void)state;
    const struct sharded_memory adam = sharded();
    struct job with_ps = job;
    assert_int_equal(adam.ps, 4);
    assert_int_equal(memory_plan_make(&job, &variables, NULL, &plan, NULL), TN_OK);
    assert_true(adam.host < memory_of_worker(&plan.worker));
    with_ps.strategy.type = STRATEGY_TYPE_PS;
    with_ps.cluster.ps = 4;
    with_ps.transport.lane = LANE_TCP;
    assert_int_equal(memory_plan_make(&with_ps, &variables, NULL, &plan, NULL), TN_OK);
    assert_int_equal(adam.host, memory_of_worker(&plan.worker) + memory_of_ps(&plan.ps[0]));
    job.train.optimizer = OPTIMIZER_SGD;
    assert_int_equal(adam.host - sharded().host, 2 * plan.ps[0].values);
}

static void assert_none(void)
{
    const struct sharded_memory none = sharded();
    assert_int_equal(none.ps, 0);
}

/* Another job has no such form. */
static void test_jobs_without_it(void **state)
{
    (void)state;
    const struct job original = job;
    job.cluster.workers = 1;
    assert_none();
    job = original;
    job.cluster.workers = PS_MAX + 1;
    assert_none();
    job = original;
    job.cluster.workers_least = 2;
    assert_none();
    job = original;
    job.strategy.type = STRATEGY_TYPE_PS;
    job.cluster.ps = 2;
    assert_none();
    job = original;
    job.strategy.type = STRATEGY_TYPE_GROUP;
    assert_none();
    job = original;
    variables.parameter_count = 16; /* For one ps. */
    assert_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_it_is_the_job_with_ps, set_up),
        cmocka_unit_test_setup(test_jobs_without_it, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
