/* I20: workers that /run has released. */
#include "checker/released.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A worker that was released stays known, after /run lists it no longer. */
static void released_workers_stay_known(void **state)
{
    (void)state;
    struct released released = {0};
    struct run run = {.phase = RUN_RUNNING, .released_count = 1, .released = {7}};
    assert_false(released_has(&released, 7));
    assert_null(released_follow(&released, &run));
    run.released_count = 0;
    assert_null(released_follow(&released, &run));
    assert_true(released_has(&released, 7));
    assert_false(released_has(&released, 0));
}

/* A release is an error while training goes to a gate, loads or ends. */
static void releases_at_other_times_are_errors(void **state)
{
    (void)state;
    struct released released = {0};
    struct run run = {.phase = RUN_RUNNING, .gate = 9, .released_count = 1, .released = {7}};
    assert_non_null(released_follow(&released, &run));
    run.gate = 0;
    run.phase = RUN_LOADING;
    assert_non_null(released_follow(&released, &run));
    run.phase = RUN_PAUSED;
    assert_null(released_follow(&released, &run));
}

/* The oldest are forgotten. */
static void their_number_is_bounded(void **state)
{
    (void)state;
    struct released released = {0};
    struct run run = {.phase = RUN_RUNNING, .released_count = 1};
    for (uint64_t i = 1; i <= RELEASED_REMEMBERED + 1; i++) {
        run.released[0] = i;
        assert_null(released_follow(&released, &run));
        assert_null(released_follow(&released, &run));
    }
    assert_false(released_has(&released, 1));
    assert_true(released_has(&released, 2));
    assert_true(released_has(&released, RELEASED_REMEMBERED + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(released_workers_stay_known),
        cmocka_unit_test(releases_at_other_times_are_errors),
        cmocka_unit_test(their_number_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
