/* The training loop and values that arrive in chunks. */
#include "worker/training_loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/worker/loop_actions.h"

enum { V = 2, PS = 2, CHUNKS = 3 };

static struct training_loop loop;
static struct loop_actions out;

static void handle(struct loop_event event)
{
    training_loop_handle(&loop, &event, &out);
}

static void order(uint64_t generation)
{
    struct run run = {
        .phase = RUN_RUNNING, .generation = generation, .until = 100, .evaluate_step = STEP_NONE};
    handle((struct loop_event){.type = LOOP_EV_RUN, .run = &run});
}

static void link(uint32_t ps, bool up)
{
    handle((struct loop_event){.type = up ? LOOP_EV_LINK_UP : LOOP_EV_LINK_DOWN, .ps = ps});
}

/* One chunk of the values of `step`; whether it is taken. */
static bool chunk(uint32_t ps, uint64_t step, uint32_t number)
{
    handle((struct loop_event){.type = LOOP_EV_VALUES,
                               .ps = ps,
                               .generation = loop.generation,
                               .step = step,
                               .round = loop.round,
                               .chunk = number,
                               .number = number,
                               .more = number + 1 < CHUNKS});
    if (count_actions(&out, LOOP_DO_TAKE) == 0) { return false; }
    assert_int_equal(out.items[0].type, LOOP_DO_TAKE);
    assert_int_equal(out.items[0].ps, ps);
    assert_int_equal(out.items[0].chunk, number);
    return true;
}

static void values(uint32_t ps, uint64_t step)
{
    for (uint32_t c = 0; c < CHUNKS; c++) { assert_true(chunk(ps, step, c)); }
}

/* This worker owns the first `count` slices. */
static void assign(uint32_t count)
{
    struct assignment assignment = {.generation = 1, .slice_count = V};
    for (uint32_t v = count; v < V; v++) { assignment.worker[v] = 1; }
    handle((struct loop_event){.type = LOOP_EV_ASSIGNMENT, .assignment = &assignment});
}

/* Owns all slices, and pulls. */
static int begin(void **state)
{
    (void)state;
    training_loop_init(&loop, &(struct training_loop_config){
                                  .strategy = STRATEGY_PS_SYNC, .slices = V, .ps = PS, .index = 0});
    assign(V);
    order(1);
    for (uint32_t ps = 0; ps < PS; ps++) { link(ps, true); }
    assert_int_equal(loop.state, LOOP_GATHER);
    return 0;
}

/* Values of which a chunk is missing are not computed with. */
static void test_values_count_with_the_last_chunk(void **state)
{
    (void)state;
    values(0, 5);
    assert_true(chunk(1, 5, 0));
    assert_true(chunk(1, 5, 1));
    assert_int_equal(loop.state, LOOP_GATHER);
    assert_true(chunk(1, 5, 2));
    assert_int_equal(loop.state, LOOP_WHOLE);
    assert_int_equal(loop.step, 5);
    assert_int_equal(count_actions(&out, LOOP_DO_COMPUTE), 1);
}

/* A connection that breaks within values: they come again as a whole. */
static void test_broken_connection_ends_its_values(void **state)
{
    (void)state;
    values(0, 5);
    assert_true(chunk(1, 5, 0));
    link(1, false);
    link(1, true);
    assert_int_equal(count_actions(&out, LOOP_DO_PULL), 1);
    assert_false(chunk(1, 5, 1));
    assert_false(chunk(1, 5, 2));
    assert_int_equal(loop.state, LOOP_GATHER);
    values(1, 5);
    assert_int_equal(loop.state, LOOP_WHOLE);
}

/* Values of the old generation, or round, whose end comes after its own. */
static void test_end_of_older_values_is_ignored(void **state)
{
    (void)state;
    values(0, 5);
    assert_true(chunk(1, 5, 0));
    order(2);
    assert_int_equal(loop.state, LOOP_GATHER);
    assert_false(chunk(1, 5, 1));
    assert_false(chunk(1, 5, 2));
    assert_int_equal(loop.state, LOOP_GATHER);
    values(0, 0);
    values(1, 0);
    assert_int_equal(loop.state, LOOP_WHOLE);
}

/* Chunks of values of two steps do not mix. */
static void test_chunks_are_of_one_step(void **state)
{
    (void)state;
    assert_true(chunk(0, 5, 0));
    assert_false(chunk(0, 6, 1));
    values(0, 6);
    values(1, 6);
    assert_int_equal(loop.step, 6);
}

/* Chunk number `number` of values that grow from the last chunk; whether it is taken. */
static bool growing(uint32_t ps, uint64_t step, uint32_t number)
{
    handle((struct loop_event){.type = LOOP_EV_VALUES,
                               .ps = ps,
                               .generation = loop.generation,
                               .step = step,
                               .round = loop.round,
                               .chunk = CHUNKS - 1 - number,
                               .number = number,
                               .growing = true,
                               .more = number + 1 < CHUNKS});
    if (count_actions(&out, LOOP_DO_TAKE) == 0) { return false; }
    assert_int_equal(out.items[0].chunk, CHUNKS - 1 - number);
    assert_int_equal(out.items[0].number, number);
    assert_true(out.items[0].growing);
    return true;
}

/* Values that grow may be given up: those that follow begin again, and count alone. */
static void test_growing_values_may_be_given_up(void **state)
{
    (void)state;
    values(0, 5);
    values(1, 5);
    assert_int_equal(loop.step, 5);
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
    assert_true(growing(0, 6, 0));
    assert_true(growing(0, 6, 1));
    for (uint32_t c = 0; c < CHUNKS; c++) { assert_false(chunk(0, 5, c)); } /* It wants step 6. */
    assert_false(loop.ps[0].held);
    assert_true(growing(0, 6, 0));
    assert_true(chunk(0, 6, 0));
    values(0, 6);
    assert_true(loop.ps[0].held);
    for (uint32_t c = 0; c < CHUNKS; c++) { assert_true(growing(1, 6, c)); }
    assert_int_equal(loop.step, 6);
}

/* A new round begins without chunks: the rest of values that grow is ignored. */
static void test_rest_of_growing_values_is_ignored(void **state)
{
    (void)state;
    values(0, 5);
    values(1, 5);
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
    assert_true(growing(0, 6, 0));
    handle((struct loop_event){
        .type = LOOP_EV_REFUSED, .ps = 1, .generation = 1, .refusal = REFUSAL_STEP_GONE});
    assert_int_equal(loop.state, LOOP_GATHER);
    for (uint32_t c = 1; c < CHUNKS; c++) { assert_false(growing(0, 6, c)); }
    assert_false(loop.ps[0].held);
    values(0, 6);
    values(1, 6);
    assert_int_equal(loop.step, 6);
}

/* A ps that has refused may be asked again, but lacks the first node: it gets both afterwards. */
static void test_ps_that_lacks_gradients_gets_no_parts(void **state)
{
    (void)state;
    assign(1);
    values(0, 5);
    values(1, 5);
    assert_int_equal(out.items[out.count - 1].push_to, 3);
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
    handle((struct loop_event){
        .type = LOOP_EV_REFUSED, .ps = 0, .generation = 1, .refusal = REFUSAL_NOT_RUNNING});
    loop.ps[0].retry_at_ms = 0; /* Its time has passed. */
    assign(2);
    assert_int_equal(out.count, 1);
    assert_int_equal(out.items[0].type, LOOP_DO_COMPUTE);
    assert_int_equal(out.items[0].push_to, 2);
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
    assert_int_equal(out.count, 1);
    assert_int_equal(out.items[0].type, LOOP_DO_PUSH);
    assert_int_equal(out.items[0].ps, 0);
    assert_int_equal(out.items[0].node_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_values_count_with_the_last_chunk, begin),
        cmocka_unit_test_setup(test_broken_connection_ends_its_values, begin),
        cmocka_unit_test_setup(test_end_of_older_values_is_ignored, begin),
        cmocka_unit_test_setup(test_chunks_are_of_one_step, begin),
        cmocka_unit_test_setup(test_growing_values_may_be_given_up, begin),
        cmocka_unit_test_setup(test_rest_of_growing_values_is_ignored, begin),
        cmocka_unit_test_setup(test_ps_that_lacks_gradients_gets_no_parts, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
