/* The ps core and updates that follow the chunks of pushes (P17). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/ps/step_scene.h"

enum { V = 4, CHUNKS = 4 };

static bool by_lane;

static struct run running(void)
{
    return (struct run){.phase = RUN_RUNNING, .generation = 1, .until = 1000};
}

static int serve_every(uint64_t checkpoint_every)
{
    by_lane = false;
    ps_step_init(&s, &(struct ps_step_config){
                         .strategy = STRATEGY_PS_SYNC,
                         .slices = V,
                         .places = true,
                         .chunks = CHUNKS,
                         .checkpoint_every = checkpoint_every,
                     });
    order((struct run){.phase = RUN_LOADING, .generation = 1});
    handle((struct ps_event){.type = PS_EV_LOADED});
    order(running());
    return 0;
}

static int serve(void **state)
{
    (void)state;
    return serve_every(0);
}

/* Chunk number `chunk`, by arrival, of a push of the present step, which is of `round` as well. */
static void push(uint64_t conn, uint32_t first, uint32_t count, uint32_t chunk)
{
    handle((struct ps_event){.type = PS_EV_PUSH,
                             .conn = {conn},
                             .generation = 1,
                             .step = s.step,
                             .round = 100 + s.step,
                             .first = first,
                             .count = count,
                             .chunk = chunk,
                             .more = chunk + 1 < CHUNKS,
                             .by_lane = by_lane});
}

/* Several of them. The updates between them are made, as they are before the next event. */
static void push_all(uint64_t conn, uint32_t first, uint32_t count, uint32_t from, uint32_t to)
{
    for (uint32_t chunk = from; chunk < to; chunk++) {
        if (s.applying) { applied(); }
        push(conn, first, count, chunk);
    }
}

/* The last event made the last `chunks` chunks ready. */
static void expect_apply(uint32_t chunks, uint32_t parts)
{
    const struct ps_action *action = find(PS_DO_APPLY_CHUNKS, 0);
    assert_non_null(action);
    assert_ptr_equal(action, &out.items[out.count - 1]);
    assert_int_equal(action->count, chunks);
    assert_int_equal(out.part_count, parts);
    assert_true(s.begun && s.applying);
}

static void expect_part(uint32_t i, uint64_t conn, uint32_t first, uint32_t count)
{
    assert_int_equal(out.part_conns[i].v, conn);
    assert_int_equal(out.parts[i].first, first);
    assert_int_equal(out.parts[i].count, count);
}

/* Action `i` sends `count` chunks of the next values, or after the update of the present ones. */
static void expect_chunks(uint32_t i, uint64_t conn, uint32_t first, uint32_t count, uint64_t step)
{
    assert_true(i < out.count);
    const struct ps_action *action = &out.items[i];
    assert_int_equal(action->type, PS_DO_ANSWER_CHUNKS);
    assert_int_equal(action->conn.v, conn);
    assert_int_equal(action->first, first);
    assert_int_equal(action->count, count);
    assert_int_equal(action->step, step);
    assert_int_equal(action->round, 100 + step - 1);
}

/* The chunks that both workers have sent are applied and answered, the rest with the last one. */
static void test_update_follows_the_slowest_push(void **state)
{
    (void)state;
    push_all(1, 0, 2, 0, 3);
    assert_null(find(PS_DO_APPLY_CHUNKS, 0));
    push(2, 2, 2, 0);
    expect_apply(1, 2);
    expect_part(0, 1, 0, 2);
    expect_part(1, 2, 2, 2);
    applied();
    assert_int_equal(out.count, 2);
    expect_chunks(0, 1, 0, 1, 1);
    expect_chunks(1, 2, 0, 1, 1);
    assert_int_equal(s.step, 0);
    push(1, 0, 2, 3);
    assert_non_null(find(PS_DO_HOLD, 0));
    assert_null(find(PS_DO_APPLY_CHUNKS, 0)); /* Nothing more is ready. */
    push(2, 2, 2, 1);
    expect_apply(2, 2);
    expect_part(0, 0, 0, 2); /* Held by now. */
    applied();
    expect_chunks(0, 1, 1, 1, 1);
    push(2, 2, 2, 2);
    applied();
    push(2, 2, 2, 3);
    assert_non_null(find(PS_DO_APPLY, 0));
    assert_int_equal(out.part_count, 2);
    applied();
    assert_int_equal(s.step, 1);
    assert_false(s.begun);
    assert_int_equal(out.count, 2);
    expect_chunks(0, 1, 3, 1, 1);
    expect_chunks(1, 2, 3, 1, 1);
}

/* A push of the same slices by another worker may take the place of one that breaks off: the
 * update stays as it is, and continues when all slices have more chunks. */
static void test_a_broken_push_takes_nothing_back(void **state)
{
    (void)state;
    push_all(1, 0, 4, 0, 2);
    expect_apply(2, 1);
    applied();
    expect_chunks(0, 1, 1, 1, 1);
    handle((struct ps_event){.type = PS_EV_CONN_CLOSED, .conn = {1}});
    assert_int_equal(out.count, 0);
    push_all(2, 0, 2, 0, 3);
    push(3, 2, 2, 0);
    push(3, 2, 2, 1);
    assert_null(find(PS_DO_APPLY_CHUNKS, 0));
    push(3, 2, 2, 2);
    expect_apply(3, 2);
    expect_part(0, 2, 0, 2);
    expect_part(1, 3, 2, 2);
    applied();
    assert_int_equal(out.count, 2);
    expect_chunks(0, 2, 0, 3, 1);
}

/* Each slice counts once: the largest one of nested nodes is used. */
static void test_parts_are_disjoint(void **state)
{
    (void)state;
    push_all(1, 0, 1, 0, CHUNKS);
    push(2, 0, 2, 0);
    push(3, 1, 1, 0);
    push(4, 2, 2, 0);
    expect_apply(1, 2);
    expect_part(0, 2, 0, 2);
    expect_part(1, 4, 2, 2);
    applied();
    /* Fewer have two chunks. */
    push(3, 1, 1, 1);
    push(4, 2, 2, 1);
    expect_apply(2, 3);
    expect_part(0, 0, 0, 1);
    expect_part(1, 3, 1, 1);
}

/* A pull ends an answer that is growing; one of the next step begins it again. */
static void test_a_pull_ends_a_growing_answer(void **state)
{
    (void)state;
    push_all(1, 0, 2, 0, CHUNKS);
    push(2, 2, 2, 0);
    applied();
    assert_int_equal(out.count, 2);
    handle((struct ps_event){
        .type = PS_EV_PULL, .conn = {1}, .generation = 1, .step = STEP_LATEST, .round = 7});
    assert_non_null(find(PS_DO_ANSWER, 0));
    assert_int_equal(find(PS_DO_ANSWER, 0)->step, 0);
    push(2, 2, 2, 1);
    applied();
    assert_int_equal(out.count, 1);
    expect_chunks(0, 2, 1, 1, 1);
    handle((struct ps_event){
        .type = PS_EV_PULL, .conn = {1}, .generation = 1, .step = 1, .round = 100});
    assert_int_equal(out.count, 0);
    push(2, 2, 2, 2);
    applied();
    assert_int_equal(out.count, 2);
    expect_chunks(0, 1, 0, 3, 1);
    expect_chunks(1, 2, 2, 1, 1);
}

/* Answers through shared memory are sent whole; without others no part of an update is early. */
static void test_lanes_get_whole_answers(void **state)
{
    (void)state;
    by_lane = true;
    push_all(1, 0, 2, 0, 3);
    push_all(2, 2, 2, 0, 3);
    assert_null(find(PS_DO_APPLY_CHUNKS, 0));
    by_lane = false;
    push(3, 2, 2, 0);
    expect_apply(3, 2);
    applied();
    assert_int_equal(out.count, 1);
    expect_chunks(0, 3, 0, 3, 1);
    by_lane = true;
    push(1, 0, 2, 3);
    push(2, 2, 2, 3);
    applied();
    assert_int_equal(out.count, 3);
    assert_int_equal(out.items[0].type, PS_DO_ANSWER);
    assert_int_equal(out.items[1].type, PS_DO_ANSWER);
    expect_chunks(2, 3, 3, 1, 1);
    /* A pull of the next step, too, is answered in the way of its connection. */
    for (uint64_t conn = 4; conn <= 5; conn++) {
        handle((struct ps_event){.type = PS_EV_PULL,
                                 .conn = {conn},
                                 .generation = 1,
                                 .step = 2,
                                 .round = 101,
                                 .by_lane = conn == 4});
    }
    by_lane = true;
    push(1, 0, 4, 0);
    applied();
    assert_int_equal(out.count, 1);
    expect_chunks(0, 5, 0, 1, 2);
}

/* An update does not begin beyond a gate, and a step whose update has begun counts as passed. */
static void test_begun_updates_count_as_passed(void **state)
{
    (void)state;
    struct run gate = running();
    gate.gate = 1;
    order(gate);
    assert_false(ps_step_is_beyond(&s));
    push(1, 0, 4, 0);
    applied();
    assert_int_equal(ps_step_gate(&s), 1);
    assert_true(ps_step_is_beyond(&s));
    push_all(1, 0, 4, 1, CHUNKS);
    applied();
    assert_int_equal(s.step, 1);
    assert_false(ps_step_is_beyond(&s));
    push(1, 0, 4, 0);
    assert_null(find(PS_DO_APPLY_CHUNKS, 0));
    assert_int_equal(ps_step_gate(&s), 1);
    order(running());
    expect_apply(1, 1);
    applied();
    struct run save = running();
    save.save_checkpoint = 3;
    save.save_step = 1;
    save.gate = 1;
    order(save);
    assert_int_equal(s.late_checkpoint, 3);
    assert_int_equal(ps_step_gate(&s), 0);
}

/* P9: a multiple is kept before its update begins, and the next one waits for the order. */
static void test_multiples_are_kept_before_the_first_chunk(void **state)
{
    (void)state;
    (void)serve_every(2);
    struct run run = running();
    run.save_due = 2;
    order(run);
    for (uint32_t step = 0; step < 2; step++) {
        push_all(1, 0, 4, 0, 2);
        assert_null(find(PS_DO_KEEP, 0));
        applied();
        push_all(1, 0, 4, 2, CHUNKS);
        applied();
    }
    push(1, 0, 4, 0);
    assert_non_null(find(PS_DO_KEEP, 0));
    assert_int_equal(find(PS_DO_KEEP, 0)->values, VALUES_CHECKPOINT);
    assert_non_null(find(PS_DO_APPLY_CHUNKS, 0));
    applied();
    push(1, 0, 4, 1);
    assert_null(find(PS_DO_KEEP, 0));
    applied();
    push_all(1, 0, 4, 2, CHUNKS);
    applied();
    push_all(1, 0, 4, 0, CHUNKS);
    applied();
    assert_int_equal(s.step, 4);
    push(1, 0, 4, 0);
    assert_null(find(PS_DO_APPLY_CHUNKS, 0));
    push_all(1, 0, 4, 1, CHUNKS);
    assert_int_equal(s.waits_for_checkpoint, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_update_follows_the_slowest_push, serve),
        cmocka_unit_test_setup(test_a_broken_push_takes_nothing_back, serve),
        cmocka_unit_test_setup(test_parts_are_disjoint, serve),
        cmocka_unit_test_setup(test_a_pull_ends_a_growing_answer, serve),
        cmocka_unit_test_setup(test_lanes_get_whole_answers, serve),
        cmocka_unit_test_setup(test_begun_updates_count_as_passed, serve),
        cmocka_unit_test_setup(test_multiples_are_kept_before_the_first_chunk, serve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
