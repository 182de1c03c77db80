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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phase_is_found_by_its_name),
        cmocka_unit_test(other_name_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
