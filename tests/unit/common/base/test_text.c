/* Short texts: ends of paths. */
#include "common/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* An end is a whole text or its last part. */
static void ends_are_found(void **state)
{
    (void)state;
    assert_true(text_ends_with("/tanist/run", "/run"));
    assert_true(text_ends_with("/run", "/run"));
    assert_true(text_ends_with("/run/run", "/run"));
    assert_true(text_ends_with("/run", ""));
    assert_true(text_ends_with("", ""));
    assert_false(text_ends_with("/tanist/runs", "/run"));
    assert_false(text_ends_with("run", "/run"));
    assert_false(text_ends_with("", "/run"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
