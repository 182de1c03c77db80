/* common/job/variable_placement.h: whole variables on ps; bits are the same with every
 * strategy. */
#include "common/job/variable_placement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { VARIABLES = 6, PARAMETERS = 171 };

static const uint32_t sizes[VARIABLES] = {50, 1, 40, 30, 30, 20};

static struct variable_table table;

static struct job job_of(const char *strategy, const char *ps)
{
    struct job job;
    char text[64];
    struct error error;
    job_init(&job);
    assert_true(snprintf(text, sizeof text, "placement.strategy=%s", strategy) > 0);
    assert_int_equal(job_set(&job, text, &error), TN_OK);
    assert_true(snprintf(text, sizeof text, "cluster.ps=%s", ps) > 0);
    assert_int_equal(job_set(&job, text, &error), TN_OK);
    memset(&table, 0, sizeof table);
    for (uint32_t i = 0; i < VARIABLES; i++) {
        assert_true(snprintf(text, sizeof text, "v%u", i) > 0);
        assert_int_equal(variable_table_add(&table, text, 1, &sizes[i], VARIABLE_NORMAL, 1, NULL),
                         TN_OK);
    }
    return job;
}

/* The names of the variables of each ps, the ps separated by "|". */
static void expect(const struct job *job, const char *names)
{
    char text[VARIABLES * 3 + PS_MAX] = "";
    struct error error = {.text = ""};
    if (variables_place(&table, job, &error) != TN_OK) { fail_msg("%s", error.text); }
    uint64_t next = 0;
    for (uint32_t p = 0; p < job->cluster.ps; p++) {
        struct placement shard = variable_table_shard(&table, job->cluster.ps, p);
        assert_int_equal(shard.first, next);
        next += shard.count;
        for (uint32_t i = 0; i < VARIABLES; i++) {
            const struct variable *variable = &table.variables[i];
            if (variable->offset < shard.first || variable->offset >= next) { continue; }
            assert_true(variable->offset + variable->count <= next);
            strcat(text, variable->name);
        }
        strcat(text, p + 1 < job->cluster.ps ? "|" : "");
    }
    assert_int_equal(next, PARAMETERS);
    assert_int_equal(variable_table_check_ps(&table, job->cluster.ps, NULL), TN_OK);
    assert_string_equal(text, names);
}

static void strategies_keep_variables_whole(void **state)
{
    (void)state;
    struct job job = job_of("round_robin", "3");
    expect(&job, "v0v3|v1v4|v2v5");
    job = job_of("greedy", "3"); /* 50 | 40 20 1 | 30 30 */
    expect(&job, "v0v1|v2v5|v3v4");
    job = job_of("greedy", "1");
    expect(&job, "v0v1v2v3v4v5");
}

/* Rules come before devices; what they place counts as load. */
static void pins_are_honoured(void **state)
{
    (void)state;
    struct error error;
    struct job job = job_of("greedy", "2");
    assert_int_equal(job_set(&job,
                             "placement.variables=[{\"match\": \"v[01]\", \"ps\": 1},"
                             " {\"match\": \"v5\", \"ps\": 0}]",
                             &error),
                     TN_OK);
    table.variables[5].pinned = 2;
    table.variables[4].pinned = 2;
    expect(&job, "v2v3v5|v0v1v4");
}

/* Neither initial values nor the digest depend on the strategy. */
static void bits_do_not_depend_on_the_placement(void **state)
{
    (void)state;
    float values[2][PARAMETERS];
    struct digest digests[2];
    struct job job = job_of("ranges", "3");
    assert_int_equal(variables_place(&table, &job, NULL), TN_OK);
    variables_init_range(&table, 7, 0, PARAMETERS, values[0]);
    digests[0] = variable_table_digest(&table, values[0]);
    assert_true(digest_equal(digests[0], digest_of(values[0], sizeof values[0])));
    job = job_of("greedy", "3");
    assert_int_equal(variables_place(&table, &job, NULL), TN_OK);
    variables_init_range(&table, 7, 0, PARAMETERS, values[1]);
    assert_memory_not_equal(values[0], values[1], sizeof values[0]);
    digests[1] = variable_table_digest(&table, values[1]);
    assert_true(digest_equal(digests[0], digests[1]));
}

static void expect_refusal(const struct job *job, const char *text)
{
    struct error error = {.text = ""};
    assert_int_equal(variables_place(&table, job, &error), TN_EINVAL);
    if (strstr(error.text, text) == NULL) { fail_msg("%s", error.text); }
}

static void wrong_placements_are_refused(void **state)
{
    (void)state;
    struct error error;
    struct job job = job_of("greedy", "7");
    expect_refusal(&job, "placement leaves ps:6 without any of the model's 6 variables");
    job = job_of("ranges", "2");
    table.variables[3].pinned = 1;
    expect_refusal(&job, "variable 'v3' is to be on ps:0, but placement.strategy \"ranges\" cuts");
    job = job_of("round_robin", "2");
    table.variables[3].pinned = 3;
    expect_refusal(&job, "variable 'v3' is to be on ps:2, but cluster.ps is 2");
    job = job_of("greedy", "2");
    assert_int_equal(job_set(&job, "placement.variables=[{\"match\": \"w*\", \"ps\": 1}]", &error),
                     TN_OK);
    expect_refusal(&job,
                   "placement.variables[0].match is \"w*\", which matches none of the model's");
}

static struct job group_job(const char *strategy, const char *ps)
{
    struct job job = job_of(strategy, ps);
    job.strategy.type = STRATEGY_TYPE_GROUP;
    for (uint32_t i = 0; i < VARIABLES; i++) { table.variables[i].member = i < 2 ? 0 : 1; }
    return job;
}

/* Ps p has variables of member p % 2 alone. */
static void members_of_a_group_have_ps_of_their_own(void **state)
{
    (void)state;
    struct error error;
    struct job job = group_job("greedy", "2");
    expect(&job, "v0v1|v2v3v4v5");
    job = group_job("greedy", "4");
    expect(&job, "v0|v2v5|v1|v3v4");
    job = group_job("round_robin", "4");
    expect(&job, "v0|v2v4|v1|v3v5");
    job = group_job("greedy", "5");
    expect_refusal(&job, "placement leaves ps:4 without any variable, because member 0");
    job = group_job("greedy", "2");
    assert_int_equal(job_set(&job, "placement.variables=[{\"match\": \"v5\", \"ps\": 0}]", &error),
                     TN_OK);
    expect_refusal(&job, "variable 'v5' is to be on ps:0, which has variables of member 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strategies_keep_variables_whole),
        cmocka_unit_test(pins_are_honoured),
        cmocka_unit_test(bits_do_not_depend_on_the_placement),
        cmocka_unit_test(wrong_placements_are_refused),
        cmocka_unit_test(members_of_a_group_have_ps_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
