/* The observer of a cluster, the table of candidates and the node reaper, over a port that only
 * records requests. */
#include "agent/observe/observer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/node_reaper.h"
#include "tests/unit/support/asked.h"

static struct observer observer;
static struct candidates candidates;

static unsigned feed(struct zk_event event)
{
    return observer_handle(&observer, &event, &port, 0);
}

static unsigned feed_listing(const char *request, const char *const *names, size_t count)
{
    struct zk_event event = answer(request, "");
    event.children = names;
    event.child_count = count;
    return observer_handle(&observer, &event, &port, 0);
}

static const char *json_member_text(uint32_t index, uint64_t incarnation)
{
    static char text[ZNODE_JSON_MAX];
    struct member member = {.task = {ROLE_PS, index}, .incarnation = incarnation, .pid = 77};
    (void)member_encode(&member, text);
    return text;
}

static const char *entry_text(uint64_t epoch)
{
    static char text[ZNODE_JSON_MAX];
    struct history_entry entry = {.kind = HISTORY_ELECTED, .epoch = epoch};
    (void)history_encode(&entry, text);
    return text;
}

/* One ps; all requests are in flight. */
static int setup(void **state)
{
    (void)state;
    memset(&asked, 0, sizeof asked);
    observer_start(&observer, "c", &(struct task_counts){.of = {[ROLE_PS] = 1}}, 0, &port, 0);
    assert_int_equal(asked.count, 4);
    return 0;
}

static void settle(void)
{
    assert_int_equal(feed(answer("read /tanist/c/run", NULL)), 0);
    assert_int_equal(feed(answer("read /tanist/c/chief", "")), 0);
    assert_int_equal(feed_listing("list /tanist/c/history", NULL, 0), 0);
    assert_int_equal(feed(answer("read /tanist/c/members/ps-0", NULL)), OBSERVER_SETTLED);
}

/* The observer is settled once every read was answered, even if no znode exists. */
static void observer_settles_when_all_reads_are_answered(void **state)
{
    (void)state;
    settle();
    assert_false(observer.has_run);
    assert_false(observer.has_chief);
    assert_false(observer.tasks[0].present);
}

/* A task registers, restarts between two reads, and leaves. */
static void members_are_followed(void **state)
{
    (void)state;
    const char *read = "read /tanist/c/members/ps-0";
    const struct zk_event changed = {.type = ZK_CHANGED, .path = "/tanist/c/members/ps-0"};
    settle();
    assert_int_equal(feed(changed), 0);
    assert_int_equal(feed(answer(read, json_member_text(0, 5))), OBSERVER_MEMBER);
    assert_true(observer.tasks[0].present);
    assert_int_equal(feed(changed), 0);
    assert_int_equal(feed(answer(read, json_member_text(0, 5))), 0);
    assert_int_equal(feed(changed), 0);
    assert_int_equal(feed(answer(read, json_member_text(0, 6))), OBSERVER_MEMBER);
    assert_int_equal(feed(changed), 0);
    assert_int_equal(feed(answer(read, NULL)), OBSERVER_MEMBER);
    assert_false(observer.tasks[0].present);
}

/* Another number of ps: the tasks of other roles keep their state, and all are read again. */
static void number_of_ps_changes(void **state)
{
    (void)state;
    static char text[ZNODE_JSON_MAX];
    const struct member member = {.task = {ROLE_WORKER, 0}, .incarnation = 8};
    const uint32_t numbers[] = {3, 0, 1};
    memset(&asked, 0, sizeof asked);
    const struct task_counts tasks = {
        .of = {[ROLE_COORDINATOR] = 1, [ROLE_PS] = 2, [ROLE_WORKER] = 1}};
    observer_start(&observer, "c", &tasks, 0, &port, 0);
    (void)member_encode(&member, text);
    assert_int_equal(feed(answer("read /tanist/c/members/worker-0", text)), OBSERVER_MEMBER);
    assert_int_equal(feed(answer("read /tanist/c/members/ps-1", json_member_text(1, 5))),
                     OBSERVER_MEMBER);
    for (int i = 0; i < 3; i++) {
        const uint32_t workers = (uint32_t)i + 1;
        observer_change(&observer, numbers[i], workers, &port, 0);
        assert_int_equal(observer.task_count, 1 + numbers[i] + workers);
        assert_int_equal(observer_task(&observer, (struct task){ROLE_WORKER, 0})->present, i == 0);
        assert_non_null(observer_task(&observer, (struct task){ROLE_WORKER, workers - 1}));
        assert_int_equal(observer_has_ps(&observer), numbers[i] > 0);
    }
    assert_null(observer_task(&observer, (struct task){ROLE_PS, 1}));
    assert_int_equal(feed(answer("read /tanist/c/members/ps-0", json_member_text(0, 9))),
                     OBSERVER_MEMBER);
}

/* Entries are reported once, in the order of their numbers; those that existed at the start as
 * old. */
static void history_is_reported_in_order(void **state)
{
    (void)state;
    const char *const two[] = {"n-0000000012", "n-0000000011"};
    const char *const three[] = {"n-0000000013", "n-0000000011", "n-0000000012"};
    const struct zk_event changed = {.type = ZK_CHANGED, .path = "/tanist/c/history"};
    assert_int_equal(feed_listing("list /tanist/c/history", two, 2), 0);
    assert_int_equal(feed(answer("read /tanist/c/history/n-0000000011", entry_text(1))),
                     OBSERVER_HISTORY);
    assert_true(observer.entry_old);
    assert_int_equal(feed(answer("read /tanist/c/history/n-0000000012", entry_text(2))),
                     OBSERVER_HISTORY);
    assert_int_equal(observer.entry.epoch, 2);
    assert_int_equal(feed(changed), 0);
    assert_int_equal(feed_listing("list /tanist/c/history", three, 3), 0);
    assert_int_equal(feed(answer("read /tanist/c/history/n-0000000013", entry_text(3))),
                     OBSERVER_HISTORY);
    assert_false(observer.entry_old);
    assert_true(observer_is_idle(&observer));
}

/* An entry is read again when the answer was lost, and skipped when it was deleted. */
static void unanswered_entry_is_read_again(void **state)
{
    (void)state;
    const char *const two[] = {"n-0000000001", "n-0000000002"};
    const char *read = "read /tanist/c/history/n-0000000001";
    (void)feed_listing("list /tanist/c/history", two, 2);
    struct zk_event lost = answer(read, "");
    lost.outcome = ZK_UNKNOWN;
    assert_int_equal(feed(lost), 0);
    uint32_t before = asked.count;
    observer_tick(&observer, &port, 1000);
    assert_int_equal(asked.count, before + 1);
    assert_int_equal(feed(answer(read, NULL)), 0);
    assert_int_equal(feed(answer("read /tanist/c/history/n-0000000002", entry_text(2))),
                     OBSERVER_HISTORY);
}

/* After a wipe the history counts from 0 again; its entries are reported as new. */
static void history_after_a_wipe_is_new(void **state)
{
    (void)state;
    const char *const old[] = {"n-0000000012"};
    const char *const new[] = {"n-0000000000"};
    const char *list = "list /tanist/c/history";
    struct zk_event listing = answer(list, "");
    listing.children = old;
    listing.child_count = 1;
    listing.stat.created_zxid = 7;
    assert_int_equal(feed(listing), 0);
    assert_int_equal(feed(answer("read /tanist/c/history/n-0000000012", entry_text(1))),
                     OBSERVER_HISTORY);
    observer_restart(&observer, &port, 0);
    listing.op = op_of(list);
    listing.children = new;
    listing.stat.modified_wall_ms = 99; /* The zxid may be the same. */
    assert_int_equal(feed(listing), 0);
    assert_int_equal(feed(answer("read /tanist/c/history/n-0000000000", entry_text(2))),
                     OBSERVER_HISTORY);
    assert_false(observer.entry_old);
}

/* A candidate's znode is found by the session that owns it. */
static void candidate_is_found_by_its_session(void **state)
{
    (void)state;
    const char *const names[] = {"guid-0000000003"};
    candidates_start(&candidates, "c", 100, &port, 0);
    struct zk_event listing = answer("list /tanist/c/election", "");
    listing.children = names;
    listing.child_count = 1;
    candidates_handle(&candidates, &listing, &port, 0);
    assert_null(candidates_of_session(&candidates, 9));
    struct zk_event owner = answer("read /tanist/c/election/guid-0000000003", "coordinator-0");
    owner.stat.ephemeral_owner = 9;
    candidates_handle(&candidates, &owner, &port, 0);
    assert_string_equal(candidates_of_session(&candidates, 9),
                        "/tanist/c/election/guid-0000000003");
    assert_null(candidates_of_session(&candidates, 0));
}

/* Only znodes of the dead node's session are deleted; the session is closed after that. */
static void reaper_deletes_only_the_znodes_of_the_session(void **state)
{
    (void)state;
    static struct node_reaper reaper;
    struct dead_node node = {
        .cluster = "c", .task = {ROLE_PS, 0}, .has_session = true, .session = {.id = 42}};
    struct zk_event member = answer("read /tanist/c/members/ps-0", json_member_text(0, 5));
    uint64_t next_op = 1000;
    member.stat.ephemeral_owner = 41;
    (void)feed(member);
    memset(&candidates, 0, sizeof candidates);
    asked.count = 0;
    node_reaper_begin(&reaper, &node, &observer, &candidates, &port, &next_op, NULL);
    /* Only the exit note is written: the member znode belongs to another session. */
    assert_int_equal(asked.count, 2);
    assert_string_equal(asked.texts[1], "set /tanist/c/exits/ps-0");
    observer.tasks[0].session = 42;
    node_reaper_begin(&reaper, &node, &observer, &candidates, &port, &next_op, NULL);
    assert_string_equal(asked.texts[4], "delete /tanist/c/members/ps-0");
    assert_int_equal(reaper.list[1].last_op, next_op);
    struct zk_event done = {.type = ZK_RESULT, .op = next_op};
    node_reaper_handle(&reaper, &done, NULL);
    assert_int_equal(reaper.list[1].last_op, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(observer_settles_when_all_reads_are_answered, setup),
        cmocka_unit_test_setup(members_are_followed, setup),
        cmocka_unit_test_setup(history_is_reported_in_order, setup),
        cmocka_unit_test_setup(number_of_ps_changes, setup),
        cmocka_unit_test_setup(unanswered_entry_is_read_again, setup),
        cmocka_unit_test_setup(history_after_a_wipe_is_new, setup),
        cmocka_unit_test_setup(candidate_is_found_by_its_session, setup),
        cmocka_unit_test_setup(reaper_deletes_only_the_znodes_of_the_session, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
