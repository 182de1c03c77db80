/* Rules for single tables: patterns, their order, and rules without a table. */
#include "common/job/table_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct variable_table model = {
    .row_table_count = 3,
    .row_tables = {{.name = "columns/user/rows"}, {.name = "columns/item/rows"}, {.name = "own"}},
};
static struct job job;
static struct error error;

static int set(void **state, const char *rules)
{
    (void)state;
    job_init(&job);
    return job_set(&job, rules, &error);
}

/* The first rule that fits; without one, rows stay. */
static void the_first_rule_applies(void **state)
{
    assert_int_equal(set(state, "train.tables={\"match\": \"*/item/*\", \"expire_after_steps\": 7},"
                                " {\"match\": \"columns/*\", \"expire_after_steps\": 9}"),
                     TN_OK);
    assert_int_equal(table_rules_check(&job, &model, &error), TN_OK);
    assert_int_equal(table_rule_of(&job, &model.row_tables[0]).expire_after_steps, 9);
    assert_int_equal(table_rule_of(&job, &model.row_tables[1]).expire_after_steps, 7);
    assert_int_equal(table_rule_of(&job, &model.row_tables[2]).expire_after_steps, 0);
}

static void rules_without_a_table_are_refused(void **state)
{
    const struct variable_table none = {.row_table_count = 0};
    assert_int_equal(set(state, "train.tables={\"match\": \"*\"}, {\"match\": \"column/*\"}"),
                     TN_OK);
    assert_int_equal(table_rules_check(&job, &model, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "train.tables[1].match is \"column/*\""));
    assert_non_null(
        strstr(error.text, "tables (\"columns/user/rows\", \"columns/item/rows\", \"own\"):"));
    assert_int_equal(table_rules_check(&job, &none, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "the model has no tables"));
}

/* An error lists some tables of a model that has many, also if their names are long. */
static void many_tables_are_not_all_listed(void **state)
{
    static struct variable_table many = {.row_table_count = 9};
    for (uint32_t t = 0; t < many.row_table_count; t++) {
        char *name = many.row_tables[t].name;
        memset(name, 'a' + (int)t, sizeof many.row_tables[t].name - 1);
    }
    assert_int_equal(set(state, "train.tables={\"match\": \"columns/*\"}"), TN_OK);
    assert_int_equal(table_rules_check(&job, &many, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, many.row_tables[5].name));
    assert_null(strstr(error.text, many.row_tables[6].name));
    assert_non_null(strstr(error.text, "f\" and 3 more): correct or remove it"));
}

/* The number that bounds the memory of counts has no default. */
static void admission_needs_both_numbers(void **state)
{
    assert_int_equal(set(state, "train.tables={\"match\": \"*\", \"admit_after\": 3,"
                                " \"admit_within_steps\": 50}"),
                     TN_OK);
    assert_int_equal(table_rules_check(&job, &model, &error), TN_OK);
    assert_int_equal(table_rule_of(&job, &model.row_tables[0]).admit_after, 3);
    assert_int_equal(set(state, "train.tables={\"match\": \"*\", \"admit_after\": 3}"), TN_OK);
    assert_int_equal(table_rules_check(&job, &model, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "train.tables[0].admit_after is 3, but admit_within_steps"));
    assert_int_equal(set(state, "train.tables={\"match\": \"*\", \"admit_within_steps\": 50}"),
                     TN_OK);
    assert_int_equal(table_rules_check(&job, &model, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "train.tables[0].admit_within_steps is 50, but no key"));
}

/* The counts of keys are tables, too, and there are at most ROW_TABLES_MAX. */
static void too_many_counts_are_refused(void **state)
{
    static struct variable_table many = {.row_table_count = ROW_TABLES_MAX / 2 + 1};
    for (uint32_t t = 0; t < many.row_table_count; t++) { many.row_tables[t].name[0] = 'a'; }
    assert_int_equal(set(state, "train.tables={\"match\": \"*\", \"admit_after\": 2,"
                                " \"admit_within_steps\": 9}"),
                     TN_OK);
    assert_int_equal(table_rules_check(&job, &many, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "for 129 of the model's 129 tables"));
    many.row_table_count--;
    assert_int_equal(table_rules_check(&job, &many, &error), TN_OK);
}

/* They are part of the job's hash, and other keys are refused. */
static void rules_are_read(void **state)
{
    struct job without;
    job_init(&without);
    assert_int_equal(set(state, "train.tables=[{\"match\": \"a\", \"expire_after_steps\": 7}]"),
                     TN_OK);
    assert_int_not_equal(job_hash(&job), job_hash(&without));
    assert_int_not_equal(set(state, "train.tables=[{\"expire_after_steps\": 7}]"), TN_OK);
    assert_non_null(strstr(error.text, "train.tables[0].match is missing"));
    assert_int_not_equal(set(state, "train.tables=[{\"match\": \"a\", \"after\": 7}]"), TN_OK);
    assert_non_null(strstr(error.text, "unknown key \"after\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_rule_applies),
        cmocka_unit_test(rules_without_a_table_are_refused),
        cmocka_unit_test(many_tables_are_not_all_listed),
        cmocka_unit_test(admission_needs_both_numbers),
        cmocka_unit_test(too_many_counts_are_refused),
        cmocka_unit_test(rules_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
