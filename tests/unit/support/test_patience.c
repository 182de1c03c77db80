/* The bounds of waits in tests grow with the factor of the build. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/patience.h"

/* The factor multiplies a bound; without one, or with an invalid one, the bound stays. */
static void factor_multiplies_a_bound(void **state)
{
    (void)state;
    assert_int_equal(setenv("TANIST_TEST_PATIENCE", "4", 1), 0);
    assert_int_equal(patience_ms(30000), 120000);
    assert_int_equal(setenv("TANIST_TEST_PATIENCE", "much", 1), 0);
    assert_int_equal(patience_ms(30000), 30000);
    assert_int_equal(unsetenv("TANIST_TEST_PATIENCE"), 0);
    assert_int_equal(patience_ms(30000), 30000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factor_multiplies_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
