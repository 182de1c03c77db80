/* The queue of a transport's events: nothing that the owner waits for is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "session/mailbox.h"

static struct mailbox *mailbox;
static int allocations_left;

static void *allocate(size_t bytes)
{
    if (allocations_left == 0) { return NULL; }
    allocations_left--;
    return malloc(bytes);
}

static int setup(void **state)
{
    (void)state;
    mailbox = mailbox_create();
    assert_non_null(mailbox);
    allocations_left = 1000;
    mailbox_allocate_with(mailbox, allocate);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    mailbox_destroy(mailbox);
    return 0;
}

static bool put(enum transport_event_type type, uint64_t conn, bool accepted)
{
    return mailbox_put(
        mailbox, &(struct transport_event){.type = type, .conn = {conn}, .accepted = accepted});
}

static void assert_next(enum transport_event_type type, uint64_t conn)
{
    struct transport_event event;
    assert_true(mailbox_take(mailbox, 0, &event));
    assert_int_equal(event.type, type);
    assert_int_equal(event.conn.v, conn);
}

static void assert_empty(void)
{
    struct transport_event event;
    assert_false(mailbox_take(mailbox, 0, &event));
}

/* Events are taken in the order in which they were put. */
static void order_is_kept(void **state)
{
    (void)state;
    for (uint64_t conn = 1; conn <= 3; conn++) { assert_true(put(TRANSPORT_OPENED, conn, true)); }
    assert_true(put(TRANSPORT_FRAME, 2, true));
    assert_true(put(TRANSPORT_CLOSED, 2, true));
    for (uint64_t conn = 1; conn <= 3; conn++) { assert_next(TRANSPORT_OPENED, conn); }
    assert_next(TRANSPORT_FRAME, 2);
    assert_next(TRANSPORT_CLOSED, 2);
    assert_empty();
}

/* The owner learns of the end of each connection that it knows, although memory is exhausted. */
static void ends_arrive_without_memory(void **state)
{
    (void)state;
    for (uint64_t conn = 1; conn <= 100; conn++) {
        assert_true(put(TRANSPORT_OPENED, conn, conn % 2 == 0));
    }
    allocations_left = 0;
    for (uint64_t conn = 100; conn >= 1; conn--) {
        assert_false(put(TRANSPORT_FRAME, conn, conn % 2 == 0));
        assert_true(put(TRANSPORT_CLOSED, conn, conn % 2 == 0));
    }
    for (uint64_t conn = 1; conn <= 100; conn++) { assert_next(TRANSPORT_OPENED, conn); }
    for (uint64_t conn = 100; conn >= 1; conn--) { assert_next(TRANSPORT_CLOSED, conn); }
    assert_empty();
}

/* A dial that fails is answered although memory is exhausted, however often. */
static void failed_dials_are_answered_without_memory(void **state)
{
    (void)state;
    allocations_left = 0;
    for (uint64_t conn = 1; conn <= 3 * MAILBOX_DIALS_MAX; conn++) {
        assert_true(put(TRANSPORT_CLOSED, conn, false));
        if (conn >= MAILBOX_DIALS_MAX) {
            assert_next(TRANSPORT_CLOSED, conn + 1 - MAILBOX_DIALS_MAX);
        }
    }
}

/* A connection whose opening was refused ends without the owner. It may be any number of them. */
static void refused_connections_have_no_end(void **state)
{
    (void)state;
    for (int left = 0; left <= 1; left++) {
        for (uint64_t conn = 1; conn <= 2 * MAILBOX_DIALS_MAX; conn++) {
            allocations_left = left;
            assert_false(put(TRANSPORT_OPENED, conn, true));
            assert_true(put(TRANSPORT_CLOSED, conn, true));
        }
    }
    assert_empty();
}

/* A frame that is one too many is dropped; the end of its connection is not. */
static void frames_are_bounded(void **state)
{
    (void)state;
    assert_true(put(TRANSPORT_OPENED, 1, true));
    allocations_left = MAILBOX_FRAMES_MAX + 1;
    for (uint32_t i = 0; i < MAILBOX_FRAMES_MAX; i++) {
        assert_true(put(TRANSPORT_FRAME, 1, true));
    }
    assert_false(put(TRANSPORT_FRAME, 1, true));
    assert_true(put(TRANSPORT_CLOSED, 1, true));
    assert_next(TRANSPORT_OPENED, 1);
    for (uint32_t i = 0; i < MAILBOX_FRAMES_MAX; i++) { assert_next(TRANSPORT_FRAME, 1); }
    assert_next(TRANSPORT_CLOSED, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(order_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(ends_arrive_without_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_dials_are_answered_without_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(refused_connections_have_no_end, setup, teardown),
        cmocka_unit_test_setup_teardown(frames_are_bounded, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
