#include "chaos/plan/target_selector.h"

#include <stdio.h>
#include <string.h>

#include "common/base/nearest.h"
#include "common/cluster/task.h"

/* Each selector that is not the name of one target, and what it selects. */
static const struct {
    const char *name;
    enum target_kind kind;
} words[] = {
    {"chief", TARGET_NODE},
    {"coordinator", TARGET_NODE},
    {"ps", TARGET_NODE},
    {"worker", TARGET_NODE},
    {"any", TARGET_NODE},
    {"agent", TARGET_AGENT},
    {"zookeeper", TARGET_ZOOKEEPER},
    {"zookeeper-leader", TARGET_ZOOKEEPER},
    {"zookeeper-follower", TARGET_ZOOKEEPER},
    {"zookeeper-majority", TARGET_ZOOKEEPER},
    {"zookeeper-all", TARGET_ZOOKEEPER},
    {"everything", TARGET_EVERYTHING},
    {"cluster", TARGET_CLUSTER},
};
enum { WORDS = sizeof words / sizeof *words, SERVERS_MAX = 99 };

static const char SERVER_PREFIX[] = "zookeeper:";

/* The number in "zookeeper:2"; 0: it is no such name. */
static uint32_t server_of(const char *whom)
{
    size_t length = strlen(whom), prefix = sizeof SERVER_PREFIX - 1;
    uint32_t number = 0;
    if (strncmp(whom, SERVER_PREFIX, prefix) != 0 || length > prefix + 2) { return 0; }
    for (const char *at = whom + prefix; *at; at++) {
        if (*at < '0' || *at > '9') { return 0; }
        number = number * 10 + (uint32_t)(*at - '0');
    }
    return number <= SERVERS_MAX ? number : 0;
}

/* The kind of targets that `whom` selects; 0: it is not a valid selector. */
static unsigned kind_of(const char *whom)
{
    struct task task;
    for (int i = 0; i < WORDS; i++) {
        if (strcmp(whom, words[i].name) == 0) { return words[i].kind; }
    }
    if (server_of(whom) > 0) { return TARGET_ZOOKEEPER; }
    return strchr(whom, ':') != NULL && task_parse(whom, &task) ? TARGET_NODE : 0;
}

bool whom_passes(const char *whom, const char *who)
{
    enum role passing, struck;
    struct task task;
    if (kind_of(whom) != TARGET_NODE) { return false; }
    if (strcmp(who, "any") == 0 || strcmp(whom, "any") == 0) { return true; }
    if (!role_parse(who, &passing)) { passing = ROLE_COORDINATOR; /* "chief" */ }
    if (strchr(whom, ':') != NULL) {
        struck = task_parse(whom, &task) ? task.role : ROLE_COUNT;
    } else if (!role_parse(whom, &struck)) {
        struck = ROLE_COORDINATOR;
    }
    return struck == passing;
}

static void list_allowed(unsigned allowed, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < WORDS; i++) {
        if ((allowed & words[i].kind) == 0 || used >= size) { continue; }
        int added = snprintf(text + used, size - used, "%s%s", used ? ", " : "", words[i].name);
        used += added > 0 ? (size_t)added : 0;
    }
}

bool whom_is_wrong(const char *whom, enum fault fault, char *text, size_t size)
{
    const struct fault_descriptor *descriptor = fault_descriptor(fault);
    unsigned kind = kind_of(whom);
    const char *names[WORDS];
    char list[240];
    for (int i = 0; i < WORDS; i++) { names[i] = words[i].name; }
    if ((descriptor->targets & kind) != 0) { return false; }
    const char *near = kind != 0 ? NULL : nearest_word(whom, names, WORDS);
    list_allowed(descriptor->targets, list, sizeof list);
    if (near != NULL) {
        snprintf(text, size, "\"%.40s\": did you mean \"%s\"?", whom, near);
    } else if (kind != 0) {
        snprintf(text, size, "\"%.40s\": %s cannot strike it: give one of %s", whom,
                 descriptor->name, list);
    } else {
        snprintf(text, size, "\"%.40s\" means nobody: give one of %s, or a name like %s", whom,
                 list, (descriptor->targets & TARGET_NODE) != 0 ? "\"ps:1\"" : "\"zookeeper:1\"");
    }
    return true;
}

/* ----------------------------------------------------------------- drawing */

static uint32_t count_of(const struct cluster_shape *shape, enum role role)
{
    switch (role) {
    case ROLE_COORDINATOR: return shape->coordinators;
    case ROLE_PS: return shape->ps;
    case ROLE_WORKER: return shape->workers;
    case ROLE_COUNT: break;
    }
    return 0;
}

/* One of all nodes, each as likely as the others. */
static struct task draw_node(const struct cluster_shape *shape, struct random *random)
{
    uint32_t all = shape->coordinators + shape->ps + shape->workers;
    struct task task = {ROLE_COORDINATOR, (uint32_t)random_below(random, all)};
    while (task.index >= count_of(shape, task.role)) {
        task.index -= count_of(shape, task.role);
        task.role = (enum role)(task.role + 1);
    }
    return task;
}

static enum tn_status nobody(const char *whom, uint32_t count, const char *kind,
                             struct error *error)
{
    return error_set(error, TN_EINVAL, "\"%s\": the cluster has %u %s: change the plan or the job",
                     whom, count, kind);
}

static enum tn_status draw_server(const char *whom, const struct cluster_shape *shape,
                                  struct random *random, char *out, struct error *error)
{
    uint32_t server = server_of(whom);
    if (server > shape->servers || shape->servers == 0) {
        return nobody(whom, shape->servers, "ZooKeeper servers of its own", error);
    }
    if (strcmp(whom, "zookeeper") == 0) {
        server = 1 + (uint32_t)random_below(random, shape->servers);
    }
    if (server > 0) {
        snprintf(out, WHOM_MAX, "%s%u", SERVER_PREFIX, server);
    } else {
        snprintf(out, WHOM_MAX, "%s", whom);
    }
    return TN_OK;
}

enum tn_status whom_draw(const char *whom, const struct cluster_shape *shape, struct random *random,
                         char out[static WHOM_MAX], struct error *error)
{
    struct task task = {0};
    enum role role;
    if (kind_of(whom) == TARGET_ZOOKEEPER) { return draw_server(whom, shape, random, out, error); }
    if (strcmp(whom, "any") == 0) {
        if (shape->coordinators + shape->ps + shape->workers == 0) {
            return nobody(whom, 0, "nodes", error);
        }
        task = draw_node(shape, random);
    } else if (role_parse(whom, &role)) {
        if (count_of(shape, role) == 0) { return nobody(whom, 0, whom, error); }
        task = (struct task){role, (uint32_t)random_below(random, count_of(shape, role))};
    } else if (strchr(whom, ':') == NULL || !task_parse(whom, &task)) {
        snprintf(out, WHOM_MAX, "%s", whom);
        return TN_OK;
    }
    if (task.index >= count_of(shape, task.role)) {
        return nobody(whom, count_of(shape, task.role), role_name(task.role), error);
    }
    task_format(task, ':', out, WHOM_MAX);
    return TN_OK;
}
