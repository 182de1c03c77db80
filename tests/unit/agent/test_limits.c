/* agent/limits.h: limits that are too low are named, and a soft one is raised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/limits.h"

enum { OTHER_USER = 65534 };

/* The checks with another soft limit, which is undone. */
static enum tn_status check(int resource, rlim_t value, struct error *error)
{
    struct rlimit before;
    assert_int_equal(getrlimit((__rlimit_resource_t)resource, &before), 0);
    const struct rlimit low = {.rlim_cur = value, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit((__rlimit_resource_t)resource, &low), 0);
    enum tn_status status = limits_check_stack(error);
    if (status == TN_OK) { status = limits_check(6, true, error); }
    assert_int_equal(setrlimit((__rlimit_resource_t)resource, &before), 0);
    return status;
}

/* Usual limits are enough. */
static void usual_limits_are_enough(void **state)
{
    (void)state;
    struct error error = {0};
    assert_int_equal(limits_check_stack(&error), TN_OK);
    assert_int_equal(limits_check(6, true, &error), TN_OK);
}

/* A soft limit of open files below the hard one is raised. */
static void soft_limit_is_raised(void **state)
{
    (void)state;
    struct error error = {0};
    assert_int_equal(check(RLIMIT_NOFILE, 24, &error), TN_OK);
}

/* The size of files matters only to servers of ZooKeeper. */
static void size_of_files_is_named(void **state)
{
    (void)state;
    struct error error = {0};
    assert_int_equal(check(RLIMIT_FSIZE, 1 << 20, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "at most 1024 KiB"));
    assert_non_null(strstr(error.text, "ulimit -f unlimited"));
}

/* The limit of threads does not apply to root. */
static void number_of_threads_is_named(void **state)
{
    (void)state;
    struct error error = {0};
    const bool is_root = geteuid() == 0;
    if (is_root) { assert_int_equal(check(RLIMIT_NPROC, 50, &error), TN_OK); }
    if (is_root) { assert_int_equal(seteuid(OTHER_USER), 0); }
    assert_int_equal(check(RLIMIT_NPROC, 50, &error), TN_EINVAL);
    if (is_root) { assert_int_equal(seteuid(0), 0); }
    assert_non_null(strstr(error.text, "at most 50 threads"));
    assert_non_null(strstr(error.text, "ulimit -u"));
}

/* A stack that is too small would end a process without an error. */
static void size_of_stacks_is_named(void **state)
{
    (void)state;
    struct error error = {0};
    assert_int_equal(check(RLIMIT_STACK, 1 << 20, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "at most 1024 KiB"));
    assert_non_null(strstr(error.text, "ulimit -s 8192"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_limits_are_enough), cmocka_unit_test(soft_limit_is_raised),
        cmocka_unit_test(size_of_files_is_named),  cmocka_unit_test(number_of_threads_is_named),
        cmocka_unit_test(size_of_stacks_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
