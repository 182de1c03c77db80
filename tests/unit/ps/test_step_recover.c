/* The ps core that continues where a former process was (P13): events and the actions they
 * cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/ps/step_scene.h"

enum { V = 2, GENERATION = 3, STEP = 40, RUN_MS = 1000 };

static void order_save(enum run_phase phase, uint64_t generation, uint64_t run_ms, uint64_t save)
{
    order((struct run){.phase = phase,
                       .generation = generation,
                       .until = 1000,
                       .evaluate_step = STEP_NONE,
                       .started_wall_ms = run_ms,
                       .save_checkpoint = save,
                       .save_step = STEP});
}

static void push(uint32_t first)
{
    handle((struct ps_event){.type = PS_EV_PUSH,
                             .conn = {7},
                             .generation = GENERATION,
                             .step = STEP,
                             .first = first,
                             .count = 1});
}

static void init(bool best)
{
    ps_step_init(&s, &(struct ps_step_config){
                         .strategy = STRATEGY_PS_SYNC,
                         .slices = V,
                         .ps = 1,
                         .evaluate_every = STEP,
                         .checkpoint_every = STEP,
                         .best = best,
                     });
}

static void recover(struct ps_memory memory)
{
    init(false);
    memory.generation = GENERATION;
    memory.run_ms = RUN_MS;
    memory.step = STEP;
    ps_step_recover(&s, &memory);
}

/* It needs no order to load: repeated pushes are applied and answered. */
static void test_training_continues(void **state)
{
    (void)state;
    recover((struct ps_memory){.has_previous = true});
    order_save(RUN_PAUSED, GENERATION, RUN_MS, 0);
    assert_null(find(PS_DO_LOAD, 0));
    assert_int_equal(s.generation, GENERATION);
    handle((struct ps_event){
        .type = PS_EV_PULL, .conn = {8}, .generation = GENERATION, .step = STEP - 1});
    assert_int_equal(find(PS_DO_ANSWER, 0)->values, VALUES_PREVIOUS);
    push(0);
    push(1);
    assert_non_null(find(PS_DO_APPLY, 0));
    applied();
    assert_int_equal(find(PS_DO_ANSWER, 0)->step, STEP + 1);
}

/* The state is partly that of the next step: it is too late to save this one. */
static void test_begun_step_is_not_saved(void **state)
{
    (void)state;
    recover((struct ps_memory){.begun = true});
    order_save(RUN_RUNNING, GENERATION, RUN_MS, 5);
    assert_null(find(PS_DO_SAVE, 0));
    assert_int_equal(s.missed_checkpoint, 5);
    assert_int_equal(s.late_checkpoint, 5);
    push(0);
    push(1);
    applied();
    assert_false(s.begun);
}

static void test_whole_step_is_saved(void **state)
{
    (void)state;
    recover((struct ps_memory){.save_handled = 4, .saved_checkpoint = 4, .saved_step = 30});
    assert_int_equal(s.missed_checkpoint, 0);
    order_save(RUN_RUNNING, GENERATION, RUN_MS, 5);
    assert_int_equal(find(PS_DO_SAVE, 0)->checkpoint, 5);
}

/* The arrays are those of the step, whether training has passed it or not. */
static void test_interrupted_save_is_repeated(void **state)
{
    (void)state;
    recover((struct ps_memory){.save_handled = 5, .saved_checkpoint = 4, .saved_step = 30});
    order_save(RUN_RUNNING, GENERATION, RUN_MS, 5);
    assert_int_equal(find(PS_DO_SAVE, 0)->checkpoint, 5);
    assert_int_equal(find(PS_DO_SAVE, 0)->values, VALUES_CURRENT);
    recover((struct ps_memory){
        .begun = true, .kept_checkpoint = STEP, .save_handled = 5, .saved_checkpoint = 4});
    order_save(RUN_RUNNING, GENERATION, RUN_MS, 5);
    assert_int_equal(find(PS_DO_SAVE, 0)->checkpoint, 5);
    assert_int_equal(find(PS_DO_SAVE, 0)->values, VALUES_CHECKPOINT);
    assert_int_equal(s.missed_checkpoint, 0);
}

/* The order was not too late, so the next one need not be earlier. */
static void test_interrupted_save_without_arrays_is_missed(void **state)
{
    (void)state;
    recover((struct ps_memory){.begun = true, .save_handled = 5, .saved_checkpoint = 4});
    order_save(RUN_RUNNING, GENERATION, RUN_MS, 5);
    assert_null(find(PS_DO_SAVE, 0));
    assert_int_equal(s.missed_checkpoint, 5);
    assert_int_equal(s.late_checkpoint, 0);
}

static void train(uint64_t step)
{
    assert_int_equal(s.step, step);
    for (uint32_t first = 0; first < V; first++) {
        handle((struct ps_event){.type = PS_EV_PUSH,
                                 .conn = {7},
                                 .generation = GENERATION,
                                 .step = step,
                                 .first = first,
                                 .count = 1});
    }
}

/* With checkpoint.best: until the shard is durable, for the next process; the next multiple waits,
 * because only the arrays of one are kept. */
static void test_arrays_are_kept_while_they_are_saved(void **state)
{
    (void)state;
    for (int best = 0; best <= 1; best++) {
        init(best != 0);
        ps_step_recover(
            &s, &(struct ps_memory){.generation = GENERATION, .run_ms = RUN_MS, .step = STEP});
        order_save(RUN_RUNNING, GENERATION, RUN_MS, 5);
        assert_int_equal(find(PS_DO_SAVE, 0)->checkpoint, 5);
        train(STEP);
        assert_int_equal(find(PS_DO_KEEP, 0) != NULL, best);
        applied();
        for (uint64_t step = STEP + 1; step < 2 * (uint64_t)STEP; step++) {
            train(step);
            assert_non_null(find(PS_DO_APPLY, 0));
            applied();
        }
        train(2 * (uint64_t)STEP);
        assert_int_equal(find(PS_DO_APPLY, 0) == NULL, best);
        handle((struct ps_event){.type = PS_EV_SAVED, .checkpoint = 5});
        assert_int_equal(find(PS_DO_UNKEEP, 0) != NULL, best);
        assert_int_equal(find(PS_DO_APPLY, 0) != NULL, best);
    }
}

static void test_order_to_load_is_obeyed(void **state)
{
    (void)state;
    recover((struct ps_memory){.has_previous = true});
    order_save(RUN_LOADING, GENERATION + 1, RUN_MS, 0);
    assert_non_null(find(PS_DO_FORGET, 0));
    assert_non_null(find(PS_DO_LOAD, 0));
    assert_int_equal(s.generation, 0);
}

/* After the ensemble has lost its data, the same generation may be another one. */
static void test_generation_of_another_run_is_forgotten(void **state)
{
    (void)state;
    recover((struct ps_memory){.has_previous = true});
    order_save(RUN_RUNNING, GENERATION, RUN_MS + 1, 0);
    assert_non_null(find(PS_DO_FORGET, 0));
    assert_int_equal(s.generation, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training_continues),
        cmocka_unit_test(test_begun_step_is_not_saved),
        cmocka_unit_test(test_whole_step_is_saved),
        cmocka_unit_test(test_interrupted_save_is_repeated),
        cmocka_unit_test(test_interrupted_save_without_arrays_is_missed),
        cmocka_unit_test(test_arrays_are_kept_while_they_are_saved),
        cmocka_unit_test(test_order_to_load_is_obeyed),
        cmocka_unit_test(test_generation_of_another_run_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
