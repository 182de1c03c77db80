/* Registration, following the chief and the run, reports; and the roster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/log.h"
#include "common/cluster/roster.h"
#include "common/node/membership.h"
#include "tanist/status.h"
#include "tests/unit/support/fake_ports.h"

static struct fake_ports fake;
static struct node_ports ports;
static struct membership m;
static uint64_t now;
static unsigned changes;
static char text[ZNODE_JSON_MAX];

static void show(struct node_event event)
{
    event.now_ms = now;
    event.wall_ms = 1000000 + now;
    changes = membership_handle(&m, &event);
}

static void show_zk(struct zk_event event)
{
    show((struct node_event){.type = NODE_ZK, .zk = &event});
}

static void show_transport(struct transport_event event)
{
    show((struct node_event){.type = NODE_TRANSPORT, .transport = &event});
}

static void tick(uint64_t at)
{
    now = at;
    show((struct node_event){.type = NODE_TICK});
}

/* Answer the last read of `tail` with `data` (NULL: no such znode). */
static void answer_read(const char *tail, const char *data, uint64_t owner, int32_t version)
{
    struct fake_request *request = fake_last(&fake, 'r', tail);
    assert_non_null(request);
    show_zk((struct zk_event){.type = ZK_RESULT,
                              .op = request->op,
                              .outcome = data != NULL ? ZK_OK : ZK_REFUSED,
                              .reason = data != NULL ? ZK_REASON_NONE : ZK_REASON_NO_NODE,
                              .path = request->writes[0].path,
                              .data = data,
                              .size = data != NULL ? strlen(data) : 0,
                              .stat = {.ephemeral_owner = owner,
                                       .version = version,
                                       .modified_zxid = (uint64_t)version}});
}

static void answer_write(const char *tail, enum zk_outcome outcome, enum zk_reason reason)
{
    struct fake_request *request = fake_last(&fake, 'w', tail);
    assert_non_null(request);
    show_zk((struct zk_event){
        .type = ZK_RESULT, .op = request->op, .outcome = outcome, .reason = reason});
}

static int setup(void **state)
{
    static const struct node_identity identity = {.task = {ROLE_PS, 1},
                                                  .incarnation = 42,
                                                  .pid = 7,
                                                  .cluster = "c",
                                                  .host = "here",
                                                  .address = "tcp://here:1",
                                                  .session_timeout_ms = 4000};
    log_init(LOG_ERROR + 1, LOG_TEXT, "test");
    memset(&fake, 0, sizeof fake);
    ports = fake_node_ports(&fake, buffer_pool_create(0));
    now = 1000;
    *state = &ports;
    membership_init(&m, &identity, &ports);
    show((struct node_event){.type = NODE_START});
    assert_int_equal(fake.request_count, 0);
    show_zk((struct zk_event){.type = ZK_CONNECTED, .session = 5});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buffer_pool_destroy(ports.buffers);
    return 0;
}

static void registered(void)
{
    answer_read("/members/ps-1", NULL, 0, 0);
    answer_write("/members/ps-1", ZK_OK, ZK_REASON_NONE);
    answer_read("/members/ps-1", fake_last(&fake, 'w', "/ps-1")->writes[0].data, 5, 0);
}

static const char *office_text(uint64_t epoch, uint64_t incarnation)
{
    struct chief_record record = {.epoch = epoch,
                                  .task = {ROLE_COORDINATOR, 0},
                                  .incarnation = incarnation,
                                  .address = "tcp://chief:2"};
    chief_record_encode(&record, text);
    return text;
}

/* The znode is ephemeral and describes the node, which is registered once it reads it with its own
 * session. */
static void node_registers(void **state)
{
    (void)state;
    answer_read("/members/ps-1", NULL, 0, 0);
    struct fake_request *create = fake_last(&fake, 'w', "/tanist/c/members/ps-1");
    assert_int_equal(create->writes[0].flags, ZK_EPHEMERAL);
    struct member member;
    assert_int_equal(
        member_decode(create->writes[0].data, strlen(create->writes[0].data), &member, NULL),
        TN_OK);
    assert_true(member.incarnation == 42 && member.pid == 7 && member.since_wall_ms == 1001000);
    answer_write("/members/ps-1", ZK_OK, ZK_REASON_NONE);
    assert_int_equal(changes, 0);
    answer_read("/members/ps-1", create->writes[0].data, 5, 0);
    assert_int_equal(changes, MEMBERSHIP_REGISTERED);
    assert_true(m.registered);
}

/* After a lost answer the node reads its own znode. */
static void lost_answer_is_recovered(void **state)
{
    (void)state;
    answer_read("/members/ps-1", NULL, 0, 0);
    answer_write("/members/ps-1", ZK_UNKNOWN, ZK_REASON_CONNECTION);
    answer_read("/members/ps-1", fake_last(&fake, 'w', "/ps-1")->writes[0].data, 5, 0);
    assert_int_equal(changes, MEMBERSHIP_REGISTERED);
}

/* The node waits for a leftover of a former process to disappear, then registers. */
static void leftover_is_waited_for(void **state)
{
    (void)state;
    answer_read("/members/ps-1", "{}", 4, 0);
    assert_null(fake_last(&fake, 'w', "/ps-1"));
    tick(6999);
    assert_int_equal(changes, 0);
    show_zk((struct zk_event){.type = ZK_CHANGED, .path = "/tanist/c/members/ps-1"});
    answer_read("/members/ps-1", NULL, 0, 0);
    assert_non_null(fake_last(&fake, 'w', "/ps-1"));
}

/* If another node holds the task, the node ends after a session timeout and 2 s and names it. */
static void taken_task_ends_the_node(void **state)
{
    (void)state;
    const struct member other = {
        .task = {ROLE_PS, 1}, .incarnation = 8, .pid = 99, .host = "there"};
    member_encode(&other, text);
    answer_read("/members/ps-1", text, 4, 0);
    assert_true(membership_deadline_ms(&m) <= 7000);
    tick(7000);
    assert_int_equal(m.exit_code, 0);
    answer_read("/members/ps-1", text, 4, 0);
    assert_int_equal(changes, MEMBERSHIP_ENDED);
    assert_int_equal(m.exit_code, TN_EXIT_TASK_TAKEN);
    assert_non_null(strstr(m.why, "ps:1 is held by process 99 on there"));
}

/* A node that was stopped while it waited for a leftover reads again before it ends. */
static void stopped_node_checks_again(void **state)
{
    (void)state;
    answer_read("/members/ps-1", "{}", 4, 0);
    tick(3600000);
    assert_int_equal(m.exit_code, 0);
    assert_true(membership_deadline_ms(&m) > 3600000);
    answer_read("/members/ps-1", NULL, 0, 0);
    assert_non_null(fake_last(&fake, 'w', "/ps-1"));
    answer_read("/members/ps-1", "{}", 4, 0);
    assert_int_equal(m.exit_code, 0);
}

/* An outage of ZooKeeper does not count towards the grace period. */
static void outage_is_not_counted(void **state)
{
    (void)state;
    answer_read("/members/ps-1", "{}", 4, 0);
    show_zk((struct zk_event){.type = ZK_DISCONNECTED});
    tick(60000);
    assert_int_equal(m.exit_code, 0);
    show_zk((struct zk_event){.type = ZK_CONNECTED, .session = 5});
    tick(60000 + 5999);
    assert_int_equal(m.exit_code, 0);
    tick(60000 + 6000);
    answer_read("/members/ps-1", "{}", 4, 0);
    assert_int_equal(m.exit_code, TN_EXIT_TASK_TAKEN);
}

/* An expired session, or the removal of its znode, ends the node. */
static void lost_session_ends_the_node(void **state)
{
    (void)state;
    registered();
    show_zk((struct zk_event){.type = ZK_CHANGED, .path = "/tanist/c/members/ps-1"});
    answer_read("/members/ps-1", NULL, 0, 0);
    assert_int_equal(changes, MEMBERSHIP_ENDED);
    assert_int_equal(m.exit_code, TN_EXIT_SESSION_EXPIRED);
    assert_true(membership_deadline_ms(&m) == UINT64_MAX);
}

/* Another program writes to the registration. */
static void damage(void)
{
    show_zk((struct zk_event){.type = ZK_CHANGED, .path = m.self_watch.path});
    answer_read("/members/ps-1", "garbage", 5, 1);
}

/* R10: the registration of a node whose znode another program has changed is written again. */
static void damaged_registration_is_written_again(void **state)
{
    (void)state;
    registered();
    damage();
    struct fake_request *set = fake_last(&fake, 'w', "/members/ps-1");
    assert_int_equal(set->count, 1);
    assert_int_equal(set->writes[0].kind, ZK_SET);
    answer_write("/members/ps-1", ZK_OK, ZK_REASON_NONE);
    answer_read("/members/ps-1", set->writes[0].data, 5, 2);
    assert_ptr_equal(fake_last(&fake, 'w', "/members/ps-1"), set);
    assert_int_equal(m.exit_code, 0);
}

/* An ACL forbids to write the znode, and for some time also to replace it. */
static void read_only_registration_is_replaced(void **state)
{
    (void)state;
    registered();
    damage();
    answer_write("/members/ps-1", ZK_REFUSED, ZK_REASON_NO_AUTH);
    const struct fake_request *denied = fake_last(&fake, 'w', "/members/ps-1");
    assert_int_equal(denied->count, 2);
    assert_int_equal(denied->writes[0].kind, ZK_DELETE);
    assert_int_equal(denied->writes[1].kind, ZK_CREATE);
    assert_int_equal(denied->writes[1].flags, ZK_EPHEMERAL);
    answer_write("/members/ps-1", ZK_REFUSED, ZK_REASON_NO_AUTH);
    tick(now + REGISTER_RETRY_MS);
    answer_read("/members/ps-1", "garbage", 5, 1);
    answer_write("/members/ps-1", ZK_REFUSED, ZK_REASON_NO_AUTH);
    const struct fake_request *replaced = fake_last(&fake, 'w', "/members/ps-1");
    assert_ptr_not_equal(replaced, denied);
    assert_int_equal(replaced->count, 2);
    answer_write("/members/ps-1", ZK_OK, ZK_REASON_NONE);
    answer_read("/members/ps-1", replaced->writes[1].data, 5, 0);
    assert_int_equal(m.exit_code, 0);
    assert_true(m.registered);
}

/* /run is followed; an unreadable one is ignored. */
static void run_is_followed(void **state)
{
    (void)state;
    const struct run run = {.phase = RUN_RUNNING, .epoch = 2, .generation = 3};
    /* Not before the registration: a server may return values from before the session. */
    assert_null(fake_last(&fake, 'r', "/run"));
    registered();
    run_encode(&run, text);
    answer_read("/run", text, 0, 6);
    assert_int_equal(changes, MEMBERSHIP_RUN);
    assert_true(m.run.generation == 3 && m.run_zxid == 6);
    show_zk((struct zk_event){.type = ZK_CHANGED, .path = "/tanist/c/run"});
    answer_read("/run", "{\"version\":9}", 0, 7);
    assert_int_equal(changes, MEMBERSHIP_RUN_LOST);
    assert_true(m.run.generation == 3 && m.run_zxid == 6);
}

/* Reports are sent to each new chief, repeated until acknowledged, and refreshed. */
static void reports_are_sent_to_each_chief(void **state)
{
    (void)state;
    struct report report = {.generation = 1, .step = 10}, back;
    membership_report(&m, &report);
    answer_read("/chief", office_text(3, 70), 0, 1);
    assert_int_equal(changes, MEMBERSHIP_CHIEF);
    assert_string_equal(fake.dialled_address, "tcp://chief:2");
    show_transport((struct transport_event){.type = TRANSPORT_OPENED, .conn = {1}});
    membership_report(&m, &report);
    assert_int_equal(report_decode(fake.frames[0].body, REPORT_BYTES, &back, NULL), TN_OK);
    assert_true(back.incarnation == 42 && back.step == 10 && back.task.index == 1);
    size_t sent = fake.frame_count;
    tick(now + REPORT_RESEND_MS);
    assert_int_equal(fake.frame_count, sent + 1);
    show_transport((struct transport_event){
        .type = TRANSPORT_FRAME,
        .conn = {1},
        .header = {.type = FRAME_REPORT_ACK, .sequence = m.report.sequence, .epoch = 3}});
    tick(now + REPORT_RESEND_MS);
    assert_int_equal(fake.frame_count, sent + 1);
    tick(now + REPORT_REFRESH_MS);
    assert_int_equal(fake.frame_count, sent + 2);
    show_zk((struct zk_event){.type = ZK_CHANGED, .path = "/tanist/c/chief"});
    answer_read("/chief", office_text(4, 71), 0, 2);
    assert_true(fake.closed == 1 && fake.dialled == 2 && m.acknowledged == 0);
}

/* The chief's job has fewer tasks of the role: the node leaves with exit code 3, which a restart
 * cannot repair. */
static void undeclared_node_leaves(void **state)
{
    (void)state;
    registered();
    answer_read("/chief", office_text(1, 77), 0, 1);
    membership_report(&m, &(struct report){.step = 1});
    show_transport((struct transport_event){.type = TRANSPORT_OPENED, .conn = {1}});
    show_transport((struct transport_event){.type = TRANSPORT_FRAME,
                                            .conn = {1},
                                            .header = {.type = FRAME_REPORT_ACK,
                                                       .epoch = 1,
                                                       .sequence = 1,
                                                       .first = REPORT_ACK_UNDECLARED,
                                                       .count = 1}});
    assert_true(changes & MEMBERSHIP_ENDED);
    assert_int_equal(m.exit_code, TN_EXIT_INVALID_INPUT);
    assert_non_null(strstr(m.why, "has 1 tasks of this role, so ps:1"));
}

/* A new step alone is reported at most every REPORT_STEP_MS; other changes, and the last step, at
 * once. */
static void step_reports_are_limited(void **state)
{
    (void)state;
    struct report report = {.generation = 1, .step = 10};
    registered();
    membership_report(&m, &report);
    answer_read("/chief", office_text(3, 70), 0, 1);
    show_transport((struct transport_event){.type = TRANSPORT_OPENED, .conn = {1}});
    const struct run run = {.phase = RUN_RUNNING, .until = 20};
    run_encode(&run, text);
    answer_read("/run", text, 0, 6);
    membership_report(&m, &report);
    size_t sent = fake.frame_count;
    report.step = 11;
    membership_report(&m, &report);
    assert_int_equal(fake.frame_count, sent);
    assert_int_equal(membership_deadline_ms(&m), now + REPORT_STEP_MS);
    report.saved_checkpoint = 2;
    membership_report(&m, &report);
    assert_int_equal(fake.frame_count, sent + 1);
    report.step = 20;
    membership_report(&m, &report);
    assert_int_equal(fake.frame_count, sent + 2);
}

/* An unreachable chief is dialed again, more and more slowly. */
static void chief_is_redialed_more_slowly(void **state)
{
    (void)state;
    membership_report(&m, &(struct report){0});
    answer_read("/chief", office_text(3, 70), 0, 1);
    uint64_t delay = CHIEF_REDIAL_MS;
    for (uint64_t dial = 1; dial < 10; dial++) {
        assert_int_equal(fake.dialled, dial);
        show_transport((struct transport_event){.type = TRANSPORT_CLOSED, .conn = {dial}});
        assert_true(membership_deadline_ms(&m) <= now + delay);
        tick(now + delay - 1);
        assert_int_equal(fake.dialled, dial);
        tick(now + 1);
        delay = delay * 2 > CHIEF_REDIAL_MAX_MS ? CHIEF_REDIAL_MAX_MS : delay * 2;
    }
}

/* The roster reports nodes that appear, disappear, and restart between two reads. */
static void roster_sees_changes(void **state)
{
    (void)state;
    static struct roster roster;
    uint64_t op = 500;
    roster_start(&roster, "c", &(struct task_counts){.of = {[ROLE_PS] = 2, [ROLE_WORKER] = 1}},
                 &ports.zk, &op, now);
    assert_int_equal(roster.count, 3);
    const uint64_t incarnations[] = {0, 8, 8, 9, 0};
    const int changed[] = {-1, 2, -1, 2, 2};
    for (int i = 0; i < 5; i++) {
        struct member member = {.task = {ROLE_WORKER, 0}, .incarnation = incarnations[i]};
        struct fake_request *read = fake_last(&fake, 'r', "/worker-0");
        struct zk_event event = {.type = ZK_RESULT,
                                 .op = read->op,
                                 .path = read->writes[0].path,
                                 .outcome = incarnations[i] != 0 ? ZK_OK : ZK_REFUSED,
                                 .reason =
                                     incarnations[i] != 0 ? ZK_REASON_NONE : ZK_REASON_NO_NODE,
                                 .data = text,
                                 .size = member_encode(&member, text)};
        assert_int_equal(roster_handle(&roster, &event, &ports.zk, &op, now), changed[i]);
        event = (struct zk_event){.type = ZK_CHANGED, .path = read->writes[0].path};
        assert_int_equal(roster_handle(&roster, &event, &ports.zk, &op, now), -1);
    }
    assert_false(roster.entries[2].present);
    assert_int_equal(roster.entries[2].member.incarnation, 9);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(node_registers),
        TEST(lost_answer_is_recovered),
        TEST(leftover_is_waited_for),
        TEST(taken_task_ends_the_node),
        TEST(outage_is_not_counted),
        TEST(lost_session_ends_the_node),
        TEST(stopped_node_checks_again),
        TEST(damaged_registration_is_written_again),
        TEST(read_only_registration_is_replaced),
        TEST(run_is_followed),
        TEST(reports_are_sent_to_each_chief),
        TEST(undeclared_node_leaves),
        TEST(step_reports_are_limited),
        TEST(chief_is_redialed_more_slowly),
        TEST(roster_sees_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
