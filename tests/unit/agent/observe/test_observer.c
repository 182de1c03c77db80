/* The observer of a cluster, the list of candidates and reaper, over a port that only notes. */
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

static unsigned tell(struct zk_event event)
{
    return observer_handle(&observer, &event, &port, 0);
}

static unsigned tell_listing(const char *words, const char *const *names, size_t count)
{
    struct zk_event event = answer(words, "");
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

/* One ps; everything asked, nothing answered. */
static int setup(void **state)
{
    (void)state;
    memset(&asked, 0, sizeof asked);
    observer_start(&observer, "c", 0, 1, 0, 0, &port, 0);
    assert_int_equal(asked.count, 4);
    return 0;
}

static void settle(void)
{
    assert_int_equal(tell(answer("read /tanist/c/run", NULL)), 0);
    assert_int_equal(tell(answer("read /tanist/c/chief", "")), 0);
    assert_int_equal(tell_listing("list /tanist/c/history", NULL, 0), 0);
    assert_int_equal(tell(answer("read /tanist/c/members/ps-0", NULL)), OBSERVER_SETTLED);
}

/* It is settled once everything was answered, if only by "there is none". */
static void test_settles(void **state)
{
    (void)state;
    settle();
    assert_false(observer.has_run);
    assert_false(observer.has_chief);
    assert_false(observer.tasks[0].present);
}

/* A task comes, is reborn between two looks, and goes. */
static void test_members(void **state)
{
    (void)state;
    const char *read = "read /tanist/c/members/ps-0";
    const struct zk_event changed = {.type = ZK_CHANGED, .path = "/tanist/c/members/ps-0"};
    settle();
    assert_int_equal(tell(changed), 0);
    assert_int_equal(tell(answer(read, json_member_text(0, 5))), OBSERVER_MEMBER);
    assert_true(observer.tasks[0].present);
    assert_int_equal(tell(changed), 0);
    assert_int_equal(tell(answer(read, json_member_text(0, 5))), 0);
    assert_int_equal(tell(changed), 0);
    assert_int_equal(tell(answer(read, json_member_text(0, 6))), OBSERVER_MEMBER);
    assert_int_equal(tell(changed), 0);
    assert_int_equal(tell(answer(read, NULL)), OBSERVER_MEMBER);
    assert_false(observer.tasks[0].present);
}

/* Entries are told in the order of their numbers, those of the start as old, none twice. */
static void test_history(void **state)
{
    (void)state;
    const char *const two[] = {"n-0000000012", "n-0000000011"};
    const char *const three[] = {"n-0000000013", "n-0000000011", "n-0000000012"};
    const struct zk_event changed = {.type = ZK_CHANGED, .path = "/tanist/c/history"};
    assert_int_equal(tell_listing("list /tanist/c/history", two, 2), 0);
    assert_int_equal(tell(answer("read /tanist/c/history/n-0000000011", entry_text(1))),
                     OBSERVER_HISTORY);
    assert_true(observer.entry_old);
    assert_int_equal(tell(answer("read /tanist/c/history/n-0000000012", entry_text(2))),
                     OBSERVER_HISTORY);
    assert_int_equal(observer.entry.epoch, 2);
    assert_int_equal(tell(changed), 0);
    assert_int_equal(tell_listing("list /tanist/c/history", three, 3), 0);
    assert_int_equal(tell(answer("read /tanist/c/history/n-0000000013", entry_text(3))),
                     OBSERVER_HISTORY);
    assert_false(observer.entry_old);
    assert_true(observer_is_idle(&observer));
}

/* An entry that nobody knows whether it was read is read again; one that is gone is skipped. */
static void test_history_doubt(void **state)
{
    (void)state;
    const char *const two[] = {"n-0000000001", "n-0000000002"};
    const char *read = "read /tanist/c/history/n-0000000001";
    (void)tell_listing("list /tanist/c/history", two, 2);
    struct zk_event lost = answer(read, "");
    lost.outcome = ZK_UNKNOWN;
    assert_int_equal(tell(lost), 0);
    uint32_t before = asked.count;
    observer_tick(&observer, &port, 1000);
    assert_int_equal(asked.count, before + 1);
    assert_int_equal(tell(answer(read, NULL)), 0);
    assert_int_equal(tell(answer("read /tanist/c/history/n-0000000002", entry_text(2))),
                     OBSERVER_HISTORY);
}

/* Servers that lost their data count their history from 0 again: that is told as well, as new. */
static void test_history_of_wiped_servers(void **state)
{
    (void)state;
    const char *const old[] = {"n-0000000012"};
    const char *const new[] = {"n-0000000000"};
    const char *list = "list /tanist/c/history";
    struct zk_event listing = answer(list, "");
    listing.children = old;
    listing.child_count = 1;
    listing.stat.created_zxid = 7;
    assert_int_equal(tell(listing), 0);
    assert_int_equal(tell(answer("read /tanist/c/history/n-0000000012", entry_text(1))),
                     OBSERVER_HISTORY);
    observer_restart(&observer, &port, 0);
    listing.op = op_of(list);
    listing.children = new;
    listing.stat.modified_wall_ms = 99; /* The zxid may be the same. */
    assert_int_equal(tell(listing), 0);
    assert_int_equal(tell(answer("read /tanist/c/history/n-0000000000", entry_text(2))),
                     OBSERVER_HISTORY);
    assert_false(observer.entry_old);
}

/* A candidate's znode is known by the session that owns it. */
static void test_candidates(void **state)
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

/* Only what the dead one's own session holds is removed, and the session is closed after that. */
static void test_reap(void **state)
{
    (void)state;
    static struct node_reaper reaper;
    struct dead_node dead_node = {
        .cluster = "c", .task = {ROLE_PS, 0}, .has_session = true, .session = {.id = 42}};
    struct zk_event there = answer("read /tanist/c/members/ps-0", json_member_text(0, 5));
    uint64_t next_op = 1000;
    there.stat.ephemeral_owner = 41;
    (void)tell(there);
    memset(&candidates, 0, sizeof candidates);
    asked.count = 0;
    node_reaper_begin(&reaper, &dead_node, &observer, &candidates, &port, &next_op, NULL);
    assert_int_equal(asked.count, 2); /* The exit note; the znode is another's. */
    assert_string_equal(asked.words[1], "set /tanist/c/exits/ps-0");
    observer.tasks[0].session = 42;
    node_reaper_begin(&reaper, &dead_node, &observer, &candidates, &port, &next_op, NULL);
    assert_string_equal(asked.words[4], "delete /tanist/c/members/ps-0");
    assert_int_equal(reaper.list[1].last_op, next_op);
    struct zk_event done = {.type = ZK_RESULT, .op = next_op};
    node_reaper_handle(&reaper, &done, NULL);
    assert_int_equal(reaper.list[1].last_op, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_settles, setup),
        cmocka_unit_test_setup(test_members, setup),
        cmocka_unit_test_setup(test_history, setup),
        cmocka_unit_test_setup(test_history_doubt, setup),
        cmocka_unit_test_setup(test_history_of_wiped_servers, setup),
        cmocka_unit_test_setup(test_candidates, setup),
        cmocka_unit_test_setup(test_reap, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
