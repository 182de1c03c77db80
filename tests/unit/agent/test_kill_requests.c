/* Requests to signal a node are reported once, deleted, and never lost. */
#include "agent/kill_requests.h"

#include "tests/unit/support/asked.h"

#define READ   "read /tanist/c/kills/ps-1"
#define DELETE "delete /tanist/c/kills/ps-1"

static struct kill_requests requests;
static struct kill_request received;
static struct task task;

/* The agent owns ps:1; its znode is being read. */
static int setup(void **state)
{
    (void)state;
    static const struct task ours[] = {{ROLE_PS, 1}};
    memset(&asked, 0, sizeof asked);
    memset(&requests, 0, sizeof requests);
    kill_requests_start(&requests, "c", ours, 1, 100, &port, 0);
    return 0;
}

static bool feed(struct zk_event event)
{
    return kill_requests_handle(&requests, &event, &port, 0, &task, &received);
}

/* The answer to the newest read: a request that transaction `zxid` created. */
static struct zk_event request_of(uint64_t zxid, uint64_t wall_ms)
{
    static char text[ZNODE_JSON_MAX];
    const struct kill_request wanted = {
        .incarnation = 7, .signal = KILL_SIGSTOP, .wall_ms = wall_ms, .by = "me"};
    (void)kill_request_encode(&wanted, text);
    struct zk_event event = answer(READ, text);
    event.stat.created_zxid = zxid;
    return event;
}

static struct zk_event request_created(uint64_t zxid)
{
    return request_of(zxid, 1);
}

static struct zk_event changed(void)
{
    return (struct zk_event){.type = ZK_CHANGED, .path = "/tanist/c/kills/ps-1"};
}

/* A request is reported with its contents, and deleted at once. */
static void request_is_reported_and_deleted(void **state)
{
    (void)state;
    assert_false(feed(answer(READ, NULL)));
    assert_false(feed(changed()));
    assert_true(feed(request_created(5)));
    assert_true(task_equal(task, (struct task){ROLE_PS, 1}));
    assert_int_equal(received.incarnation, 7);
    assert_int_equal(received.signal, KILL_SIGSTOP);
    assert_true(op_of(DELETE) > 100);
}

/* A request that was written before the agent started is reported, too. */
static void earlier_request_is_reported(void **state)
{
    (void)state;
    assert_true(feed(request_created(5)));
}

/* A deletion whose answer was lost is repeated; the request is not reported twice. */
static void unconfirmed_deletion_is_repeated(void **state)
{
    (void)state;
    assert_true(feed(request_created(5)));
    const uint64_t first = op_of(DELETE);
    struct zk_event lost = answer(DELETE, NULL);
    lost.outcome = ZK_UNKNOWN;
    assert_false(feed(lost));
    kill_requests_tick(&requests, &port, kill_requests_deadline_ms(&requests));
    assert_false(feed(request_created(5)));
    assert_true(op_of(DELETE) > first);
}

/* A second request with the same contents is reported, too. */
static void same_request_again_is_a_new_one(void **state)
{
    (void)state;
    assert_true(feed(request_created(5)));
    assert_false(feed(answer(DELETE, "")));
    assert_false(feed(changed()));
    assert_true(feed(request_created(6)));
}

/* A request that was reported is not reported again after a new session. */
static void new_session_reports_nothing_twice(void **state)
{
    (void)state;
    static const struct task ours[] = {{ROLE_PS, 1}};
    assert_true(feed(request_created(5)));
    kill_requests_start(&requests, "c", ours, 1, 100, &port, 0);
    assert_false(feed(request_created(5)));
}

/* The transactions of servers that lost their data count from 1 again: a later request may have the
 * number of an earlier one. */
static void request_after_a_wipe_is_reported(void **state)
{
    (void)state;
    static const struct task ours[] = {{ROLE_PS, 1}};
    assert_true(feed(request_of(5, 1)));
    assert_false(feed(answer(DELETE, "")));
    kill_requests_start(&requests, "c", ours, 1, 100, &port, 0);
    assert_true(feed(request_of(5, 2)));
}

/* A request that cannot be decoded is neither reported nor deleted. */
static void damaged_request_is_ignored(void **state)
{
    (void)state;
    assert_false(feed(answer(READ, "{\"version\":1,\"signal\":\"HUP\"}")));
    assert_int_equal(asked.count, 1);
}

/* Without tasks nothing is read. */
static void without_tasks_nothing_is_read(void **state)
{
    (void)state;
    memset(&requests, 0, sizeof requests);
    assert_false(feed((struct zk_event){.type = ZK_CONNECTED}));
    assert_int_equal(asked.count, 1);
    assert_true(kill_requests_deadline_ms(&requests) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(request_is_reported_and_deleted, setup),
        cmocka_unit_test_setup(earlier_request_is_reported, setup),
        cmocka_unit_test_setup(unconfirmed_deletion_is_repeated, setup),
        cmocka_unit_test_setup(same_request_again_is_a_new_one, setup),
        cmocka_unit_test_setup(new_session_reports_nothing_twice, setup),
        cmocka_unit_test_setup(request_after_a_wipe_is_reported, setup),
        cmocka_unit_test_setup(damaged_request_is_ignored, setup),
        cmocka_unit_test_setup(without_tasks_nothing_is_read, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
