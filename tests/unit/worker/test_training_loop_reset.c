/* The training loop of the head of a group: resets, and computations that other events
 * interrupt. */
#include "tests/unit/worker/loop_scene.h"

/* With whole pushes nothing is sent before all nodes are computed. */
static void test_whole_pushes_follow_the_computation(void **state)
{
    (void)state;
    begin(STRATEGY_PS_SYNC, "1100", 10);
    loop.config.whole_pushes = true;
    values(0, 1, 5);
    values(1, 1, 5);
    assert_int_equal(find_action(&out, LOOP_DO_COMPUTE, 0)->push_to, 0);
    assert_int_equal(count_actions(&out, LOOP_DO_PUSH), 0);
    computed();
    assert_int_equal(count_actions(&out, LOOP_DO_PUSH), 2);
}

/* A reset is the state after a start with the same orders: without connections, a computation or an
 * evaluation. The values are gathered again, and the evaluation is done again. */
static void test_a_reset_begins_again(void **state)
{
    (void)state;
    begin(STRATEGY_PS_SYNC, "1100", 10);
    values(0, 1, 5);
    values(1, 1, 5);
    assert_true(loop.computing);
    handle((struct loop_event){.type = LOOP_EV_RESET});
    assert_false(loop.computing);
    assert_int_equal(loop.node_count, 0);
    assert_int_equal(count_actions(&out, LOOP_DO_FORGET), 1);
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 0);
    link(0, true);
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 1);
    link(1, true);
    values(0, 1, 5);
    values(1, 1, 5);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
    computed();
    order(RUN_RUNNING, 1, 10, 5);
    assert_int_equal(count_actions(&out, LOOP_DO_EVALUATE), 1);
    handle((struct loop_event){.type = LOOP_EV_RESET});
    link(0, true);
    link(1, true);
    values(0, 1, 5);
    values(1, 1, 5);
    computed();
    assert_int_equal(count_actions(&out, LOOP_DO_EVALUATE), 1);
}

/* A generation that begins during a computation is gathered only once the computation is over:
 * values that it reads are not replaced. */
static void test_values_are_not_replaced_under_a_computation(void **state)
{
    (void)state;
    begin(STRATEGY_PS_SYNC, "1100", 10);
    values(0, 1, 5);
    values(1, 1, 5);
    order(RUN_RUNNING, 2, 10, STEP_NONE);
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 0);
    assert_int_equal(loop.state, LOOP_IDLE);
    computed();
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_pushes_follow_the_computation),
        cmocka_unit_test(test_a_reset_begins_again),
        cmocka_unit_test(test_values_are_not_replaced_under_a_computation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
