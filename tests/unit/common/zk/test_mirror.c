/* A mirror misses nothing: whatever is in doubt is read again. */
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

/* Read, watched, read again when the watch fires; other paths and other answers do not count. */
static void test_follows(void **state)
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

/* A change while reading may be newer than the answer: it is given, and read once more. */
static void test_change_while_reading(void **state)
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

/* No answer is no news: tried again a little later. */
static void test_unknown(void **state)
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

/* A missing znode leaves no watch on its children: looked for again and again. */
static void test_missing_listing(void **state)
{
    (void)state;
    start(MIRROR_CHILDREN);
    assert_int_equal(fake.requests[0].verb, 'l');
    assert_int_equal(answer(1, ZK_REFUSED, ZK_REASON_NO_NODE), MIRROR_ABSENT);
    assert_int_equal(mirror_deadline_ms(&mirror), 1000 + MIRROR_RETRY_MS);
}

/* A new connection reads again, and an answer of before it does not count. */
static void test_reconnected(void **state)
{
    (void)state;
    start(MIRROR_DATA);
    assert_int_equal(show(&(struct zk_event){.type = ZK_CONNECTED}), MIRROR_NOTHING);
    assert_int_equal(answer(1, ZK_OK, ZK_REASON_NONE), MIRROR_NOTHING);
    assert_int_equal(answer(2, ZK_OK, ZK_REASON_NONE), MIRROR_PRESENT);
}

/* A stopped mirror asks for nothing. */
static void test_stopped(void **state)
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
        cmocka_unit_test(test_follows),     cmocka_unit_test(test_change_while_reading),
        cmocka_unit_test(test_unknown),     cmocka_unit_test(test_missing_listing),
        cmocka_unit_test(test_reconnected), cmocka_unit_test(test_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
