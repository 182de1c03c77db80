/* The ps core and pushes that arrive in chunks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/ps/step_scene.h"

enum { V = 4, CONN = 9 };

static void load(uint64_t generation)
{
    order((struct run){.phase = RUN_LOADING, .generation = generation});
}

static void loaded(void)
{
    handle((struct ps_event){.type = PS_EV_LOADED});
    order((struct run){.phase = RUN_RUNNING, .generation = s.generation});
}

static int serve(void **state)
{
    (void)state;
    ps_step_init(&s, &(struct ps_step_config){.strategy = STRATEGY_PS_SYNC, .slices = V});
    load(1);
    loaded();
    return 0;
}

/* Chunk number `chunk` of 3 of a push of all slices. */
static void push(uint64_t conn, uint64_t generation, uint32_t chunk)
{
    handle((struct ps_event){.type = PS_EV_PUSH,
                             .conn = {conn},
                             .generation = generation,
                             .count = V,
                             .chunk = chunk,
                             .more = chunk < 2});
}

static void expect_collected(uint64_t conn)
{
    assert_int_equal(out.count, 1);
    assert_non_null(find(PS_DO_COLLECT, 0));
    assert_int_equal(find(PS_DO_COLLECT, 0)->conn.v, conn);
}

static void expect_refused(enum refusal why)
{
    assert_non_null(find(PS_DO_DROP, 0));
    assert_non_null(find(PS_DO_REFUSE, 0));
    assert_int_equal(find(PS_DO_REFUSE, 0)->refusal, why);
    assert_null(find(PS_DO_HOLD, 0));
}

/* The push counts with its last chunk, and only once. Those of two connections do not mix. */
static void test_push_counts_with_its_last_chunk(void **state)
{
    (void)state;
    for (uint32_t chunk = 0; chunk < 2; chunk++) {
        push(CONN, 1, chunk);
        expect_collected(CONN);
        push(CONN + 1, 1, chunk);
        expect_collected(CONN + 1);
    }
    push(CONN, 1, 2);
    assert_non_null(find(PS_DO_HOLD, 0));
    assert_int_equal(find(PS_DO_HOLD, 0)->conn.v, CONN);
    assert_non_null(find(PS_DO_APPLY, 0));
    push(CONN + 1, 1, 2);
    assert_null(find(PS_DO_HOLD, 0));
    assert_non_null(find(PS_DO_DROP, 0));
    assert_int_equal(find(PS_DO_DROP, 0)->conn.v, CONN + 1);
}

/* Chunks of another generation are not kept; the last one is refused. */
static void test_other_generations_are_not_collected(void **state)
{
    (void)state;
    for (uint32_t chunk = 0; chunk < 2; chunk++) {
        push(CONN, 2, chunk);
        assert_int_equal(out.count, 0);
    }
    push(CONN, 2, 2);
    expect_refused(REFUSAL_GENERATION);
}

/* A push whose generation ends on its way leaves nothing behind. */
static void test_generation_may_end_within_a_push(void **state)
{
    (void)state;
    push(CONN, 1, 0);
    expect_collected(CONN);
    load(2);
    assert_non_null(find(PS_DO_RELEASE_ALL, 0));
    push(CONN, 1, 1);
    assert_int_equal(out.count, 0);
    loaded();
    push(CONN, 1, 2);
    expect_refused(REFUSAL_GENERATION);
    for (uint32_t chunk = 0; chunk < 2; chunk++) {
        push(CONN, 2, chunk);
        expect_collected(CONN);
    }
    push(CONN, 2, 2);
    assert_non_null(find(PS_DO_HOLD, 0));
}

/* A push that began before its generation was loaded is incomplete: the worker sends it again. */
static void test_push_without_its_beginning_is_refused(void **state)
{
    (void)state;
    load(2);
    push(CONN, 2, 0);
    assert_int_equal(out.count, 0);
    loaded();
    push(CONN, 2, 1);
    assert_int_equal(out.count, 0);
    push(CONN, 2, 2);
    expect_refused(REFUSAL_NOT_RUNNING);
}

/* The chunks of a connection end with it. */
static void test_closed_connection_ends_its_push(void **state)
{
    (void)state;
    push(CONN, 1, 0);
    handle((struct ps_event){.type = PS_EV_CONN_CLOSED, .conn = {CONN}});
    push(CONN, 1, 1);
    assert_int_equal(out.count, 0);
    push(CONN, 1, 2);
    expect_refused(REFUSAL_NOT_RUNNING);
}

/* The first chunk of a push of the present step ends the values of the step before; its memory is
 * for that push. Pushes of other steps, and of slices that have arrived, do not. */
static void test_push_gets_the_place_of_the_previous_values(void **state)
{
    (void)state;
    s.config.places = true;
    s.has_previous = true;
    s.step = 5;
    push(CONN, 1, 0); /* For step 0. */
    assert_null(find(PS_DO_PLACE, 0));
    assert_true(s.has_previous);
    s.step = 0;
    push(CONN + 1, 1, 0);
    assert_int_equal(out.count, 2);
    assert_int_equal(out.items[0].type, PS_DO_PLACE);
    assert_int_equal(out.items[0].conn.v, CONN + 1);
    assert_int_equal(out.items[1].type, PS_DO_COLLECT);
    assert_false(s.has_previous);
    push(CONN + 1, 1, 1);
    expect_collected(CONN + 1);
    slice_set_add(&s.covered, (struct slice_node){0, V});
    push(CONN + 2, 1, 0);
    assert_null(find(PS_DO_PLACE, 0));
    s.covered = (struct slice_set){0};
    s.applying = false;
    s.begun = true;
    push(CONN + 3, 1, 0);
    expect_collected(CONN + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_push_counts_with_its_last_chunk, serve),
        cmocka_unit_test_setup(test_push_gets_the_place_of_the_previous_values, serve),
        cmocka_unit_test_setup(test_other_generations_are_not_collected, serve),
        cmocka_unit_test_setup(test_generation_may_end_within_a_push, serve),
        cmocka_unit_test_setup(test_push_without_its_beginning_is_refused, serve),
        cmocka_unit_test_setup(test_closed_connection_ends_its_push, serve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
