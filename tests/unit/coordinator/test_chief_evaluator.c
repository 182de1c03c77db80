/* The evaluator evaluates committed checkpoints, and nothing waits for it (C18). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/coordinator/chief_scene.h"

static struct report reported;

static int setup(void **state)
{
    (void)state;
    configure();
    config.evaluators = 1;
    config.steps = 1000;
    config.checkpoint_every_steps = 10;
    config.best = BEST_ACCURACY;
    reported = (struct report){.task = {.role = ROLE_EVALUATOR}, .evaluation.step = STEP_NONE};
    return 0;
}

/* Process `incarnation` of the evaluator registers; 0: it is lost. */
static void evaluator(uint64_t incarnation)
{
    feed((struct chief_event){.type = CHIEF_EV_MEMBER,
                              .member = {.task = reported.task,
                                         .present = incarnation != 0,
                                         .incarnation = incarnation,
                                         .cause = "signal 9"}});
    reported.incarnation = incarnation;
    if (chief.writing) { written(); }
}

static void settle_all(void)
{
    for (int i = 0; i < 4; i++) {
        if (chief.writing) { answer(CHIEF_WRITE_OK, NULL); }
        settle();
    }
    if (chief.writing) { answer(CHIEF_WRITE_OK, NULL); }
}

/* Both ps save the ordered checkpoint at its step, and the chief commits it. Returns its id. */
static uint64_t commit(void)
{
    const uint64_t id = chief.run.save_checkpoint, step = chief.run.save_step;
    assert_int_not_equal(id, 0);
    for (uint32_t i = 0; i < 2; i++) {
        ps_at(i, chief.run.generation, step);
        if (chief.writing) { written(); }
        ps_saved(i, id, step);
        if (chief.writing) { written(); }
    }
    settle_all();
    assert_int_equal(chief.run.committed_checkpoint, id);
    return id;
}

static void reports_result(uint64_t checkpoint, uint64_t step, double accuracy)
{
    reported.sequence++;
    reported.evaluated_checkpoint = checkpoint;
    reported.evaluation = (struct evaluation){.step = step, .accuracy = accuracy};
    feed((struct chief_event){.type = CHIEF_EV_REPORT, .report = &reported});
    settle_all();
}

/* The newest checkpoint is ordered, its result counts once, and skipped ones are counted. */
static void newest_is_evaluated_once(void **state)
{
    (void)state;
    begin_running();
    evaluator(30);
    assert_int_equal(chief.run.evaluate_checkpoint, 0);
    assert_int_equal(chief.run.evaluate_step, 1000); /* By a worker. */
    const uint64_t first = commit();
    assert_int_equal(chief.run.evaluate_checkpoint, first);
    assert_int_equal(chief.run.evaluate_checkpoint_step, 10);
    (void)commit();
    const uint64_t third = commit();
    assert_int_equal(chief.run.evaluate_checkpoint, first);
    reports_result(first, 10, 0.5);
    assert_int_equal(chief.run.evaluation.step, 10);
    assert_int_equal(chief.run.best_checkpoint.checkpoint, first);
    assert_int_equal(chief.run.evaluate_checkpoint, third);
    const uint64_t revision = chief.run.revision;
    reports_result(first, 10, 0.5);
    assert_int_equal(chief.run.revision, revision);
    reports_result(third, 30, 0.4);
    assert_int_equal(chief.run.evaluation.step, 30);
    assert_int_equal(chief.run.best_checkpoint.checkpoint, first);
    assert_int_equal(chief.run.evaluate_checkpoint, 0);
    assert_int_equal(chief.run.evaluated_checkpoint, third);
}

/* While the evaluator is absent, the order follows the newest checkpoint. */
static void order_follows_the_newest(void **state)
{
    (void)state;
    begin_running();
    evaluator(30);
    const uint64_t first = commit();
    evaluator(0);
    const uint64_t second = commit();
    assert_int_equal(chief.run.evaluate_checkpoint, second);
    assert_int_equal(chief.run.passed_over, 1);
    evaluator(31);
    reports_result(first, 10, 0.9);
    assert_int_equal(chief.run.evaluation.step, STEP_NONE);
    reports_result(second, 20, 0.9);
    assert_int_equal(chief.run.evaluation.step, 20);
    assert_int_equal(chief.run.passed_over, 0);
}

/* The ordered checkpoint is kept until its result is known, however many are committed. */
static void ordered_checkpoint_is_kept(void **state)
{
    (void)state;
    config.checkpoint_keep = 1;
    begin_running();
    evaluator(30);
    const uint64_t first = commit();
    (void)commit();
    (void)commit();
    assert_int_equal(chief.checkpoints[0].id, first);
    assert_int_equal(chief.checkpoint_count, 2);
    reports_result(first, 10, 0.5);
    assert_int_equal(chief.run.best_checkpoint.checkpoint, first);
    (void)commit();
    assert_int_equal(chief.checkpoints[0].id, first);
}

/* One that the evaluator cannot read, or that has another step, does not count. */
static void unreadable_checkpoint_is_passed_over(void **state)
{
    (void)state;
    begin_running();
    evaluator(30);
    const uint64_t first = commit();
    reports_result(first, STEP_NONE, 0);
    assert_int_equal(chief.run.evaluation.step, STEP_NONE);
    assert_int_equal(chief.run.passed_over, 1);
    assert_int_equal(chief.run.evaluate_checkpoint, 0);
    const uint64_t second = commit();
    reports_result(second, 15, 0.5);
    assert_int_equal(chief.run.evaluation.step, STEP_NONE);
    assert_int_equal(chief.run.best_checkpoint.checkpoint, 0);
}

/* A new chief continues with the order and the results in /run. */
static void successor_continues(void **state)
{
    (void)state;
    begin_running();
    evaluator(30);
    const uint64_t first = commit();
    reports_result(first, 10, 0.5);
    const uint64_t second = commit();
    struct run run = chief.run;
    const struct chief_checkpoint known[] = {{.id = first, .step = 10}, {.id = second, .step = 20}};
    begin();
    elected(2, &run, NULL, known, 2);
    written();
    evaluator(30);
    reports_result(first, 10, 0.5);
    assert_int_equal(chief.run.evaluate_checkpoint, second);
    reports_result(second, 20, 0.6);
    assert_int_equal(chief.run.best_checkpoint.checkpoint, second);
    assert_int_equal(chief.run.evaluate_checkpoint, 0);
}

/* Patience counts results; the run then ends a little ahead of the ps, which do not wait before. */
static void run_stops_early(void **state)
{
    (void)state;
    config.early_stop = (struct early_stop){.by_accuracy = true, .patience = 2};
    begin_running();
    assert_int_equal(chief.run.until, 1000);
    evaluator(30);
    const double accuracies[] = {0.5, 0.6, 0.6, 0.4};
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(chief.run.until, 1000);
        const uint64_t id = commit();
        reports_result(id, 10 * (i + 1), accuracies[i]);
    }
    assert_true(chief.run.until > 40 && chief.run.until < 60);
    assert_int_equal(chief.run.evaluate_step, chief.run.until);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(newest_is_evaluated_once, setup),
        cmocka_unit_test_setup(order_follows_the_newest, setup),
        cmocka_unit_test_setup(ordered_checkpoint_is_kept, setup),
        cmocka_unit_test_setup(unreadable_checkpoint_is_passed_over, setup),
        cmocka_unit_test_setup(successor_continues, setup),
        cmocka_unit_test_setup(run_stops_early, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
