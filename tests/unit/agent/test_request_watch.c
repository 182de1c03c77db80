/* A request is reported once, and deleted until ZooKeeper confirms that. */
#include "agent/request_watch.h"

#include "tests/unit/support/asked.h"

#define PATH   "/tanist/c/x"
#define READ   "read " PATH
#define DELETE "delete " PATH

static struct request_watch watch;
static uint64_t next_op;

static int setup(void **state)
{
    (void)state;
    memset(&asked, 0, sizeof asked);
    memset(&watch, 0, sizeof watch);
    next_op = 100;
    request_watch_start(&watch, PATH, &port, &next_op, 0);
    return 0;
}

static bool feed(struct zk_event event)
{
    return request_watch_handle(&watch, &event, &port, &next_op, 0);
}

/* The newest read is answered with a request that transaction `zxid` created; true: it is new. */
static bool accept(uint64_t zxid, const char *text)
{
    struct zk_event event = answer(READ, text);
    event.stat.created_zxid = zxid;
    assert_true(feed(event));
    return request_watch_accept(&watch, &event, &port, &next_op);
}

static uint32_t count_of(const char *request)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < asked.count; i++) { count += strcmp(asked.texts[i], request) == 0; }
    return count;
}

/* The newest deletion is answered. */
static void answer_deletion(enum zk_outcome outcome, enum zk_reason reason)
{
    struct zk_event event = answer(DELETE, NULL);
    event.outcome = outcome;
    event.reason = reason;
    assert_false(feed(event));
}

/* After a deletion that did not succeed, the request is read again later, and only deleted. */
static void failed_deletion_is_repeated(void **state)
{
    static const struct {
        enum zk_outcome outcome;
        enum zk_reason reason;
    } failures[] = {
        {ZK_UNKNOWN, ZK_REASON_CONNECTION},
        {ZK_UNKNOWN, ZK_REASON_DEADLINE},
        {ZK_REFUSED, ZK_REASON_NO_AUTH},
        {ZK_REFUSED, ZK_REASON_OTHER},
    };
    (void)state;
    assert_true(accept(5, "a"));
    for (uint32_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        answer_deletion(failures[i].outcome, failures[i].reason);
        assert_int_equal(znode_watch_deadline_ms(&watch.watch), WATCH_RETRY_MS);
        znode_watch_tick(&watch.watch, &port, &next_op, WATCH_RETRY_MS);
        assert_false(accept(5, "a"));
        assert_int_equal(count_of(DELETE), i + 2);
    }
}

/* After a deletion that succeeded, or found no request, nothing is read before the next change. */
static void deleted_request_is_not_read_again(void **state)
{
    (void)state;
    assert_true(accept(5, "a"));
    answer_deletion(ZK_OK, ZK_REASON_NONE);
    assert_true(znode_watch_deadline_ms(&watch.watch) == UINT64_MAX);
    assert_false(feed((struct zk_event){.type = ZK_CHANGED, .path = PATH}));
    assert_true(accept(6, "a"));
    answer_deletion(ZK_REFUSED, ZK_REASON_NO_NODE);
    assert_true(znode_watch_deadline_ms(&watch.watch) == UINT64_MAX);
}

/* While the request is being read, a failed deletion starts no other read. */
static void read_in_flight_is_enough(void **state)
{
    (void)state;
    assert_true(accept(5, "a"));
    assert_false(feed((struct zk_event){.type = ZK_CONNECTED}));
    answer_deletion(ZK_UNKNOWN, ZK_REASON_CONNECTION);
    assert_true(znode_watch_deadline_ms(&watch.watch) == UINT64_MAX);
    assert_int_equal(count_of(READ), 2);
    assert_false(accept(5, "a"));
}

/* A request is another one if another transaction created it, or its text differs; a new session
 * makes no difference. */
static void requests_are_distinguished(void **state)
{
    (void)state;
    assert_true(accept(5, "a"));
    request_watch_start(&watch, PATH, &port, &next_op, 0);
    assert_false(accept(5, "a"));
    request_watch_start(&watch, PATH, &port, &next_op, 0);
    assert_true(accept(5, "b"));
    request_watch_start(&watch, PATH, &port, &next_op, 0);
    assert_true(accept(6, "b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(failed_deletion_is_repeated, setup),
        cmocka_unit_test_setup(deleted_request_is_not_read_again, setup),
        cmocka_unit_test_setup(read_in_flight_is_enough, setup),
        cmocka_unit_test_setup(requests_are_distinguished, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
