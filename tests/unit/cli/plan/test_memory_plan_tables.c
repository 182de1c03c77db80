/* Predicted memory of tables: what each ps and each worker holds of them. */
#include "cli/plan/memory_plan_tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/plan/memory_check.h"
#include "worker/row_lookup.h"

enum { WIDTH = 16, ROW_BYTES = 227, EXAMPLES = 100000 };

static struct job job;
static struct variable_table variables;
static struct memory_data data;
static struct memory_plan plan;

/* A table of which each example has a new key, and one with 1000 keys. */
static int set_up(void **state)
{
    (void)state;
    job_init(&job);
    variables = (struct variable_table){.row_table_count = 2};
    data = (struct memory_data){.known = true, .bytes = 5000, .trained = EXAMPLES, .evaluated = 10};
    job.train.optimizer = OPTIMIZER_ADAM;
    job.train.slices = 2;
    job.train.batch = 100;
    job.train.steps = 100000;
    job.cluster.ps = 2;
    job.cluster.workers = 2;
    for (uint32_t t = 0; t < 2; t++) {
        struct row_table_shape *table = &variables.row_tables[t];
        *table = (struct row_table_shape){.name = "new", .width = WIDTH, .keys = 1};
        data.trained_keys[t] = (struct key_growth){1024, {256, 512, 1024}};
        data.evaluated_keys[t] = (struct key_growth){10, {2, 4, 8}};
    }
    memcpy(variables.row_tables[1].name, "old", 4);
    data.trained_keys[1] = (struct key_growth){1024, {1000, 1000, 1000}};
    return variable_table_add(&variables, "w", 2, (const uint32_t[]){64, 64}, VARIABLE_ZEROS, 0,
                              NULL);
}

static void make_plan(void)
{
    memory_plan_parameters(&job, &variables, &plan);
    memory_plan_add_data(&job, &variables, &data, &plan);
}

/* Each ps has half of the rows, with their places in lists, and some versions and gradients. */
static void test_ps_have_expected_rows(void **state)
{
    (void)state;
    make_plan();
    assert_int_equal(plan.tables[0].expected, EXAMPLES);
    assert_int_equal(plan.tables[1].expected, 1000);
    assert_int_equal(plan.tables[0].most, EXAMPLES);
    assert_int_equal(plan.tables[1].most, EXAMPLES);
    const uint64_t rows = (uint64_t)(EXAMPLES + 1000) * ROW_BYTES / 2;
    for (uint32_t p = 0; p < 2; p++) { assert_in_range(plan.ps[p].rows, rows, rows * 5 / 4); }
    assert_int_equal(plan.member[0].data, 5000);
}

/* Fewer steps train fewer rows, as do rows that expire, and tables with a number of rows. */
static void test_limits_of_rows(void **state)
{
    (void)state;
    job.train.steps = 20;
    make_plan();
    assert_int_equal(plan.tables[0].expected, 2000);
    assert_int_equal(plan.tables[0].most, 2000);
    job.train.steps = 100000;
    variables.row_tables[0].rows = 5000;
    make_plan();
    assert_int_equal(plan.tables[0].expected, 5000);
    assert_int_equal(plan.tables[0].most, 5000);
    variables.row_tables[0].rows = 0;
    job.train.table_rule_count = 1;
    job.train.table_rules[0] = (struct job_table_rule){.match = "*", .expire_after_steps = 50};
    make_plan();
    assert_int_equal(plan.tables[0].expected, 5200);
}

/* Keys without a row are counted. */
static void test_admission(void **state)
{
    (void)state;
    job.train.table_rule_count = 1;
    job.train.table_rules[0] =
        (struct job_table_rule){.match = "new", .admit_after = 4, .admit_within_steps = 10};
    make_plan();
    assert_int_equal(plan.tables[0].expected, EXAMPLES / 4);
    assert_int_equal(plan.tables[0].counts, 1200);
    assert_int_equal(plan.tables[1].counts, 0);
}

/* `cluster.table_mib` limits the rows of a ps, and borders divide them. */
static void test_limit_and_borders(void **state)
{
    (void)state;
    make_plan();
    const uint64_t half = plan.ps[0].rows;
    job.placement.rows = (struct row_borders){.count = 1, .buckets = {1024}};
    make_plan();
    assert_in_range(plan.ps[0].rows, half / 2 - half / 10, half / 2 + half / 10);
    assert_in_range(plan.ps[1].rows, half + half / 3, half * 5 / 3);
    job.cluster.table_mib = 1;
    make_plan();
    assert_in_range(plan.ps[0].rows, 1 << 20, 3 << 19);
}

/* A push has the rows of its own examples. */
static void test_pushes_have_their_own_rows(void **state)
{
    (void)state;
    make_plan();
    assert_int_equal(plan.pushes, 2);
    assert_in_range(plan.tables[0].step, 100, 101); /* Rounded up. */
    assert_in_range(plan.tables[0].push, 50, 51);
    job.train.slices = 1;
    make_plan();
    assert_int_equal(plan.pushes, 1);
    assert_in_range(plan.tables[0].push, 100, 101);
}

/* Without data the rows are unknown, and only the bound by the job is left. */
static void test_unknown_data(void **state)
{
    (void)state;
    memory_plan_parameters(&job, &variables, &plan);
    memory_plan_add_data(&job, &variables, NULL, &plan);
    assert_false(plan.has_data);
    assert_int_equal(plan.ps[0].rows, 0);
    assert_int_equal(plan.member[0].rows + plan.member[0].evaluated, 0);
    assert_int_equal(plan.tables[0].expected, 0);
    assert_int_equal(plan.tables[0].most, job.train.steps * job.train.batch);
}

/* One of the workers evaluates: all together need the rows of the test set once. */
static void test_one_worker_evaluates(void **state)
{
    (void)state;
    data.evaluated = 10000;
    make_plan();
    const struct worker_memory *worker = &plan.member[0];
    assert_true(worker->evaluated >= 8000 * (WIDTH * sizeof(float) + sizeof(uint64_t)));
    const uint64_t all = memory_of_all(&plan);
    struct memory_plan more = plan;
    more.workers++;
    assert_int_equal(memory_of_all(&more) - all, memory_of_worker(worker) - worker->evaluated);
}

/* Each thread has the gradients of the rows of its slices, and its own lookups; rows that were
 * looked up exist once. */
static void test_threads(void **state)
{
    (void)state;
    variables.row_table_count = 1;
    job.cluster.workers = 1;
    job.train.slices = 8;
    make_plan();
    const uint64_t one = plan.member[0].rows;
    job.train.threads = 4;
    make_plan();
    const uint64_t four = plan.member[0].rows;
    assert_true(four < 2 * one);
    job.train.threads = 8;
    make_plan();
    assert_true(plan.member[0].rows > one && plan.member[0].rows < 2 * four);
}

/* No job is refused for rows of keys that were not read. */
static void test_only_certain_rows_are_refused(void **state)
{
    (void)state;
    struct error error = {0};
    memory_plan_parameters(&job, &variables, &plan);
    const uint64_t available = memory_of_all(&plan) + (8 << 20);
    make_plan();
    assert_true(memory_of_all(&plan) > available);
    assert_int_equal(memory_plan_check(&job, &variables, &data, available, NULL), TN_OK);
    data.trained_keys[0] = (struct key_growth){EXAMPLES, {EXAMPLES / 4, EXAMPLES / 2, EXAMPLES}};
    assert_int_equal(memory_plan_check(&job, &variables, &data, available, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "the job needs at least"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_ps_have_expected_rows, set_up),
        cmocka_unit_test_setup(test_limits_of_rows, set_up),
        cmocka_unit_test_setup(test_admission, set_up),
        cmocka_unit_test_setup(test_limit_and_borders, set_up),
        cmocka_unit_test_setup(test_pushes_have_their_own_rows, set_up),
        cmocka_unit_test_setup(test_unknown_data, set_up),
        cmocka_unit_test_setup(test_one_worker_evaluates, set_up),
        cmocka_unit_test_setup(test_threads, set_up),
        cmocka_unit_test_setup(test_only_certain_rows_are_refused, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
