#include "chaos/cluster/targets.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/cluster/proc.h"

/* A JVM's command line has all of its class path before the words that tell its server. */
enum { COMMAND_LINE_MAX = 64 * 1024, CHILDREN_TEXT_MAX = 8192 };

static struct place *add(struct target_cluster *cluster)
{
    assert(cluster->count < PLACES_MAX);
    return &cluster->places[cluster->count++];
}

void target_cluster_init(struct target_cluster *cluster, const struct job *job)
{
    const uint32_t counts[ROLE_COUNT] = {job->cluster.coordinators, job->cluster.ps,
                                         job->cluster.workers};
    *cluster = (struct target_cluster){.job = job};
    snprintf(add(cluster)->name, PLACE_NAME_MAX, "agent");
    for (uint32_t i = 1; i <= job->zookeeper.servers; i++) {
        struct place *place = add(cluster);
        place->server = i;
        snprintf(place->name, sizeof place->name, "zookeeper:%u", i);
    }
    for (int role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t i = 0; i < counts[role]; i++) {
            struct place *place = add(cluster);
            place->is_node = true;
            place->task = (struct task){.role = (enum role)role, .index = i};
            task_format(place->task, ':', place->name, sizeof place->name);
        }
    }
}

struct place *target_cluster_place(struct target_cluster *cluster, const char *name)
{
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (strcmp(cluster->places[i].name, name) == 0) { return &cluster->places[i]; }
    }
    return NULL;
}

/* ------------------------------------------------------------- processes */

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

static bool is_program(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash != NULL ? slash + 1 : path, name) == 0;
}

/* The number in ".../zookeeper/2/zoo.cfg"; 0: it is no such path. The last folder of that name
 * counts: the run's own may be below another. */
static unsigned server_in(const char *word)
{
    unsigned number = 0, found = 0;
    int length = 0;
    for (const char *at = word; (at = strstr(at, "/zookeeper/")); at++) {
        if (sscanf(at, "/zookeeper/%4u/zoo.cfg%n", &number, &length) == 1 && length > 0 &&
            at[length] == '\0') {
            found = number;
        }
    }
    return found;
}

bool target_cluster_name_process(const char *words, size_t size, char name[static PLACE_NAME_MAX])
{
    const char *end = words + size, *role = NULL;
    name[0] = '\0';
    for (const char *word = words; word < end; word += strlen(word) + 1) {
        const char *next = word + strlen(word) + 1;
        unsigned server = server_in(word);
        if (server > 0) { snprintf(name, PLACE_NAME_MAX, "zookeeper:%u", server); }
        if (next >= end) { break; }
        if (word == words && is_program(word, "tanist")) { role = next; }
        if (role != NULL && strcmp(word, "--index") == 0 && is_number(next)) {
            snprintf(name, PLACE_NAME_MAX, "%.11s:%.10s", role, next);
        }
    }
    return *name != '\0';
}

/* Which place a process is. NULL: none, or it has ended. */
static struct place *place_of(struct target_cluster *cluster, pid_t pid)
{
    char words[COMMAND_LINE_MAX], name[PLACE_NAME_MAX];
    ssize_t size = proc_read(pid, "cmdline", words, sizeof words);
    if (size <= 0 || !target_cluster_name_process(words, (size_t)size, name)) { return NULL; }
    return target_cluster_place(cluster, name);
}

static void look_at_child(struct target_cluster *cluster, pid_t pid, pid_t found[static PLACES_MAX])
{
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (cluster->places[i].pid == pid) {
            found[i] = pid;
            return;
        }
    }
    struct place *place = place_of(cluster, pid);
    if (place != NULL) { found[place - cluster->places] = pid; }
}

void target_cluster_look(struct target_cluster *cluster)
{
    char path[48], text[CHILDREN_TEXT_MAX];
    pid_t found[PLACES_MAX] = {0}, agent = cluster->places[0].pid;
    found[0] = agent;
    snprintf(path, sizeof path, "task/%ld/children", (long)agent);
    if (agent > 0 && proc_read(agent, path, text, sizeof text) > 0) {
        char *rest = NULL;
        for (char *word = strtok_r(text, " ", &rest); word != NULL;
             word = strtok_r(NULL, " ", &rest)) {
            look_at_child(cluster, (pid_t)strtol(word, NULL, 10), found);
        }
    }
    for (uint32_t i = 0; i < cluster->count; i++) {
        cluster->places[i].pid = proc_state(found[i]) ? found[i] : 0;
    }
}

json_t *target_cluster_places_json(const struct target_cluster *cluster)
{
    json_t *places = json_array();
    for (uint32_t i = 0; i < cluster->count; i++) {
        json_array_append_new(places, json_string(cluster->places[i].name));
    }
    return places;
}

/* ------------------------------------------------------------- targets */

static void name_target(struct strike *strike, const char *name)
{
    if (strike->target_count < TARGETS_MAX) {
        snprintf(strike->targets[strike->target_count++], PLACE_NAME_MAX, "%.*s",
                 PLACE_NAME_MAX - 1, name);
    }
}

/* `least` of them, from a random one on. */
static void some_servers(struct target_cluster *cluster, struct strike *strike, uint32_t least,
                         const char *except)
{
    uint32_t servers = cluster->job->zookeeper.servers;
    uint32_t first = servers ? (uint32_t)random_below(&cluster->random, servers) : 0;
    for (uint32_t i = 0; i < servers && strike->target_count < least; i++) {
        char name[PLACE_NAME_MAX];
        snprintf(name, sizeof name, "zookeeper:%u", (first + i) % servers + 1);
        if (strcmp(name, except) != 0) { name_target(strike, name); }
    }
}

static void all_places(struct target_cluster *cluster, struct strike *strike)
{
    for (uint32_t i = 0; i < cluster->count; i++) { name_target(strike, cluster->places[i].name); }
}

enum tn_status target_cluster_resolve(struct target_cluster *cluster, struct strike *strike,
                                      struct error *error)
{
    const char *whom = strike->injection.whom;
    uint32_t servers = cluster->job->zookeeper.servers;
    strike->target_count = 0;
    if (strcmp(whom, "chief") == 0 && target_cluster_place(cluster, cluster->chief) != NULL) {
        name_target(strike, cluster->chief);
    } else if (strcmp(whom, "zookeeper-leader") == 0 &&
               target_cluster_place(cluster, cluster->zookeeper_leader) != NULL) {
        name_target(strike, cluster->zookeeper_leader);
    } else if (strcmp(whom, "zookeeper-follower") == 0) {
        some_servers(cluster, strike, 1, cluster->zookeeper_leader);
    } else if (strcmp(whom, "zookeeper-majority") == 0) {
        some_servers(cluster, strike, servers / 2 + 1, "");
    } else if (strcmp(whom, "zookeeper-all") == 0) {
        some_servers(cluster, strike, servers, "");
    } else if (strcmp(whom, "everything") == 0 || strcmp(whom, "cluster") == 0) {
        all_places(cluster, strike);
    } else if (target_cluster_place(cluster, whom) != NULL) {
        name_target(strike, whom);
    }
    if (strike->target_count > 0) { return TN_OK; }
    return error_set(error, TN_EAGAIN, "there is no %s now", whom);
}
