/* A request to change the job, as the agent that carries it out answers it (S14). */
#include "agent/job_change.h"

#include "tests/unit/support/asked.h"

#define PATH "/tanist/c/change"
#define READ "read " PATH
#define SET  "set " PATH

enum { AGENT = 7 };

static struct job_change change;

/* The znode is being read. */
static int setup(void **state)
{
    (void)state;
    memset(&asked, 0, sizeof asked);
    job_change_start(&change, "c", AGENT, 100, &port, 0);
    return 0;
}

/* The answer to the newest read. */
static enum job_change_order read_as(enum change_state state, uint64_t agent, uint64_t zxid,
                                     int32_t version)
{
    static char text[ZNODE_JSON_MAX];
    const struct change_request request = {.state = state, .ps = 2, .agent = agent, .by = "me"};
    (void)change_request_encode(&request, text);
    struct zk_event event = answer(READ, text);
    event.stat.created_zxid = zxid;
    event.stat.version = version;
    return job_change_handle(&change, &event, &port, 0);
}

static enum job_change_order read_again_as(enum change_state state, uint64_t agent, uint64_t zxid,
                                           int32_t version)
{
    const struct zk_event changed = {.type = ZK_CHANGED, .path = PATH};
    assert_int_equal(job_change_handle(&change, &changed, &port, 0), JOB_CHANGE_NOTHING);
    return read_as(state, agent, zxid, version);
}

static uint32_t count_sets(void)
{
    uint32_t sets = 0;
    for (uint32_t i = 0; i < asked.count; i++) { sets += strcmp(asked.texts[i], SET) == 0; }
    return sets;
}

/* Accepted, and this is in ZooKeeper: the nodes leave. */
static void begin(void)
{
    assert_int_equal(read_as(CHANGE_WANTED, 0, 5, 0), JOB_CHANGE_CHECK);
    assert_int_equal(change.request.ps, 2);
    job_change_accept(&change, "cluster.ps 3 -> 2", &port);
    assert_int_equal(count_sets(), 1);
    assert_int_equal(read_again_as(CHANGE_ACCEPTED, AGENT, 5, 1), JOB_CHANGE_BEGIN);
}

/* From the acceptance to the end of the pause. */
static void change_is_made_and_reported(void **state)
{
    (void)state;
    struct history_entry entry = {
        .kind = HISTORY_RECOVERED, .generation = 4, .step = 90, .took_ms = 30, .steps_redone = 1};
    begin();
    job_change_stopped(&change, 10, 4000);
    job_change_applied(&change, 4, &port);
    assert_int_equal(count_sets(), 2);
    assert_int_equal(read_again_as(CHANGE_APPLIED, AGENT, 5, 2), JOB_CHANGE_NOTHING);
    assert_false(job_change_note(&change, &entry, &port)); /* From before the change. */
    entry.generation = 5;
    assert_true(job_change_note(&change, &entry, &port));
    assert_int_equal(count_sets(), 3);
    assert_int_equal(change.request.state, CHANGE_DONE);
    assert_int_equal(change.request.step, 90);
    assert_int_equal(change.request.paused_ms, 30);
    assert_int_equal(change.request.steps_redone, 1);
    assert_string_equal(change.request.text, "cluster.ps 3 -> 2");
    assert_false(job_change_note(&change, &entry, &port));
}

/* A node that could not close its session is registered until the session ends, however long the
 * timeout of the job is. */
static void change_waits_for_the_longest_session(void **state)
{
    (void)state;
    static const uint32_t timeouts_ms[] = {200, 4000, 20000, 30000, 600000};
    for (size_t i = 0; i < sizeof timeouts_ms / sizeof *timeouts_ms; i++) {
        (void)setup(state);
        begin();
        job_change_stopped(&change, 1000, timeouts_ms[i]);
        assert_int_equal(change.retry_at_ms, 1000);
        assert_int_equal(change.give_up_ms, 1000 + timeouts_ms[i] + JOB_CHANGE_MARGIN_MS);
    }
}

/* A write that was lost, or that met another version, is repeated; the nodes leave only after
 * it. */
static void lost_answer_is_repeated(void **state)
{
    (void)state;
    assert_int_equal(read_as(CHANGE_WANTED, 0, 5, 0), JOB_CHANGE_CHECK);
    job_change_accept(&change, "cluster.ps 3 -> 2", &port);
    assert_int_equal(read_again_as(CHANGE_WANTED, 0, 5, 0), JOB_CHANGE_NOTHING);
    assert_int_equal(count_sets(), 2);
    assert_int_equal(read_again_as(CHANGE_ACCEPTED, AGENT, 5, 1), JOB_CHANGE_BEGIN);
    assert_int_equal(read_again_as(CHANGE_ACCEPTED, AGENT, 5, 1), JOB_CHANGE_NOTHING);
    assert_int_equal(count_sets(), 2);
}

/* A write that failed changes nothing, so that no watch fires: the znode is read again all the
 * same. */
static void failed_write_causes_a_read(void **state)
{
    (void)state;
    assert_int_equal(read_as(CHANGE_WANTED, 0, 5, 0), JOB_CHANGE_CHECK);
    job_change_accept(&change, "cluster.ps 3 -> 2", &port);
    const uint64_t read = op_of(READ);
    const struct zk_event unknown = {
        .type = ZK_RESULT, .op = op_of(SET), .outcome = ZK_UNKNOWN, .path = PATH};
    assert_int_equal(job_change_handle(&change, &unknown, &port, 0), JOB_CHANGE_NOTHING);
    assert_true(op_of(READ) > read);
    assert_int_equal(read_as(CHANGE_WANTED, 0, 5, 0), JOB_CHANGE_NOTHING);
    assert_int_equal(count_sets(), 2);
    const struct zk_event written = answer(SET, "");
    const uint64_t last = op_of(READ);
    assert_int_equal(job_change_handle(&change, &written, &port, 0), JOB_CHANGE_NOTHING);
    assert_int_equal(op_of(READ), last);
}

/* A request that is withdrawn before it is accepted does nothing; the next one is a new one. */
static void withdrawn_request_is_forgotten(void **state)
{
    (void)state;
    const struct zk_event changed = {.type = ZK_CHANGED, .path = PATH};
    assert_int_equal(read_as(CHANGE_WANTED, 0, 5, 0), JOB_CHANGE_CHECK);
    job_change_accept(&change, "cluster.ps 3 -> 2", &port);
    assert_int_equal(job_change_handle(&change, &changed, &port, 0), JOB_CHANGE_NOTHING);
    const struct zk_event gone = answer(READ, NULL);
    assert_int_equal(job_change_handle(&change, &gone, &port, 0), JOB_CHANGE_NOTHING);
    assert_int_equal(change.stage, JOB_CHANGE_IDLE);
    assert_int_equal(read_again_as(CHANGE_WANTED, 0, 6, 0), JOB_CHANGE_CHECK);
}

/* A second request during a change is refused, and the change continues, also without its
 * author. */
static void second_request_is_refused(void **state)
{
    (void)state;
    begin();
    assert_int_equal(read_again_as(CHANGE_WANTED, 0, 9, 0), JOB_CHANGE_NOTHING);
    assert_int_equal(count_sets(), 2);
    assert_int_equal(change.stage, JOB_CHANGE_STOPPING);
    assert_int_equal(change.request.state, CHANGE_ACCEPTED);
    job_change_stopped(&change, 10, 4000);
    job_change_applied(&change, 4, &port);
    assert_int_equal(change.stage, JOB_CHANGE_STARTING);
}

/* A request that a former agent had accepted is not begun again. */
static void request_of_a_former_agent_is_refused(void **state)
{
    (void)state;
    assert_int_equal(read_as(CHANGE_ACCEPTED, 8, 5, 1), JOB_CHANGE_NOTHING);
    assert_int_equal(count_sets(), 1);
    assert_int_equal(read_again_as(CHANGE_REFUSED, 8, 5, 2), JOB_CHANGE_NOTHING);
    assert_int_equal(count_sets(), 1);
    assert_int_equal(change.stage, JOB_CHANGE_IDLE);
}

/* A refusal is final for its request. */
static void refusal_is_reported_once(void **state)
{
    (void)state;
    assert_int_equal(read_as(CHANGE_WANTED, 0, 5, 0), JOB_CHANGE_CHECK);
    job_change_refuse(&change, TN_EINVAL, "cluster.ps is 2 already", &port);
    assert_int_equal(read_again_as(CHANGE_REFUSED, AGENT, 5, 1), JOB_CHANGE_NOTHING);
    assert_int_equal(count_sets(), 1);
    assert_true(change.request.invalid);
    assert_int_equal(read_again_as(CHANGE_WANTED, 0, 6, 0), JOB_CHANGE_CHECK);
    assert_false(change.request.invalid);
}

/* Text that is not a request changes nothing. */
static void garbage_is_ignored(void **state)
{
    (void)state;
    const struct zk_event event = answer(READ, "{\"version\":1}");
    assert_int_equal(job_change_handle(&change, &event, &port, 0), JOB_CHANGE_NOTHING);
    assert_int_equal(count_sets(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(change_is_made_and_reported, setup),
        cmocka_unit_test(change_waits_for_the_longest_session),
        cmocka_unit_test_setup(lost_answer_is_repeated, setup),
        cmocka_unit_test_setup(failed_write_causes_a_read, setup),
        cmocka_unit_test_setup(withdrawn_request_is_forgotten, setup),
        cmocka_unit_test_setup(second_request_is_refused, setup),
        cmocka_unit_test_setup(request_of_a_former_agent_is_refused, setup),
        cmocka_unit_test_setup(refusal_is_reported_once, setup),
        cmocka_unit_test_setup(garbage_is_ignored, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
