/* A request to drain a host is accepted by its deletion; requests of other kinds are ignored. */
#include "agent/drain_request.h"

#include "tests/unit/support/asked.h"

#define PATH   "/tanist/c/drains/h"
#define READ   "read " PATH
#define DELETE "delete " PATH

static struct drain_request drain;
static uint64_t created_zxid = 5;

static int setup(void **state)
{
    (void)state;
    memset(&asked, 0, sizeof asked);
    memset(&drain, 0, sizeof drain);
    drain_request_start(&drain, "c", "h", 100, &port, 0);
    return 0;
}

/* Pass a request as the answer to the newest read. */
static uint32_t feed(enum request_kind kind, uint64_t within_ms)
{
    static char text[ZNODE_JSON_MAX];
    const struct request request = {.kind = kind, .by = "me", .step = within_ms};
    (void)request_encode(&request, text);
    struct zk_event event = answer(READ, text);
    event.stat.created_zxid = created_zxid;
    return drain_request_handle(&drain, &event, &port, 0);
}

static void drain_is_accepted_by_its_deletion(void **state)
{
    (void)state;
    assert_int_equal(feed(REQUEST_DRAIN, 2500), 2500);
    assert_string_equal(asked.texts[asked.count - 1], DELETE);
}

static void drain_at_once_is_a_drain(void **state)
{
    (void)state;
    assert_int_equal(feed(REQUEST_DRAIN, 0), 1);
}

static void requests_of_other_kinds_are_ignored(void **state)
{
    (void)state;
    assert_int_equal(feed(REQUEST_STOP, 2500), 0);
    assert_string_not_equal(asked.texts[asked.count - 1], DELETE);
}

/* A deletion that an ACL forbids is tried again; the request is reported once. */
static void refused_deletion_is_repeated(void **state)
{
    (void)state;
    assert_int_equal(feed(REQUEST_DRAIN, 2500), 2500);
    const uint64_t first = op_of(DELETE);
    struct zk_event refused = answer(DELETE, NULL);
    refused.reason = ZK_REASON_NO_AUTH;
    assert_int_equal(drain_request_handle(&drain, &refused, &port, 0), 0);
    assert_int_equal(drain_request_deadline_ms(&drain), WATCH_RETRY_MS);
    drain_request_tick(&drain, &port, WATCH_RETRY_MS);
    assert_int_equal(feed(REQUEST_DRAIN, 2500), 0);
    assert_true(op_of(DELETE) > first);
}

/* A second request with the same contents is another request. */
static void second_drain_is_a_drain(void **state)
{
    (void)state;
    assert_int_equal(feed(REQUEST_DRAIN, 2500), 2500);
    drain_request_start(&drain, "c", "h", 100, &port, 0);
    assert_int_equal(feed(REQUEST_DRAIN, 2500), 0); /* The same one in a new session. */
    created_zxid++;
    drain_request_start(&drain, "c", "h", 100, &port, 0);
    assert_int_equal(feed(REQUEST_DRAIN, 2500), 2500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(drain_is_accepted_by_its_deletion, setup),
        cmocka_unit_test_setup(drain_at_once_is_a_drain, setup),
        cmocka_unit_test_setup(requests_of_other_kinds_are_ignored, setup),
        cmocka_unit_test_setup(refused_deletion_is_repeated, setup),
        cmocka_unit_test_setup(second_drain_is_a_drain, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
