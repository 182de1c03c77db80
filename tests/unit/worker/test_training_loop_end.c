/* The training loop in async mode, when the end of the run is moved. */
#include "worker/training_loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/worker/loop_actions.h"

static struct training_loop loop;
static struct loop_actions out;

static void handle(struct loop_event event)
{
    training_loop_handle(&loop, &event, &out);
}

static void order(uint64_t until)
{
    struct run run = {
        .phase = RUN_RUNNING, .generation = 1, .until = until, .evaluate_step = until};
    handle((struct loop_event){.type = LOOP_EV_RUN, .run = &run});
}

static void values(uint64_t step)
{
    handle((struct loop_event){
        .type = LOOP_EV_VALUES, .generation = 1, .step = step, .round = loop.round});
}

/* One ps, one slice; the values of step 5 have arrived, and the pull of step 6 is sent. */
static int begin(void **state)
{
    (void)state;
    const struct assignment assignment = {.generation = 1, .slice_count = 1};
    training_loop_init(
        &loop, &(struct training_loop_config){.strategy = STRATEGY_PS_ASYNC, .slices = 1, .ps = 1});
    handle((struct loop_event){.type = LOOP_EV_LINK_UP});
    order(20);
    handle((struct loop_event){.type = LOOP_EV_ASSIGNMENT, .assignment = &assignment});
    values(5);
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
    assert_int_equal(find_action(&out, LOOP_DO_PULL, 0)->step, 6);
    assert_false(find_action(&out, LOOP_DO_PULL, 0)->last);
    return 0;
}

/* The answer may lack contributions of other slices: the last pull names the new end. A ps may have
 * applied the gradient, so the same one is sent again. */
static void test_end_that_moves_back_is_gathered_again(void **state)
{
    (void)state;
    order(6);
    assert_true(find_action(&out, LOOP_DO_PULL, 0)->step == STEP_LATEST);
    assert_null(find_action(&out, LOOP_DO_FORGET, 0));
    values(5);
    assert_null(find_action(&out, LOOP_DO_FORGET, 0));
    assert_null(find_action(&out, LOOP_DO_COMPUTE, 0));
    assert_int_equal(find_action(&out, LOOP_DO_PUSH, 0)->step, 5);
    assert_int_equal(find_action(&out, LOOP_DO_PULL, 0)->step, 6);
    assert_true(find_action(&out, LOOP_DO_PULL, 0)->last);
    values(6);
    assert_non_null(find_action(&out, LOOP_DO_EVALUATE, 0));
}

/* Every ps has applied the gradient. */
static void test_gradients_are_forgotten_with_another_step(void **state)
{
    (void)state;
    order(6);
    values(6);
    assert_non_null(find_action(&out, LOOP_DO_FORGET, 0));
    assert_non_null(find_action(&out, LOOP_DO_EVALUATE, 0));
    assert_int_equal(loop.node_count, 0);
}

/* A ps may have applied the gradient of the step that is the end now, and others have parked it.
 * It is not sent beyond the end, and when the end moves on, it is the one that is sent again. */
static void test_gradients_are_kept_at_the_end(void **state)
{
    (void)state;
    order(5);
    values(5);
    assert_int_equal(find_action(&out, LOOP_DO_EVALUATE, 0)->step, 5);
    assert_null(find_action(&out, LOOP_DO_PUSH, 0));
    assert_true(training_loop_deadline_ms(&loop) == UINT64_MAX);
    assert_false(training_loop_waits_for(&loop, 0));
    handle((struct loop_event){.type = LOOP_EV_EVALUATED});
    order(9);
    assert_null(find_action(&out, LOOP_DO_COMPUTE, 0));
    assert_int_equal(find_action(&out, LOOP_DO_PUSH, 0)->step, 5);
    assert_int_equal(find_action(&out, LOOP_DO_PULL, 0)->step, 6);
    assert_true(training_loop_waits_for(&loop, 0));
}

/* The steps up to an end that is further ahead are pulled by the new order anyway. */
static void test_end_further_ahead_changes_nothing(void **state)
{
    (void)state;
    order(7);
    assert_null(find_action(&out, LOOP_DO_PULL, 0));
    values(6);
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
    assert_int_equal(find_action(&out, LOOP_DO_PULL, 0)->step, 7);
    assert_true(find_action(&out, LOOP_DO_PULL, 0)->last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_end_that_moves_back_is_gathered_again, begin),
        cmocka_unit_test_setup(test_gradients_are_forgotten_with_another_step, begin),
        cmocka_unit_test_setup(test_gradients_are_kept_at_the_end, begin),
        cmocka_unit_test_setup(test_end_further_ahead_changes_nothing, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
