/* Connections to the ps: when they are dialled, and when again. */
#include "common/node/peer_links.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct links links;
static uint64_t dialled, closed;

static conn_id dial(void *ctx, const char *address)
{
    (void)ctx;
    assert_string_equal(address, "tcp://127.0.0.1:4000");
    return (conn_id){++dialled};
}

static void close_connection(void *ctx, conn_id conn)
{
    (void)ctx;
    closed = conn.v;
}

static bool member(uint64_t incarnation, uint64_t now_ms)
{
    struct member of = {.incarnation = incarnation, .address = "tcp://127.0.0.1:4000"};
    return links_set_member(&links, 0, &of, now_ms);
}

/* Ps 0 is known as incarnation 7 and connected. */
static int setup(void **state)
{
    (void)state;
    dialled = closed = 0;
    links_init(&links, 1, &(struct transport_port){.dial = dial, .close = close_connection});
    assert_true(links_deadline_ms(&links) == UINT64_MAX);
    links_tick(&links, 50);
    assert_int_equal(dialled, 0);
    assert_false(member(7, 100));
    assert_int_equal(links_deadline_ms(&links), 100);
    links_tick(&links, 100);
    assert_int_equal(dialled, 1);
    links_opened(&links, 0);
    return 0;
}

/* Only connections to a ps are found. */
static void test_connections_are_found(void **state)
{
    (void)state;
    assert_int_equal(links_find(&links, (conn_id){1}), 0);
    assert_int_equal(links_find(&links, (conn_id){2}), -1);
    assert_int_equal(links_find(&links, (conn_id){0}), -1);
}

/* Closed connections are dialled again after 5, 10, ... 200 ms, and after 5 ms once confirmed. */
static void test_closed_connections_are_redialled_with_back_off(void **state)
{
    (void)state;
    const uint64_t delays[] = {5, 10, 20, 40, 80, 160, 200, 200};
    uint64_t now_ms = 1000;
    assert_true(links_closed(&links, 0, TN_ECLOSED, now_ms));
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        assert_int_equal(links_deadline_ms(&links), now_ms + delays[i]);
        now_ms += delays[i];
        links_tick(&links, now_ms - 1);
        links_tick(&links, now_ms);
        assert_int_equal(dialled, 2 + i);
        assert_false(links_closed(&links, 0, TN_ECONNECT, now_ms));
    }
    links_confirmed(&links, 0);
    links_tick(&links, now_ms + 1000);
    links_opened(&links, 0);
    assert_true(links_closed(&links, 0, TN_ECLOSED, now_ms));
    assert_int_equal(links_deadline_ms(&links), now_ms + 5);
}

/* A restarted ps is dialled at once, and the connection to its earlier incarnation is closed. */
static void test_restarted_ps_is_dialled_at_once(void **state)
{
    (void)state;
    assert_false(member(7, 200));
    assert_int_equal(closed, 0);
    assert_true(member(8, 300));
    assert_int_equal(closed, 1);
    assert_int_equal(links_find(&links, (conn_id){1}), -1);
    links_tick(&links, 300);
    assert_int_equal(dialled, 2);
}

/* A ps that is not registered is not dialled; an open connection stays. */
static void test_unregistered_ps_is_not_dialled(void **state)
{
    (void)state;
    assert_false(links_set_member(&links, 0, NULL, 200));
    assert_int_equal(closed, 0);
    assert_true(links_closed(&links, 0, TN_ECLOSED, 300));
    links_tick(&links, 10000);
    assert_int_equal(dialled, 1);
    assert_false(member(7, 20000));
    links_tick(&links, 20000);
    assert_int_equal(dialled, 2);
}

/* All connections are closed at once, and dialled again without a delay. */
static void test_all_connections_are_reset(void **state)
{
    (void)state;
    links_reset(&links, 500);
    assert_int_equal(closed, 1);
    assert_false(links.items[0].open);
    assert_int_equal(links_find(&links, (conn_id){1}), -1);
    assert_int_equal(links_deadline_ms(&links), 500);
    links_tick(&links, 500);
    assert_int_equal(dialled, 2);
}

/* A ps that the owner does not need is never dialled. */
static void test_ignored_ps_is_not_dialled(void **state)
{
    (void)state;
    dialled = 0;
    links_init(&links, 1, &(struct transport_port){.dial = dial, .close = close_connection});
    links_ignore(&links, 0);
    assert_false(member(7, 100));
    assert_true(links_deadline_ms(&links) == UINT64_MAX);
    links_reset(&links, 100);
    links_tick(&links, 1000);
    assert_int_equal(dialled, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_connections_are_found, setup),
        cmocka_unit_test_setup(test_closed_connections_are_redialled_with_back_off, setup),
        cmocka_unit_test_setup(test_restarted_ps_is_dialled_at_once, setup),
        cmocka_unit_test_setup(test_unregistered_ps_is_not_dialled, setup),
        cmocka_unit_test_setup(test_all_connections_are_reset, setup),
        cmocka_unit_test(test_ignored_ps_is_not_dialled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
