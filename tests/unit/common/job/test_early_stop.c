/* Early stop: the best evaluation, patience, and lost steps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/job/early_stop.h"

/* Note an evaluation; whether the run ends with it. */
static bool ends(const struct early_stop *stop, struct run *run, uint64_t step, double loss)
{
    run->evaluation = (struct evaluation){.step = step, .loss = loss, .accuracy = -loss};
    early_stop_note(stop, run);
    return early_stop_is_due(stop, run);
}

/* Two evaluations without an improvement, not two in all; equal ones do not improve. */
static void patience_counts_from_the_best(void **state)
{
    (void)state;
    for (int by_accuracy = 0; by_accuracy < 2; by_accuracy++) {
        const struct early_stop stop = {
            .by_accuracy = by_accuracy != 0, .patience = 2, .evaluate_every = 10};
        struct run run = {.phase = RUN_RUNNING};
        assert_false(ends(&stop, &run, 10, 5));
        assert_false(ends(&stop, &run, 20, 6));
        assert_false(ends(&stop, &run, 30, 4));
        assert_false(ends(&stop, &run, 40, 4));
        assert_true(ends(&stop, &run, 50, 4.5));
        assert_int_equal(run.best_step, 30);
    }
}

/* Without patience a run never ends here. A number that is not finite never is the best one: /run,
 * whose `best` is a number, would have no text. */
static void diverged_is_never_the_best(void **state)
{
    (void)state;
    const struct early_stop never = {.evaluate_every = 10};
    const struct early_stop stop = {.patience = 2, .evaluate_every = 10};
    struct run run = {.phase = RUN_RUNNING};
    assert_false(ends(&never, &run, 10, (double)NAN));
    assert_false(ends(&never, &run, 1000, 5));
    run = (struct run){.phase = RUN_RUNNING};
    assert_false(ends(&stop, &run, 10, (double)NAN));
    assert_false(ends(&stop, &run, 10, 3));
    assert_false(ends(&stop, &run, 20, (double)NAN));
    assert_true(ends(&stop, &run, 30, (double)NAN));
    assert_int_equal(run.best_step, 10);
    for (int by_accuracy = 0; by_accuracy < 2; by_accuracy++) {
        const struct early_stop either = {
            .by_accuracy = by_accuracy != 0, .patience = 3, .evaluate_every = 10};
        run = (struct run){.phase = RUN_RUNNING};
        assert_false(ends(&either, &run, 10, (double)INFINITY));
        assert_false(ends(&either, &run, 20, -(double)INFINITY));
        assert_true(run.best == 0 && run.best_step == 0);
        assert_true(ends(&either, &run, 30, (double)INFINITY));
    }
}

/* After a recovery to step 25 the evaluations of 30 and later are made again, with the same end. */
static void recovery_ends_at_the_same_step(void **state)
{
    (void)state;
    const struct early_stop stop = {.patience = 2, .evaluate_every = 10};
    struct run run = {.phase = RUN_RUNNING};
    const double losses[] = {5, 6, 4, 4, 4.5};
    for (uint32_t i = 0; i < 4; i++) { assert_false(ends(&stop, &run, 10 * i + 10, losses[i])); }
    early_stop_rewind(&run, 25);
    for (uint32_t i = 2; i < 4; i++) { assert_false(ends(&stop, &run, 10 * i + 10, losses[i])); }
    assert_true(ends(&stop, &run, 50, losses[4]));
    early_stop_rewind(&run, 30);
    assert_int_equal(run.best_step, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patience_counts_from_the_best),
        cmocka_unit_test(diverged_is_never_the_best),
        cmocka_unit_test(recovery_ends_at_the_same_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
