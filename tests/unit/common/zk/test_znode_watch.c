/* A watch misses no change: it reads again in any doubt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/zk/znode_watch.h"
#include "tests/unit/support/fake_ports.h"

static struct fake_ports fake;
static struct zk_port zk;
static struct znode_watch watch;
static uint64_t next_op;

static void start(enum znode_watch_kind kind)
{
    fake.request_count = 0;
    next_op = 0;
    zk = fake_zk_port(&fake);
    znode_watch_start(&watch, kind, "/a", &zk, &next_op, 1000);
}

static enum znode_watch_update show(const struct zk_event *event)
{
    return znode_watch_handle(&watch, event, &zk, &next_op, 1000);
}

static enum znode_watch_update answer(uint64_t op, enum zk_outcome outcome, enum zk_reason reason)
{
    return show(&(struct zk_event){
        .type = ZK_RESULT, .op = op, .outcome = outcome, .reason = reason, .path = "/a"});
}

static void change(const char *path)
{
    assert_int_equal(show(&(struct zk_event){.type = ZK_CHANGED, .path = path}), WATCH_NOTHING);
}

/* Read, watched, read again when the watch fires; other paths and other answers are ignored. */
static void watch_follows_changes(void **state)
{
    (void)state;
    start(WATCH_DATA);
    assert_int_equal(fake.requests[0].verb, 'r');
    assert_int_equal(answer(99, ZK_OK, ZK_REASON_NONE), WATCH_NOTHING);
    assert_int_equal(answer(1, ZK_OK, ZK_REASON_NONE), WATCH_PRESENT);
    change("/b");
    assert_int_equal(fake.request_count, 1);
    change("/a");
    assert_int_equal(fake.request_count, 2);
    assert_int_equal(answer(2, ZK_REFUSED, ZK_REASON_NO_NODE), WATCH_ABSENT);
    change("/a");
    assert_int_equal(fake.request_count, 3);
}

/* A change during a read may be newer than the answer, so the watch reads again. */
static void change_while_reading_is_read_again(void **state)
{
    (void)state;
    start(WATCH_DATA);
    change("/a");
    change("/a");
    assert_int_equal(fake.request_count, 1);
    assert_int_equal(answer(1, ZK_OK, ZK_REASON_NONE), WATCH_PRESENT);
    assert_int_equal(fake.request_count, 2);
    assert_int_equal(answer(2, ZK_OK, ZK_REASON_NONE), WATCH_PRESENT);
    assert_int_equal(fake.request_count, 2);
}

/* After an unknown outcome the watch reads again a little later. */
static void unknown_answer_is_retried(void **state)
{
    (void)state;
    start(WATCH_DATA);
    assert_int_equal(answer(1, ZK_UNKNOWN, ZK_REASON_CONNECTION), WATCH_NOTHING);
    assert_int_equal(znode_watch_deadline_ms(&watch), 1000 + WATCH_RETRY_MS);
    znode_watch_tick(&watch, &zk, &next_op, 1000 + WATCH_RETRY_MS - 1);
    assert_int_equal(fake.request_count, 1);
    znode_watch_tick(&watch, &zk, &next_op, 1000 + WATCH_RETRY_MS);
    assert_int_equal(fake.request_count, 2);
    assert_true(znode_watch_deadline_ms(&watch) == UINT64_MAX);
}

/* The children of a missing znode cannot be watched, so the watch polls. */
static void missing_listing_is_retried(void **state)
{
    (void)state;
    start(WATCH_CHILDREN);
    assert_int_equal(fake.requests[0].verb, 'l');
    assert_int_equal(answer(1, ZK_REFUSED, ZK_REASON_NO_NODE), WATCH_ABSENT);
    assert_int_equal(znode_watch_deadline_ms(&watch), 1000 + WATCH_RETRY_MS);
}

/* A new connection makes the watch read again; an earlier answer is ignored. */
static void reconnection_reads_again(void **state)
{
    (void)state;
    start(WATCH_DATA);
    assert_int_equal(show(&(struct zk_event){.type = ZK_CONNECTED}), WATCH_NOTHING);
    assert_int_equal(answer(1, ZK_OK, ZK_REASON_NONE), WATCH_NOTHING);
    assert_int_equal(answer(2, ZK_OK, ZK_REASON_NONE), WATCH_PRESENT);
}

/* A watch that was not started sends no request. */
static void zeroed_watch_sends_nothing(void **state)
{
    (void)state;
    start(WATCH_DATA);
    watch = (struct znode_watch){0};
    assert_int_equal(answer(1, ZK_OK, ZK_REASON_NONE), WATCH_NOTHING);
    assert_int_equal(show(&(struct zk_event){.type = ZK_CONNECTED}), WATCH_NOTHING);
    znode_watch_refresh(&watch, &zk, &next_op);
    assert_int_equal(fake.request_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watch_follows_changes),
        cmocka_unit_test(change_while_reading_is_read_again),
        cmocka_unit_test(unknown_answer_is_retried),
        cmocka_unit_test(missing_listing_is_retried),
        cmocka_unit_test(reconnection_reads_again),
        cmocka_unit_test(zeroed_watch_sends_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
