/* Questions to holders of values over real connections. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/observe/step_poller.h"
#include "common/base/clock.h"
#include "tests/support/patience.h"

enum { WAIT_MS = 30000, POLL_MS = 2 };

/* A port of this machine, bound to `*out`, on which nothing listens. */
static void reserve_port(int *out, char address[static 64])
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof name;
    *out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(*out >= 0);
    assert_int_equal(bind(*out, (const struct sockaddr *)&name, size), 0);
    assert_int_equal(getsockname(*out, (struct sockaddr *)&name, &size), 0);
    snprintf(address, 64, "tcp://127.0.0.1:%d", ntohs(name.sin_port));
}

static void expect_settled(struct step_poller *poller, uint32_t count)
{
    const uint64_t until_ms = clock_monotonic_ms() + patience_ms(WAIT_MS);
    while (step_poller_settled(poller, count) < count ||
           step_poller_settled_tables(poller, count) < count) {
        assert_true(clock_monotonic_ms() < until_ms);
        (void)poll(NULL, 0, POLL_MS);
    }
}

/* A holder whose process has ended, but that is still registered, does not answer, and is not
 * awaited. It is asked again like any other. */
static void dead_holder_is_settled(void **state)
{
    (void)state;
    struct step_poller *poller;
    char address[64];
    uint64_t generation, step;
    int port;
    reserve_port(&port, address);
    assert_int_equal(step_poller_open(7, &poller, NULL), TN_OK);
    for (int i = 0; i < 2; i++) {
        step_poller_ask(poller, 0, address, 1);
        step_poller_ask_tables(poller);
        expect_settled(poller, 1);
        assert_false(step_poller_get(poller, 0, &generation, &step));
    }
    step_poller_close(poller);
    (void)close(port);
}

/* A holder that accepts the connection and is silent is waited for. */
static void silent_holder_is_not_settled(void **state)
{
    (void)state;
    struct step_poller *poller;
    char address[64];
    int port;
    reserve_port(&port, address);
    assert_int_equal(listen(port, 1), 0);
    assert_int_equal(step_poller_open(7, &poller, NULL), TN_OK);
    step_poller_ask(poller, 0, address, 1);
    (void)poll(NULL, 0, 100);
    assert_int_equal(step_poller_settled(poller, 1), 0);
    step_poller_close(poller);
    (void)close(port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_holder_is_settled),
        cmocka_unit_test(silent_holder_is_not_settled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
