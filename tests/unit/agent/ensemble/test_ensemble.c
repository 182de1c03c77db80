/* The answers of a ZooKeeper server to "srvr". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/ensemble/ensemble.h"

static struct ensemble_health health;

/* The answer of a server with a quorum: its role, last transaction, connections. */
static void serving_server_is_read(void **state)
{
    (void)state;
    const char *answer = "Zookeeper version: 3.8.0-11, built on 2024-06-16\n"
                         "Latency min/avg/max: 0/0.0/0\n"
                         "Received: 1\nSent: 0\nConnections: 17\nOutstanding: 0\n"
                         "Zxid: 0x1a00000002\nMode: leader\nNode count: 5\n";
    assert_int_equal(ensemble_parse_srvr(answer, &health), TN_OK);
    assert_int_equal(health.mode, ENSEMBLE_LEADER);
    assert_true(health.zxid == UINT64_C(0x1a00000002));
    assert_int_equal(health.connections, 17);
}

/* Each role has its name. */
static void roles_are_named(void **state)
{
    (void)state;
    static const char *const answers[] = {
        "Connections: 1\nZxid: 0x0\nMode: standalone", "Connections: 1\nZxid: 0x0\nMode: leader",
        "Connections: 1\nZxid: 0x0\nMode: follower", "Connections: 1\nZxid: 0x0\nMode: observer"};
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(ensemble_parse_srvr(answers[i], &health), TN_OK);
        assert_int_equal(health.mode, i);
    }
    assert_string_equal(ensemble_mode_name(ENSEMBLE_FOLLOWER), "follower");
    assert_string_equal(ensemble_mode_name((enum ensemble_mode)77), "unknown");
}

/* A server without a quorum is unhealthy; any other text is not an answer of ZooKeeper. */
static void other_answers_are_distinguished(void **state)
{
    (void)state;
    assert_int_equal(
        ensemble_parse_srvr("This ZooKeeper instance is not currently serving requests\n", &health),
        TN_EUNHEALTHY);
    static const char *const foreign[] = {
        "", "\n", "HTTP/1.1 400 Bad Request\r\n",
        "srvr is not executed because it is not in the whitelist.\n",
        "Connections: 1\nZxid: 0x0\nMode: emperor\n"};
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(ensemble_parse_srvr(foreign[i], &health), TN_EPROTO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serving_server_is_read),
        cmocka_unit_test(roles_are_named),
        cmocka_unit_test(other_answers_are_distinguished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
