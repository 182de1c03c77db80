/* The end of a run that `tanist stop` brings forward (C9). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/coordinator/chief_scene.h"

static int setup(void **state)
{
    (void)state;
    configure();
    return 0;
}

/* Async: a push beyond the new end was applied before the ps read of it. An order for the same step
 * would be late again, and each late one puts orders further ahead. */
static void end_that_was_passed_moves_with_the_first_late_order(void **state)
{
    (void)state;
    begin_running();
    ps_at(0, 1, 10);
    ps_at(1, 1, 10);
    request(1, REQUEST_STOP);
    for (int i = 0; i < 3; i++) { written(); }
    const uint64_t end = chief.run.until, id = chief.run.save_checkpoint;
    assert_true(chief.run.ending);
    assert_true(end > 10 && end < 100);
    assert_int_equal(chief.run.save_step, end);
    reports[0][0].missed_checkpoint = reports[0][0].late_checkpoint = id;
    report(ROLE_PS, 0);
    settle();
    for (int i = 0; i < 3; i++) { written(); }
    assert_int_equal(chief.run.phase, RUN_RUNNING);
    assert_true(chief.run.until > end);
    assert_int_equal(chief.run.save_checkpoint, id + 1);
    assert_int_equal(chief.run.save_step, chief.run.until);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(end_that_was_passed_moves_with_the_first_late_order, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
