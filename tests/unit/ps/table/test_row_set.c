/* The rows of all tables of a model: they share the limit of memory. */
#include "ps/table/row_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TABLES = 3, WIDTH = 8, ROWS = 500, STEPS_MOST = 200 };

static struct variable_table variables;
static struct error error;

static uint64_t bytes_of(const struct row_set *set)
{
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < TABLES; t++) { bytes += row_table_stats(set->tables[t]).bytes; }
    return bytes;
}

/* New rows of each table at each step, until one does not fit. */
static enum tn_status train(struct row_set *set, struct row_sums *sums)
{
    static const float gradient[WIDTH] = {1};
    enum tn_status status = TN_OK;
    for (uint64_t step = 0; status == TN_OK && step < STEPS_MOST; step++) {
        row_sums_clear(sums);
        for (uint32_t t = 0; t < TABLES; t++) {
            for (uint64_t key = step * ROWS; key < (step + 1) * ROWS; key++) {
                assert_int_equal(row_sum_append(&sums->tables[t], key, gradient, &error), TN_OK);
            }
        }
        status = row_set_apply(set, step, sums, &error);
        if (status == TN_OK) { row_set_release(set, step + 1); }
    }
    return status;
}

static void train_with_a_limit(uint32_t mib, uint64_t expire_after, enum tn_status wanted)
{
    struct job job;
    struct row_set set;
    struct row_sums sums;
    job_init(&job);
    job.train.optimizer = OPTIMIZER_ADAM;
    job.cluster.table_mib = mib;
    job.train.table_rule_count = 1;
    job.train.table_rules[0] =
        (struct job_table_rule){.match = "t*", .expire_after_steps = expire_after};
    assert_int_equal(row_set_open(&set, &job, &variables, (struct row_part){.ps_count = 0}, true,
                                  (struct cell_owner){.arena = NULL}, &error),
                     TN_OK);
    assert_int_equal(row_sums_open(&variables, &sums, &error), TN_OK);
    assert_int_equal(train(&set, &sums), wanted);
    assert_true(mib == 0 || bytes_of(&set) <= (uint64_t)mib << 20);
    row_sums_close(&sums);
    row_set_close(&set);
}

static void test_tables_share_the_limit(void **state)
{
    (void)state;
    variables.row_table_count = TABLES;
    for (uint32_t t = 0; t < TABLES; t++) {
        variables.row_tables[t] = (struct row_table_shape){.width = WIDTH, .scale = 0.5F};
        snprintf(variables.row_tables[t].name, VARIABLE_NAME_MAX, "t%u", t);
    }
    train_with_a_limit(4, 0, TN_EINVAL);
    assert_non_null(strstr(error.text, "cluster.table_mib, 4 MiB: the table 't"));
    assert_non_null(strstr(error.text, " rows in "));
    train_with_a_limit(0, 0, TN_OK);
    train_with_a_limit(1024, 0, TN_OK);
    train_with_a_limit(4, 2, TN_OK); /* Each step has the memory of rows that have expired. */
}

static void expect_counts(uint64_t within, uint64_t rows, uint64_t most)
{
    struct job job;
    const struct row_table_shape shape = {.name = "t", .width = WIDTH, .rows = rows, .keys = 3};
    job_init(&job);
    job.train.batch = 20;
    job.train.table_rule_count = 1;
    job.train.table_rules[0] = (struct job_table_rule){
        .match = "t", .admit_after = within > 0 ? 2 : 0, .admit_within_steps = within};
    const struct row_counts_size size = row_set_counts_size(&job, &shape);
    assert_int_equal(size.bytes, within > 0 ? 43 : 0);
    assert_int_equal(size.most, most);
}

/* The keys of the batches in which a count lasts, or all that the table has. */
static void test_counts_have_a_limit(void **state)
{
    (void)state;
    expect_counts(0, 0, 0);
    expect_counts(5, 0, 20 * 3 * 5);
    expect_counts(5, 301, 20 * 3 * 5);
    expect_counts(5, 299, 299);
    expect_counts(UINT64_MAX, 0, SPARSE_KEY_MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_share_the_limit),
        cmocka_unit_test(test_counts_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
