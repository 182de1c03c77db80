/* model/table_training.h: the optimizer of rows, and jobs that cannot train them. */
#include "model/table_training.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/sparse/job_update.h"

static struct error error;

static struct job job_of(const char *assignment)
{
    struct job job;
    job_init(&job);
    job.strategy.type = STRATEGY_TYPE_LOCAL;
    if (job_set(&job, assignment, &error) != TN_OK) { fail_msg("%s", error.text); }
    return job;
}

static void rows_have_the_form_of_the_optimizer(void **state)
{
    static const struct {
        const char *given;
        enum sparse_kind kind;
    } cases[] = {
        {"train.optimizer=sgd", SPARSE_SGD},
        {"train.optimizer=momentum", SPARSE_MOMENTUM},
        {"train.optimizer=adagrad", SPARSE_ADAGRAD},
        {"train.optimizer=adam", SPARSE_LAZY_ADAM},
        {"train.table_optimizer=row_adagrad", SPARSE_ROW_ADAGRAD},
        {"train.table_optimizer=ftrl", SPARSE_FTRL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sparse_optimizer optimizer;
        const struct job job = job_of(cases[i].given);
        assert_int_equal(table_optimizer_of_job(&job, &optimizer, &error), TN_OK);
        assert_int_equal(optimizer.kind, cases[i].kind);
        assert_true(optimizer.epsilon == job.train.epsilon && optimizer.beta == 1);
        assert_int_equal(table_training_check(&job, "t", &error), TN_OK);
    }
}

static void undefined_settings_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"train.optimizer=nesterov", "give train.table_optimizer"},
        {"train.optimizer=rmsprop", "give train.table_optimizer"},
        {"train.optimizer=adamw", "give train.table_optimizer"},
        {"train.optimizer=lars", "give train.table_optimizer"},
        {"train.optimizer=lamb", "give train.table_optimizer"},
        {"train.clip_norm=1", "give train.clip_value"},
        {"train.gpus=2", "give --set train.gpus=1"},
        {"train.ema=0.9", "no moving average"},
        {"train.weight_decay=0.1", "rows of the table 't' have none"},
        {"model.warm_start=m.safetensors", "cannot give the rows of the table 't'"},
        {"strategy.type=mirror", "give strategy.type \"ps\""},
        {"cluster.evaluators=1", "does not read the rows of the table 't' yet"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct job job = job_of(cases[i][0]);
        assert_int_equal(table_training_check(&job, "t", &error), TN_EINVAL);
        if (strstr(error.text, cases[i][1]) == NULL) { fail_msg("%s", error.text); }
    }
}

/* Given for rows, an optimizer leaves that of the variables its freedom. */
static void other_variables_may_have_any_optimizer(void **state)
{
    (void)state;
    struct job job = job_of("train.optimizer=adamw");
    job.train.table_optimizer = TABLE_SGD;
    job.train.weight_decay = 0.1;
    assert_int_equal(table_training_check(&job, "t", &error), TN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_the_form_of_the_optimizer),
        cmocka_unit_test(undefined_settings_are_refused),
        cmocka_unit_test(other_variables_may_have_any_optimizer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
