/* Rules for single variables: defaults, patterns, their order, and rules without a variable. */
#include "common/job/variable_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct variable_table table;

static int make_variables(void **state)
{
    (void)state;
    const uint32_t shape[] = {4, 3};
    struct error error;
    static const char *const names[] = {"hidden1/weights", "hidden1/bias", "output/weights"};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(
            variable_table_add(&table, names[i], i == 1 ? 1 : 2, shape, VARIABLE_ZEROS, 0, &error),
            TN_OK);
    }
    return 0;
}

static void expect(const struct job *job, uint32_t variable, double rate, double decay)
{
    struct variable_rule factors = variable_rule_of(job, &table.variables[variable]);
    assert_true(factors.learning_rate == rate);
    assert_true(factors.weight_decay == decay);
}

/* Without a rule, vectors do not decay. */
static void vectors_do_not_decay(void **state)
{
    (void)state;
    struct job job;
    job_init(&job);
    expect(&job, 0, 1, 1);
    expect(&job, 1, 1, 0);
    expect(&job, 2, 1, 1);
}

/* No rule moves a frozen variable, and one may give a decay to a variable that has none. */
static void marks_are_followed(void **state)
{
    (void)state;
    struct job job;
    struct error error;
    struct variable variable = table.variables[0];
    job_init(&job);
    variable.no_weight_decay = true;
    assert_true(variable_rule_of(&job, &variable).weight_decay == 0);
    assert_int_equal(
        job_set(&job, "train.variables={\"match\": \"*\", \"weight_decay_factor\": 2}", &error),
        TN_OK);
    assert_true(variable_rule_of(&job, &variable).weight_decay == 2);
    variable.update = VARIABLE_FROZEN;
    assert_true(variable_rule_of(&job, &variable).weight_decay == 0);
    assert_true(variable_rule_of(&job, &variable).learning_rate == 0);
}

static enum optimizer_kind optimizer_of(const struct job *job, const struct variable *variable)
{
    return variable_rule_of(job, variable).optimizer;
}

/* The optimizer is that of the first rule that matches, else the variable's own, else the job's;
 * no rule changes an average. */
static void variables_have_optimizers(void **state)
{
    (void)state;
    struct job job;
    struct error error;
    struct variable own = table.variables[2];
    strcpy(own.optimizer, "rmsprop");
    job_init(&job);
    assert_int_equal(job_set(&job, "train.optimizer=adam", &error), TN_OK);
    assert_int_equal(optimizer_of(&job, &table.variables[0]), OPTIMIZER_ADAM);
    assert_int_equal(optimizer_of(&job, &own), OPTIMIZER_RMSPROP);
    const char *rules = "train.variables={\"match\": \"hidden1/bias\", \"optimizer\": \"sgd\"},"
                        "{\"match\": \"hidden1/*\", \"optimizer\": \"auto\"},"
                        "{\"match\": \"*\", \"optimizer\": \"adagrad\"}";
    assert_int_equal(job_set(&job, rules, &error), TN_OK);
    assert_int_equal(optimizer_of(&job, &table.variables[0]), OPTIMIZER_ADAM);
    assert_int_equal(optimizer_of(&job, &table.variables[1]), OPTIMIZER_SGD);
    assert_int_equal(optimizer_of(&job, &own), OPTIMIZER_ADAGRAD);
    own.update = VARIABLE_AVERAGED;
    own.momentum = 0.5F;
    assert_true(variable_rule_of(&job, &own).momentum == 0.5);
    assert_int_equal(variable_rule_of(&job, &own).update, VARIABLE_AVERAGED);
}

/* The first rule that matches decides; what it does not give keeps its default. */
static void first_rule_decides(void **state)
{
    (void)state;
    struct job job;
    struct error error;
    job_init(&job);
    assert_int_equal(
        job_set(&job,
                "train.variables={\"match\": \"*/bias\", \"weight_decay_factor\": 0.5},"
                "{\"match\": \"hidden?/*\", \"learning_rate_factor\": 0.25},"
                "{\"match\": \"*\", \"learning_rate_factor\": 3, \"weight_decay_factor\": 0}",
                &error),
        TN_OK);
    expect(&job, 0, 0.25, 1);
    expect(&job, 1, 1, 0.5);
    expect(&job, 2, 3, 0);
    assert_int_equal(variable_rules_check(&job, &table, &error), TN_OK);
}

/* LARS adapts variables that decay, and needs sync mode. */
static void lars_needs_sync_mode(void **state)
{
    (void)state;
    struct job job;
    struct error error;
    job_init(&job);
    assert_int_equal(job_set(&job, "train.optimizer=lars", &error), TN_OK);
    assert_true(variable_rule_of(&job, &table.variables[0]).adapts);
    assert_false(variable_rule_of(&job, &table.variables[1]).adapts);
    assert_int_equal(variable_rules_check(&job, &table, &error), TN_OK);
    job.train.mode = TRAIN_ASYNC;
    assert_int_equal(variable_rules_check(&job, &table, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "\"hidden1/weights\" is \"lars\", but train.mode is"));
}

/* A rule that matches nothing is an error with its pattern. */
static void useless_rule_is_refused(void **state)
{
    (void)state;
    struct job job;
    struct error error;
    job_init(&job);
    assert_int_equal(variable_rules_check(&job, &table, &error), TN_OK);
    assert_int_equal(
        job_set(&job, "train.variables={\"match\": \"*\"}, {\"match\": \"hidden2*\"}", &error),
        TN_OK);
    assert_int_equal(variable_rules_check(&job, &table, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "train.variables[1].match is \"hidden2*\""));
    assert_non_null(strstr(error.text, "hidden1/weights"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_do_not_decay),      cmocka_unit_test(marks_are_followed),
        cmocka_unit_test(variables_have_optimizers), cmocka_unit_test(first_rule_decides),
        cmocka_unit_test(lars_needs_sync_mode),      cmocka_unit_test(useless_rule_is_refused),
    };
    return cmocka_run_group_tests(tests, make_variables, NULL);
}
