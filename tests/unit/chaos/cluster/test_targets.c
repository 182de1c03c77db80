/* chaos/cluster/targets.h: which place a process is by its command line, and whom each word means.
 */
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
static int make_arena(void **state)
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

static int free_arena(void **state)
{
    struct target_cluster *cluster = *state;
    free((void *)(uintptr_t)cluster->job);
    free(cluster);
    return 0;
}

/* ------------------------------------------------------------- command lines */

/* The name of a process with these words, parted by '|'; "": it is none. */
static const char *name_of(const char *text)
{
    static char name[PLACE_NAME_MAX];
    char words[512];
    size_t size = strlen(text) + 1;
    assert_true(size <= sizeof words);
    memcpy(words, text, size);
    for (size_t i = 0; i < size; i++) {
        if (words[i] == '|') { words[i] = '\0'; }
    }
    bool found = target_cluster_name_process(words, size, name);
    assert_int_equal(found, *name != '\0');
    return name;
}

/* A node is its role and its index, wherever that stands. */
static void node_is_named_by_role_and_index(void **state)
{
    (void)state;
    assert_string_equal(name_of("tanist|ps|--index|1|--zk|127.0.0.1:2181"), "ps:1");
    assert_string_equal(name_of("/usr/bin/tanist|worker|--zk|h:1|--index|12"), "worker:12");
}

/* Others that have such words are no nodes: an option's value, a program of another name, and what
 * ends too soon. */
static void others_are_nobody(void **state)
{
    (void)state;
    assert_string_equal(name_of("tanist|run|job.json|--dir|/x"), "");
    assert_string_equal(name_of("cat|tanist|ps|--index|1"), "");
    assert_string_equal(name_of("tanist|ps|--index"), "");
    assert_string_equal(name_of("tanist|ps|--index|one"), "");
    assert_string_equal(name_of("tanist"), "");
    assert_string_equal(name_of(""), "");
}

/* A server is named by its zoo.cfg. */
static void server_is_named_by_its_folder(void **state)
{
    (void)state;
    assert_string_equal(name_of("java|-cp|a.jar:b.jar|Main|/runs/x/zookeeper/2/zoo.cfg"),
                        "zookeeper:2");
    assert_string_equal(name_of("java|Main|/runs/x/zookeeper/2/zoo.cfg.old"), "");
    assert_string_equal(name_of("java|Main|/runs/x/zookeeper/two/zoo.cfg"), "");
}

/* A run may itself be below a folder called zookeeper, with a number or without. */
static void folder_around_is_no_server(void **state)
{
    (void)state;
    assert_string_equal(name_of("java|Main|/srv/zookeeper/7/runs/x/zookeeper/3/zoo.cfg"),
                        "zookeeper:3");
    assert_string_equal(name_of("java|Main|/srv/zookeeper/runs/zookeeper/1/zoo.cfg"),
                        "zookeeper:1");
    assert_string_equal(name_of("java|-Dlog=/srv/zookeeper/9/zookeeper.log|Main"), "");
}

/* Words that are longer than any name are cut, not overrun. */
static void long_words_are_cut(void **state)
{
    (void)state;
    const char *name = name_of("tanist|a-role-of-many-letters|--index|123456789012345");
    assert_true(strlen(name) < PLACE_NAME_MAX);
    assert_string_equal(name_of("java|Main|/zookeeper/99999/zoo.cfg"), "");
}

/* ------------------------------------------------------------- processes */

/* Who has ended, and who never was, has no state; we run. */
static void state_is_that_of_a_process(void **state)
{
    (void)state;
    assert_int_equal(proc_state(getpid()), 'R');
    assert_int_equal(proc_state(0), 0);
    assert_int_equal(proc_state(-1), 0);
}

/* ------------------------------------------------------------- places */

/* The agent first, then servers from 1, then nodes by role. */
static void places_are_in_their_order(void **state)
{
    static const char *const names[] = {
        "agent",         "zookeeper:1", "zookeeper:2", "zookeeper:3", "coordinator:0",
        "coordinator:1", "ps:0",        "ps:1",        "worker:0",    "worker:1"};
    struct target_cluster *cluster = *state;
    json_t *list = target_cluster_places_json(cluster);
    assert_int_equal(cluster->count, sizeof names / sizeof *names);
    for (uint32_t i = 0; i < cluster->count; i++) {
        assert_string_equal(cluster->places[i].name, names[i]);
        assert_string_equal(json_string_value(json_array_get(list, i)), names[i]);
        assert_ptr_equal(target_cluster_place(cluster, names[i]), &cluster->places[i]);
    }
    assert_null(target_cluster_place(cluster, "ps:2"));
    json_decref(list);
}

/* ------------------------------------------------------------- whom */

static uint32_t resolve(struct target_cluster *cluster, struct strike *strike, const char *whom)
{
    struct error error;
    *strike = (struct strike){0};
    snprintf(strike->injection.whom, sizeof strike->injection.whom, "%s", whom);
    enum tn_status status = target_cluster_resolve(cluster, strike, &error);
    assert_int_equal(status, strike->target_count > 0 ? TN_OK : TN_EAGAIN);
    return strike->target_count;
}

/* A name is that place, and nobody where there is none. */
static void name_means_its_place(void **state)
{
    struct strike strike;
    assert_int_equal(resolve(*state, &strike, "ps:1"), 1);
    assert_string_equal(strike.targets[0], "ps:1");
    assert_int_equal(resolve(*state, &strike, "agent"), 1);
    assert_int_equal(resolve(*state, &strike, "zookeeper:3"), 1);
    assert_int_equal(resolve(*state, &strike, "ps:2"), 0);
}

/* The chief is who is in office, if anybody is, and one of this cluster. */
static void chief_is_who_is_in_office(void **state)
{
    struct target_cluster *cluster = *state;
    struct strike strike;
    assert_int_equal(resolve(cluster, &strike, "chief"), 0);
    snprintf(cluster->chief, sizeof cluster->chief, "coordinator:9");
    assert_int_equal(resolve(cluster, &strike, "chief"), 0);
    snprintf(cluster->chief, sizeof cluster->chief, "coordinator:1");
    assert_int_equal(resolve(cluster, &strike, "chief"), 1);
    assert_string_equal(strike.targets[0], "coordinator:1");
}

/* A follower is any server but the leader; a leader that nobody knows is nobody. */
static void leader_and_follower_differ(void **state)
{
    struct target_cluster *cluster = *state;
    struct strike strike;
    assert_int_equal(resolve(cluster, &strike, "zookeeper-leader"), 0);
    snprintf(cluster->zookeeper_leader, sizeof cluster->zookeeper_leader, "zookeeper:2");
    assert_int_equal(resolve(cluster, &strike, "zookeeper-leader"), 1);
    assert_string_equal(strike.targets[0], "zookeeper:2");
    for (int i = 0; i < 30; i++) {
        assert_int_equal(resolve(cluster, &strike, "zookeeper-follower"), 1);
        assert_string_not_equal(strike.targets[0], "zookeeper:2");
    }
}

/* A majority is more than half of the servers, each once; all are all. */
static void majority_is_more_than_half(void **state)
{
    struct strike strike;
    for (int i = 0; i < 30; i++) {
        assert_int_equal(resolve(*state, &strike, "zookeeper-majority"), 2);
        assert_string_not_equal(strike.targets[0], strike.targets[1]);
    }
    assert_int_equal(resolve(*state, &strike, "zookeeper-all"), 3);
}

/* Everything is every place, the agent first: it must not start again what is struck. */
static void everything_begins_with_the_agent(void **state)
{
    struct strike strike;
    assert_int_equal(resolve(*state, &strike, "everything"), 10);
    assert_string_equal(strike.targets[0], "agent");
    assert_int_equal(resolve(*state, &strike, "cluster"), 10);
}

/* Where ZooKeeper is another's, nobody can be struck there. */
static void other_ensemble_is_nobody(void **state)
{
    struct target_cluster *cluster = *state;
    struct job *job = (struct job *)(uintptr_t)cluster->job;
    struct strike strike;
    job->zookeeper.servers = 0;
    target_cluster_init(cluster, job);
    assert_int_equal(resolve(cluster, &strike, "zookeeper-follower"), 0);
    assert_int_equal(resolve(cluster, &strike, "zookeeper-all"), 0);
}

#define WITH_ARENA(test) cmocka_unit_test_setup_teardown(test, make_arena, free_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_is_named_by_role_and_index),
        cmocka_unit_test(others_are_nobody),
        cmocka_unit_test(server_is_named_by_its_folder),
        cmocka_unit_test(folder_around_is_no_server),
        cmocka_unit_test(long_words_are_cut),
        cmocka_unit_test(state_is_that_of_a_process),
        WITH_ARENA(places_are_in_their_order),
        WITH_ARENA(name_means_its_place),
        WITH_ARENA(chief_is_who_is_in_office),
        WITH_ARENA(leader_and_follower_differ),
        WITH_ARENA(majority_is_more_than_half),
        WITH_ARENA(everything_begins_with_the_agent),
        WITH_ARENA(other_ensemble_is_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
