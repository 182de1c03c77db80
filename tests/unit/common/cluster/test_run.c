/* common/cluster/run.h: names of phases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cluster/run.h"

/* Each phase is found by its name. */
static void phase_is_found_by_its_name(void **state)
{
    (void)state;
    for (enum run_phase phase = 0; phase < RUN_PHASES; phase++) {
        enum run_phase found = RUN_PHASES;
        assert_true(run_phase_parse(run_phase_name(phase), &found));
        assert_int_equal(found, phase);
    }
}

/* Another name leaves the result as it was. */
static void other_name_is_refused(void **state)
{
    (void)state;
    enum run_phase found = RUN_PAUSED;
    assert_false(run_phase_parse("runnin", &found));
    assert_false(run_phase_parse("", &found));
    assert_int_equal(found, RUN_PAUSED);
}

/* A checkpoint is awaited when training ends, a node leaves, another generation is loaded, or only
 * a quarter of the steps up to the next one is left. */
static void awaited_save_is_hurried(void **state)
{
    (void)state;
    const struct run quiet = {
        .phase = RUN_RUNNING, .generation = 3, .until = 1000, .save_due = 200};
    assert_false(run_hurries_save(&quiet, 3, 100, 100));
    assert_false(run_hurries_save(&quiet, 3, 173, 100));
    assert_true(run_hurries_save(&quiet, 3, 174, 100));
    assert_true(run_hurries_save(&quiet, 2, 100, 100));
    struct run run = quiet;
    run.phase = RUN_STOPPING;
    assert_true(run_hurries_save(&run, 3, 100, 100));
    run = quiet;
    run.gate = 500;
    assert_true(run_hurries_save(&run, 3, 100, 100));
    run = quiet;
    run.save_due = 0; /* Checkpoints by time. */
    assert_false(run_hurries_save(&run, 3, 998, 0));
    assert_true(run_hurries_save(&run, 3, 999, 0));
    run.until = UINT64_MAX;
    assert_false(run_hurries_save(&run, 3, 999, 0));
    run.save_due = 101; /* Each step. */
    assert_true(run_hurries_save(&run, 3, 100, 1));
}

/* Only workers whose incarnation is listed are released. */
static void released_workers_are_found(void **state)
{
    (void)state;
    struct run run = {.released_count = 1, .released = {7, 8}};
    assert_true(run_has_released(&run, 7));
    assert_false(run_has_released(&run, 8));
    assert_false(run_has_released(&run, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phase_is_found_by_its_name),
        cmocka_unit_test(other_name_is_refused),
        cmocka_unit_test(awaited_save_is_hurried),
        cmocka_unit_test(released_workers_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
