/* The ps core with tables of rows: lookups, pushes whose rows come before their chunks, and
 * saves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/ps/step_scene.h"

enum { V = 2, CONN = 9 };

static void from_worker(struct ps_event event)
{
    event.conn = (conn_id){CONN};
    handle(event);
}

/* Generation 1 from initial values; every 10th step is evaluated and saved. */
static void serve(void)
{
    ps_step_init(&s, &(struct ps_step_config){.strategy = STRATEGY_PS_SYNC,
                                              .slices = V,
                                              .rows = true,
                                              .evaluate_every = 10,
                                              .checkpoint_every = 10});
    order((struct run){.phase = RUN_LOADING, .generation = 1});
    handle((struct ps_event){.type = PS_EV_LOADED});
    order((struct run){.phase = RUN_RUNNING, .generation = 1, .evaluate_step = 10, .save_due = 10});
}

/* A frame of a push: its rows, or its one chunk. */
static void push(uint32_t number, bool more)
{
    from_worker((struct ps_event){.type = PS_EV_PUSH,
                                  .generation = 1,
                                  .step = s.step,
                                  .count = V,
                                  .chunk = number,
                                  .more = more});
}

static void train_to(uint64_t step)
{
    while (s.step < step) {
        push(0, false);
        assert_non_null(find(PS_DO_APPLY, 0));
        applied();
    }
}

static void look_up(uint64_t generation, uint64_t step)
{
    from_worker((struct ps_event){
        .type = PS_EV_LOOKUP, .generation = generation, .step = step, .round = 5, .first = 77});
}

static void expect_rows(uint64_t step)
{
    const struct ps_action *action = find(PS_DO_ANSWER_LOOKUP, 0);
    assert_non_null(action);
    assert_int_equal(action->step, step);
    assert_int_equal(action->round, 5);
    assert_int_equal(action->first, 77);
    assert_int_equal(action->generation, 1);
    assert_null(find(PS_DO_REFUSE, 0));
}

static void expect_refusal(enum refusal why)
{
    assert_non_null(find(PS_DO_REFUSE, 0));
    assert_int_equal(find(PS_DO_REFUSE, 0)->refusal, why);
    assert_null(find(PS_DO_ANSWER_LOOKUP, 0));
}

/* The present step and the one before are answered at once, earlier and later ones refused. */
static void test_rows_of_kept_steps_are_sent(void **state)
{
    (void)state;
    serve();
    look_up(1, 0);
    expect_rows(0);
    train_to(4);
    look_up(1, 4);
    expect_rows(4);
    look_up(1, 3);
    expect_rows(3);
    look_up(1, 2);
    expect_refusal(REFUSAL_STEP_GONE);
    look_up(1, 6);
    expect_refusal(REFUSAL_STEP_GONE);
    look_up(2, 4);
    expect_refusal(REFUSAL_GENERATION);
}

/* A lookup of the next step is answered once, as soon as the step exists. */
static void test_rows_of_the_next_step_are_sent_then(void **state)
{
    (void)state;
    serve();
    train_to(4);
    look_up(1, 5);
    assert_non_null(find(PS_DO_KEEP_LOOKUP, 0));
    assert_null(find(PS_DO_REFUSE, 0));
    assert_null(find(PS_DO_ANSWER_LOOKUP, 0));
    train_to(5);
    expect_rows(5);
    assert_true(find(PS_DO_ANSWER_LOOKUP, 0)->waiting);
    train_to(6);
    assert_null(find(PS_DO_ANSWER_LOOKUP, 0));
}

/* One lookup of a connection waits: another one replaces it, also if it is answered at once. */
static void test_a_lookup_replaces_the_one_that_waits(void **state)
{
    (void)state;
    serve();
    train_to(4);
    look_up(1, 5);
    look_up(1, 4);
    expect_rows(4);
    assert_false(find(PS_DO_ANSWER_LOOKUP, 0)->waiting);
    train_to(5);
    assert_null(find(PS_DO_ANSWER_LOOKUP, 0));
}

/* It ends with its generation, by one refusal for all questions, and with its connection. */
static void test_a_waiting_lookup_ends(void **state)
{
    (void)state;
    serve();
    look_up(1, 1);
    order((struct run){.phase = RUN_LOADING, .generation = 2});
    assert_int_equal(find(PS_DO_REFUSE, 0)->refusal, REFUSAL_NOT_RUNNING);
    handle((struct ps_event){.type = PS_EV_LOADED});
    serve();
    look_up(1, 1);
    from_worker((struct ps_event){.type = PS_EV_CONN_CLOSED});
    train_to(1);
    assert_null(find(PS_DO_ANSWER_LOOKUP, 0));
}

/* The rows of a step stay until its evaluation is known. */
static void test_rows_of_an_evaluation_are_sent(void **state)
{
    (void)state;
    serve();
    train_to(10);
    order((struct run){.phase = RUN_RUNNING,
                       .generation = 1,
                       .evaluate_step = 10,
                       .save_due = 20,
                       .save_checkpoint = 1,
                       .save_step = 10});
    train_to(13);
    look_up(1, 10);
    expect_rows(10);
    order((struct run){.phase = RUN_RUNNING, .generation = 1, .evaluate_step = 20, .save_due = 20});
    look_up(1, 10);
    expect_refusal(REFUSAL_STEP_GONE);
}

static void test_nothing_is_sent_while_loading(void **state)
{
    (void)state;
    serve();
    order((struct run){.phase = RUN_LOADING, .generation = 2});
    look_up(1, 0);
    expect_refusal(REFUSAL_NOT_RUNNING);
}

/* A push counts once its rows and its chunk have arrived; without its first frame it is refused. */
static void test_a_push_is_whole_or_absent(void **state)
{
    (void)state;
    serve();
    push(0, true);
    assert_non_null(find(PS_DO_COLLECT, 0));
    push(1, true);
    push(2, false);
    assert_non_null(find(PS_DO_HOLD, 0));
    assert_non_null(find(PS_DO_APPLY, 0));
    applied();
    push(1, true);
    assert_null(find(PS_DO_COLLECT, 0));
    push(2, false);
    assert_non_null(find(PS_DO_DROP, 0));
    assert_non_null(find(PS_DO_REFUSE, 0));
    assert_null(find(PS_DO_HOLD, 0));
}

/* The tables have one save at a time: another one is missed, and ordered again by the chief. */
static void test_one_save_is_in_progress(void **state)
{
    (void)state;
    serve();
    order(
        (struct run){.phase = RUN_RUNNING, .generation = 1, .save_checkpoint = 1, .save_step = 0});
    assert_non_null(find(PS_DO_SAVE, 0));
    order(
        (struct run){.phase = RUN_RUNNING, .generation = 1, .save_checkpoint = 2, .save_step = 0});
    assert_null(find(PS_DO_SAVE, 0));
    assert_int_equal(s.missed_checkpoint, 2);
    assert_int_equal(s.late_checkpoint, 0);
    handle((struct ps_event){.type = PS_EV_SAVED, .checkpoint = 1});
    order(
        (struct run){.phase = RUN_RUNNING, .generation = 1, .save_checkpoint = 3, .save_step = 0});
    assert_non_null(find(PS_DO_SAVE, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_kept_steps_are_sent),
        cmocka_unit_test(test_rows_of_the_next_step_are_sent_then),
        cmocka_unit_test(test_a_lookup_replaces_the_one_that_waits),
        cmocka_unit_test(test_a_waiting_lookup_ends),
        cmocka_unit_test(test_rows_of_an_evaluation_are_sent),
        cmocka_unit_test(test_nothing_is_sent_while_loading),
        cmocka_unit_test(test_a_push_is_whole_or_absent),
        cmocka_unit_test(test_one_save_is_in_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
