/* The worker's core with tables: rows are looked up before slices are computed and evaluated. */
#include "worker/training_loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/worker/loop_actions.h"

enum { V = 4, PS = 2, ME = 1, BOTH = 3 };

static struct training_loop loop;
static struct loop_actions out;
static uint64_t now_ms;

static void handle(struct loop_event event)
{
    event.now_ms = now_ms;
    training_loop_handle(&loop, &event, &out);
}

static void order(enum run_phase phase, uint64_t until, uint64_t evaluate_step)
{
    const struct run run = {
        .phase = phase, .generation = 1, .until = until, .evaluate_step = evaluate_step};
    handle((struct loop_event){.type = LOOP_EV_RUN, .run = &run});
}

static void assign(const char owners[static V])
{
    struct assignment assignment = {.generation = 1, .slice_count = V};
    for (uint32_t v = 0; v < V; v++) { assignment.worker[v] = (uint16_t)(owners[v] - '0'); }
    handle((struct loop_event){.type = LOOP_EV_ASSIGNMENT, .assignment = &assignment});
}

static void values(uint32_t ps, uint64_t step)
{
    handle((struct loop_event){
        .type = LOOP_EV_VALUES, .ps = ps, .generation = 1, .step = step, .round = loop.round});
}

static void listed(uint64_t ps_set)
{
    handle((struct loop_event){.type = LOOP_EV_LISTED, .ps_set = ps_set});
}

static void rows(uint32_t ps, bool more)
{
    handle((struct loop_event){.type = LOOP_EV_ROWS, .ps = ps, .more = more});
}

/* The values of `step` have arrived, and the rows of the slices are being listed. */
static void begin(const char owners[static V], uint64_t step, uint64_t evaluate_step)
{
    now_ms = 0;
    training_loop_init(
        &loop, &(struct training_loop_config){
                   .strategy = STRATEGY_PS_SYNC, .slices = V, .ps = PS, .index = ME, .rows = true});
    for (uint32_t p = 0; p < PS; p++) {
        handle((struct loop_event){.type = LOOP_EV_LINK_UP, .ps = p});
    }
    order(RUN_RUNNING, 100, evaluate_step);
    assign(owners);
    for (uint32_t p = 0; p < PS; p++) { values(p, step); }
}

/* The rows come first; gradients leave after they are computed. */
static void test_slices_are_computed_from_their_rows(void **state)
{
    (void)state;
    begin("1100", 5, STEP_NONE);
    assert_int_equal(count_actions(&out, LOOP_DO_LIST), 1);
    assert_false(find_action(&out, LOOP_DO_LIST, 0)->test);
    assert_int_equal(slice_set_count(&loop.sought), 2);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 0);
    listed(BOTH);
    assert_int_equal(count_actions(&out, LOOP_DO_LOOKUP), 2);
    assert_int_equal(find_action(&out, LOOP_DO_LOOKUP, 1)->step, 5);
    assert_int_equal(find_action(&out, LOOP_DO_LOOKUP, 1)->round, loop.round);
    rows(0, false);
    assert_int_equal(out.count, 0);
    rows(1, false);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
    assert_int_equal(find_action(&out, LOOP_DO_COMPUTE, 0)->push_to, 0);
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
    assert_int_equal(count_actions(&out, LOOP_DO_PUSH), 2);
}

/* Slices of `step` are computed and pushed; the rows of the next step are being listed. */
static void push_step(uint64_t step)
{
    begin("1100", step, STEP_NONE);
    listed(0);
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
    assert_int_equal(count_actions(&out, LOOP_DO_PUSH), 2);
    assert_int_equal(find_action(&out, LOOP_DO_LIST, 0)->step, step + 1);
}

/* The rows of the next step are looked up while its values are on their way; both orders of arrival
 * lead to its computation, without another lookup. */
static void test_the_next_step_is_looked_up_ahead(void **state)
{
    (void)state;
    push_step(5);
    listed(BOTH);
    assert_int_equal(count_actions(&out, LOOP_DO_LOOKUP), 2);
    assert_int_equal(find_action(&out, LOOP_DO_LOOKUP, 1)->step, 6);
    rows(0, false);
    values(0, 6);
    values(1, 6);
    assert_int_equal(count_actions(&out, LOOP_DO_SWAP), 1);
    assert_int_equal(count_actions(&out, LOOP_DO_LIST), 0);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 0);
    rows(1, false);
    assert_int_equal(find_action(&out, LOOP_DO_COMPUTE, 0)->step, 6);
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
    assert_int_equal(find_action(&out, LOOP_DO_LIST, 0)->step, 7);
    listed(1);
    rows(0, false);
    values(0, 7);
    values(1, 7);
    assert_int_equal(find_action(&out, LOOP_DO_COMPUTE, 0)->step, 7);
}

/* Slices that come in the middle of the present step come first. */
static void test_the_present_step_replaces_a_lookup_ahead(void **state)
{
    (void)state;
    push_step(5);
    listed(BOTH);
    assign("1110");
    assert_int_equal(find_action(&out, LOOP_DO_LIST, 0)->step, 5);
    rows(0, false); /* They answer the lookup that has ended. */
    listed(1);
    assert_int_equal(find_action(&out, LOOP_DO_LOOKUP, 0)->step, 5);
    rows(0, false);
    assert_int_equal(find_action(&out, LOOP_DO_COMPUTE, 0)->step, 5);
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
    assert_int_equal(find_action(&out, LOOP_DO_LIST, 0)->step, 6);
    assert_int_equal(slice_set_count(&loop.sought), 3);
}

/* So does an evaluation, and one of a step before ends a lookup ahead with its round. */
static void test_an_evaluation_replaces_a_lookup_ahead(void **state)
{
    (void)state;
    push_step(5);
    listed(BOTH);
    order(RUN_RUNNING, 100, 5);
    assert_true(find_action(&out, LOOP_DO_LIST, 0)->test);
    push_step(5);
    listed(BOTH);
    order(RUN_RUNNING, 100, 4);
    assert_int_equal(loop.state, LOOP_GATHER);
    assert_int_equal(loop.lookup, LOOKUP_NONE);
}

/* Nothing is computed at the last step. */
static void test_the_last_step_is_not_looked_up(void **state)
{
    (void)state;
    begin("1100", 99, STEP_NONE);
    listed(0);
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
    assert_int_equal(count_actions(&out, LOOP_DO_PUSH), 2);
    assert_int_equal(count_actions(&out, LOOP_DO_LIST), 0);
}

/* The next piece is asked for when the one before has arrived. */
static void test_pieces_follow_each_other(void **state)
{
    (void)state;
    begin("1100", 5, STEP_NONE);
    listed(1);
    assert_int_equal(count_actions(&out, LOOP_DO_LOOKUP), 1);
    rows(0, true);
    assert_int_equal(count_actions(&out, LOOP_DO_LOOKUP), 1);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 0);
    rows(0, false);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
}

static void test_slices_without_rows_are_computed_at_once(void **state)
{
    (void)state;
    begin("1100", 5, STEP_NONE);
    listed(0);
    assert_int_equal(count_actions(&out, LOOP_DO_LOOKUP), 0);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
}

/* A new connection and a refusal: the same piece is asked for again. */
static void test_a_lookup_is_repeated(void **state)
{
    (void)state;
    begin("1100", 5, STEP_NONE);
    listed(BOTH);
    handle((struct loop_event){.type = LOOP_EV_LINK_DOWN, .ps = 0});
    assert_int_equal(count_actions(&out, LOOP_DO_LOOKUP), 0);
    handle((struct loop_event){.type = LOOP_EV_LINK_UP, .ps = 0});
    assert_int_equal(count_actions(&out, LOOP_DO_LOOKUP), 1);
    handle((struct loop_event){
        .type = LOOP_EV_REFUSED, .ps = 1, .generation = 1, .refusal = REFUSAL_NOT_RUNNING});
    assert_int_equal(count_actions(&out, LOOP_DO_LOOKUP), 0);
    assert_int_equal(training_loop_deadline_ms(&loop), LOOP_REFUSED_RETRY_MS);
    assert_true(training_loop_waits_for(&loop, 1));
    now_ms = LOOP_REFUSED_RETRY_MS;
    handle((struct loop_event){.type = LOOP_EV_TICK});
    assert_int_equal(find_action(&out, LOOP_DO_LOOKUP, 0)->ps, 1);
    assert_int_equal(training_loop_deadline_ms(&loop), UINT64_MAX);
}

/* "Step gone" ends the lookup with the round; rows that still arrive are ignored. */
static void test_a_lookup_ends_with_its_round(void **state)
{
    (void)state;
    begin("1100", 5, STEP_NONE);
    listed(BOTH);
    handle((struct loop_event){
        .type = LOOP_EV_REFUSED, .ps = 1, .generation = 1, .refusal = REFUSAL_STEP_GONE});
    assert_int_equal(loop.state, LOOP_GATHER);
    rows(0, false);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 0);
    assert_int_equal(loop.lookup, LOOKUP_NONE);
}

/* Slices that come in the middle of a step are looked up after those that are being computed. */
static void test_more_slices_are_looked_up_later(void **state)
{
    (void)state;
    begin("1100", 5, STEP_NONE);
    listed(BOTH);
    assign("1111");
    rows(0, false);
    rows(1, false);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
    assert_int_equal(loop.nodes[0].count, 2);
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
    assert_int_equal(count_actions(&out, LOOP_DO_LIST), 1);
    assert_int_equal(count_actions(&out, LOOP_DO_PUSH), 2);
    listed(1);
    rows(0, false);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
    assert_int_equal(loop.nodes[1].first, 2);
}

/* The owner of slice 0 looks up the rows of the test set after its pushes, and does not leave the
 * step before it has evaluated. */
static void test_the_test_set_is_looked_up(void **state)
{
    (void)state;
    begin("1100", 5, 5);
    listed(0);
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
    assert_int_equal(count_actions(&out, LOOP_DO_PUSH), 2);
    assert_true(find_action(&out, LOOP_DO_LIST, 0)->test);
    listed(2);
    values(0, 6);
    values(1, 6);
    assert_int_equal(count_actions(&out, LOOP_DO_SWAP), 0);
    rows(1, false);
    assert_int_equal(count_actions(&out, LOOP_DO_EVALUATE), 1);
    assert_int_equal(find_action(&out, LOOP_DO_EVALUATE, 0)->step, 5);
    handle((struct loop_event){.type = LOOP_EV_EVALUATED});
    assert_int_equal(count_actions(&out, LOOP_DO_SWAP), 1);
}

/* The run is stopping when a multiple before its last step is not evaluated yet: that comes first,
 * and only then are the last values gathered. */
static void test_a_multiple_before_the_end_is_evaluated(void **state)
{
    (void)state;
    begin("1100", 5, 5);
    listed(0);
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
    listed(1);
    values(0, 6);
    values(1, 6);
    order(RUN_STOPPING, 6, 5);
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 0);
    rows(0, false);
    assert_int_equal(find_action(&out, LOOP_DO_EVALUATE, 0)->step, 5);
    handle((struct loop_event){.type = LOOP_EV_EVALUATED});
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 2);
}

/* A stop that comes late moves the end behind a step whose test set is being looked up: the worker
 * continues to the new end. */
static void test_the_end_moves_behind_the_test_set(void **state)
{
    (void)state;
    push_step(5);
    order(RUN_STOPPING, 5, 5);
    assert_true(find_action(&out, LOOP_DO_LIST, 0)->test);
    listed(BOTH);
    order(RUN_RUNNING, 7, 7);
    values(0, 6);
    values(1, 6);
    assert_int_equal(find_action(&out, LOOP_DO_SWAP, 0)->step, 6);
    assert_int_equal(loop.lookup, LOOKUP_SLICES);
}

/* A lookup for slices that are not computed any more makes room for the evaluation. */
static void test_an_evaluation_replaces_an_idle_lookup(void **state)
{
    (void)state;
    begin("1100", 5, STEP_NONE);
    listed(BOTH);
    order(RUN_STOPPING, 5, 5);
    assert_int_equal(count_actions(&out, LOOP_DO_LIST), 1);
    assert_true(find_action(&out, LOOP_DO_LIST, 0)->test);
    listed(0);
    assert_int_equal(count_actions(&out, LOOP_DO_EVALUATE), 1);
}

/* A worker that goes back to a step only to evaluate it pushes nothing there: the refusal would
 * begin a round before the rows of the test set have arrived, again and again. */
static void test_a_step_that_is_gone_is_only_evaluated(void **state)
{
    (void)state;
    begin("1100", 9, 5);
    assert_int_equal(find_action(&out, LOOP_DO_PULL, 0)->step, 5);
    values(0, 5);
    values(1, 5);
    assert_int_equal(count_actions(&out, LOOP_DO_LIST), 1);
    assert_true(find_action(&out, LOOP_DO_LIST, 0)->test);
    listed(1);
    rows(0, false);
    assert_int_equal(find_action(&out, LOOP_DO_EVALUATE, 0)->step, 5);
    handle((struct loop_event){.type = LOOP_EV_EVALUATED});
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 2);
    values(0, 9);
    values(1, 9);
    assert_false(find_action(&out, LOOP_DO_LIST, 0)->test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices_are_computed_from_their_rows),
        cmocka_unit_test(test_the_next_step_is_looked_up_ahead),
        cmocka_unit_test(test_the_present_step_replaces_a_lookup_ahead),
        cmocka_unit_test(test_an_evaluation_replaces_a_lookup_ahead),
        cmocka_unit_test(test_the_last_step_is_not_looked_up),
        cmocka_unit_test(test_pieces_follow_each_other),
        cmocka_unit_test(test_slices_without_rows_are_computed_at_once),
        cmocka_unit_test(test_a_lookup_is_repeated),
        cmocka_unit_test(test_a_lookup_ends_with_its_round),
        cmocka_unit_test(test_more_slices_are_looked_up_later),
        cmocka_unit_test(test_the_test_set_is_looked_up),
        cmocka_unit_test(test_a_multiple_before_the_end_is_evaluated),
        cmocka_unit_test(test_the_end_moves_behind_the_test_set),
        cmocka_unit_test(test_an_evaluation_replaces_an_idle_lookup),
        cmocka_unit_test(test_a_step_that_is_gone_is_only_evaluated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
