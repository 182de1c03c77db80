/* Orders to signal a node: told once, removed, never lost. */
#include "agent/kill_requests.h"

#include "tests/unit/support/asked.h"

#define READ   "read /tanist/c/kills/ps-1"
#define DELETE "delete /tanist/c/kills/ps-1"

static struct kill_requests orders;
static struct kill_request order;
static struct task task;

/* ps:1 is ours; everything asked, nothing answered. */
static int setup(void **state)
{
    (void)state;
    static const struct task ours[] = {{ROLE_PS, 1}};
    memset(&asked, 0, sizeof asked);
    memset(&orders, 0, sizeof orders);
    kill_requests_start(&orders, "c", ours, 1, 100, &port, 0);
    return 0;
}

static bool tell(struct zk_event event)
{
    return kill_requests_handle(&orders, &event, &port, 0, &task, &order);
}

/* The answer to the newest read: an order, as made by transaction `zxid`. */
static struct zk_event lies_there(uint64_t zxid)
{
    static char text[ZNODE_JSON_MAX];
    const struct kill_request wanted = {.incarnation = 7, .signal = KILL_SIGSTOP, .by = "me"};
    (void)kill_request_encode(&wanted, text);
    struct zk_event event = answer(READ, text);
    event.stat.created_zxid = zxid;
    return event;
}

static struct zk_event changed(void)
{
    return (struct zk_event){.type = ZK_CHANGED, .path = "/tanist/c/kills/ps-1"};
}

/* An order is told with what it says, and removed at once. */
static void test_told(void **state)
{
    (void)state;
    assert_false(tell(answer(READ, NULL)));
    assert_false(tell(changed()));
    assert_true(tell(lies_there(5)));
    assert_true(task_equal(task, (struct task){ROLE_PS, 1}));
    assert_int_equal(order.incarnation, 7);
    assert_int_equal(order.signal, KILL_SIGSTOP);
    assert_true(op_of(DELETE) > 100);
}

/* One that was there before us is told as well: nobody has to be quick. */
static void test_there_before(void **state)
{
    (void)state;
    assert_true(tell(lies_there(5)));
}

/* A removal whose answer was lost is tried again; the order is not told twice. */
static void test_lost_answer(void **state)
{
    (void)state;
    assert_true(tell(lies_there(5)));
    const uint64_t first = op_of(DELETE);
    struct zk_event lost = answer(DELETE, NULL);
    lost.outcome = ZK_UNKNOWN;
    assert_false(tell(lost));
    assert_false(tell(lies_there(5)));
    assert_true(op_of(DELETE) > first);
}

/* The next order of the same words is another one. */
static void test_next(void **state)
{
    (void)state;
    assert_true(tell(lies_there(5)));
    assert_false(tell(answer(DELETE, "")));
    assert_false(tell(changed()));
    assert_true(tell(lies_there(6)));
}

/* Over a new session what was told is remembered. */
static void test_new_session(void **state)
{
    (void)state;
    static const struct task ours[] = {{ROLE_PS, 1}};
    assert_true(tell(lies_there(5)));
    kill_requests_start(&orders, "c", ours, 1, 100, &port, 0);
    assert_false(tell(lies_there(5)));
}

/* What cannot be read is not obeyed. */
static void test_damaged(void **state)
{
    (void)state;
    assert_false(tell(answer(READ, "{\"version\":1,\"signal\":\"HUP\"}")));
    assert_int_equal(asked.count, 1);
}

/* Who has no tasks, or does not allow it, looks at nothing. */
static void test_not_allowed(void **state)
{
    (void)state;
    memset(&orders, 0, sizeof orders);
    assert_false(tell((struct zk_event){.type = ZK_CONNECTED}));
    assert_int_equal(asked.count, 1);
    assert_true(kill_requests_deadline_ms(&orders) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_told, setup),
        cmocka_unit_test_setup(test_there_before, setup),
        cmocka_unit_test_setup(test_lost_answer, setup),
        cmocka_unit_test_setup(test_next, setup),
        cmocka_unit_test_setup(test_new_session, setup),
        cmocka_unit_test_setup(test_damaged, setup),
        cmocka_unit_test_setup(test_not_allowed, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
