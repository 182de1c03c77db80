/* When a worker without ps begins the next step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mirror/turns.h"

/* The tick after an event does not begin a step, the next one does: no event is waiting. */
static void all_events_have_their_turn(void **state)
{
    (void)state;
    struct turns turns = {0};
    assert_true(turns_end(&turns, true));
    for (int i = 0; i < 3; i++) {
        assert_false(turns_end(&turns, false));
        assert_false(turns_end(&turns, true));
    }
    assert_true(turns_end(&turns, true));
    assert_true(turns_end(&turns, true));
}

/* Events without end do not stop training, each with a tick after it or not. */
static void training_goes_on_under_events(void **state)
{
    (void)state;
    struct turns turns = {0};
    uint32_t steps = 0;
    for (int i = 0; i < 10 * TURNS_MAX; i++) {
        assert_false(turns_end(&turns, false));
        steps += turns_end(&turns, true);
    }
    assert_int_equal(steps, 10);
    for (int i = 0; i < 3 * TURNS_MAX; i++) { assert_false(turns_end(&turns, false)); }
    assert_true(turns_end(&turns, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_events_have_their_turn),
        cmocka_unit_test(training_goes_on_under_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
