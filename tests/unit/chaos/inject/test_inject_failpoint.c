/* chaos/inject/inject_failpoint.h: which processes are selected, and the report afterwards. Built
 * with failpoints. */
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
static struct job job;

/* An agent, a server, two coordinators, two ps and a worker; their slots in the same order. */
static int make_cluster(void **state)
{
    (void)state;
    static const char *const names[] = {"agent", "zookeeper:1", "coordinator:0", "coordinator:1",
                                        "ps:0",  "ps:1",        "worker:0"};
    int fd = mkstemp(path);
    if (fd < 0) { return 1; }
    close(fd);
    job.cluster.ps = 2;
    cluster = (struct target_cluster){.count = 7, .job = &job};
    for (unsigned i = 0; i < 7; i++) {
        struct component *component = &cluster.components[i];
        snprintf(component->name, sizeof component->name, "%s", names[i]);
        component->is_node = task_parse(names[i], &component->task);
    }
    snprintf(cluster.chief, sizeof cluster.chief, "coordinator:1");
    return fault_control_create(path, names, 7, &cluster.control, NULL) != TN_OK;
}

static int remove_cluster(void **state)
{
    (void)state;
    fault_control_close(cluster.control);
    int removed = unlink(path);
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    return removed;
}

static enum tn_status arm(struct failpoint_watch *watch, enum fault fault, const char *selector,
                          const char *failpoint)
{
    struct injection injection = {
        .id = 1, .fault = fault, .trigger = {.type = TRIGGER_FAILPOINT, .count = 2}, .value = 300};
    snprintf(injection.selector, sizeof injection.selector, "%s", selector);
    snprintf(injection.trigger.failpoint, sizeof injection.trigger.failpoint, "%s", failpoint);
    return failpoint_watch_arm(watch, &cluster, &injection, NULL);
}

/* As the process of that slot does. */
static void carry_out(struct fault_point *order, uint32_t slot)
{
    order->done_by = slot;
    order->done_pid = 4711;
    order->armed = 0;
    order->done++;
}

/* The name of a component selects one slot, a role or "any" all nodes that pass. "chief" selects
 * all candidates where only they pass, and the current chief elsewhere. */
static void selector_becomes_a_set_of_slots(void **state)
{
    (void)state;
    static const struct {
        const char *selector, *failpoint;
        uint64_t slots;
    } cases[] = {
        {"ps:1", "ckpt.before_sync", 1u << 5},
        {"ps", "ckpt.before_sync", 3u << 4},
        {"any", "ckpt.before_sync", 3u << 4},
        {"any", "node.registered", 31u << 2},
        {"worker:0", "worker.before_push", 1u << 6},
        {"worker", "gpu.mid_upload", 1u << 6},
        {"ps:1", "gpu.mid_upload", 1u << 5},
        {"gpu", "gpu.mid_upload", 7u << 4},
        {"gpu", "gpu.mid_peer_copy", 1u << 6},
        {"coordinator:0", "office.after_multi", 1u << 2},
        {"chief", "office.after_multi", 3u << 2},
        {"chief", "election.standing", 3u << 2},
        {"chief", "node.idle", 1u << 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct failpoint_watch watch;
        assert_int_equal(arm(&watch, FAULT_KILL, cases[i].selector, cases[i].failpoint), TN_OK);
        assert_int_equal(watch.order->slots, cases[i].slots);
        assert_int_equal(watch.order->countdown, 2);
        failpoint_watch_disarm(&watch);
    }
}

/* Where no ps are, "ps" selects workers. */
static void ps_selects_workers_without_ps(void **state)
{
    (void)state;
    struct failpoint_watch watch;
    job.cluster.ps = 0;
    assert_int_equal(arm(&watch, FAULT_KILL, "ps", "gpu.mid_upload"), TN_OK);
    assert_int_equal(watch.order->slots, 1u << 6);
    failpoint_watch_disarm(&watch);
    assert_int_equal(arm(&watch, FAULT_KILL, "ps", "ckpt.before_sync"), TN_EINVAL);
}

/* A fault that can never happen is refused: nodes that do not pass, an unknown failpoint, a fault
 * that does not fit it. */
static void impossible_faults_are_refused(void **state)
{
    (void)state;
    struct failpoint_watch watch;
    assert_int_equal(arm(&watch, FAULT_KILL, "ps:0", "worker.before_push"), TN_EINVAL);
    assert_int_equal(arm(&watch, FAULT_KILL, "ps:9", "ckpt.before_sync"), TN_EINVAL);
    assert_int_equal(arm(&watch, FAULT_KILL, "agent", "node.idle"), TN_EINVAL);
    assert_int_equal(arm(&watch, FAULT_KILL, "ps:0", "ps.nowhere"), TN_EINVAL);
    assert_int_equal(arm(&watch, FAULT_TERMINATE, "ps:0", "ps.mid_step"), TN_EINVAL);
    assert_int_equal(arm(&watch, FAULT_FAIL, "ps:0", "ps.mid_step"), TN_EINVAL);
    assert_int_equal(arm(&watch, FAULT_FAIL, "worker:0", "gpu.wait"), TN_EINVAL);
    assert_int_equal(arm(&watch, FAULT_GPU_ERROR, "ps:0", "load.mid_read"), TN_EINVAL);
    assert_false(failpoint_watch_poll(&watch, &cluster));
    failpoint_watch_disarm(&watch);
}

/* A fault is reported once, with the process. */
static void fault_is_reported_once(void **state)
{
    (void)state;
    struct failpoint_watch watch;
    assert_int_equal(arm(&watch, FAULT_STALL, "ps", "ckpt.before_sync"), TN_OK);
    assert_int_equal(watch.order->action, POINT_STALL);
    assert_int_equal(watch.order->stall_ms, 300);
    assert_false(failpoint_watch_poll(&watch, &cluster));
    carry_out(watch.order, 5);
    assert_true(failpoint_watch_poll(&watch, &cluster));
    assert_string_equal(watch.component->name, "ps:1");
    assert_int_equal(watch.pid, 4711);
    assert_false(failpoint_watch_poll(&watch, &cluster));
}

/* Where all nodes pass, "chief" follows the current chief. */
static void chief_is_followed(void **state)
{
    (void)state;
    struct failpoint_watch watch;
    snprintf(cluster.chief, sizeof cluster.chief, "%s", "");
    assert_int_equal(arm(&watch, FAULT_FREEZE, "chief", "node.leaving"), TN_EAGAIN);
    snprintf(cluster.chief, sizeof cluster.chief, "coordinator:1");
    assert_int_equal(arm(&watch, FAULT_FREEZE, "chief", "node.leaving"), TN_OK);
    snprintf(cluster.chief, sizeof cluster.chief, "coordinator:0");
    assert_false(failpoint_watch_poll(&watch, &cluster));
    assert_int_equal(watch.order->slots, 1u << 2);
    snprintf(cluster.chief, sizeof cluster.chief, "%s", "");
    assert_false(failpoint_watch_poll(&watch, &cluster));
    assert_int_equal(watch.order->slots, 1u << 2);
    failpoint_watch_disarm(&watch);
}

#define WITH_CLUSTER(test) cmocka_unit_test_setup_teardown(test, make_cluster, remove_cluster)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CLUSTER(selector_becomes_a_set_of_slots),
        WITH_CLUSTER(ps_selects_workers_without_ps),
        WITH_CLUSTER(impossible_faults_are_refused),
        WITH_CLUSTER(fault_is_reported_once),
        WITH_CLUSTER(chief_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
