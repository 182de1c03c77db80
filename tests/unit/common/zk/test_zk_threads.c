/* A process without memory for threads gets an error, not an assertion of the ZooKeeper library. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/zk/zk_threads.h"

static void fit_normally(void **state)
{
    (void)state;
    assert_true(zk_threads_fit());
    assert_true(zk_threads_fit());
}

/* A stack larger than the address space cannot be allocated. */
static void do_not_fit_without_memory(void **state)
{
    (void)state;
    pthread_attr_t normal, huge;
    assert_int_equal(pthread_getattr_default_np(&normal), 0);
    assert_int_equal(pthread_getattr_default_np(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 56), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    const bool fit = zk_threads_fit();
    assert_int_equal(pthread_setattr_default_np(&normal), 0);
    pthread_attr_destroy(&normal);
    pthread_attr_destroy(&huge);
    assert_false(fit);
    assert_true(zk_threads_fit());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fit_normally),
        cmocka_unit_test(do_not_fit_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
