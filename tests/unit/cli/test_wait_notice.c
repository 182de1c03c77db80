/* When a wait is reported. */
#include "cli/wait_notice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The first report is due after 3 s, and each following one 3 s after the last. */
static void reports_are_due_every_three_seconds(void **state)
{
    (void)state;
    struct wait_notice notice = wait_notice_start(1000);
    assert_false(wait_notice_due(&notice, 3999));
    assert_true(wait_notice_due(&notice, 4000));
    assert_false(wait_notice_due(&notice, 4001));
    assert_true(wait_notice_due(&notice, 9500));
    assert_false(wait_notice_due(&notice, 12499));
    assert_int_equal(wait_notice_seconds(&notice, 12499), 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reports_are_due_every_three_seconds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
