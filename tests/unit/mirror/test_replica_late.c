/* Backup work without ps (M12): which slices a worker reports as late, and when. Slice 0 is worker
 * 0's, slices 1 and 2 are worker 1's, slice 3 is worker 2's. The workers 0 and 1 own a range each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/mirror/replica_scene.h"

enum { V = 4, WORKERS = 3, RANGES = 2, STEP_MS = 10 };

static void happens(enum replica_event_type type, uint32_t peer)
{
    handle((struct replica_event){.type = type, .peer = peer});
}

static void order(enum run_phase phase)
{
    run.phase = phase;
    handle(next_order());
}

static void frame(enum replica_event_type type, uint32_t peer, uint32_t range, uint32_t first,
                  uint32_t count)
{
    handle((struct replica_event){.type = type,
                                  .conn = 10 + peer,
                                  .peer = peer,
                                  .generation = 1,
                                  .step = replica.step,
                                  .range = range,
                                  .node = {first, count}});
}

/* Its own slices are computed at once; those of the others arrive STEP_MS later, with their
 * sums. */
static void make_step(void)
{
    const uint64_t step = replica.step;
    const uint32_t own = replica.config.index;
    happens(REPLICA_EV_COMPUTED, 0);
    now_ms += STEP_MS;
    for (uint32_t range = 0; range < RANGES; range++) {
        if (range != own) { frame(REPLICA_EV_SUM, range, range, 0, 0); }
    }
    if (own == 0) {
        frame(REPLICA_EV_PUSH, 1, 0, 1, 1);
        frame(REPLICA_EV_PUSH, 1, 0, 2, 1);
        frame(REPLICA_EV_PUSH, 2, 0, 3, 1);
    }
    assert_int_equal(replica.step, step + 1);
}

static void train(uint32_t index)
{
    now_ms = 1000;
    memset(writers, 0, sizeof writers);
    run = (struct run){.generation = 1, .until = 100};
    run.evaluate_step = run.evaluation.step = STEP_NONE;
    replica_init(
        &replica,
        &(struct replica_config){
            .workers = WORKERS, .ranges = RANGES, .slices = V, .index = index, .keep_sums = 1});
    for (uint32_t peer = 0; peer < WORKERS; peer++) {
        if (peer != index) { happens(REPLICA_EV_LINK_UP, peer); }
    }
    order(RUN_LOADING);
    handle((struct replica_event){.type = REPLICA_EV_LOADED, .generation = 1});
    order(RUN_RUNNING);
    handle(owners(0, 1, 1, 2));
}

/* Worker 0 has made some steps, and has computed its slice of the next one. */
static int set_up(void **state)
{
    (void)state;
    train(0);
    for (uint32_t i = 0; i < 3; i++) { make_step(); }
    happens(REPLICA_EV_COMPUTED, 0);
    return 0;
}

static uint64_t after_ms;

static struct slice_set late(void)
{
    struct slice_set set;
    const uint64_t periods = replica_late(&replica, now_ms, &set, &after_ms);
    assert_int_equal(periods > 0, slice_set_count(&set) > 0);
    return set;
}

static bool is_late(uint32_t first, uint32_t count)
{
    const struct slice_set set = late();
    return slice_set_count(&set) == count &&
           slice_set_has_all(&set, (struct slice_node){first, count});
}

static bool is_any_late(void)
{
    const struct slice_set set = late();
    return slice_set_count(&set) > 0;
}

/* Slices that the own sum lacks are late some time after the own ones were computed. */
static void lacking_slices_are_late(void **state)
{
    (void)state;
    frame(REPLICA_EV_PUSH, 1, 0, 1, 1);
    frame(REPLICA_EV_PUSH, 1, 0, 2, 1);
    now_ms += LATENESS_LEAST_MS - 1;
    assert_false(is_any_late());
    now_ms++;
    assert_true(is_late(3, 1));
    assert_int_equal(after_ms, LATENESS_LEAST_MS);
    frame(REPLICA_EV_PUSH, 2, 0, 3, 1);
    assert_false(is_any_late());
}

/* A frozen worker sends nothing at all, so the time does not begin with a gradient of others. */
static void silence_is_late(void **state)
{
    (void)state;
    now_ms += LATENESS_LEAST_MS;
    assert_true(is_late(1, 3));
}

/* The replica is woken when slices become late, although nothing arrives. */
static void lateness_has_a_deadline(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 100 && now_ms < replica_deadline_ms(&replica); i++) {
        now_ms = replica_deadline_ms(&replica);
        happens(REPLICA_EV_TICK, 0);
        if (is_any_late()) { return; }
    }
    fail_msg("no deadline when slices are late");
}

/* The owner of a range is late if its sum is lacking long after all slices have arrived. */
static void a_lacking_sum_is_late(void **state)
{
    (void)state;
    frame(REPLICA_EV_PUSH, 1, 0, 1, 1);
    frame(REPLICA_EV_PUSH, 1, 0, 2, 1);
    frame(REPLICA_EV_PUSH, 2, 0, 3, 1);
    now_ms += 2 * LATENESS_LEAST_MS - 1;
    assert_false(is_any_late());
    now_ms++;
    assert_true(is_late(1, 2));
    assert_int_equal(after_ms, 2 * LATENESS_LEAST_MS);
}

/* A worker without a range sees that a sum is lacking. */
static void a_worker_without_a_range_judges_sums(void **state)
{
    (void)state;
    train(2);
    for (uint32_t i = 0; i < 3; i++) { make_step(); }
    happens(REPLICA_EV_COMPUTED, 0);
    frame(REPLICA_EV_SUM, 1, 1, 0, 0);
    now_ms += 2 * LATENESS_LEAST_MS;
    assert_true(is_late(0, 1));
}

/* In the first step, and in the one after a pause, workers begin at different times. */
static void the_first_step_is_not_judged(void **state)
{
    (void)state;
    train(0);
    happens(REPLICA_EV_COMPUTED, 0);
    now_ms += 60000;
    assert_false(is_any_late());
    (void)set_up(state);
    order(RUN_PAUSED);
    order(RUN_RUNNING);
    now_ms += 60000;
    assert_false(is_any_late());
}

/* A worker that has slices to compute does not know whether others are late. */
static void one_that_computes_does_not_judge(void **state)
{
    (void)state;
    now_ms += LATENESS_LEAST_MS;
    handle(owners(0, 0, 1, 2));
    assert_true(replica.computing);
    now_ms += 60000;
    assert_false(is_any_late());
    happens(REPLICA_EV_COMPUTED, 0);
    assert_true(is_late(2, 2));
}

/* Nor does one that owns no slices, as a late worker, or whose values are those of a former
 * step. */
static void one_that_is_behind_does_not_judge(void **state)
{
    (void)state;
    now_ms += LATENESS_LEAST_MS;
    assert_true(is_any_late());
    handle(owners(1, 1, 1, 2));
    assert_false(is_any_late());
    (void)set_up(state);
    now_ms += LATENESS_LEAST_MS;
    handle((struct replica_event){.type = REPLICA_EV_REFUSED,
                                  .peer = 1,
                                  .generation = 1,
                                  .step = replica.step + 9,
                                  .range = 1,
                                  .refusal = REPLICA_GONE});
    assert_false(is_any_late());
}

/* No worker passes the step of an evaluation or the end, so none delays another one there. */
static void none_is_late_at_a_limit(void **state)
{
    (void)state;
    run.until = replica.step;
    order(RUN_RUNNING);
    now_ms += 60000;
    assert_false(is_any_late());
}

/* The time of other workers is measured, not that of the own slices: they need no network. */
static void the_measure_is_that_of_the_others(void **state)
{
    (void)state;
    train(0);
    for (uint32_t i = 0; i < 60; i++) {
        now_ms += 90; /* For its own slice. */
        make_step();
    }
    happens(REPLICA_EV_COMPUTED, 0);
    assert_in_range(lateness_limit_ms(&replica.lateness), 100 * LATENESS_FACTOR,
                    102 * LATENESS_FACTOR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lacking_slices_are_late, set_up),
        cmocka_unit_test_setup(silence_is_late, set_up),
        cmocka_unit_test_setup(lateness_has_a_deadline, set_up),
        cmocka_unit_test_setup(a_lacking_sum_is_late, set_up),
        cmocka_unit_test_setup(a_worker_without_a_range_judges_sums, set_up),
        cmocka_unit_test_setup(the_first_step_is_not_judged, set_up),
        cmocka_unit_test_setup(one_that_computes_does_not_judge, set_up),
        cmocka_unit_test_setup(one_that_is_behind_does_not_judge, set_up),
        cmocka_unit_test_setup(none_is_late_at_a_limit, set_up),
        cmocka_unit_test_setup(the_measure_is_that_of_the_others, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
