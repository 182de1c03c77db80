/* The ps core in sync mode with norms: a step is applied once the parts of all ps have arrived. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/ps/step_scene.h"

enum { V = 2, PS = 3, OWN = 1 };

static void load(uint64_t generation, uint64_t step)
{
    order((struct run){.phase = RUN_LOADING,
                       .generation = generation,
                       .load_checkpoint = step > 0,
                       .load_step = step});
    handle((struct ps_event){.type = PS_EV_LOADED});
    order((struct run){.phase = RUN_RUNNING, .generation = generation});
}

static int serve(void **state)
{
    (void)state;
    ps_step_init(
        &s, &(struct ps_step_config){
                .strategy = STRATEGY_PS_SYNC, .slices = V, .ps = PS, .index = OWN, .norms = true});
    load(1, 0);
    return 0;
}

static void push_all(void)
{
    handle((struct ps_event){
        .type = PS_EV_PUSH, .conn = {9}, .generation = s.generation, .step = s.step, .count = V});
}

static void part(uint32_t ps, uint64_t generation, uint64_t step)
{
    handle((struct ps_event){.type = PS_EV_PART,
                             .conn = {20 + ps},
                             .generation = generation,
                             .step = step,
                             .first = ps});
}

static void measure(void)
{
    assert_int_equal(number_of(PS_DO_MEASURE), 1);
    assert_int_equal(out.part_count, 1);
    assert_int_equal(number_of(PS_DO_APPLY), 0);
    handle((struct ps_event){.type = PS_EV_MEASURED});
}

static void step_once(void)
{
    push_all();
    measure();
    part(0, s.generation, s.step);
    part(2, s.generation, s.step);
    assert_int_equal(number_of(PS_DO_APPLY), 1);
    applied();
}

/* The pushes are measured once, the part goes to the other ps, and the last part that arrives
 * completes the step. */
static void step_waits_for_all_parts(void **state)
{
    (void)state;
    push_all();
    measure();
    assert_int_equal(number_of(PS_DO_SEND_PART), 2);
    assert_int_equal(find(PS_DO_SEND_PART, 0)->first, 0);
    assert_int_equal(find(PS_DO_SEND_PART, 1)->first, 2);
    assert_int_equal(ps_step_awaited_parts(&s), 5);
    part(2, 1, 0);
    assert_int_equal(find(PS_DO_HOLD_PART, 0)->first, 2);
    assert_int_equal(number_of(PS_DO_APPLY), 0);
    assert_int_equal(ps_step_awaited_parts(&s), 1);
    part(2, 1, 0);
    assert_int_equal(number_of(PS_DO_DROP), 1);
    assert_int_equal(number_of(PS_DO_APPLY), 0);
    part(0, 1, 0);
    assert_int_equal(number_of(PS_DO_APPLY), 1);
    assert_int_equal(out.part_count, 1);
    applied();
    assert_int_equal(s.step, 1);
    assert_int_equal(ps_step_awaited_parts(&s), 0);
    assert_int_equal(number_of(PS_DO_ANSWER), 1);
}

/* A part that arrives before the pushes is kept for the step. */
static void early_part_is_held(void **state)
{
    (void)state;
    part(0, 1, 0);
    part(2, 1, 0);
    assert_int_equal(number_of(PS_DO_HOLD_PART), 1);
    push_all();
    measure();
    assert_int_equal(number_of(PS_DO_APPLY), 1);
}

/* Parts of other steps and generations are dropped, and count for no step. */
static void late_and_foreign_parts_are_dropped(void **state)
{
    (void)state;
    step_once();
    const uint64_t wrong[][2] = {{1, 0}, {1, 2}, {2, 1}, {0, 1}};
    for (int i = 0; i < 4; i++) {
        part(0, wrong[i][0], wrong[i][1]);
        assert_int_equal(number_of(PS_DO_DROP), 1);
        assert_int_equal(number_of(PS_DO_HOLD_PART), 0);
    }
    part(2, 1, 1);
    push_all();
    measure();
    assert_int_equal(number_of(PS_DO_APPLY), 0);
    assert_int_equal(ps_step_awaited_parts(&s), 1);
}

/* A new connection gets the parts of the present step and of the one before, if they are known. */
static void parts_are_sent_on_new_connections(void **state)
{
    (void)state;
    handle((struct ps_event){.type = PS_EV_LINK_UP, .first = 2});
    assert_int_equal(number_of(PS_DO_SEND_PART), 0);
    step_once();
    handle((struct ps_event){.type = PS_EV_LINK_UP, .first = 2});
    assert_int_equal(number_of(PS_DO_SEND_PART), 1);
    assert_true(find(PS_DO_SEND_PART, 0)->previous);
    assert_int_equal(find(PS_DO_SEND_PART, 0)->step, 0);
    push_all();
    measure();
    handle((struct ps_event){.type = PS_EV_LINK_UP, .first = 0});
    assert_int_equal(number_of(PS_DO_SEND_PART), 2);
    assert_false(find(PS_DO_SEND_PART, 1)->previous);
    assert_int_equal(find(PS_DO_SEND_PART, 1)->step, 1);
}

/* A load forgets all parts: those of the old generation count for no step of the new one. */
static void load_forgets_parts(void **state)
{
    (void)state;
    step_once();
    part(0, 1, 1);
    push_all();
    measure();
    load(2, 1);
    handle((struct ps_event){.type = PS_EV_LINK_UP, .first = 2});
    assert_int_equal(number_of(PS_DO_SEND_PART), 0);
    push_all();
    measure();
    part(2, 2, 1);
    assert_int_equal(number_of(PS_DO_APPLY), 0);
    part(0, 1, 1);
    assert_int_equal(number_of(PS_DO_APPLY), 0);
    part(0, 2, 1);
    assert_int_equal(number_of(PS_DO_APPLY), 1);
}

/* At the gate the part is sent, since other ps may need it, but no update is applied. */
static void part_is_sent_at_the_gate(void **state)
{
    (void)state;
    order((struct run){.phase = RUN_RUNNING, .generation = 1, .gate = 1});
    step_once();
    push_all();
    measure();
    assert_int_equal(number_of(PS_DO_SEND_PART), 2);
    part(0, 1, 1);
    part(2, 1, 1);
    assert_int_equal(number_of(PS_DO_APPLY), 0);
    order((struct run){.phase = RUN_RUNNING, .generation = 1});
    assert_int_equal(number_of(PS_DO_APPLY), 1);
}

/* A single ps needs no other part. */
static void single_ps_applies_at_once(void **state)
{
    (void)state;
    ps_step_init(&s, &(struct ps_step_config){
                         .strategy = STRATEGY_PS_SYNC, .slices = V, .ps = 1, .norms = true});
    load(1, 0);
    push_all();
    measure();
    assert_int_equal(number_of(PS_DO_SEND_PART), 0);
    assert_int_equal(number_of(PS_DO_APPLY), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(step_waits_for_all_parts, serve),
        cmocka_unit_test_setup(early_part_is_held, serve),
        cmocka_unit_test_setup(late_and_foreign_parts_are_dropped, serve),
        cmocka_unit_test_setup(parts_are_sent_on_new_connections, serve),
        cmocka_unit_test_setup(load_forgets_parts, serve),
        cmocka_unit_test_setup(part_is_sent_at_the_gate, serve),
        cmocka_unit_test_setup(single_ps_applies_at_once, serve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
