/* The listener of lanes when descriptors are short. */
#include "common/net/lane_listener.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/resource.h>
#include <unistd.h>

/* Without a free descriptor for a client, nothing waits for the listener: it would be readable all
 * the time, and keep a core busy. The client is served once a descriptor is free. */
static void listener_waits_for_descriptors(void **state)
{
    (void)state;
    const char *address = "127.0.0.1:1"; /* Part of a name; no port is opened. */
    const uint64_t cluster = (uint64_t)getpid();
    char reason[LANE_REASON_MAX];
    struct lane_listener listener;
    struct pollfd polled[1 + LANE_CLIENTS_MAX];
    struct doorbell doorbell;
    struct lane_nonce nonce;
    struct lane lane;
    struct rlimit limit;
    assert_true(doorbell_open(&doorbell, true));
    assert_true(lane_listener_open(&listener, cluster, address, doorbell.fd, reason));
    int request = lane_request(cluster, address, doorbell.fd, &nonce, reason);
    assert_true(request >= 0);
    assert_int_equal(lane_listener_polled(&listener, polled), 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const int lowest_free = dup(request);
    close(lowest_free);
    const struct rlimit none = {.rlim_cur = (rlim_t)lowest_free, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    lane_listener_handle(&listener, 1);
    const unsigned waits_for = lane_listener_polled(&listener, polled);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(waits_for, 0);
    lane_listener_handle(&listener, 2);
    assert_int_equal(lane_listener_polled(&listener, polled), 1);
    assert_true(lane_request_answer(request, &nonce, &lane, reason));
    lane_close(&lane);
    close(request);
    lane_listener_close(&listener);
    doorbell_close(&doorbell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listener_waits_for_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
