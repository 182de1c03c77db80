/* The cause of a failed dial: nng has one error for a name that cannot be resolved and for
 * EADDRNOTAVAIL. */
#include "common/net/transport_address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* An address without a name is recognised, with a scope as well. */
static void numbers_and_names_are_recognised(void **state)
{
    (void)state;
    static const char *const numbers[] = {"tcp://127.0.0.1:4000", "tcp://10.77.0.4:0",
                                          "tcp://[::1]:4000", "tcp://[fe80::1%eth0]:4000"};
    static const char *const others[] = {"tcp://host:4000",      "tcp://10.0.0.1.example.org:4000",
                                         "tcp://[host]:4000",    "tcp://[]:4000",
                                         "tcp://:4000",          "ipc:///127.0.0.1",
                                         "tcp://256.0.0.1:4000", "tcp://"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_true(transport_host_is_number(numbers[i]));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(transport_host_is_number(others[i]));
    }
    assert_false(transport_host_is_number(NULL));
}

/* If this host has no port left, an IP address is not reported as an unresolved name. */
static void only_names_are_unresolved(void **state)
{
    (void)state;
    static const int ambiguous[] = {NNG_EADDRINVAL, NNG_EAGAIN};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(transport_explain_dial(ambiguous[i], true), TN_ECONNECT);
        assert_int_equal(transport_explain_dial(ambiguous[i], false), TN_ENOENT);
    }
    assert_int_equal(transport_explain_dial(NNG_ECONNREFUSED, false), TN_ECONNECT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_names_are_recognised),
        cmocka_unit_test(only_names_are_unresolved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
