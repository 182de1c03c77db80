/* chaos/cluster/targets.h: the component of a process by its command line, and the components that
 * each selector means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "chaos/cluster/proc.h"
#include "chaos/cluster/targets.h"

/* Two of each role, and three servers. */
static int make_cluster(void **state)
{
    struct job *job = calloc(1, sizeof *job);
    struct target_cluster *cluster = calloc(1, sizeof *cluster);
    job_init(job);
    job->cluster.coordinators = job->cluster.ps = job->cluster.workers = 2;
    job->zookeeper.servers = 3;
    target_cluster_init(cluster, job);
    *state = cluster;
    return 0;
}

static int free_cluster(void **state)
{
    struct target_cluster *cluster = *state;
    free((void *)(uintptr_t)cluster->job);
    free(cluster);
    return 0;
}

/* ------------------------------------------------------------- processes */

/* This process is running; a process that does not exist has no state. */
static void state_of_a_process_is_read(void **state)
{
    (void)state;
    assert_int_equal(proc_state(getpid()), 'R');
    assert_int_equal(proc_state(0), 0);
    assert_int_equal(proc_state(-1), 0);
}

/* ------------------------------------------------------------- components */

/* The agent first, then servers from 1, then nodes by role. */
static void components_are_ordered(void **state)
{
    static const char *const names[] = {
        "agent",         "zookeeper:1", "zookeeper:2", "zookeeper:3", "coordinator:0",
        "coordinator:1", "ps:0",        "ps:1",        "worker:0",    "worker:1"};
    struct target_cluster *cluster = *state;
    json_t *list = target_cluster_components_json(cluster);
    assert_int_equal(cluster->count, sizeof names / sizeof *names);
    for (uint32_t i = 0; i < cluster->count; i++) {
        assert_string_equal(cluster->components[i].name, names[i]);
        assert_string_equal(json_string_value(json_array_get(list, i)), names[i]);
        assert_ptr_equal(target_cluster_component(cluster, names[i]), &cluster->components[i]);
    }
    assert_null(target_cluster_component(cluster, "ps:2"));
    json_decref(list);
}

/* ------------------------------------------------------------- selectors */

static uint32_t resolve(struct target_cluster *cluster, struct target_list *list,
                        const char *selector)
{
    struct error error;
    enum tn_status status = target_cluster_resolve(cluster, selector, list, &error);
    assert_int_equal(status, list->count > 0 ? TN_OK : TN_EAGAIN);
    return list->count;
}

/* A name selects the component of that name, if there is one. */
static void name_selects_its_component(void **state)
{
    struct target_list list;
    assert_int_equal(resolve(*state, &list, "ps:1"), 1);
    assert_string_equal(list.components[0]->name, "ps:1");
    assert_int_equal(resolve(*state, &list, "agent"), 1);
    assert_int_equal(resolve(*state, &list, "zookeeper:3"), 1);
    assert_int_equal(resolve(*state, &list, "ps:2"), 0);
}

/* "chief" selects the component of the current chief, if it is one of this cluster. */
static void chief_selects_the_current_chief(void **state)
{
    struct target_cluster *cluster = *state;
    struct target_list list;
    assert_int_equal(resolve(cluster, &list, "chief"), 0);
    snprintf(cluster->chief, sizeof cluster->chief, "coordinator:9");
    assert_int_equal(resolve(cluster, &list, "chief"), 0);
    snprintf(cluster->chief, sizeof cluster->chief, "coordinator:1");
    assert_int_equal(resolve(cluster, &list, "chief"), 1);
    assert_string_equal(list.components[0]->name, "coordinator:1");
}

/* A follower is any server but the leader; an unknown leader cannot be selected. */
static void leader_and_follower_differ(void **state)
{
    struct target_cluster *cluster = *state;
    struct target_list list;
    assert_int_equal(resolve(cluster, &list, "zookeeper-leader"), 0);
    snprintf(cluster->zookeeper_leader, sizeof cluster->zookeeper_leader, "zookeeper:2");
    assert_int_equal(resolve(cluster, &list, "zookeeper-leader"), 1);
    assert_string_equal(list.components[0]->name, "zookeeper:2");
    for (int i = 0; i < 30; i++) {
        assert_int_equal(resolve(cluster, &list, "zookeeper-follower"), 1);
        assert_string_not_equal(list.components[0]->name, "zookeeper:2");
    }
}

/* A majority is more than half of the servers, each once. */
static void majority_is_more_than_half(void **state)
{
    struct target_list list;
    for (int i = 0; i < 30; i++) {
        assert_int_equal(resolve(*state, &list, "zookeeper-majority"), 2);
        assert_ptr_not_equal(list.components[0], list.components[1]);
    }
    assert_int_equal(resolve(*state, &list, "zookeeper-all"), 3);
}

/* "everything" begins with the agent, which must not restart the others. */
static void everything_begins_with_the_agent(void **state)
{
    struct target_list list;
    assert_int_equal(resolve(*state, &list, "everything"), 10);
    assert_string_equal(list.components[0]->name, "agent");
    assert_int_equal(resolve(*state, &list, "cluster"), 10);
}

/* The servers of an ensemble that the run did not start cannot be selected. */
static void external_ensemble_has_no_targets(void **state)
{
    struct target_cluster *cluster = *state;
    struct job *job = (struct job *)(uintptr_t)cluster->job;
    struct target_list list;
    job->zookeeper.servers = 0;
    target_cluster_init(cluster, job);
    assert_int_equal(resolve(cluster, &list, "zookeeper-follower"), 0);
    assert_int_equal(resolve(cluster, &list, "zookeeper-all"), 0);
}

#define WITH_CLUSTER(test) cmocka_unit_test_setup_teardown(test, make_cluster, free_cluster)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_of_a_process_is_read),
        WITH_CLUSTER(components_are_ordered),
        WITH_CLUSTER(name_selects_its_component),
        WITH_CLUSTER(chief_selects_the_current_chief),
        WITH_CLUSTER(leader_and_follower_differ),
        WITH_CLUSTER(majority_is_more_than_half),
        WITH_CLUSTER(everything_begins_with_the_agent),
        WITH_CLUSTER(external_ensemble_has_no_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
