/* Faults that wait for a failpoint: who is meant, and what is told afterwards. Built with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "chaos/inject/inject_failpoint.h"

static char path[] = "/tmp/tanist-inject-XXXXXX";
static struct target_cluster cluster;

/* An agent, a server, two coordinators, two ps and a worker; their slots in the same order. */
static int make_arena(void **state)
{
    (void)state;
    static const char *const names[] = {"agent", "zookeeper:1", "coordinator:0", "coordinator:1",
                                        "ps:0",  "ps:1",        "worker:0"};
    int fd = mkstemp(path);
    if (fd < 0) { return 1; }
    close(fd);
    cluster = (struct target_cluster){.count = 7};
    for (unsigned i = 0; i < 7; i++) {
        struct place *place = &cluster.places[i];
        snprintf(place->name, sizeof place->name, "%s", names[i]);
        place->is_node = task_parse(names[i], &place->task);
    }
    snprintf(cluster.chief, sizeof cluster.chief, "coordinator:1");
    return fault_control_create(path, names, 7, &cluster.control, NULL) != TN_OK;
}

static int remove_arena(void **state)
{
    (void)state;
    fault_control_close(cluster.control);
    int removed = unlink(path);
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    return removed;
}

static enum tn_status arm(struct point_watch *watch, enum fault fault, const char *whom,
                          const char *point)
{
    struct injection injection = {
        .id = 1, .fault = fault, .trigger = {.type = TRIGGER_POINT, .count = 2}, .value = 300};
    snprintf(injection.whom, sizeof injection.whom, "%s", whom);
    snprintf(injection.trigger.point, sizeof injection.trigger.point, "%s", point);
    return point_arm(watch, &cluster, &injection, NULL);
}

/* As the process of that slot does. */
static void strike(struct fault_point *point, uint32_t slot)
{
    point->by = slot;
    point->pid = 4711;
    point->armed = 0;
    point->done++;
}

/* A place is one slot; a role, or any, is all who pass there; a chief's place is any candidate's.
 */
static void whom_becomes_a_set_of_slots(void **state)
{
    (void)state;
    static const struct {
        const char *whom, *point;
        uint64_t who;
    } cases[] = {
        {"ps:1", "ckpt.before_sync", 1u << 5},
        {"ps", "ckpt.before_sync", 3u << 4},
        {"any", "ckpt.before_sync", 3u << 4},
        {"any", "node.registered", 31u << 2},
        {"worker:0", "worker.before_push", 1u << 6},
        {"coordinator:0", "office.after_multi", 1u << 2},
        {"chief", "office.after_multi", 3u << 2},
        {"chief", "election.standing", 3u << 2},
        {"chief", "node.idle", 1u << 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct point_watch watch;
        assert_int_equal(arm(&watch, FAULT_KILL, cases[i].whom, cases[i].point), TN_OK);
        assert_int_equal(watch.point->who, cases[i].who);
        assert_int_equal(watch.point->countdown, 2);
        point_disarm(&watch);
    }
}

/* What can never happen is refused: another's place, no place, no such fault there. */
static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct point_watch watch;
    assert_int_equal(arm(&watch, FAULT_KILL, "ps:0", "worker.before_push"), TN_EINVAL);
    assert_int_equal(arm(&watch, FAULT_KILL, "ps:9", "ckpt.before_sync"), TN_EINVAL);
    assert_int_equal(arm(&watch, FAULT_KILL, "agent", "node.idle"), TN_EINVAL);
    assert_int_equal(arm(&watch, FAULT_KILL, "ps:0", "ps.nowhere"), TN_EINVAL);
    assert_int_equal(arm(&watch, FAULT_TERMINATE, "ps:0", "ps.mid_step"), TN_EINVAL);
    assert_int_equal(arm(&watch, FAULT_FAIL, "ps:0", "ps.mid_step"), TN_EINVAL);
    assert_false(point_poll(&watch, &cluster));
    point_disarm(&watch);
}

/* It is told once, with who was struck. */
static void a_strike_is_told_once(void **state)
{
    (void)state;
    struct point_watch watch;
    assert_int_equal(arm(&watch, FAULT_STALL, "ps", "ckpt.before_sync"), TN_OK);
    assert_int_equal(watch.point->action, POINT_STALL);
    assert_int_equal(watch.point->stall_ms, 300);
    assert_false(point_poll(&watch, &cluster));
    strike(watch.point, 5);
    assert_true(point_poll(&watch, &cluster));
    assert_string_equal(watch.place, "ps:1");
    assert_int_equal(watch.pid, 4711);
    assert_false(point_poll(&watch, &cluster));
}

/* Where everybody passes, "chief" is whoever is it now. */
static void the_chief_is_followed(void **state)
{
    (void)state;
    struct point_watch watch;
    snprintf(cluster.chief, sizeof cluster.chief, "%s", "");
    assert_int_equal(arm(&watch, FAULT_FREEZE, "chief", "node.leaving"), TN_EAGAIN);
    snprintf(cluster.chief, sizeof cluster.chief, "coordinator:1");
    assert_int_equal(arm(&watch, FAULT_FREEZE, "chief", "node.leaving"), TN_OK);
    snprintf(cluster.chief, sizeof cluster.chief, "coordinator:0");
    assert_false(point_poll(&watch, &cluster));
    assert_int_equal(watch.point->who, 1u << 2);
    snprintf(cluster.chief, sizeof cluster.chief, "%s", "");
    assert_false(point_poll(&watch, &cluster));
    assert_int_equal(watch.point->who, 1u << 2);
    point_disarm(&watch);
}

#define IN_ARENA(test) cmocka_unit_test_setup_teardown(test, make_arena, remove_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ARENA(whom_becomes_a_set_of_slots),
        IN_ARENA(what_cannot_be_is_refused),
        IN_ARENA(a_strike_is_told_once),
        IN_ARENA(the_chief_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
