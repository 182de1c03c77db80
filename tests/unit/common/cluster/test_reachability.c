/* Which nodes can reach each other, as far as their addresses show. */
#include "common/cluster/reachability.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct member member(const char *address, const char *machine)
{
    struct member member = {.task = {ROLE_PS, 1}, .host = "beta"};
    strncpy(member.address, address, sizeof member.address - 1);
    strncpy(member.machine, machine, sizeof member.machine - 1);
    return member;
}

static void loopback_addresses_are_local(void **state)
{
    (void)state;
    static const char *const local[] = {
        "127.0.0.1",         "tcp://127.1.2.3:4000", "localhost", "0.0.0.0",
        "tcp://localhost:1", "tcp://[::1]:4000",     "[::]",      "::1",
        "tcp://0.0.0.0:0"};
    static const char *const other[] = {
        "10.0.0.1",     "tcp://h1:4000",        "localhost.example.org",
        "1270.example", "tcp://[fe80::1]:4000", "::2"};
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        assert_true(machine_address_is_local(local[i]));
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        assert_false(machine_address_is_local(other[i]));
    }
}

static void loopback_serves_one_machine(void **state)
{
    (void)state;
    const struct member same = member("tcp://127.0.0.1:1", "a"),
                        there = member("tcp://10.0.0.2:1", "b"),
                        hidden = member("tcp://127.0.0.1:1", "b"),
                        unknown = member("tcp://127.0.0.1:1", "");
    assert_int_equal(reachability_of("127.0.0.1", "a", &same), REACHABLE);
    assert_int_equal(reachability_of("127.0.0.1", "a", &there), REACHABILITY_NOT_US);
    assert_int_equal(reachability_of("127.0.0.1", "a", &hidden), REACHABILITY_NOT_US);
    assert_int_equal(reachability_of("10.0.0.1", "a", &hidden), REACHABILITY_NOT_THEM);
    assert_int_equal(reachability_of("10.0.0.1", "a", &there), REACHABLE);
    assert_int_equal(reachability_of("127.0.0.1", "a", &unknown), REACHABLE);
    assert_int_equal(reachability_of("127.0.0.1", "", &there), REACHABLE);
}

static void text_names_flag_value_and_remedy(void **state)
{
    (void)state;
    char text[REACHABILITY_TEXT_MAX];
    const struct member there = member("tcp://10.0.0.2:1", "b");
    reachability_describe(REACHABILITY_NOT_US, "--host", "127.0.0.1", "10.0.0.1", &there, text);
    assert_non_null(strstr(text, "--host is 127.0.0.1"));
    assert_non_null(strstr(text, "ps:1 of the same cluster runs on beta at tcp://10.0.0.2:1"));
    assert_non_null(strstr(text, "for example 10.0.0.1"));
    reachability_describe(REACHABILITY_NOT_US, "--host", "127.0.0.1", "", &there, text);
    assert_null(strstr(text, "example"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loopback_addresses_are_local),
        cmocka_unit_test(loopback_serves_one_machine),
        cmocka_unit_test(text_names_flag_value_and_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
