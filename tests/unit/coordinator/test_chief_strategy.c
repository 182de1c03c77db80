/* The decisions of the chief by the strategy with ps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "coordinator/chief_private.h"

static struct chief chief;
static struct run run;
static const struct chief_strategy *strategy;

/* Both ps hold generation 1 at step 20; the worker is ready. */
static int set_up(void **state)
{
    (void)state;
    strategy = chief_strategy_of(STRATEGY_PS_SYNC);
    memset(&chief, 0, sizeof chief);
    chief.strategy = strategy;
    run = (struct run){.generation = 1};
    chief.config = (struct chief_config){.ps = 2, .workers = 1};
    for (uint32_t i = 0; i < 2; i++) {
        chief.ps[i] = (struct chief_peer){.known = true, .present = true, .reported = true};
        chief.ps[i].report.generation = 1;
        chief.ps[i].report.step = 20;
    }
    chief.workers[0] = (struct chief_peer){.known = true, .present = true, .reported = true};
    chief.workers[0].report.ready = 1;
    return 0;
}

/* One ps without the generation is enough: the others have only their own shards. */
static void every_ps_must_hold_its_shard(void **state)
{
    (void)state;
    assert_true(chief_has_reported(&chief, &run));
    assert_true(strategy->is_held(&chief, &run));
    chief.ps[1].report.generation = 0;
    assert_true(chief_has_reported(&chief, &run));
    assert_false(strategy->is_held(&chief, &run));
    assert_false(strategy->is_empty(&chief));
    chief.ps[0].report.generation = 0;
    assert_true(strategy->is_empty(&chief));
    chief.ps[0].reported = false;
    assert_false(chief_has_reported(&chief, &run));
}

/* A load that one ps cannot carry out fails as a whole: no other has its shard. */
static void one_failed_load_is_enough(void **state)
{
    (void)state;
    uint32_t ps = 0;
    run.load_checkpoint = 4;
    assert_false(strategy->find_failed_load(&chief, &run, &ps));
    chief.ps[1].report.failed_load = 4;
    assert_false(strategy->find_failed_load(&chief, &run, &ps));
    chief.ps[1].report.failed_load_generation = 1;
    assert_true(strategy->find_failed_load(&chief, &run, &ps));
    assert_int_equal(ps, 1);
}

/* A ps that leaves takes the only values of its shard with it; a worker leaves without a gate. */
static void a_ps_that_leaves_is_found(void **state)
{
    (void)state;
    uint32_t ps = 0;
    chief.workers[0].report.leaving = 1;
    assert_false(strategy->find_leaving(&chief, &run, &ps));
    chief.ps[1].report.leaving = 1;
    assert_true(strategy->find_leaving(&chief, &run, &ps));
    assert_int_equal(ps, 1);
    chief.ps[1].reported = false;
    assert_false(strategy->find_leaving(&chief, &run, &ps));
}

/* The end is reached by the slowest ps, the highest step by the fastest, also by one that died. */
static void steps_of_the_ps(void **state)
{
    (void)state;
    chief.ps[1].report.step = 21;
    assert_false(strategy->has_reached(&chief, &run, 21));
    assert_int_equal(chief_max_step(&chief, &run), 21);
    chief.ps[1].present = chief.ps[1].reported = false;
    assert_int_equal(chief_max_step(&chief, &run), 21);
    chief.ps[1].report.generation = 2;
    assert_int_equal(chief_max_step(&chief, &run), 20);
}

/* A ps that died, returned or has other values pauses the run, and is named with the cause. */
static void a_lost_ps_pauses_the_run(void **state)
{
    (void)state;
    struct chief_loss loss;
    assert_false(strategy->find_loss(&chief, &run, &loss));
    chief.ps[1].report.generation = 3;
    assert_true(strategy->find_loss(&chief, &run, &loss));
    assert_string_equal(loss.cause, "does not hold the values of this generation");
    chief.ps[1].report.generation = 1;
    chief.ps[1].lost = true;
    strcpy(chief.ps[1].cause, "killed by signal 9");
    assert_true(strategy->find_loss(&chief, &run, &loss));
    assert_int_equal(loss.task.role, ROLE_PS);
    assert_int_equal(loss.task.index, 1);
    assert_string_equal(loss.cause, "killed by signal 9");
}

/* Each ps writes its shard; a report counts only if it is about the generation. */
static void each_ps_writes_its_shard(void **state)
{
    (void)state;
    struct chief_writer writer;
    chief.ps[1].report.generation = 0;
    assert_true(strategy->find_writer(&chief, &run, 0, &writer));
    assert_true(writer.holds);
    assert_true(strategy->find_writer(&chief, &run, 1, &writer));
    assert_false(writer.holds);
    assert_int_equal(writer.task.index, 1);
    assert_ptr_equal(writer.report, &chief.ps[1].report);
    assert_false(strategy->find_writer(&chief, &run, 2, &writer));
}

/* A worker that is not ready gets no slices. */
static void ready_workers_own_slices(void **state)
{
    (void)state;
    assert_true(strategy->may_own(&chief, &run, 0));
    chief.workers[0].report = (struct report){0};
    assert_false(strategy->may_own(&chief, &run, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_ps_must_hold_its_shard, set_up),
        cmocka_unit_test_setup(one_failed_load_is_enough, set_up),
        cmocka_unit_test_setup(a_ps_that_leaves_is_found, set_up),
        cmocka_unit_test_setup(steps_of_the_ps, set_up),
        cmocka_unit_test_setup(a_lost_ps_pauses_the_run, set_up),
        cmocka_unit_test_setup(each_ps_writes_its_shard, set_up),
        cmocka_unit_test_setup(ready_workers_own_slices, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
