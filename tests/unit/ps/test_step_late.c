/* The ps core in sync mode: which slices of the present step are late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/ps/step_scene.h"

enum { V = 4 };

static void push(uint32_t first, uint32_t count)
{
    handle((struct ps_event){.type = PS_EV_PUSH,
                             .conn = {1 + first},
                             .generation = s.generation,
                             .step = s.step,
                             .first = first,
                             .count = count});
}

static void load(uint64_t generation)
{
    order((struct run){.phase = RUN_LOADING, .generation = generation});
    handle((struct ps_event){.type = PS_EV_LOADED});
    order((struct run){.phase = RUN_RUNNING, .generation = generation});
}

/* Serves generation 1, and has applied a step. */
static int serve(void **state)
{
    (void)state;
    now_ms = 1000;
    ps_step_init(&s, &(struct ps_step_config){.strategy = STRATEGY_PS_SYNC, .slices = V});
    load(1);
    for (int i = 0; i < 2; i++) {
        now_ms += 4;
        push(0, V);
        applied();
    }
    return 0;
}

static bool is_late(uint32_t first, uint32_t count)
{
    struct slice_set late;
    const bool any = ps_step_late(&s, now_ms, &late) > 0;
    return any && slice_set_count(&late) == count &&
           slice_set_has_all(&late, (struct slice_node){first, count});
}

static bool is_any_late(void)
{
    struct slice_set late;
    return ps_step_late(&s, now_ms, &late) > 0;
}

/* The slices that are lacking are late some time after the first one has arrived, and not
 * before. */
static void lacking_slices_are_late(void **state)
{
    (void)state;
    assert_int_equal(ps_step_deadline_ms(&s, now_ms), UINT64_MAX);
    now_ms += 60000;
    assert_false(is_any_late());
    push(0, 2);
    assert_int_equal(ps_step_deadline_ms(&s, now_ms), now_ms + LATENESS_LEAST_MS);
    now_ms += LATENESS_LEAST_MS - 1;
    assert_false(is_any_late());
    now_ms++;
    assert_true(is_late(2, 2));
    assert_int_equal(ps_step_deadline_ms(&s, now_ms), now_ms + LATENESS_LEAST_MS);
    push(2, 1);
    assert_true(is_late(3, 1));
    push(3, 1);
    assert_false(is_any_late());
    assert_int_equal(ps_step_deadline_ms(&s, now_ms), UINT64_MAX);
    applied();
    assert_false(is_any_late());
}

/* While the run is paused no worker is late, nor in the step in which it continues. */
static void nothing_is_late_in_a_pause(void **state)
{
    (void)state;
    push(0, 2);
    order((struct run){.phase = RUN_PAUSED, .generation = 1});
    now_ms += 60000;
    assert_false(is_any_late());
    order((struct run){.phase = RUN_RUNNING, .generation = 1});
    push(2, 1);
    now_ms += 60000;
    assert_false(is_any_late());
    push(3, 1);
    applied();
    push(0, 2);
    now_ms += 60000;
    assert_true(is_late(2, 2));
}

/* In the first step after a load workers begin at different times. */
static void nothing_is_late_after_a_load(void **state)
{
    (void)state;
    push(0, 2);
    load(2);
    push(0, 2);
    now_ms += 60000;
    assert_false(is_any_late());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lacking_slices_are_late, serve),
        cmocka_unit_test_setup(nothing_is_late_in_a_pause, serve),
        cmocka_unit_test_setup(nothing_is_late_after_a_load, serve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
