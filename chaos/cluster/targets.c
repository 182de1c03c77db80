#include "chaos/cluster/targets.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/cluster/proc.h"
#include "common/faults/process_name.h"

/* The command line of a JVM has the class path before the argument that names the server. */
enum { COMMAND_LINE_MAX = 64 * 1024, CHILDREN_TEXT_MAX = 8192 };

static struct component *add(struct target_cluster *cluster)
{
    assert(cluster->count < COMPONENTS_MAX);
    return &cluster->components[cluster->count++];
}

void target_cluster_init(struct target_cluster *cluster, const struct job *job)
{
    assert(job != NULL);
    const struct task_counts counts = job_tasks(job);
    *cluster = (struct target_cluster){.job = job};
    snprintf(add(cluster)->name, COMPONENT_NAME_MAX, "agent");
    for (uint32_t i = 1; i <= job->zookeeper.servers; i++) {
        struct component *component = add(cluster);
        component->server = i;
        snprintf(component->name, sizeof component->name, "zookeeper:%u", i);
    }
    for (int role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t i = 0; i < counts.of[role]; i++) {
            struct component *component = add(cluster);
            component->is_node = true;
            component->task = (struct task){.role = (enum role)role, .index = i};
            task_format(component->task, ':', component->name, sizeof component->name);
        }
    }
}

struct component *target_cluster_component(struct target_cluster *cluster, const char *name)
{
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (strcmp(cluster->components[i].name, name) == 0) { return &cluster->components[i]; }
    }
    return NULL;
}

/* ------------------------------------------------------------- processes */

/* The component of a process. NULL: it has none, or it has ended. */
static struct component *component_of(struct target_cluster *cluster, pid_t pid)
{
    char arguments[COMMAND_LINE_MAX], name[FAULT_CONTROL_NAME_MAX];
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (cluster->components[i].pid == pid) { return &cluster->components[i]; }
    }
    ssize_t size = proc_read(pid, "cmdline", arguments, sizeof arguments);
    if (size <= 0 || !process_name(arguments, (size_t)size, name)) { return NULL; }
    return target_cluster_component(cluster, name);
}

/* The component by which a process is known: of several workers in one process the first one. */
static uint32_t process_component(const struct target_cluster *cluster, uint32_t index)
{
    const struct component *component = &cluster->components[index];
    if (!component->is_node || component->task.role != ROLE_WORKER) { return index; }
    return index - component->task.index % cluster->job->cluster.workers_per_process;
}

void target_cluster_refresh(struct target_cluster *cluster)
{
    assert(cluster->count > 0);
    char path[48], children[CHILDREN_TEXT_MAX], *rest = NULL;
    pid_t found[COMPONENTS_MAX] = {0}, agent = cluster->components[0].pid;
    found[0] = agent;
    snprintf(path, sizeof path, "task/%ld/children", (long)agent);
    if (agent <= 0 || proc_read(agent, path, children, sizeof children) <= 0) { *children = '\0'; }
    for (char *child = strtok_r(children, " ", &rest); child != NULL;
         child = strtok_r(NULL, " ", &rest)) {
        pid_t pid = (pid_t)strtol(child, NULL, 10);
        const struct component *component = component_of(cluster, pid);
        if (component != NULL && component != cluster->components) {
            found[component - cluster->components] = pid;
        }
    }
    for (uint32_t i = 0; i < cluster->count; i++) {
        const pid_t pid = found[process_component(cluster, i)];
        cluster->components[i].pid = proc_state(pid) ? pid : 0;
    }
}

json_t *target_cluster_components_json(const struct target_cluster *cluster)
{
    json_t *components = json_array();
    for (uint32_t i = 0; i < cluster->count; i++) {
        json_array_append_new(components, json_string(cluster->components[i].name));
    }
    return components;
}

/* ------------------------------------------------------------- targets */

static void add_target(struct target_list *list, struct component *component)
{
    assert(list->count < COMPONENTS_MAX);
    list->components[list->count++] = component;
}

/* Up to `limit` servers but `except`, beginning with a random one. */
static void add_servers(struct target_cluster *cluster, uint32_t limit, const char *except,
                        struct target_list *list)
{
    uint32_t servers = cluster->job->zookeeper.servers;
    uint32_t first = servers ? (uint32_t)random_below(&cluster->random, servers) : 0;
    for (uint32_t i = 0; i < servers && list->count < limit; i++) {
        struct component *component = &cluster->components[1 + (first + i) % servers];
        assert(component->server == (first + i) % servers + 1);
        if (strcmp(component->name, except) != 0) { add_target(list, component); }
    }
}

enum tn_status target_cluster_resolve(struct target_cluster *cluster, const char *selector,
                                      struct target_list *out, struct error *error)
{
    assert(cluster->job != NULL);
    uint32_t servers = cluster->job->zookeeper.servers;
    const char *name = selector;
    out->count = 0;
    if (strcmp(selector, "chief") == 0) { name = cluster->chief; }
    if (strcmp(selector, "zookeeper-leader") == 0) { name = cluster->zookeeper_leader; }
    struct component *component = target_cluster_component(cluster, name);
    if (component != NULL) {
        add_target(out, component);
    } else if (strcmp(selector, "zookeeper-follower") == 0) {
        add_servers(cluster, 1, cluster->zookeeper_leader, out);
    } else if (strcmp(selector, "zookeeper-majority") == 0) {
        add_servers(cluster, servers / 2 + 1, "", out);
    } else if (strcmp(selector, "zookeeper-all") == 0) {
        add_servers(cluster, servers, "", out);
    } else if (strcmp(selector, "everything") == 0 || strcmp(selector, "cluster") == 0) {
        for (uint32_t i = 0; i < cluster->count; i++) { add_target(out, &cluster->components[i]); }
    }
    if (out->count > 0) { return TN_OK; }
    return error_set(error, TN_EAGAIN, "there is no %s now", selector);
}
