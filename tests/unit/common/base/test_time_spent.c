/* Times: counted in memory, then in a file that others read, and continued by the next process. */
#include "common/base/time_spent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"

static const uint64_t HOUR_NS = UINT64_C(3600000000000);

/* A count is what passed since the given time; a file continues with the counts that it has. */
static void a_file_has_the_counts(void **state)
{
    uint64_t counts[TIME_PHASES], before[TIME_PHASES] = {HOUR_NS};
    char path[] = "/tmp/test_time_spent.XXXXXX";
    struct error error;
    (void)state;
    time_spent_add(TIME_APPLY, clock_monotonic_ns() - HOUR_NS);
    time_spent_get(counts);
    assert_true(counts[TIME_APPLY] >= HOUR_NS && counts[TIME_READ] == 0);
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_false(time_spent_read(path, counts)); /* Too short. */
    assert_int_equal(write(fd, before, sizeof before), sizeof before);
    close(fd);
    assert_int_equal(time_spent_share(path, &error), TN_OK);
    time_spent_add(TIME_READ, clock_monotonic_ns() - HOUR_NS);
    assert_true(time_spent_read(path, counts));
    assert_true(counts[TIME_READ] >= 2 * HOUR_NS && counts[TIME_APPLY] == 0);
    unlink(path);
    assert_false(time_spent_read(path, counts));
    assert_int_equal(time_spent_share("/proc/none/x", &error), TN_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_file_has_the_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
