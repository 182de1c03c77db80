/* A mirror misses no change: it reads again in any doubt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/zk/mirror.h"
#include "tests/unit/support/fake_ports.h"

static struct fake_ports fake;
static struct zk_port zk;
static struct mirror mirror;
static uint64_t next_op;

static void start(enum mirror_kind kind)
{
    fake.request_count = 0;
    next_op = 0;
    zk = fake_zk_port(&fake);
    mirror_start(&mirror, kind, "/a", &zk, &next_op, 1000);
}

static enum mirror_update show(const struct zk_event *event)
{
    return mirror_handle(&mirror, event, &zk, &next_op, 1000);
}

static enum mirror_update answer(uint64_t op, enum zk_outcome outcome, enum zk_reason reason)
{
    return show(&(struct zk_event){
        .type = ZK_RESULT, .op = op, .outcome = outcome, .reason = reason, .path = "/a"});
}

static void change(const char *path)
{
    assert_int_equal(show(&(struct zk_event){.type = ZK_CHANGED, .path = path}), MIRROR_NOTHING);
}

/* Read, watched, read again when the watch fires; other paths and other answers are ignored. */
static void mirror_follows_changes(void **state)
{
    (void)state;
    start(MIRROR_DATA);
    assert_int_equal(fake.requests[0].verb, 'r');
    assert_int_equal(answer(99, ZK_OK, ZK_REASON_NONE), MIRROR_NOTHING);
    assert_int_equal(answer(1, ZK_OK, ZK_REASON_NONE), MIRROR_PRESENT);
    change("/b");
    assert_int_equal(fake.request_count, 1);
    change("/a");
    assert_int_equal(fake.request_count, 2);
    assert_int_equal(answer(2, ZK_REFUSED, ZK_REASON_NO_NODE), MIRROR_ABSENT);
    change("/a");
    assert_int_equal(fake.request_count, 3);
}

/* A change during a read may be newer than the answer, so the mirror reads again. */
static void change_while_reading_is_read_again(void **state)
{
    (void)state;
    start(MIRROR_DATA);
    change("/a");
    change("/a");
    assert_int_equal(fake.request_count, 1);
    assert_int_equal(answer(1, ZK_OK, ZK_REASON_NONE), MIRROR_PRESENT);
    assert_int_equal(fake.request_count, 2);
    assert_int_equal(answer(2, ZK_OK, ZK_REASON_NONE), MIRROR_PRESENT);
    assert_int_equal(fake.request_count, 2);
}

/* After an unknown outcome the mirror reads again a little later. */
static void unknown_answer_is_retried(void **state)
{
    (void)state;
    start(MIRROR_DATA);
    assert_int_equal(answer(1, ZK_UNKNOWN, ZK_REASON_CONNECTION), MIRROR_NOTHING);
    assert_int_equal(mirror_deadline_ms(&mirror), 1000 + MIRROR_RETRY_MS);
    mirror_tick(&mirror, &zk, &next_op, 1000 + MIRROR_RETRY_MS - 1);
    assert_int_equal(fake.request_count, 1);
    mirror_tick(&mirror, &zk, &next_op, 1000 + MIRROR_RETRY_MS);
    assert_int_equal(fake.request_count, 2);
    assert_true(mirror_deadline_ms(&mirror) == UINT64_MAX);
}

/* The children of a missing znode cannot be watched, so the mirror polls. */
static void missing_listing_is_retried(void **state)
{
    (void)state;
    start(MIRROR_CHILDREN);
    assert_int_equal(fake.requests[0].verb, 'l');
    assert_int_equal(answer(1, ZK_REFUSED, ZK_REASON_NO_NODE), MIRROR_ABSENT);
    assert_int_equal(mirror_deadline_ms(&mirror), 1000 + MIRROR_RETRY_MS);
}

/* A new connection makes the mirror read again; an earlier answer is ignored. */
static void reconnection_reads_again(void **state)
{
    (void)state;
    start(MIRROR_DATA);
    assert_int_equal(show(&(struct zk_event){.type = ZK_CONNECTED}), MIRROR_NOTHING);
    assert_int_equal(answer(1, ZK_OK, ZK_REASON_NONE), MIRROR_NOTHING);
    assert_int_equal(answer(2, ZK_OK, ZK_REASON_NONE), MIRROR_PRESENT);
}

/* A stopped mirror sends no request. */
static void stopped_mirror_sends_nothing(void **state)
{
    (void)state;
    start(MIRROR_DATA);
    mirror_stop(&mirror);
    assert_int_equal(answer(1, ZK_OK, ZK_REASON_NONE), MIRROR_NOTHING);
    assert_int_equal(show(&(struct zk_event){.type = ZK_CONNECTED}), MIRROR_NOTHING);
    mirror_refresh(&mirror, &zk, &next_op);
    assert_int_equal(fake.request_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mirror_follows_changes),
        cmocka_unit_test(change_while_reading_is_read_again),
        cmocka_unit_test(unknown_answer_is_retried),
        cmocka_unit_test(missing_listing_is_retried),
        cmocka_unit_test(reconnection_reads_again),
        cmocka_unit_test(stopped_mirror_sends_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
