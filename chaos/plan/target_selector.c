#include "chaos/plan/target_selector.h"

#include <stdio.h>
#include <string.h>

#include "common/base/nearest.h"
#include "common/cluster/task.h"

/* Each word, and the letter of FAULT_LIST that allows it. */
static const struct word {
    const char *name;
    char letter;
} words[] = {
    {"chief", 'n'},
    {"coordinator", 'n'},
    {"ps", 'n'},
    {"worker", 'n'},
    {"any", 'n'},
    {"agent", 'a'},
    {"zookeeper", 'z'},
    {"zookeeper-leader", 'z'},
    {"zookeeper-follower", 'z'},
    {"zookeeper-majority", 'z'},
    {"zookeeper-all", 'z'},
    {"everything", 'c'},
    {"cluster", 'c'},
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

/* The letter that allows `whom`; 0: it means nobody. */
static char letter_of(const char *whom)
{
    struct task task;
    for (int i = 0; i < WORDS; i++) {
        if (strcmp(whom, words[i].name) == 0) { return words[i].letter; }
    }
    if (server_of(whom) > 0) { return 'z'; }
    return strchr(whom, ':') != NULL && task_parse(whom, &task) ? 'n' : 0;
}

bool whom_passes(const char *whom, const char *who)
{
    enum role passing, struck;
    struct task task;
    if (letter_of(whom) != 'n') { return false; }
    if (strcmp(who, "any") == 0 || strcmp(whom, "any") == 0) { return true; }
    if (!role_parse(who, &passing)) { passing = ROLE_COORDINATOR; /* "chief" */ }
    if (strchr(whom, ':') != NULL) {
        struck = task_parse(whom, &task) ? task.role : ROLE_COUNT;
    } else if (!role_parse(whom, &struck)) {
        struck = ROLE_COORDINATOR;
    }
    return struck == passing;
}

static bool allows(enum fault fault, const char *whom, char letter)
{
    const char *allowed = fault_info(fault)->whom;
    bool of_all = strcmp(whom, "everything") == 0, of_cluster = strcmp(whom, "cluster") == 0;
    bool strikes_nodes = strchr(allowed, 'n') != NULL;
    if (!letter || strchr(allowed, letter) == NULL) { return false; }
    /* What strikes processes can strike them all; what strikes the cluster has no single target. */
    return !(of_all && !strikes_nodes) && !(of_cluster && strikes_nodes);
}

static void list_allowed(enum fault fault, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < WORDS; i++) {
        if (!allows(fault, words[i].name, words[i].letter) || used >= size) { continue; }
        int added = snprintf(text + used, size - used, "%s%s", used ? ", " : "", words[i].name);
        used += added > 0 ? (size_t)added : 0;
    }
}

bool whom_is_wrong(const char *whom, enum fault fault, char *text, size_t size)
{
    char letter = letter_of(whom), list[240];
    const char *names[WORDS];
    for (int i = 0; i < WORDS; i++) { names[i] = words[i].name; }
    if (allows(fault, whom, letter)) { return false; }
    const char *near = letter ? NULL : nearest_word(whom, names, WORDS);
    list_allowed(fault, list, sizeof list);
    if (near != NULL) {
        snprintf(text, size, "\"%.40s\": did you mean \"%s\"?", whom, near);
    } else if (letter) {
        snprintf(text, size, "\"%.40s\": %s cannot strike it: give one of %s", whom,
                 fault_info(fault)->name, list);
    } else {
        snprintf(text, size, "\"%.40s\" means nobody: give one of %s, or a name like %s", whom,
                 list,
                 strchr(fault_info(fault)->whom, 'n') != NULL ? "\"ps:1\"" : "\"zookeeper:1\"");
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
    if (letter_of(whom) == 'z') { return draw_server(whom, shape, random, out, error); }
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
